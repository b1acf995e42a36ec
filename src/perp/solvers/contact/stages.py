"""The stages of the default contact solver, with the shared test in between."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perp.problems import ContactProblem, Status
from perp.problems.validation import Vector, freeze
from perp.solvers.attempt import Attempt, Control

if TYPE_CHECKING:
    from perp.solvers.contact.canonical import Blocks

# Up to this many rows a compiled stage takes milliseconds: nothing is gained by looking in between.
ONE_CALL = 400
# The order of elimination needs count² / 8 bytes: beyond this many constraints sweeps go on instead.
LARGEST_NEWTON = 30_000
# Up to this many constraints a relaxed problem goes along its central path: many blocks fill in where more
# are coupled.
LARGEST_PATH = 1000
# From this many constraints on it pays to look for independent groups.
ISLANDS_FROM = 100
# From this many constraints on, sweeps with momentum come before Newton, which costs more for each constraint
# the more there are. They are looked at so often, and go on while the best residual falls to this part of
# what it was half as many iterations ago; for so many iterations at least, more for many contacts in space.
MOMENTUM_FROM, MOMENTUM_LOOK, MOMENTUM_PAYS, MOMENTUM_MOST = 300, 25, 0.7, 5000
MOMENTUM_LEAST, MOMENTUM_LEAST_MANY, MANY = 150, 1200, 800
# Below this residual plain Newton steps without a line search are worth a try.
NEARLY = 1e-3
REFINEMENTS = 6
# A run of the proximal Newton stage is given up when so many outer iterations do not lower the residual to
# this part.
STALL_AFTER, STALL_FACTOR = 6, 0.3
# Scales by which the last refinement tells open, stick and slip apart: near-ties fall differently with each.
REFINEMENT_SCALES, REFINEMENT_WEIGHTS = (1.0, 10.0, 0.1, 100.0, 0.01), (1e-12, 1e-6)
# Beyond ONE_CALL rows the first run of the proximal Newton stage and all other starts may each take so many
# floating-point operations, about ten and three seconds. Where that is less than so many Newton steps, which
# is beyond a thousand contacts in space, other starts have not been seen to help and are left out. Up to
# ONE_CALL rows the number of starts bounds them, to some ten seconds.
FIRST_WORK, RESTART_WORK, RESTART_STEPS = 2e10, 5e9, 40
# A refinement whose residual is so many times larger is kept from the shared test, which would end the solve.
DIVERGED = 1e6


class Start(NamedTuple):
    """One run of the proximal Newton stage.

    Attributes:
        origin: Where it begins: "sweeps", "zero" or "relaxation".
        weight: First proximal weight, relative to the diagonal of W.
        scale: Factor on the scales by which Newton tells open, stick and slip apart.
        smoothing: Sweeps after each Newton step, at least.
        outer: Outer iterations at most.
    """

    origin: str
    weight: float
    scale: float
    smoothing: int
    outer: int


# The first solves nearly everything. The others differ in what makes Newton cycle: found on random problems.
STARTS = (
    Start("sweeps", 1e-2, 1.0, 10, 30),
    Start("zero", 1e-2, 0.1, 3, 20),
    Start("relaxation", 1e-2, 1.0, 10, 20),
    Start("zero", 1e-2, 1.0, 10, 20),
    Start("sweeps", 1.0, 0.001, 10, 20),
    Start("sweeps", 1.0, 0.01, 10, 20),
    Start("sweeps", 1e-2, 1.0, 50, 20),
    Start("relaxation", 1.0, 0.1, 50, 20),
    Start("sweeps", 1e-3, 10.0, 10, 20),
    Start("zero", 1.0, 1.0, 2, 40),
)


class Stages:
    """The stages with the shared test in between, and what was done so far."""

    def __init__(self, problem: ContactProblem, control: Control) -> None:
        from perp.solvers.contact.canonical import blocks_of
        from perp.solvers.contact.first_stage import MARGIN

        self.problem, self.control = problem, control
        self.blocks: Blocks = blocks_of(problem)
        self.tol = MARGIN * control.tol
        self.limit = self.restart_limit = control.limit(10**9)
        self.chunk = 1 if not control.plain or problem.size > ONE_CALL else STALL_AFTER
        self.sweeps = self.steps = self.starts = 0
        self.followed = False
        self.swept = self.best = np.zeros(problem.size)

    def begin(self, impulse: Vector, sweeps: int = 0) -> None:
        """Start from these impulses, which `sweeps` sweeps have made."""
        self.continue_from(impulse)
        self.sweeps = sweeps

    def continue_from(self, impulse: Vector) -> None:
        """Go on from these impulses."""
        from perp.solvers.contact.canonical import to_canonical

        x = np.empty(self.problem.size)
        to_canonical(self.blocks.scale, freeze(impulse), x)
        self.swept, self.best = x, x.copy()

    def run(self) -> Attempt:
        """All stages from the control's start."""
        self.begin(self.control.begin(self.problem.size))
        stop = self.check() or self.sweep() or self.follow_relaxation()
        if stop or self.problem.contact_count < ISLANDS_FROM:
            return self.finish(stop or self.after_sweeps())
        from perp.solvers.contact.islands import find_islands, solve_apart

        count, island = find_islands(self.blocks.first, self.blocks.column)
        if count > 1:
            return solve_apart(self, count, island)
        attempt = self.finish(self.after_sweeps())
        attempt.info["islands"] = 1
        return attempt

    def after_sweeps(self) -> bool:
        """The stages that follow the first sweeps. Returns whether to stop."""
        stop = self.problem.contact_count >= MOMENTUM_FROM and self.accelerate()
        if not stop and not self.exhausted() and self.problem.contact_count <= LARGEST_NEWTON:
            stop = self.newton()
        return stop

    def check(self) -> bool:
        return self.control.check(self.iterations, self.blocks.scale * self.best)

    @property
    def iterations(self) -> int:
        return self.sweeps + self.steps

    def exhausted(self) -> bool:
        return self.iterations >= self.restart_limit

    def allow(self, work: float) -> bool:
        """Let the stages that follow take so many operations; false where that is a few Newton steps only."""
        if self.problem.size <= ONE_CALL:
            return True
        steps = work / self._system[1]
        self.restart_limit = min(self.limit, self.iterations + int(max(steps, RESTART_STEPS)))
        return steps >= RESTART_STEPS

    def finish(self, stop: bool) -> Attempt:
        if not stop:
            limited = self.iterations >= self.limit
            self.control.reason = Status.ITERATION_LIMIT if limited else Status.STALLED
        return self.control.attempt(
            self.blocks.scale * self.best, self.iterations,
            sweeps=self.sweeps, newton_steps=self.steps, starts=self.starts,
        )  # fmt: skip

    def sweep(self) -> bool:
        """Sweeps while they pay. Returns whether to stop."""
        from perp.solvers.contact.first_stage import LOOK, SWEEPS, look, sweep_while_it_pays

        stop = False
        while not stop and self.sweeps < min(SWEEPS, self.limit):
            count = min(2 * LOOK, self.limit - self.sweeps)
            least = 2 * look(self.problem.relaxed) - self.sweeps
            _, taken, pays = sweep_while_it_pays(self.blocks, self.swept, self.tol, least, count)
            self.sweeps += taken
            self.best = self.swept.copy()
            stop = self.check()
            if not pays:
                break
        return stop

    def accelerate(self) -> bool:
        """Sweeps with momentum while they pay. Returns whether to stop."""
        from perp.solvers.contact.momentum import momentum_iterations

        x, y = self.swept.copy(), self.swept.copy()
        count = self.problem.contact_count
        in_space = self.problem.size > 2.5 * count
        patience = MOMENTUM_LEAST_MANY if in_space and count > MANY else MOMENTUM_LEAST
        beta = np.zeros(count)
        stop, least, residuals = False, np.inf, [self.control.best]
        while not stop and not self.exhausted() and MOMENTUM_LOOK * len(residuals) < MOMENTUM_MOST:
            momentum_iterations(self.blocks, x, y, beta, MOMENTUM_LOOK)
            self.sweeps += 2 * MOMENTUM_LOOK
            value = self.control.measure(self.blocks.scale * x)
            if value < least:
                least = value
                self.swept = x.copy()
            self.best = x.copy()
            stop = self.check()
            residuals.append(self.control.best)
            done = len(residuals) - 1
            if (
                not stop
                and done * MOMENTUM_LOOK >= patience
                and residuals[-1] > MOMENTUM_PAYS * residuals[done // 2]
            ):
                break
        self.best = self.swept.copy()
        return stop

    def follow_relaxation(self) -> bool:
        """The central path of a relaxed problem, for each group of contacts. Returns whether to stop."""
        if self.followed or not self.problem.relaxed or self.problem.contact_count > LARGEST_PATH:
            return False
        from perp.solvers.contact.relaxed_path import follow_groups

        self.followed = True
        x = self.swept.copy()
        self.steps += follow_groups(self.blocks, x, self.tol, self.limit - self.iterations)
        return self.offer(x)

    def newton(self) -> bool:
        """The proximal Newton stage, then the search from other starts. Returns whether to stop."""
        if self.follow_relaxation():
            return True
        if self.problem.size <= ONE_CALL and self._plunge():
            return True
        self.starts += 1
        self.allow(FIRST_WORK)
        if self._proximal(STARTS[0], self.swept.copy()) or self.refine():
            return True
        self.restart_limit = self.limit
        from perp.solvers.contact.mode_enumeration import mode_points
        from perp.solvers.contact.restarts import search

        if any(self.offer(z / self.blocks.scale) for z in mode_points(self.problem)):
            return True
        if self.exhausted() or self.control.out_of_time():
            return False
        if not self.allow(RESTART_WORK):
            return False
        return search(self) or self._restart() or (self.problem.relaxed and self._descend())

    def _restart(self) -> bool:
        """The proximal Newton stage from other origins and with other scales."""
        relaxation: Vector | None = None
        for start in STARTS[1:]:
            if self.exhausted() or self.control.out_of_time():
                return False
            self.starts += 1
            if start.origin == "relaxation":
                if self.problem.relaxed:
                    continue
                if relaxation is None:
                    relaxation = self._relaxation()
                x = relaxation.copy()
            else:
                x = self.swept.copy() if start.origin == "sweeps" else np.zeros(self.problem.size)
            if self._proximal(start, x) or self.refine():
                return True
        return self.refine(REFINEMENT_SCALES, REFINEMENT_WEIGHTS)

    def approach(self, x: Vector) -> bool:
        """The proximal Newton stage from x, smoothed by sweeps first. Returns whether to stop."""
        from perp.solvers.contact.sweep import sweeps

        point = x.copy()
        sweeps(self.blocks, point, STARTS[0].smoothing)
        return self._proximal(STARTS[0], point) or self.refine()

    def offer(self, x: Vector) -> bool:
        """Take impulses in canonical form if they are better than the best. Returns whether to stop."""
        if not np.isfinite(x).all() or not self.control.measure(self.blocks.scale * x) < self.control.best:
            return self.control.out_of_time()
        self.best = x.copy()
        return self.check()

    def _plunge(self) -> bool:
        """Unregularised Newton steps from the sweeps as long as each halves the residual."""
        from perp.solvers.contact.plain_newton import plain_newton

        x = self.swept.copy()
        _, taken = plain_newton(self.blocks, self.order, self.rho, 1e-10, 2, x, self.tol, REFINEMENTS, 0.5, 0)
        self.steps += taken
        return self.offer(x)

    def _proximal(self, start: Start, x: Vector) -> bool:
        """One run of the proximal Newton stage from x, given up where it stalls. Returns whether to stop."""
        from perp.solvers.contact.proximal import proximal_point

        best, sigma, done = x.copy(), start.weight, 0
        smoothing = max(start.smoothing, self.affordable_sweeps)
        earlier = np.inf
        while done < start.outer and not self.exhausted():
            count = min(self.chunk, start.outer - done)
            value, sigma, taken = proximal_point(
                self.blocks, self.order, start.scale * self.rho, x, best, self.tol, sigma, count, smoothing
            )
            self.steps += taken
            done += count
            if self.offer(best):
                return True
            if done % STALL_AFTER == 0:
                if not value < STALL_FACTOR * earlier:
                    break
                earlier = value
        return False

    @cached_property
    def order(self) -> Any:
        """The order of elimination."""
        return self._system[0]

    @cached_property
    def _system(self) -> tuple[Any, float]:
        from perp.solvers.contact.linear_system import choose_order

        return choose_order(self.problem, self.blocks)

    @cached_property
    def affordable_sweeps(self) -> int:
        """How many sweeps cost about a fifth of a Newton step, at most thirty."""
        rows = self.problem.size / self.problem.contact_count
        sweep = 2.0 * rows**3 * self.blocks.column.size
        return int(min(30.0, 0.6 * self._system[1] / sweep))

    @cached_property
    def rho(self) -> Vector:
        """The scales by which Newton tells open, stick and slip apart."""
        from perp.solvers.contact.proximal import newton_scale

        return newton_scale(self.blocks)

    def refine(self, scales: tuple[float, ...] = (1.0,), weights: tuple[float, ...] = (1e-12,)) -> bool:
        """Plain Newton steps from the best point: they reach round-off where a line search is blind."""
        from perp.solvers.contact.accurate_velocity import accurate_velocity
        from perp.solvers.contact.newton_system import newton_step

        if not self.control.best < NEARLY:
            return False
        u, dx = np.empty(self.best.size), np.zeros(self.best.size)
        for scale, weight in product(scales, weights):
            x = self.best.copy()
            for _ in range(REFINEMENTS):
                if self.exhausted():
                    return False
                accurate_velocity(self.blocks, x, u)
                newton_step(self.blocks, self.order, scale * self.rho, weight, x, u, dx)
                x += dx
                self.steps += 1
                if not np.isfinite(x).all():
                    break
                before, kept = self.control.best, self.best
                self.best = x.copy()
                if self.control.measure(self.blocks.scale * x) <= DIVERGED * before and self.check():
                    return True
                if not self.control.best < before:
                    self.best = kept
        return False

    def _relaxation(self) -> Vector:
        """The answer of the convex relaxation, or how near the proximal Newton stage comes to it."""
        from perp.solvers.contact.canonical import blocks_of
        from perp.solvers.contact.proximal import proximal_point
        from perp.solvers.contact.sweep import sweeps

        blocks = blocks_of(self.problem.as_relaxed())
        x = np.zeros(self.problem.size)
        sweeps(blocks, x, 20)
        best = x.copy()
        first = STARTS[0]
        _, _, taken = proximal_point(
            blocks, self.order, self.rho, x, best, 1e-6, first.weight, 20, first.smoothing
        )
        self.steps += taken
        return best

    def _descend(self) -> bool:
        """Accelerated projected gradients, which converge on the relaxation in the end."""
        from perp.solvers import registry

        info = registry.find("apgd")
        if info.objection(self.problem) is not None:
            return False
        attempt = info.run(self.problem, self.control, info.options())
        self.steps += attempt.iterations
        return self.control.measure(attempt.z) <= self.control.tol
