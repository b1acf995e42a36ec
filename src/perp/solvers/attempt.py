"""What an algorithm hands back, and what it is given to run with.

An algorithm never marks its own work: it returns an `Attempt`, and `solve` measures the residual and sets the
status. Stopping rules live here once: iterative algorithms call `Control.iterate` (or `Control.check`), which
measures the shared residual of the *original* problem, records the history, and says when to stop.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perp.compilation.deadline import OutOfTime
from perp.compilation.stopwatch import working_time
from perp.problems import MCP, History, Problem, Status
from perp.problems.validation import Vector

# Residuals are measured at these intervals: every iteration at first, then about every eighth of those done.
# The schedule counts iterations, never seconds, so that equal input gives equal bits.
CHECK_FRACTION = 8
LARGEST_CHUNK = 1000
# A residual this much above the smallest one seen means that the iterates have left for good; less is seen
# on the way to an answer where masses differ by 1e12.
DIVERGENCE_FACTOR = 1e14
# Iterations that nobody reaches.
UNLIMITED = 10**8


@dataclass(slots=True)
class Attempt:
    """What an algorithm returns.

    Attributes:
        z: Its answer, shape (n,) of the problem that it was given.
        iterations: Iterations, sweeps or pivots taken.
        reason: Why it stopped, when that was not convergence. Never `Status.SOLVED`.
        info: Extras for the user: active set, certificates.
        message: Words for the user.
    """

    z: Vector
    iterations: int
    reason: Status | None = None
    info: dict[str, Any] = field(default_factory=dict)
    message: str = ""


class Control:
    """What `solve` tells an algorithm: tolerance, limits, start; and the shared stopping test.

    Attributes:
        tol: The residual to reach.
        start: Where to begin, shape (n,), or None.
        reason: Why the last `check` said to stop, or None (solved, or not stopped).
        last: The residual that the last check saw.
        done: Iterations of algorithms that ran before on the same problem.
        known: The residual of the start where it was measured before: the first check takes it.
        swept: What sweeps of contacts, and Newton steps after them, have reached already: impulses,
            then residual and number of the sweeps and of the steps.
    """

    __slots__ = (
        "_best_z",
        "_deadline",
        "_measure",
        "_points",
        "_record_time",
        "_started",
        "best",
        "diverged_at",
        "done",
        "known",
        "last",
        "max_iterations",
        "reason",
        "start",
        "swept",
        "tol",
    )

    def __init__(
        self,
        measure: Callable[[Vector], float],
        *,
        tol: float,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        start: Vector | None = None,
        history: bool = False,
    ) -> None:
        self._measure = measure
        self.tol = tol
        self.max_iterations = max_iterations
        self.start = start
        self.reason: Status | None = None
        self.swept: tuple[Vector, tuple[float, int], tuple[float, int]] | None = None
        self.best = self.last = np.inf
        self.done = 0
        self.known: float | None = None
        self.diverged_at: int | None = None
        self._best_z: Vector | None = None
        self._points: list[tuple[int, float, float]] | None = [] if history else None
        self._started = working_time()
        self._record_time = 0.0
        self._deadline = None if time_limit is None else self._started + time_limit

    @property
    def plain(self) -> bool:
        """Whether nobody asked for anything between start and end: no history, no limits."""
        return self._points is None and self._deadline is None and self.max_iterations is None

    def begin(self, size: int) -> Vector:
        """A fresh array to iterate on: the start, or zeros."""
        return np.zeros(size) if self.start is None else np.array(self.start, dtype=np.float64)

    def through(self, back: Callable[[Vector], Vector], start: Vector | None) -> Control:
        """The same limits and history for another problem, whose answers `back` turns into this one's."""
        inner, measure = copy(self), self._measure
        inner._measure = lambda z: measure(back(z))
        inner.start, inner.best, inner._best_z, inner.known = start, np.inf, None, None
        return inner

    def for_stage(
        self, start: Vector | None, done: int, most: int | None, known: float | None = None
    ) -> Control:
        """The same for one of several algorithms in a row: from `start`, after `done` iterations."""
        inner = copy(self)
        inner.known = known
        inner.start, inner.done, inner.best, inner._best_z = start, self.done + done, np.inf, None
        inner.reason, inner.swept = None, None
        inner.max_iterations = most if most is not None and most < UNLIMITED else None
        return inner

    def for_part(self, part: Problem, start: Vector | None, most: int | None) -> Control:
        """The same for an independent part of the problem."""
        from perp.problems.residual import judge

        inner = self.for_stage(start, 0, most)
        inner._measure = lambda z: judge(part, z)[0]
        inner._points = None
        return inner

    def limit(self, default: int) -> int:
        """The iteration limit: the user's, or the algorithm's default."""
        return default if self.max_iterations is None else self.max_iterations

    def remaining(self) -> float | None:
        """Seconds left, or None without a time limit."""
        return None if self._deadline is None else max(0.0, self._deadline - working_time())

    @property
    def watched(self) -> bool:
        """Whether somebody wants to look on: a history is kept or time is limited."""
        return self._points is not None or self._deadline is not None

    @property
    def recorded(self) -> bool:
        """Whether a history is kept: every iterate is then measured."""
        return self._points is not None

    def out_of_time(self) -> bool:
        return self._deadline is not None and working_time() > self._deadline

    def measure(self, z: Vector) -> float:
        """The shared residual of z in the original problem."""
        return self.best if z is self._best_z else self._measure(z)

    def check(self, iteration: int, z: Vector) -> bool:
        """Measure, record, and say whether to stop: solved, diverged or out of time."""
        before = working_time()
        residual = self.last = self._measure(z) if self.known is None else self.known
        self.known = None
        if self._points is not None:
            self._points.append((self.done + iteration, before - self._started - self._record_time, residual))
        # of two that are as good the later one: where one island is beyond help, the others still improve
        if residual <= self.best:
            self.best = residual
            self._best_z = np.array(z)
        self._record_time += working_time() - before if self._points is not None else 0.0
        if residual <= self.tol:
            self.reason = None
            return True
        if not np.isfinite(residual) or residual > DIVERGENCE_FACTOR * max(self.best, 1.0):
            self.reason = Status.DIVERGED
            self.diverged_at = iteration
            return True
        if self.out_of_time():
            self.reason = Status.TIME_LIMIT
            return True
        return False

    def iterate(
        self, advance: Callable[[Vector, int], Any], z: Vector, *, default_limit: int, work: float = 1.0
    ) -> Attempt:
        """Run `advance(z, count)`, which makes `count` iterations in place, until solved or stopped.

        Args:
            advance: Does `count` iterations on z in place.
            z: The start, changed in place.
            default_limit: Iteration limit unless the user set one.
            work: Floating-point operations of one iteration: keeps chunks short enough for a time limit.
        """
        limit = self.limit(default_limit)
        done = 0
        previous = None
        while not self.check(done, z):
            if done >= limit:
                self.reason = Status.ITERATION_LIMIT
                break
            if previous is not None and np.array_equal(previous, z):
                self.reason = Status.STALLED
                break
            previous = z.copy()
            largest = max(1, min(LARGEST_CHUNK, int(2e8 / max(work, 1.0))))
            count = min(max(1, done // CHECK_FRACTION), largest, limit - done)
            advance(z, count)
            done += count
        return self.attempt(z, done)

    def attempt(self, z: Vector, iterations: int, **info: Any) -> Attempt:
        """The best iterate that was checked, with the reason of the last check."""
        best = z if self._best_z is None or self.best == np.inf else self._best_z
        message = ""
        if self.diverged_at is not None:
            info["diverged_at"] = self.diverged_at
            message = f"Divergence was seen at iteration {self.diverged_at}."
        return Attempt(best, iterations, self.reason, info, message)

    def history(self) -> History | None:
        if self._points is None:
            return None
        columns = np.array(self._points, dtype=np.float64).reshape(-1, 3)
        return History(columns[:, 0].astype(np.int64), columns[:, 1].copy(), columns[:, 2].copy())


def run_in_time(
    run: Callable[[Any, Control, Any], Attempt], problem: Problem, control: Control, settings: Any
) -> Attempt:
    """An algorithm, or its best point where the time limit passed in the middle of something long."""
    try:
        return run(problem, control, settings)
    except OutOfTime as late:
        control.reason = Status.TIME_LIMIT
        first = problem.first_point if isinstance(problem, MCP) else np.zeros(problem.size)
        attempt = control.attempt(first if control.start is None else control.start, 0)
        attempt.message = str(late)
        return attempt
