"""Boxed LCPs whose bounds may follow other rows (friction index), solved at the bounds of the answer itself.

The rows' sides are exchanged all at once, as in block principal pivoting, but a row that rests at a moving
bound is substituted into the columns of the row that moves it, so bounds and unknowns are solved for
together; the block is nonsymmetric, and a proximal shift, lowered in stages, keeps dependent rows apart.
Sweeps come first: they cost little, and where they come near, one or two exchanges end it. Elsewhere Lemke's
method on the equivalent LCP with multipliers of the upper bounds, shifted likewise, gives the sides to go on
from. A step costs one factorisation of the free block.

Reference: Júdice and Pires (1994) for the exchange; Pang and Trinkle, Complementarity formulations and
existence of solutions of dynamic multi-rigid-body contact problems with Coulomb friction, Mathematical
Programming 73 (1996).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from perp.formulations.boxed_as_lcp import boxed_as_shifted_lcp
from perp.problems import BoxedLCP, Status
from perp.problems.validation import Vector, freeze
from perp.solvers.attempt import Attempt, Control
from perp.solvers.pivoting.lemke import LemkeOptions, lemke
from perp.solvers.pivoting.rows import AT_HI, AT_LO, FREE, dense, dense_memory, describe
from perp.solvers.projection.sweeps import Sweeper
from perp.solvers.registry import NoOptions, register

# Shifts of the exchange, relative to the scale of each column. The first keeps any block within working
# precision; the last ones resolve matrices whose own small diagonal decides between dependent rows.
SHIFTS = (1e-6, 1e-8, 1e-10, 0.0)
# Shift and covering vector of Lemke's stages. The smaller the shift, the closer its sides to the answer's and
# the harder its pivots; another vector takes another path.
GOLDEN, SILVER = 0.5 * (5.0**0.5 - 1.0), 2.0**0.5 - 1.0
PATHS = ((1e-6, GOLDEN), (1e-5, SILVER), (1e-6, SILVER), (1e-4, GOLDEN), (1e-5, GOLDEN), (1e-3, SILVER))
# Paths that end well take two to eight pivots a row; a longer one is left for the next.
PATH_PIVOTS = 12
# Exchanges in a row that may fail to halve the residual, and in all, for one shift.
PATIENCE, EXCHANGES = 5, 30
# Over-relaxed sweeps before the first exchange: the rounds after which they are judged, and the residual from
# which on exchanges end it. All of them cost a quarter of Lemke's path (560 sweeps over 192 rows 2 ms, the
# path 10). Residuals of three rounds that are the same but for this share end them: sweeps are stuck.
FIRST_ROUNDS, RELAXATION, NEAR, STUCK = (20, 20, 40, 40, 40, 80, 80, 80, 80, 80), 1.3, 3e-4, 0.05
# Above this residual a smaller shift does not help where a larger one has not.
HOPELESS = 1e-2


class MovingBounds:
    """One problem with a friction index, and the exchange of its sides."""

    def __init__(self, problem: BoxedLCP, control: Control) -> None:
        self.problem, self.control = problem, control
        self.M = dense(problem.M)
        self.q, self.lo, self.hi = problem.q, problem.lo, problem.hi
        self.index = problem.limiting_row
        self.limited = self.index >= 0
        self.scale = problem.column_scale
        diagonal = self.M.diagonal()
        self.divisor = freeze(np.where(diagonal > 0, diagonal, self.scale))
        self.steps = 0
        self.limit = control.limit(200 * max(problem.size, 10))
        self.stopped = False
        self.best = np.zeros(problem.size)

    def look(self, z: Vector) -> float:
        """Measure z, and note when the control wants to stop for any reason but success."""
        if self.control.check(self.steps, z) and self.control.reason is not None:
            self.stopped = self.control.reason is Status.TIME_LIMIT
        self.stopped = self.stopped or self.steps >= self.limit
        return self.control.last

    def project(self, z: Vector) -> Vector:
        """z moved into the bounds that hold at it."""
        y = np.where(self.limited, z, np.clip(z, self.lo, self.hi))
        return np.clip(y, *self.problem.bounds(y))

    def choose_sides(self, z: Vector) -> np.ndarray:
        """The side on which each row would rest after one step against its w."""
        aim = z - (self.M @ z + self.q) / self.divisor
        lo, hi = self.problem.bounds(z)
        sides = np.full(z.size, FREE, dtype=np.int64)
        sides[aim <= lo] = AT_LO
        sides[aim >= hi] = AT_HI
        return sides

    def answer(self, sides: np.ndarray, shift: float, center: Vector) -> Vector:
        """The answer for these sides, shifted towards the center, projected; the center if there is none.

        Rows at moving bounds are substituted into the columns of the rows that move them.
        """
        slope = np.where(sides == AT_LO, self.lo, np.where(sides == AT_HI, self.hi, 0.0))
        y = np.where(self.limited, slope * np.maximum(slope[self.index], 0.0), slope)
        self.steps += 1
        free, weight = np.flatnonzero(sides == FREE), shift * self.scale
        moved = np.flatnonzero(self.limited & (sides != FREE))
        following = moved[sides[self.index[moved]] == FREE]
        y[following] = 0.0
        place = np.zeros(y.size, dtype=np.int64)
        place[free] = np.arange(free.size)
        A = self.M[np.ix_(free, free)]
        np.add.at(A.T, place[self.index[following]], (self.M[np.ix_(free, following)] * slope[following]).T)
        A.reshape(-1)[:: free.size + 1] += weight[free]
        try:
            y[free] = np.linalg.solve(A, (weight * center - self.q - self.M @ y)[free])
        except np.linalg.LinAlgError:
            return center
        y[moved] = slope[moved] * np.maximum(y[self.index[moved]], 0.0)
        return self.project(y)

    def settle(self, z: Vector, value: float, shift: float) -> tuple[Vector, float]:
        """Exchange sides with one shift until the residual no longer falls; the best z and its residual."""
        best, wasted = z, 0
        for _ in range(EXCHANGES):
            z = self.answer(self.choose_sides(z), shift, z)
            now = self.look(z)
            wasted = 0 if now < 0.5 * value else wasted + 1
            if now < value:
                best, value = z, now
            if value <= self.control.tol or wasted >= PATIENCE or self.stopped:
                break
        return best, value

    def sharpened(self, z: Vector, value: float) -> tuple[Vector, float]:
        """A solved z after an exchange without a shift: exact where the sides are right."""
        better = self.answer(self.choose_sides(z), 0.0, z)
        now = self.look(better)
        return (better, now) if now < value else (z, value)

    def settle_all(self, z: Vector) -> tuple[Vector, float]:
        """`settle` with ever smaller shifts, as long as there is hope."""
        value = self.control.measure(z)
        for shift in SHIFTS:
            z, value = self.settle(z, value, shift)
            if value <= self.control.tol:
                return self.sharpened(z, value)
            if value > HOPELESS or self.stopped:
                break
        return z, value

    def first_sweeps(self, z: Vector) -> tuple[Vector, bool]:
        """z after sweeps as long as they may come near an answer, and whether they do."""
        sweeper, swept, values = Sweeper(self.problem, RELAXATION), z.copy(), []
        for count in FIRST_ROUNDS:
            sweeper.sweep(swept, count)
            self.steps += 1
            if not np.isfinite(swept).all():
                return z, False
            values.append(self.look(swept))
            stuck = len(values) > 2 and max(values[-3:]) <= (1.0 + STUCK) * min(values[-3:])
            if values[-1] <= NEAR or self.stopped or stuck:
                break
        return swept, values[-1] <= NEAR

    def follow_path(self, shift: float, pattern: float) -> Vector | None:
        """Lemke's answer of the shifted problem, or None."""
        shifted = BoxedLCP(
            self.M + np.diag(shift * self.scale), self.q, self.lo, self.hi,
            friction_index=self.problem.friction_index, copy=False,
        )  # fmt: skip
        if (self.lo[self.index[self.limited]] < 0).any():
            return None
        turned = boxed_as_shifted_lcp(shifted)
        problem: Any = turned.problem
        left = min(max(0, self.limit - self.steps), PATH_PIVOTS * problem.size)
        # the path is judged by where it ends: on the way it is neither solved nor diverged
        control = Control(lambda _: 1.0, tol=0.0, max_iterations=left, time_limit=self.control.remaining())
        # a covering vector without pattern: with equal entries the rows of equal contacts tie on every pivot
        covering = 1.0 + np.mod(pattern * np.arange(problem.size), 1.0)
        attempt = lemke(problem, control, LemkeOptions(covering=covering))
        self.steps += attempt.iterations
        if attempt.reason is not None:
            return None
        return self.project(turned.back(attempt.z))


