"""Boxed rows with a guessed active set: who sits at a bound, and the linear system of the others.

The natural map is piecewise affine, so a semismooth Newton step on it is the solution of the linear system of
the current piece: z_i = bound for rows at a bound, w_i = 0 for the rest. A bound that follows a normal row
makes z_i = μ z_n there; substituting it keeps the derivative of the moving bound in the system.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perp.problems.validation import Vector, is_sparse
from perp.solvers.boxed_rows import Rows
from perp.solvers.linear import solve_regularised


def classify(rows: Rows, z: Vector, w: Vector, scale: Vector) -> np.ndarray:
    """The piece of the natural map at z: −1 at lo, 0 inside, +1 at hi, shape (n,)."""
    lo, hi = rows.bounds(z)
    target = z - w / scale
    side = np.zeros(rows.size, dtype=np.int8)
    side[target >= hi] = 1
    side[target <= lo] = -1
    side[np.isinf(lo) & (side < 0)] = 0
    side[np.isinf(hi) & (side > 0)] = 0
    return side


def solve_piece(rows: Rows, side: np.ndarray, z: Vector) -> Vector | None:
    """The point where the piece `side` is solved exactly, or None when its system cannot be factorised.

    Args:
        rows: The problem.
        side: As from `classify`.
        z: The current point: decides whether a limiting row counts as positive.
    """
    inner = np.flatnonzero(side == 0)
    fixed = np.flatnonzero(side != 0)
    bound = np.where(side > 0, rows.hi, rows.lo)
    answer = np.zeros(rows.size)
    own = fixed[rows.limiting_row[fixed] == -1]
    answer[own] = bound[own]
    followers = fixed[rows.limiting_row[fixed] != -1]
    index = rows.limiting_row[followers]
    magnitude = index < -1
    leaders = np.where(magnitude, -2 - index, index)
    # the bound follows +z_n, or −z_n where that is negative and only its magnitude counts
    sign = np.where(magnitude & (z[leaders] < 0.0), -1.0, 1.0)
    constant = side[leaders] != 0
    limit = np.maximum(sign[constant] * answer[leaders[constant]], 0.0)
    answer[followers[constant]] = bound[followers[constant]] * limit
    moving = ~constant & (sign * z[leaders] > 0.0)
    followers, leaders = followers[moving], leaders[moving]
    bound[followers] *= sign[moving]
    b = -(rows.q[inner] + rows.M[inner] @ answer)
    block = rows.M[inner][:, inner] if is_sparse(rows.M) else rows.M[np.ix_(inner, inner)]
    if followers.size:
        from scipy.sparse import csr_array

        position = np.full(rows.size, -1)
        position[inner] = np.arange(inner.size)
        coupling = csr_array(
            (bound[followers], (np.arange(followers.size), position[leaders])),
            shape=(followers.size, inner.size),
        )
        block = block + rows.M[inner][:, followers] @ coupling
    solved = solve_regularised(block, b, symmetric=rows.symmetric and not followers.size)
    if solved is None:
        return None
    answer[inner] = solved
    answer[followers] = bound[followers] * sign[moving] * np.maximum(sign[moving] * answer[leaders], 0.0)
    return answer


def minimise_on_face(
    rows: Rows, side: np.ndarray, z: Vector, merit: Callable[[Vector], float], reductions: int
) -> tuple[Vector, float] | None:
    """Solve a piece, pull the answer into the box, let the rows that hit a bound stay there, and repeat.

    Args:
        rows: The problem.
        side: The first guess, as from `classify`.
        z: The current point.
        merit: What is to be lowered.
        reductions: Pieces solved at most.

    Returns:
        The best of the points found and its merit, or None when no piece could be solved.
    """
    best: tuple[Vector, float] | None = None
    for _ in range(reductions):
        solved = solve_piece(rows, side, z)
        if solved is None:
            break
        z = rows.clip(solved)
        value = merit(z)
        if best is None or value < best[1]:
            best = (z, value)
        lo, hi = rows.bounds(z)
        hit = np.where(solved > hi, 1, np.where(solved < lo, -1, 0)).astype(np.int8)
        if not hit[side == 0].any():
            break
        side = np.where(side == 0, hit, side)
    return best


def descend_to_face_minimum(rows: Rows, side: np.ndarray, z: Vector, pieces: int) -> Vector:
    """Walk towards the solution of the piece, stop at the first bound, keep that row there, and repeat.

    For a symmetric positive semidefinite M and bounds that stay where they are ½ zᵀMz + qᵀz falls with every
    step, however far along a nearly flat direction the piece's solution lies.

    Args:
        rows: The problem, without bounds that follow another row.
        side: The first guess, as from `classify`.
        z: A point of the box.
        pieces: Pieces solved at most.
    """
    side = side.copy()
    z = np.where(side > 0, rows.hi, np.where(side < 0, rows.lo, z))
    for _ in range(pieces):
        solved = solve_piece(rows, side, z)
        if solved is None:
            break
        change = solved - z
        moving = np.flatnonzero((side == 0) & (change != 0.0))
        if not moving.size:
            break
        bound = np.where(change > 0, rows.hi, rows.lo)[moving]
        length = (bound - z[moving]) / change[moving]
        first = int(np.argmin(length))
        if length[first] >= 1.0:
            return rows.clip(solved)
        z = rows.clip(z + max(length[first], 0.0) * change)
        row = moving[first]
        z[row], side[row] = bound[first], 1 if change[row] > 0 else -1
    return z
