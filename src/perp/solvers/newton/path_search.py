"""One step of a path search for box-constrained complementarity problems.

The normal map f(z) + D (x − z), z = x clipped to the box, is linearised at the current point. The path x(t)
on which the linearisation equals (1 − t) times its first value is piecewise linear: it is followed cell by
cell, exchanging one column of the matrix whenever an unknown meets a bound, to t = 1 or as far as it goes.
The step is the farthest point of the path at which the true normal map has shrunk. Costs
O(n²) a cell.

References: Ralph, Global convergence of damped Newton's method for nonsmooth equations via the path search
(1994); Dirkse and Ferris, The PATH solver (1995).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perp.problems import MCP
from perp.problems.validation import Vector

# A path through a nondegenerate problem visits each unknown a few times.
CELLS_PER_UNKNOWN = 6
# Proximal term that makes the linearisation regular; it vanishes with the normal map, so that the last steps
# are Newton's.
PROXIMAL = 0.1
# Fraction of the predicted decrease that a point of the path must keep (Armijo).
ENOUGH = 1e-4
HALVINGS = 30
# A column exchange with a smaller pivot, or after so many others, starts from a fresh inverse.
SMALLEST_PIVOT, UPDATES = 1e-7, 60


def path_search(
    problem: MCP, z: Vector, matrix: np.ndarray, d: Vector, out_of_time: Callable[[], bool]
) -> Vector | None:
    """A point of the box with a smaller normal map than z, or None when the path has none.

    Args:
        problem: The problem.
        z: The current point; what lies outside the box is moved into it.
        matrix: Jacobian of f near z, dense.
        d: Scale of each unknown (change of f per unit of it), shape (n,).
        out_of_time: Whether to give up.
    """
    path, size = _path(problem, z, matrix, d, out_of_time)
    for t, point in _backwards(path):
        clipped = np.clip(point, problem.lo, problem.hi)
        new = problem.evaluate(clipped) + d * (point - clipped)
        if np.isfinite(new).all() and np.linalg.norm(new) <= (1.0 - ENOUGH * t) * size:
            return clipped
    return None


def path_step(
    problem: MCP, z: Vector, matrix: np.ndarray, d: Vector, out_of_time: Callable[[], bool]
) -> tuple[Vector, float]:
    """The end of the path, whatever the normal map is there, and the norm of the normal map at z.

    From far away such steps often lead to where Newton's method converges although they first lead uphill.
    """
    path, size = _path(problem, z, matrix, d, out_of_time)
    return np.clip(path[-1][1], problem.lo, problem.hi), size


def _path(
    problem: MCP, z: Vector, matrix: np.ndarray, d: Vector, out_of_time: Callable[[], bool]
) -> tuple[list[tuple[float, Vector]], float]:
    """Corners of the path that begins at z, and the norm of the normal map there."""
    lo, hi = problem.lo, problem.hi
    z = np.clip(z, lo, hi)
    f = problem.evaluate(z)
    x = np.where((z <= lo) & (f > 0), z - f / d, np.where((z >= hi) & (f < 0), z - f / d, z))
    value = f + d * (x - z)
    size = float(np.linalg.norm(value))
    proximal = PROXIMAL * min(1.0, size / float(np.linalg.norm(d)))
    return _follow(matrix + proximal * np.diag(d), d, lo, hi, x, value, out_of_time), size


def _follow(
    matrix: np.ndarray,
    d: Vector,
    lo: Vector,
    hi: Vector,
    x: Vector,
    value: Vector,
    out_of_time: Callable[[], bool],
) -> list[tuple[float, Vector]]:
    """Corners (t, x) of the piecewise linear path, from t = 0."""
    corners = [(0.0, x.copy())]
    # −1 below the box, 0 inside, 1 above: which column the cell's matrix has
    side = np.where(x < lo, -1, np.where(x > hi, 1, 0))
    t, crossing, heading = 0.0, -1, 0.0
    cell = _Cell(np.where(side == 0, matrix, np.diag(d)))
    for _ in range(CELLS_PER_UNKNOWN * x.size + 10):
        if out_of_time():
            break
        direction = cell.solve(-value)
        if not np.isfinite(direction).all():
            break
        rate = 1.0
        if crossing >= 0 and direction[crossing] * heading < 0:
            direction, rate = -direction, -1.0
        length, hit = _next_wall(x, direction, side, lo, hi, crossing)
        if rate > 0 and t + length >= 1.0:
            corners.append((1.0, x + (1.0 - t) * direction))
            break
        if not np.isfinite(length):
            break
        x = x + length * direction
        t += rate * length
        if t < 0:
            break
        x[hit] = _wall(hit, side[hit], direction[hit], lo, hi)
        side[hit] = 0 if side[hit] != 0 else (1 if direction[hit] > 0 else -1)
        cell.exchange(hit, matrix[:, hit] if side[hit] == 0 else d[hit] * np.eye(1, x.size, hit)[0])
        crossing, heading = hit, float(direction[hit])
        corners.append((t, x.copy()))
    return corners


class _Cell:
    """The matrix of a cell with its inverse, updated when one column is exchanged."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix
        self._invert()

    def _invert(self) -> None:
        self.updates = 0
        try:
            self.inverse = np.linalg.inv(self.matrix)
        except np.linalg.LinAlgError:
            self.inverse = np.full_like(self.matrix, np.nan)

    def solve(self, right: Vector) -> Vector:
        """matrix⁻¹ right, refined once; not finite where the matrix is singular."""
        answer = self.inverse @ right
        return answer + self.inverse @ (right - self.matrix @ answer)

    def exchange(self, i: int, column: Vector) -> None:
        """Put `column` in place of column i (Sherman and Morrison; a fresh inverse now and then)."""
        change = self.inverse @ (column - self.matrix[:, i])
        self.matrix[:, i] = column
        pivot = 1.0 + change[i]
        self.updates += 1
        if abs(pivot) < SMALLEST_PIVOT or self.updates >= UPDATES:
            self._invert()
        else:
            self.inverse -= np.outer(change / pivot, self.inverse[i])


def _wall(i: int, side: int, direction: float, lo: Vector, hi: Vector) -> float:
    """The bound that unknown i meets."""
    if side == 0:
        return hi[i] if direction > 0 else lo[i]
    return lo[i] if side < 0 else hi[i]


def _next_wall(
    x: Vector, direction: Vector, side: np.ndarray, lo: Vector, hi: Vector, last: int
) -> tuple[float, int]:
    """How far the cell goes along the direction, and which unknown leaves it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(side == 0, hi, np.where(side < 0, lo, np.inf))
        down = np.where(side == 0, lo, np.where(side > 0, hi, -np.inf))
        length = np.where(
            direction > 0, (up - x) / direction, np.where(direction < 0, (down - x) / direction, np.inf)
        )
    length = np.where(np.isnan(length), np.inf, np.maximum(length, 0.0))
    if last >= 0 and length[last] == 0.0:
        # it stands on the wall that it has just crossed, and leaves it
        length[last] = np.inf
    hit = int(np.argmin(length))
    return float(length[hit]), hit


def _backwards(path: list[tuple[float, Vector]]) -> list[tuple[float, Vector]]:
    """Points to try: the corners with growing t from the last one, then ever shorter first pieces."""
    points = [corner for corner in reversed(path) if corner[0] > 0]
    if len(path) > 1:
        (_, first), (t, second) = path[0], path[1]
        points += [(t * 0.5**k, first + 0.5**k * (second - first)) for k in range(1, HALVINGS)]
    return points
