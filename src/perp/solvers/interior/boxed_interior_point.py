"""Predictor–corrector interior point for monotone boxed problems.

Every finite bound gets a multiplier, w = u − v with (z − lo) u = μ and (hi − z) v = μ, and μ is driven to
zero along Mehrotra's predictor and corrector: two solves with one factorisation of M + u/(z − lo) + v/(hi −
z) an iteration, 10 to 25 iterations at any size. Rows without bounds take part without a barrier, fixed rows
are left out. The last iterate is sharpened by solving the active set that it shows.

Reference: Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optim. 2 (1992).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.problems import Status
from perp.problems.validation import Vector, freeze, is_sparse
from perp.solvers.active_set import solve_piece
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import RowProblem, Rows, refuses_following, register_rows, rows_of_problem
from perp.solvers.linear import factorise

ITERATIONS = 100
# Fraction of the way to the boundary: the usual choice, short enough to stay centred.
TO_BOUNDARY = 0.995
# Diagonal shift of the matrix in those units: keeps redundant free rows factorisable; one refinement removes
# it.
SHIFT = 1e-13
# The active set is tried once the complementarity gap is below this fraction of its first value.
POLISH_FROM = 1e-4


class _Path:
    """The iterate (z, u, v) of the rows that are not fixed, and one predictor–corrector step."""

    def __init__(self, rows: Rows, start: Vector | None) -> None:
        self.free = np.flatnonzero(rows.lo < rows.hi)
        k = self.free
        fixed = np.where(rows.lo < rows.hi, 0.0, rows.lo)
        self.base = fixed
        self.symmetric = rows.symmetric
        # unknowns in units of 1/√M_ii: mass ratios leave the barrier, and all rows weigh the same
        self.unit = 1.0 / np.sqrt(rows.divisor[k])
        self.M: Any = rows.M[k][:, k] if is_sparse(rows.M) else rows.M[np.ix_(k, k)]
        if is_sparse(self.M):
            from scipy.sparse import diags_array

            self.M = (diags_array(self.unit) @ self.M @ diags_array(self.unit)).tocsr()
        else:
            self.M = self.unit[:, None] * self.M * self.unit
        self.q = self.unit * rows.slack(fixed, np.empty(rows.size))[k]
        self.lo, self.hi = rows.lo[k] / self.unit, rows.hi[k] / self.unit
        self.has_lo, self.has_hi = np.isfinite(self.lo), np.isfinite(self.hi)
        size = float(np.max(np.abs(self.q), initial=0.0)) or 1.0
        begin = np.zeros(k.size) if start is None else start[k] / self.unit
        self.z = self._inside(begin, np.full(k.size, size))
        self.u, self.v = np.where(self.has_lo, size, 0.0), np.where(self.has_hi, size, 0.0)
        self.pairs = int(self.has_lo.sum() + self.has_hi.sum())

    def _inside(self, z: Vector, room: Vector) -> Vector:
        """A point well inside the box: at most `room`, and at most halfway, from the bounds."""
        width = np.where(self.has_lo & self.has_hi, self.hi - self.lo, np.inf)
        margin = np.minimum(room, 0.5 * width)
        low = np.where(self.has_lo, self.lo + margin, -np.inf)
        high = np.where(self.has_hi, self.hi - margin, np.inf)
        return np.clip(z, low, np.maximum(low, high))

    def slacks(self) -> tuple[Vector, Vector]:
        """The distances z − lo and hi − z, 1 where there is no bound."""
        tiny = np.finfo(float).tiny
        s = np.where(self.has_lo, np.maximum(self.z - np.where(self.has_lo, self.lo, 0.0), tiny), 1.0)
        t = np.where(self.has_hi, np.maximum(np.where(self.has_hi, self.hi, 0.0) - self.z, tiny), 1.0)
        return s, t

    def gap(self) -> float:
        """Mean complementarity μ."""
        s, t = self.slacks()
        return float(s @ self.u + t @ self.v) / max(1, self.pairs)

    def answer(self) -> Vector:
        """The point z of all rows."""
        z = self.base.copy()
        z[self.free] = self.unit * self.z
        return z

    def active(self) -> np.ndarray:
        """The active set that the iterate shows, −1 at lo, +1 at hi, for all rows."""
        s, t = self.slacks()
        side = np.ones(self.base.size, dtype=np.int8)
        mine = np.zeros(self.free.size, dtype=np.int8)
        mine[self.has_hi & (t < self.v)] = 1
        mine[self.has_lo & (s < self.u)] = -1
        side[self.free] = mine
        return side

    def step(self) -> float:
        """One predictor–corrector step; returns its length, 0 when the system cannot be factorised."""
        s, t = self.slacks()
        dual = self.M @ self.z + self.q - self.u + self.v
        barrier = self.u / s + self.v / t
        if is_sparse(self.M):
            from scipy.sparse import diags_array

            K = (self.M + diags_array(barrier)).tocsr()
        else:
            K = self.M + np.diag(barrier)
        solve = factorise(K, symmetric=self.symmetric, shift=np.full(s.size, SHIFT))
        if solve is None:
            return 0.0

        def newton(target_s: Vector, target_t: Vector) -> tuple[Vector, Vector, Vector]:
            from_lo = np.where(self.has_lo, target_s / s - self.u, 0.0)
            from_hi = np.where(self.has_hi, target_t / t - self.v, 0.0)
            right = -dual + from_lo - from_hi
            dz = solve(right)
            dz = dz + solve(right - K @ dz)
            return dz, from_lo - self.u / s * dz, from_hi + self.v / t * dz

        none = np.zeros_like(s)
        dz, du, dv = newton(none, none)
        length = self._length(s, t, dz, du, dv)
        mu = self.gap()
        reached = float(
            np.where(self.has_lo, (s + length * dz) * (self.u + length * du), 0.0).sum()
            + np.where(self.has_hi, (t - length * dz) * (self.v + length * dv), 0.0).sum()
        ) / max(1, self.pairs)
        target = mu * min(1.0, (reached / mu) ** 3) if mu > 0 and self.pairs else 0.0
        dz, du, dv = newton(target - dz * du, target + dz * dv)
        length = TO_BOUNDARY * self._length(s, t, dz, du, dv)
        length = min(1.0, length) if self.pairs else 1.0
        if not (np.isfinite(dz).all() and np.isfinite(du).all() and np.isfinite(dv).all()):
            return 0.0
        self.z = self.z + length * dz
        self.u, self.v = self.u + length * du, self.v + length * dv
        return length

    def _length(self, s: Vector, t: Vector, dz: Vector, du: Vector, dv: Vector) -> float:
        """The longest step that keeps all slacks and multipliers nonnegative (may exceed 1)."""
        longest = 1.0 / TO_BOUNDARY
        pairs = (
            (s, dz, self.has_lo), (t, -dz, self.has_hi), (self.u, du, self.has_lo), (self.v, dv, self.has_hi)
        )  # fmt: skip
        for value, change, has in pairs:
            falling = has & (change < 0)
            if falling.any():
                longest = min(longest, float((-value[falling] / change[falling]).min()))
        return longest


@register_rows(
    "boxed-interior-point",
    refuses=refuses_following,
    summary="predictor–corrector interior point; monotone matrices, symmetric or not",
)
def boxed_interior_point(problem: RowProblem, control: Control, options: object) -> Attempt:
    """Solve a monotone boxed problem by a predictor–corrector interior-point method."""
    rows = rows_of_problem(problem)
    path = _Path(rows, control.start)
    first = path.gap()
    done, short = 0, 0
    last_side: np.ndarray | None = None
    while not control.check(done, path.answer()):
        if done >= control.limit(ITERATIONS):
            control.reason = Status.ITERATION_LIMIT
            break
        if path.gap() <= POLISH_FROM * first:
            side = path.active()
            if last_side is None or not np.array_equal(side, last_side):
                last_side = side
                polished = solve_piece(rows, freeze(side), path.answer())
                if polished is not None and control.check(done, rows.clip(polished)):
                    break
        with np.errstate(all="ignore"):  # a step that overflows is rejected by its length
            length = path.step()
        short = short + 1 if length < 1e-8 else 0
        if length == 0.0 or short >= 3:
            control.reason = Status.STALLED
            break
        done += 1
    return control.attempt(path.answer(), done)
