"""Block principal pivoting on sparse matrices: sparse factors of the free block, nothing of n² numbers.

As in `principal`, wrong rows change sides all at once, and singly once that no longer lowers their number.
Two things make large problems short: between exchanges a few sweeps let the edges of free regions move by
more than one row, and for an LCP the first sides come from smaller problems (`coarse_start`). Both are for
matrices on which sweeps converge: symmetric ones, and those without a positive entry off the diagonal. A step
costs one sparse factorisation of the free block; memory is that of the factor.

Reference: Júdice and Pires, A block principal pivoting algorithm for large-scale strictly monotone linear
complementarity problems, Computers & Operations Research 21 (1994).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.problems import LCP, BoxedLCP, Status
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import is_symmetric
from perp.solvers.linear import factorise
from perp.solvers.pivoting.coarse_start import coarsen, smaller
from perp.solvers.pivoting.rows import AT_HI, AT_LO, FREE, bounds_of, describe, sides_of

# A problem with fewer rows is solved faster by the dense kernels.
SMALLEST = 400
# Symmetric sweeps between exchanges: on an obstacle problem with 10⁵ rows 20 save two of seven
# factorisations and take as long as a tenth of one.
SWEEPS = 20
# Exchanges that may fail to lower the number of wrong rows before sweeps are left out, and again as many
# before rows are exchanged singly.
PATIENCE = 10
# A smaller problem need not be solved to the last row: this fraction of wrong rows is repaired by the next.
GOOD_ENOUGH = 0.01
STEPS_PER_ROW = 5
# Signs are wrong only beyond this much of what was summed to get them.
ROUND_OFF = 4e-16
# Shift of a singular block relative to the scale of each column, and proximal steps that take it away.
SHIFT, PROXIMAL_STEPS = 1e-7, 40
# Pivoting is exact up to round-off: proximal steps end here.
SHARP = 1e-13


class SparseSteps:
    """One problem, the sides of its rows, and the exchange of those that are wrong."""

    def __init__(self, M: Any, q: Vector, bounds: tuple[Vector, Vector], symmetric: bool) -> None:
        self.M, self.q = M, q
        self.lo, self.hi = bounds
        self.symmetric = symmetric
        self.sweepable = (symmetric or has_no_positive_coupling(M)) and bool((M.diagonal() > 0.0).all())
        self.size = abs(M)
        self.steps = 0
        self.shift, self.scale = 0.0, np.zeros(q.size)
        self.center = np.zeros(q.size)
        self.sweeps: Any = None
        self.z = np.clip(np.zeros(q.size), *bounds)

    def solve(self, sides: np.ndarray) -> tuple[Vector, Vector] | None:
        """The z and w of these sides, free rows perhaps out of bounds; None where the block is singular."""
        z = np.where(sides == AT_LO, self.lo, np.where(sides == AT_HI, self.hi, 0.0))
        free = np.flatnonzero(sides == FREE)
        self.steps += 1
        if free.size:
            block = self.M[free][:, free]
            weight = self.shift * self.scale[free]
            solve = factorise(block, symmetric=self.symmetric, shift=weight if self.shift else None)
            if solve is None:
                return None
            for _ in range(2):  # the second pass removes round-off
                w = self.slack(z)
                change = solve(-w[free])
                if not np.isfinite(change).all():
                    return None
                z[free] += change
        self.z = z
        return z, self.slack(z)

    def slack(self, z: Vector) -> Vector:
        """w = M z + q, with the proximal term where there is one."""
        w = self.M @ z + self.q
        return w + self.shift * self.scale * (z - self.center) if self.shift else w

    def wrong(self, sides: np.ndarray, z: Vector, w: Vector) -> np.ndarray:
        """The rows whose sign is wrong."""
        noise = ROUND_OFF * (self.size @ np.abs(z) + np.abs(self.q))
        fixed = self.lo == self.hi
        outside = (sides == FREE) & ~((self.lo <= z) & (z <= self.hi))
        below = (sides == AT_LO) & (w < -noise) & ~fixed
        above = (sides == AT_HI) & (w > noise) & ~fixed
        return np.flatnonzero(outside | below | above)

    def sweep(self, z: Vector) -> Vector:
        """z within its bounds after a few symmetric sweeps."""
        from perp.solvers.projection.sweeps import Sweeper

        z = np.clip(z, self.lo, self.hi)
        if self.sweeps is None:
            self.sweeps = Sweeper(BoxedLCP(self.M, self.q, self.lo, self.hi, copy=False))
        backward = np.arange(z.size)[::-1].copy()
        for _ in range(SWEEPS):
            self.sweeps.sweep(z, 1)
            self.sweeps.sweep(z, 1, backward)
        return z


def has_no_positive_coupling(M: Any) -> bool:
    """Whether no entry off the diagonal of a sparse matrix is positive (a Z-matrix)."""
    rows = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))
    return bool((M.data[rows != M.indices] <= 0.0).all())


def exchange(steps: SparseSteps, sides: np.ndarray, control: Control, limit: int, enough: int = 0) -> str:
    """Exchange wrong rows in `sides` until at most `enough` are left; returns how that ended.

    Args:
        steps: The problem.
        sides: Changed in place.
        control: Says when time is up.
        limit: Steps at most.
        enough: So many wrong rows do not matter.

    Returns:
        "done", "singular", "limit" or "time".
    """
    fewest, patience = sides.size + 1, 2 * PATIENCE
    sweeping = steps.sweepable and not steps.shift
    while True:
        solved = steps.solve(sides)
        if solved is None:
            return "singular"
        z, w = solved
        wrong = steps.wrong(sides, z, w)
        if wrong.size <= enough:
            return "done"
        if steps.steps >= limit:
            return "limit"
        if control.out_of_time():
            return "time"
        if wrong.size < fewest:
            fewest, patience = wrong.size, 2 * PATIENCE
        else:
            patience -= 1
        if sweeping and patience > PATIENCE:
            sides[:] = sides_of(steps.sweep(z), steps.lo, steps.hi)
            continue
        chosen = wrong if patience > 0 else wrong[-1:]
        bound = np.where(z[chosen] < steps.lo[chosen], AT_LO, AT_HI)
        sides[chosen] = np.where(sides[chosen] == FREE, bound, FREE)


def first_sides(steps: SparseSteps, problem: LCP | BoxedLCP, control: Control) -> np.ndarray:
    """Sides of the start; else those of smaller problems, of sweeps, or of every row by itself."""
    if control.start is not None:
        return sides_of(control.start, steps.lo, steps.hi)
    if steps.sweepable:
        if isinstance(problem, LCP):
            return sides_of(
                steps.sweep(_from_smaller(steps.M, steps.q, steps.symmetric, control)), steps.lo, steps.hi
            )
        return sides_of(steps.sweep(np.zeros(steps.q.size)), steps.lo, steps.hi)
    diagonal = steps.M.diagonal()
    alone = -steps.q / np.where(diagonal > 0.0, diagonal, problem.column_scale)
    return sides_of(alone, steps.lo, steps.hi)


def _from_smaller(M: Any, q: Vector, symmetric: bool, control: Control) -> Vector:
    """An approximate z of an LCP by the smaller problem that aggregates of rows make; zero without one."""
    P = coarsen(M) if q.size > SMALLEST else None
    if P is None:
        return np.zeros(q.size)
    small, small_q = smaller(M, q, P)
    zeros, none = np.zeros(small_q.size), np.full(small_q.size, np.inf)
    steps = SparseSteps(small, small_q, (zeros, none), symmetric)
    if not (small.diagonal() > 0.0).all():  # M was no M-matrix
        return np.zeros(q.size)
    sides = sides_of(steps.sweep(_from_smaller(small, small_q, symmetric, control)), zeros, none)
    exchange(steps, sides, control, 2 * PATIENCE, enough=int(GOOD_ENOUGH * small_q.size))
    z = np.maximum(steps.z, 0.0)
    return P @ z if np.isfinite(z).all() else np.zeros(q.size)


def sparse_principal(problem: LCP | BoxedLCP, control: Control) -> Attempt:
    """Solve a large sparse (boxed) LCP by block principal pivoting."""
    steps = SparseSteps(problem.M, problem.q, bounds_of(problem), is_symmetric(problem.M))
    limit = control.limit(STEPS_PER_ROW * problem.size)
    sides = first_sides(steps, problem, control)
    outcome = exchange(steps, sides, control, limit)
    if outcome == "singular":
        z, outcome = _proximal(problem, steps, sides, control, limit)
    else:
        z = np.clip(steps.z, steps.lo, steps.hi)
    reasons = {"limit": Status.ITERATION_LIMIT, "time": Status.TIME_LIMIT, "singular": Status.STALLED}
    info = describe(sides, steps.steps, bounded=isinstance(problem, BoxedLCP))
    control.check(steps.steps, z)
    return Attempt(z, steps.steps, reasons.get(outcome), info)


def _proximal(
    problem: LCP | BoxedLCP, steps: SparseSteps, sides: np.ndarray, control: Control, limit: int
) -> tuple[Vector, str]:
    """Proximal steps for a singular block until the residual is sharp or stops falling."""
    steps.shift, steps.scale = SHIFT, problem.column_scale
    best, answer = np.inf, np.clip(np.zeros(problem.size), steps.lo, steps.hi)
    steps.center = answer
    outcome = "singular"
    for _ in range(PROXIMAL_STEPS):
        outcome = exchange(steps, sides, control, limit)
        z = np.clip(steps.z, steps.lo, steps.hi)
        value = control.measure(z)
        falling = value < 0.5 * best
        if value < best:
            best, answer = value, z
        if outcome != "done" or best <= SHARP or not falling:
            break
        steps.center = z
    return answer, "done" if best <= control.tol else outcome
