"""Block principal pivoting on sparse matrices: sparse factors of the free block, nothing of n² numbers.

As in `principal`, wrong rows change sides all at once, and singly once that no longer lowers their number.
Three things make large problems short: between exchanges a few sweeps let the edges of free regions move by
more than one row; for an LCP the first sides come from smaller problems (`coarse_start`); and where M has no
positive entry off the diagonal, so that free regions can only grow, they grow by twice as many rows a step
until that was too far. The first two are for matrices on which sweeps converge: symmetric ones, and those
without a positive entry off the diagonal. A step costs one sparse factorisation of the free block; memory is
that of the factor. Its solution is refined with twice the digits: on a mesh with 10⁵ rows the factor alone
leaves 10⁻⁶ of z, and rows that barely touch would change sides for ever.

Reference: Júdice and Pires, A block principal pivoting algorithm for large-scale strictly monotone linear
complementarity problems, Computers & Operations Research 21 (1994); Hintermüller, Ito and Kunisch, The
primal-dual active set strategy as a semismooth Newton method, SIAM J. Optim. 13 (2002), for M-matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.compilation.kernel import kernel
from perp.problems import LCP, BoxedLCP, Status
from perp.problems.accurate_slack import exact_row, sum_error
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.linear import factorise
from perp.solvers.pivoting.coarse_start import coarsen, has_no_positive_coupling, smaller
from perp.solvers.pivoting.rows import AT_HI, AT_LO, FREE, bounds_of, describe, sides_of
from perp.solvers.symmetry import is_symmetric

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
# Steps: so many a row while a step is cheap, and those that read so many entries of M where it is not (100 on
# 10⁵ rows: 4 s for a band, half a minute for a mesh); what needs more ends there, and says so.
STEPS_PER_ROW, WORK, FEWEST_STEPS = 5, 3 * 10**7, 100
# Solves with the factor of a block: the second and third leave what doubles can hold of z where its condition
# is below 10¹⁰.
REFINEMENTS = 3
# Signs are wrong only beyond this much of what was summed to get them.
ROUND_OFF = 4e-16
# Shift of a singular block relative to the scale of each column, and proximal steps that take it away.
SHIFT, PROXIMAL_STEPS = 1e-7, 40
# Pivoting is exact up to round-off: proximal steps end here.
SHARP = 1e-13


@kernel
def slack_of_pairs(data, indices, indptr, q, z, low, w):
    """w = M (z + low) + q for z in two parts, as if with twice the digits."""
    for i in range(q.size):
        w[i], _ = exact_row((data, indices, indptr), q, z, i)
        for k in range(indptr[i], indptr[i + 1]):
            w[i] += data[k] * low[indices[k]]


@kernel
def add_exactly(z, low, change):
    """Add to z, and to low what z cannot hold."""
    for i in range(z.size):
        total = z[i] + change[i]
        low[i] += sum_error(z[i], change[i], total)
        z[i] = total


class SparseSteps:
    """One problem, the sides of its rows, and the exchange of those that are wrong."""

    def __init__(self, M: Any, q: Vector, bounds: tuple[Vector, Vector], symmetric: bool) -> None:
        self.M, self.q = M, q
        self.lo, self.hi = bounds
        self.symmetric = symmetric
        coupled = has_no_positive_coupling(M)
        self.sweepable = (symmetric or coupled) and bool((M.diagonal() > 0.0).all())
        self.growing = coupled and bool(np.isinf(self.hi).all())
        self.size = abs(M)
        self.steps = 0
        self.shift, self.scale = 0.0, np.zeros(q.size)
        self.center = np.zeros(q.size)
        self.sweeps: Any = None
        self.z = np.clip(np.zeros(q.size), *bounds)

    def solve(self, sides: np.ndarray) -> tuple[Vector, Vector] | None:
        """The z and w of these sides, free rows perhaps out of bounds; None where the block is singular."""
        z = np.where(sides == AT_LO, self.lo, np.where(sides == AT_HI, self.hi, 0.0))
        low = np.zeros(z.size)
        free = np.flatnonzero(sides == FREE)
        self.steps += 1
        if free.size:
            block = self.M[free][:, free]
            weight = self.shift * self.scale[free]
            solve = factorise(block, symmetric=self.symmetric, shift=weight if self.shift else None)
            if solve is None:
                return None
            for _ in range(REFINEMENTS):
                change = np.zeros(z.size)
                change[free] = solve(-self.slack(z, low)[free])
                if not np.isfinite(change).all():
                    return None
                add_exactly(z, low, change)
        self.z = z
        return z, self.slack(z, low)

    def slack(self, z: Vector, low: Vector) -> Vector:
        """w = M (z + low) + q, with the proximal term where there is one."""
        w = np.empty(z.size)
        slack_of_pairs(self.M.data, self.M.indices, self.M.indptr, self.q, z, low, w)
        return w + self.shift * self.scale * (z - self.center) if self.shift else w

    def wrong(self, sides: np.ndarray, z: Vector, w: Vector) -> np.ndarray:
        """The rows whose sign is wrong."""
        noise = ROUND_OFF * (self.size @ np.abs(z) + np.abs(self.q))
        fixed = self.lo == self.hi
        outside = (sides == FREE) & ~((self.lo <= z) & (z <= self.hi))
        below = (sides == AT_LO) & (w < -noise) & ~fixed
        above = (sides == AT_HI) & (w > noise) & ~fixed
        return np.flatnonzero(outside | below | above)

    def near(self, rows: np.ndarray, reach: int) -> np.ndarray:
        """Rows that so many entries of M join to the given ones, as a mask."""
        near = np.zeros(self.q.size)
        near[rows] = 1.0
        for _ in range(reach):
            near = np.where(self.size @ near > 0.0, 1.0, 0.0)
        return near > 0.0

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
    # how far a growing region is taken beyond its wrong rows: farther until that was too far, then nearer
    reach, rising = 0, True
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
        chosen = wrong if patience > 0 or steps.growing else wrong[-1:]
        bound = np.where(z[chosen] < steps.lo[chosen], AT_LO, AT_HI)
        growing = steps.growing and bool((sides[chosen] == AT_LO).all())
        sides[chosen] = np.where(sides[chosen] == FREE, bound, FREE)
        if growing and reach:
            sides[steps.near(chosen, reach)] = FREE
        rising = growing and (rising or not reach)
        reach = 2 * reach + 1 if rising else reach // 2


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
    P = coarsen(M, symmetric) if q.size > SMALLEST else None
    if P is None:
        return np.zeros(q.size)
    small, small_q = smaller(M, P), P.T @ q
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
    limit = control.limit(step_limit(problem.M))
    sides = first_sides(steps, problem, control)
    outcome = exchange(steps, sides, control, limit)
    if outcome == "singular":
        z, outcome = _proximal(problem, steps, sides, control, limit)
    else:
        z = np.clip(steps.z, steps.lo, steps.hi)
    reasons = {"limit": Status.ITERATION_LIMIT, "time": Status.TIME_LIMIT, "singular": Status.STALLED}
    info = describe(sides, steps.steps, bounded=isinstance(problem, BoxedLCP))
    control.check(steps.steps, z)
    return Attempt(z, steps.steps, reasons.get(outcome), info, beyond_doubles(steps, z, outcome, control))


def step_limit(M: Any) -> int:
    """Steps that a matrix may take."""
    return min(STEPS_PER_ROW * M.shape[0], max(FEWEST_STEPS, WORK // max(M.nnz, 1)))


def beyond_doubles(steps: SparseSteps, z: Vector, outcome: str, control: Control) -> str:
    """Words for an answer with every row on its side, but z too large for doubles to meet the tolerance."""
    largest = float(np.abs(z).max(initial=0.0))
    spacing = float(np.spacing(largest) * abs(steps.M.diagonal()).max(initial=0.0))
    at_work = float(np.abs(steps.q).max(initial=0.0))
    if outcome != "done" or spacing <= 0.1 * control.tol * at_work or control.measure(z) <= control.tol:
        return ""
    return (
        f"Every row is on its side, but z is as large as {largest:.1e}, and doubles there are "
        f"{np.spacing(largest):.1e} apart: only a larger tol can be met."
    )


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
