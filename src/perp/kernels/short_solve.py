"""Small contact problems in one compiled call: sweeps from zero, and the verdict of the shared residual.

A contact or two are solved in a microsecond; what is done around that counts. The verdict is `judge_sparse`
or `judge_dense` on the problem as it was given, which know nothing of the sweeps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from perp.compilation.kernel import kernel, part
from perp.kernels.borrowed import borrowed
from perp.kernels.packed import PackedType, view
from perp.kernels.residual import norm, workspace
from perp.kernels.structs import INTEGERS, REALS, StructType, address_of, struct_at
from perp.kernels.sweep import sweep
from perp.kernels.sweeping import LOOK, sweep_while_it_pays
from perp.problems.data_size import set_mobilities
from perp.problems.law_kernels import judge_dense, judge_sparse

# What is left to do for the verdict, whose velocities have twice the digits.
MARGIN = 0.5
# Sweeps that have settled to this part of the tolerance need no second look: a contact or two are solved
# exactly, and a verdict costs as much as a sweep.
SETTLED = 1e-2
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


@kernel(nogil=True)
def keep_given(packed, W, q, sets):
    """The struct of a problem as it was given, with arrays of its own; W and sets as in `packed.build`."""
    (entries, indices, indptr), (kind, start, parameters, length) = W, sets
    blocks, given = view(packed), structref.new(GivenType)  # type: ignore[call-arg]
    d = blocks.d.copy()
    set_mobilities(kind, parameters, blocks.size, d)
    given.entries, given.indices, given.indptr = entries.copy(), indices.copy(), indptr.copy()
    given.q, given.size, given.kind, given.start = q.copy(), blocks.size.copy(), kind.copy(), start.copy()
    given.parameters, given.d, given.length = parameters.copy(), d, length.copy()
    return given


@kernel(nogil=True)
def addresses(packed, given):
    """Where the two structs are; whoever calls `short_solve` holds them."""
    return address_of(packed), address_of(given)


@part
def _judge(given, relaxed, impulse, velocity):
    """The shared residual, with velocities into `velocity`."""
    entries, q = borrowed(given.entries), borrowed(given.q)
    size, kind, start, parameters = (
        borrowed(given.size), borrowed(given.kind), borrowed(given.start), borrowed(given.parameters)
    )  # fmt: skip
    d, length = borrowed(given.d), borrowed(given.length)
    if given.indptr.size:
        return judge_sparse(
            entries, borrowed(given.indices), borrowed(given.indptr), q, size, kind, start, parameters, d,
            length, relaxed, impulse, velocity,
        )  # fmt: skip
    W = entries.reshape(q.size, q.size)
    return judge_dense(W, q, size, kind, start, parameters, d, length, relaxed, impulse, velocity)


@part
def _unpack(blocks, x, impulse):
    """Impulses of the problem as it was given."""
    impulse[:] = 0.0
    for i in range(x.size):
        impulse[blocks.row[i]] = blocks.scale[i] * x[i]


@kernel(nogil=True, shared=True)
def short_solve(packed, given, tol, impulse, velocity):
    """Impulses and velocities from zero into the arrays given; the problem by the addresses of its structs.

    Returns:
        The shared residual and the number of sweeps.
    """
    blocks, given = view(struct_at(PackedType, packed)), struct_at(GivenType, given)
    impulse, velocity = borrowed(impulse), borrowed(velocity)
    x, work, first = np.zeros(blocks.q.size), workspace(), 0
    size = norm(blocks.q)
    while first < LOOK:
        first += 1
        moved = sweep(blocks, x, work)
        if moved <= SETTLED * tol * size or blocks.start.size == 2:
            break
    _unpack(blocks, x, impulse)
    value = _judge(given, blocks.relaxed, impulse, velocity)
    if value <= 10.0 * SETTLED * tol:
        return value, first
    _, sweeps, _ = sweep_while_it_pays(blocks, x, MARGIN * tol, 2 * LOOK - first, SWEEPS)
    _unpack(blocks, x, impulse)
    return _judge(given, blocks.relaxed, impulse, velocity), first + sweeps


@kernel(nogil=True)
def short_solves(packed, given, first, tol, impulse, velocity, value, sweeps):
    """Many problems by the addresses of their structs, one after the other; as `short_solve` for each.

    Args:
        packed: Addresses, shape (problems,).
        given: Addresses, shape (problems,).
        first: Where the rows of each begin, and their number, shape (problems + 1,).
        tol: What the residual is held against.
        impulse: Of all rows, are filled.
        velocity: Of all rows, are filled.
        value: Residuals, are filled, shape (problems,).
        sweeps: Their numbers, are filled, shape (problems,).
    """
    for k in range(packed.size):
        rows = slice(first[k], first[k + 1])
        value[k], sweeps[k] = short_solve(packed[k], given[k], tol, impulse[rows], velocity[rows])
