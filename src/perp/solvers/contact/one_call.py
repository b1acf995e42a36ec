"""Small contact problems in one compiled call: sweeps, and the verdict of the shared residual.

A contact or two are solved in a microsecond; what is done around that counts. The sweeps are those of the
first stage, the verdict is `judge_sparse` or `judge_dense` on their answer, which knows nothing of them.
"""

from __future__ import annotations

from numba import njit

from perp.kernels.borrowed import borrowed
from perp.problems.law_kernels import judge_dense, judge_sparse
from perp.solvers.contact.first_stage import sweep_from
from perp.solvers.contact.packed import unpack


@njit(cache=True, nogil=True)
def solve_packed(integers, numbers, relaxed, tol, impulse, velocity):
    """Impulses and velocities from zero into the arrays given.

    Args:
        integers: As `pack_sparse` or `pack_dense` made them.
        numbers: Those as well.
        relaxed: Whether Γ is left out.
        tol: The residual to reach.
        impulse: Receives the impulses, shape (rows,).
        velocity: Receives the velocities, shape (rows,).

    Returns:
        The shared residual, the residual that the sweeps saw, and their number.
    """
    blocks, given = unpack(borrowed(integers), borrowed(numbers), relaxed)
    impulse, velocity = borrowed(impulse), borrowed(velocity)
    impulse[:] = 0.0
    seen, sweeps = sweep_from(blocks, impulse, tol)
    n = given.q.size
    if given.indptr.size:
        value = judge_sparse(
            given.entries, given.indices, given.indptr, given.q, given.size, given.kind, given.start,
            given.a, given.b, given.d, given.length, relaxed, impulse, velocity,
        )  # fmt: skip
    else:
        value = judge_dense(
            given.entries.reshape(n, n), given.q, given.size, given.kind, given.start, given.a, given.b,
            given.d, given.length, relaxed, impulse, velocity,
        )  # fmt: skip
    return value, seen, sweeps