def _refuses(problem: BoxedLCP) -> str | None:
    if (problem.limiting_row < -1).any():
        return "its friction follows the magnitude of rows that may be negative"
    return None


@register(
    "moving-bounds",
    takes=BoxedLCP,
    summary="exchanges of sides with friction bounds that move along, then Lemke's paths; friction index",
    refuses=_refuses,
    memory=dense_memory(14),
)
def moving_bounds(problem: BoxedLCP, control: Control, options: NoOptions) -> Attempt:
    """Solve a boxed LCP by exchanges from sweeps, then from Lemke's paths, until solved."""
    rows = MovingBounds(problem, control)
    first = rows.project(control.begin(problem.size))
    least = np.inf
    for point in _stages(rows, first):
        z, value = rows.settle_all(point)
        if value < least:
            rows.best, least = z, value
        if value <= control.tol or rows.stopped:
            break
    else:
        control.reason = Status.STALLED
    if rows.steps >= rows.limit and control.best > control.tol:
        control.reason = Status.ITERATION_LIMIT
    attempt = control.attempt(rows.best, rows.steps)
    if least < control.best:
        attempt.z = rows.best
    attempt.info.update(describe(rows.choose_sides(attempt.z), rows.steps))
    return attempt


def _stages(rows: MovingBounds, z: Vector) -> Iterator[Vector]:
    """Points to settle from: the start, sweeps that come near, Lemke's first answer, then dearer ones."""
    if rows.control.start is not None:
        yield z
    z, near = rows.first_sweeps(z)
    if near:
        yield z
    for place, (shift, pattern) in enumerate(PATHS):
        found = rows.follow_path(shift, pattern)
        if found is not None:
            yield found
        if place == 1 and not near:
            yield z
