"""Lemke's complementary pivoting on sparse matrices, from a basis that block exchanges have prepared.

A pivot changes one row, and an obstacle problem has 10⁵ rows: from z = 0 that would be 10⁵ sparse solves. So
the path begins, as PATH's does after its crash, at the basis of `sparse_principal`, with a covering vector
that raises every basic variable by one for a unit of z₀; where that basis is a solution there is nothing to
follow. The basis is kept as sparse factors and the columns that have changed since (product form); a pivot
costs one solve with them, memory is that of the factor.

Reference: Cottle, Pang and Stone, The Linear Complementarity Problem, section 4.4; Dirkse and Ferris, The
PATH solver, Optimization Methods and Software 5 (1995), for the crash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.problems import LCP, Status
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.linear import factorise
from perp.solvers.pivoting.rows import FREE, bounds_of, sides_of
from perp.solvers.pivoting.sparse_principal import SparseSteps, beyond_doubles, exchange, first_sides
from perp.solvers.symmetry import is_symmetric

# Block exchanges of the crash, and how often changed columns pile up before the basis is factored anew.
CRASH_STEPS = 40
CHANGES = 64
# Pivots: so many a row while they are cheap, and fewer where each passes 10⁵ rows: ten seconds in both cases.
PIVOTS_PER_ROW, WORK, FEWEST_PIVOTS = 10, 2 * 10**8, 2000
# Rates below this fraction of the largest one are round-off, not pivots; ratios closer than this are ties.
PIVOT_TOLERANCE, TIE = 1e-10, 1e-12
# z₀ below this fraction of its first value is zero.
NEGLIGIBLE = 1e-12


class Basis:
    """n basic columns of [I, −M, −d], their factors, and the changes since these were made.

    Attributes:
        basic: The variable in each place: w_i is i, z_i is n + i, z₀ is 2 n; shape (n,).
    """

    def __init__(self, M: Any, covering: Vector, basic: np.ndarray) -> None:
        from scipy.sparse import csc_array, eye_array, hstack

        n = covering.size
        identity: Any = eye_array(n, format="csc")
        self.columns = csc_array(hstack([identity, -csc_array(M), csc_array(-covering[:, None])]))
        self.basic = basic
        self.changes: list[tuple[int, Vector]] = []
        self._solve: Any = None

    def factor(self) -> bool:
        """Factor the present basis; returns whether that is possible."""
        self.changes.clear()
        self._solve = factorise(self.columns[:, self.basic], symmetric=False)
        return self._solve is not None

    def solve(self, b: Vector) -> Vector:
        """B⁻¹ b through the factors and the changes since."""
        x = self._solve(b)
        for place, rates in self.changes:
            share = x[place] / rates[place]
            x -= share * rates
            x[place] = share
        return x

    def column(self, variable: int) -> Vector:
        """The column of a variable, dense."""
        return self.columns[:, [variable]].toarray().ravel()

    def replace(self, place: int, variable: int, rates: Vector) -> bool:
        """Put a variable in a place of the basis; returns whether the basis can still be factored."""
        self.basic[place] = variable
        self.changes.append((place, rates))
        return len(self.changes) < CHANGES or self.factor()


def _leaving(x: Vector, rates: Vector, artificial: int) -> int:
    """The place that blocks first, −1 for none: z₀ wherever it is among the first, else the safest pivot."""
    able = np.flatnonzero(rates > PIVOT_TOLERANCE * np.abs(rates).max())
    if not able.size:
        return -1
    ratios = np.maximum(x[able], 0.0) / rates[able]
    first = able[ratios <= ratios.min() * (1.0 + TIE) + TIE * abs(x[artificial])]
    return artificial if artificial in first else int(first[np.argmax(rates[first])])


@dataclass(frozen=True)
class End:
    """Where a path has ended.

    Attributes:
        free: The basic z.
        pivots: Made on the way.
        reason: Why it stopped before a solution, or None.
        ray: The rates of z along which nothing blocks, shape (n,), where that was the reason.
    """

    free: np.ndarray
    pivots: int
    reason: Status | None = None
    ray: Vector | None = None


def follow(
    problem: LCP, free: np.ndarray, control: Control, limit: int, covering: Vector | None = None
) -> End:
    """Pivot from the basis with these z until z₀ leaves, nothing blocks or a limit is reached.

    Args:
        problem: The LCP.
        free: Rows whose z is basic at first; none with a covering vector of the user's.
        control: Says when time is up.
        limit: Pivots at most.
        covering: The vector d > 0, or None for the sum of the basic columns.
    """
    n = problem.size
    basic = np.arange(n)
    basic[free] = n + free
    summed = np.where(np.isin(np.arange(n), free), 0.0, 1.0) - problem.M[:, free] @ np.ones(free.size)
    basis = Basis(problem.M, summed if covering is None else covering, basic)
    if not basis.factor():
        return End(free, 0, Status.STALLED)
    x = basis.solve(problem.q)
    # without a vector of the user's z₀ enters with rate −1 in every place
    rates = np.full(n, -1.0) if covering is None else -covering
    out = int(np.argmin(x / -rates))
    if x[out] >= 0.0:
        return End(free, 0)
    step = x[out] / rates[out]
    entering, pivots, first = 2 * n, 0, step
    while True:
        x -= step * rates
        x[out] = step
        leaving = int(basis.basic[out])
        if not basis.replace(out, entering, rates):
            return End(_basic_z(basis, n), pivots, Status.STALLED)
        if not basis.changes:
            x = basis.solve(problem.q)
        artificial = np.flatnonzero(basis.basic == 2 * n)
        if not artificial.size or x[artificial[0]] <= NEGLIGIBLE * first:
            return End(_basic_z(basis, n), pivots)
        if pivots >= limit or control.out_of_time():
            reason = Status.ITERATION_LIMIT if pivots >= limit else Status.TIME_LIMIT
            return End(_basic_z(basis, n), pivots, reason)
        entering = leaving + n if leaving < n else leaving - n
        rates = basis.solve(basis.column(entering))
        out = _leaving(x, rates, int(artificial[0]))
        if out < 0:
            ray = np.zeros(2 * n + 1)
            ray[basis.basic] = -rates
            ray[entering] = 1.0
            return End(_basic_z(basis, n), pivots, Status.RAY, ray[n : 2 * n])
        step = max(x[out] / rates[out], 0.0)
        pivots += 1


def _basic_z(basis: Basis, n: int) -> np.ndarray:
    basic = basis.basic
    return np.sort(basic[(basic >= n) & (basic < 2 * n)] - n)


def sparse_lemke(problem: LCP, control: Control, covering: Vector | None = None) -> Attempt:
    """Solve a large sparse LCP by Lemke's method, from a prepared basis or with a given covering vector."""
    steps = SparseSteps(problem.M, problem.q, bounds_of(problem), is_symmetric(problem.M))
    none = np.empty(0, dtype=np.int64)
    if covering is None:
        sides = first_sides(steps, problem, control)
        outcome = exchange(steps, sides, control, control.limit(CRASH_STEPS))
    else:
        sides, outcome = sides_of(np.zeros(problem.size), steps.lo, steps.hi), "none"
    reason, pivots = None, 0
    extra: dict[str, Any] = {}
    if outcome != "done":
        most = min(PIVOTS_PER_ROW * problem.size, max(FEWEST_PIVOTS, WORK // problem.size))
        limit = max(0, control.limit(most) - steps.steps)
        end = follow(problem, np.flatnonzero(sides == FREE), control, limit, covering)
        pivots = end.pivots
        if covering is None and end.reason in (Status.RAY, Status.STALLED):
            # of a prepared basis a ray says little
            end = follow(problem, none, control, limit - pivots)
            pivots += end.pivots
        free, reason = end.free, end.reason
        if end.ray is not None:
            certificate = np.maximum(end.ray, 0.0)
            extra = {"ray": {"z": end.ray}, "certificate": certificate}
            reason = Status.INFEASIBLE
        sides[:] = sides_of(np.zeros(problem.size), steps.lo, steps.hi)
        sides[free] = FREE
        steps.solve(sides)
    z = np.maximum(steps.z, 0.0)
    free = np.flatnonzero(sides == FREE)
    info: dict[str, Any] = {"active_set": free, "pivots": pivots, "crash_steps": steps.steps, **extra}
    words = beyond_doubles(steps, z, "done" if reason is None else "", control)
    attempt = Attempt(z, steps.steps + pivots, reason, info, words)
    control.check(attempt.iterations, z)
    return attempt
