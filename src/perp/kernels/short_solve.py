"""Small contact problems in one compiled call: sweeps from zero, and the verdict of the shared residual.

A contact or two are solved in a microsecond; what is done around that counts. The verdict is
`judge_contacts` on the problem as it was given, which knows nothing of the sweeps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from perp.compilation.kernel import kernel, part
from perp.kernels.borrowed import borrowed
from perp.kernels.packed import PackedType, build_dense, view
from perp.kernels.residual import norm, workspace
from perp.kernels.structs import INTEGERS, REALS, StructType, address_of, struct_at
from perp.kernels.sweep import sweep
from perp.kernels.sweeping import LOOK, sweep_while_it_pays
from perp.problems.data_size import set_mobilities
from perp.problems.law_kernels import judge_contacts
from perp.problems.set_kernels import COHESION, COULOMB

# What is left to do for the verdict, whose velocities have twice the digits.
MARGIN = 0.5
# Sweeps that have settled to this part of the tolerance need no second look: a contact or two are solved
# exactly, and a verdict costs as much as a sweep.
SETTLED = 1e-2
# More sweeps than this are never cheaper than Newton's method.
SWEEPS = 400


class Given(NamedTuple):
    """A problem as it was given, with the scales of its residual: what `judge_contacts` takes.

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


@part(shared=True)
def judge_given(given, relaxed, impulse, velocity):
    """The shared residual, with velocities into `velocity`."""
    return judge_contacts(
        (borrowed(given.entries), borrowed(given.indices), borrowed(given.indptr)), borrowed(given.q),
        borrowed(given.size), borrowed(given.kind), borrowed(given.start), borrowed(given.parameters),
        borrowed(given.d), borrowed(given.length), relaxed, impulse, velocity,
    )  # fmt: skip


@part
def unpack(blocks, x, impulse):
    """Impulses of the problem as it was given."""
    impulse[:] = 0.0
    for i in range(x.size):
        impulse[blocks.row[i]] = blocks.scale[i] * x[i]


@kernel(nogil=True)
def short_solve(packed, given, tol, impulse, velocity):
    """As `swept`, the problem by the addresses of its structs."""
    return swept(struct_at(PackedType, packed), struct_at(GivenType, given), tol, impulse, velocity)


@kernel(nogil=True, shared=True)
def swept(packed, given, tol, impulse, velocity):
    """Impulses and velocities from zero into the arrays given.

    Returns:
        The shared residual and the number of sweeps.
    """
    blocks, impulse, velocity = view(packed), borrowed(impulse), borrowed(velocity)
    x, work, first = np.zeros(blocks.q.size), workspace(), 0
    size = norm(blocks.q)
    while first < LOOK:
        first += 1
        moved = sweep(blocks, x, work)
        if moved <= SETTLED * tol * size or blocks.start.size == 2:
            break
    unpack(blocks, x, impulse)
    value = judge_given(given, blocks.relaxed, impulse, velocity)
    if value <= 10.0 * SETTLED * tol:
        return value, first
    done, own, sharp = first, 0.0, MARGIN * tol
    while done == first or (value > tol and own <= sharp and done < SWEEPS):
        # the measure of sweeps is another one: where it is met and the shared one is not, a sharper one
        sharp = sharp if done == first else MARGIN * tol * (own / value)
        own, sweeps, _ = sweep_while_it_pays(blocks, x, sharp, 2 * LOOK - done, SWEEPS - done)
        done += sweeps
        unpack(blocks, x, impulse)
        value = judge_given(given, blocks.relaxed, impulse, velocity)
    return value, done


class Chunk(NamedTuple):
    """Many problems with dense matrices in flat arrays, one after the other.

    Attributes:
        entries: Of all W, row by row. q: Of all rows. kind, start, parameters, length: Of all constraints, as
        in `packed.build`; `start` has one number more for every problem. entry, row, constraint: Where those
        of each problem begin, and how many there are, shape (problems + 1,). relaxed: Whether Γ is left out,
        shape (problems,).
    """

    entries: np.ndarray
    q: np.ndarray
    kind: np.ndarray
    start: np.ndarray
    parameters: np.ndarray
    length: np.ndarray
    entry: np.ndarray
    row: np.ndarray
    constraint: np.ndarray
    relaxed: np.ndarray


class Answers(NamedTuple):
    """What is found for a chunk: impulses and velocities of rows, residuals and sweeps of problems."""

    impulse: np.ndarray
    velocity: np.ndarray
    value: np.ndarray
    sweeps: np.ndarray


@part(shared=True)
def structs_of(chunk, k):
    """The two structs of problem k of a chunk."""
    first, end = chunk.constraint[k], chunk.constraint[k + 1]
    W, q = chunk.entries[chunk.entry[k] : chunk.entry[k + 1]], chunk.q[chunk.row[k] : chunk.row[k + 1]]
    start = chunk.start[first + k : end + k + 1]
    sets = chunk.kind[first:end], start, chunk.parameters[first:end], chunk.length[first:end]
    packed = build_dense(W.reshape(q.size, q.size), q, sets, chunk.relaxed[k])
    none = chunk.start[:0]
    return packed, keep_given(packed, (W, none, none), q, sets)


@part
def _is_cohesive(chunk, k):
    for c in range(chunk.constraint[k], chunk.constraint[k + 1]):
        if chunk.kind[c] >= COULOMB and chunk.parameters[c, COHESION] != 0.0:
            return True
    return False


@kernel(nogil=True)
def short_solves(chunk, tol, answers):
    """The problems of a chunk one after the other, each as `swept` does it, into the answers.

    What is cohesive has another form, and an infinite residual here.
    """
    for k in range(chunk.relaxed.size):
        if _is_cohesive(chunk, k):
            answers.value[k] = np.inf
            continue
        packed, given = structs_of(chunk, k)
        rows = slice(chunk.row[k], chunk.row[k + 1])
        answers.value[k], answers.sweeps[k] = swept(
            packed, given, tol, answers.impulse[rows], answers.velocity[rows]
        )
