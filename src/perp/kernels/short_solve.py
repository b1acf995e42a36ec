"""Small contact problems in one compiled call: sweeps from zero, and the verdict of the shared residual.

A contact or two are solved in a microsecond; what is done around that counts. The verdict is `judge_sparse`
or `judge_dense` on the problem as it was given, which know nothing of the sweeps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.experimental import structref

from perp.kernels.borrowed import borrowed
from perp.kernels.packed import view
from perp.kernels.structs import INTEGERS, REALS, StructType
from perp.kernels.sweeping import LOOK, LOOK_RELAXED, sweep_while_it_pays
from perp.problems.data_size import set_mobilities
from perp.problems.law_kernels import judge_dense, judge_sparse

# What is left to do for the verdict, whose velocities have twice the digits.
MARGIN = 0.5
# More sweeps than this are never cheaper than Newton's method.
SWEEPS = 400


class Given(NamedTuple):
    """A problem as it was given, with the scales of its residual: what `judge_sparse` takes.

    W is in `entries`: those of a dense matrix row by row, or of compressed rows with `indices` and `indptr`.
    """

    entries: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    q: np.ndarray
    size: np.ndarray
    kind: np.ndarray
    start: np.ndarray
    parameters: np.ndarray
    d: np.ndarray
    length: np.ndarray


_TYPES = {"indices": INTEGERS, "indptr": INTEGERS, "kind": INTEGERS, "start": INTEGERS}
GivenType = StructType(
    [
        (name, types.float64[:, ::1] if name == "parameters" else _TYPES.get(name, REALS))
        for name in Given._fields
    ]
)


@njit(cache=True, nogil=True)
def keep_given(packed, entries, indices, indptr, q, kind, start, parameters, length):
    """The struct of a problem as it was given, with arrays of its own."""
    blocks, given = view(packed), structref.new(GivenType)  # type: ignore[call-arg]
    d = blocks.d.copy()
    set_mobilities(kind, parameters, blocks.size, d)
    given.entries, given.indices, given.indptr = entries.copy(), indices.copy(), indptr.copy()
    given.q, given.size, given.kind, given.start = q.copy(), blocks.size.copy(), kind.copy(), start.copy()
    given.parameters, given.d, given.length = parameters.copy(), d, length.copy()
    return given


@njit(cache=True, nogil=True)
def short_solve(packed, given, tol, impulse, velocity):
    """Impulses and velocities from zero into the arrays given.

    Returns:
        The shared residual and the number of sweeps.
    """
    blocks = view(packed)
    impulse, velocity = borrowed(impulse), borrowed(velocity)
    x = np.zeros(blocks.q.size)
    least = 2 * (LOOK_RELAXED if blocks.relaxed else LOOK)
    _, sweeps, _ = sweep_while_it_pays(blocks, x, MARGIN * tol, least, SWEEPS)
    impulse[:] = 0.0
    for i in range(x.size):
        impulse[blocks.row[i]] = blocks.scale[i] * x[i]
    entries, q = borrowed(given.entries), borrowed(given.q)
    size, kind, start, parameters = (
        borrowed(given.size), borrowed(given.kind), borrowed(given.start), borrowed(given.parameters)
    )  # fmt: skip
    d, length = borrowed(given.d), borrowed(given.length)
    if given.indptr.size:
        value = judge_sparse(
            entries, borrowed(given.indices), borrowed(given.indptr), q, size, kind, start, parameters, d,
            length, blocks.relaxed, impulse, velocity,
        )  # fmt: skip
    else:
        value = judge_dense(
            entries.reshape(q.size, q.size), q, size, kind, start, parameters, d, length, blocks.relaxed,
            impulse, velocity,
        )  # fmt: skip
    return value, sweeps
