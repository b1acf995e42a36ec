"""Exact rest for contacts with huge friction coefficients, below the round-off of large impulses.

Γ = μ ‖u_T‖ amplifies: with μ = 10⁶ a contact at rest must have ‖u_T‖ < 10⁻¹⁴ ‖q‖, while impulses of jammed
bodies may be 10⁵ times what would stop them, and the velocity of one unit in their last place is larger than
that. Impulses near zero have far finer last places: the least change of those, weighted by how fine they are,
that brings the amplified velocities to zero is so small that no other contact feels it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perp.problems import ContactProblem
from perp.problems.residual import judge
from perp.problems.sets import COULOMB, ELLIPTIC, ROLLING
from perp.problems.validation import Vector, is_sparse

# From this coefficient on round-off of a velocity shows in Γ.
HUGE = 100.0
# Velocities below this part of ‖q‖ are meant to be zero.
AT_REST = 1e-6
# Each change is rounded too; after a few nothing is gained.
CHANGES = 6
# Impulses below this part of the largest one count as equally fine.
FINEST = 1e-9


def amplified_rows(problem: ContactProblem) -> np.ndarray:
    """Rows whose velocity Γ multiplies by more than HUGE."""
    sets = problem.sets
    factor = np.zeros(sets.rows)
    for c in np.flatnonzero((sets.kind >= COULOMB) & (np.maximum(sets.a, sets.b) > HUGE)):
        rows = factor[sets.start[c] : sets.start[c + 1]]
        rows[1:3] = sets.a[c]
        if sets.kind[c] == ELLIPTIC:
            rows[2] = sets.b[c]
        elif sets.kind[c] == ROLLING:
            rows[3:] = sets.b[c] / problem.rolling_length[c]
    return np.flatnonzero(factor > HUGE)


def rest(problem: ContactProblem, impulse: Vector) -> Iterator[Vector]:
    """Impulses with the amplified velocities that nearly vanish closer to zero, better and better ones.

    Args:
        problem: The problem.
        impulse: Where to begin, shape (rows,) [N·s].
    """
    rows = amplified_rows(problem)
    if not rows.size:
        return
    z = impulse.copy()
    u = judge(problem, z)[1]
    unit = problem.row_scale
    rows = rows[np.abs(unit * u)[rows] <= AT_REST * np.linalg.norm(unit * problem.q)]
    size = np.abs(z) / unit * np.repeat(problem.column_scale, problem.sets.dimension)
    if not size.any():
        return
    # velocities per change of an impulse, which is weighted by how fine its last place is
    fine = unit / np.maximum(size, FINEST * size.max())
    W = problem.W[rows]
    A = (W.toarray() if is_sparse(W) else W) * fine
    length = np.linalg.norm(A, axis=1)
    rows, A, length = rows[length > 0.0], A[length > 0.0], length[length > 0.0]
    if not rows.size or not np.isfinite(A).all():
        return
    for _ in range(CHANGES):
        z += fine * np.linalg.lstsq(A / length[:, None], -u[rows] / length, rcond=1e-12)[0]
        yield z
        u = judge(problem, z)[1]
