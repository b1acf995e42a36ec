"""Looking on while a problem is solved: a function of the user's, or lines at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from perp.problems import ProblemError
from perp.solvers.attempt import Control

# Lines come no faster than this [s]: nobody reads more.
_PAUSE = 0.25


@dataclass(frozen=True)
class Progress:
    """How far a solve has come.

    Attributes:
        solver: Which algorithm is at work; "auto" uses several.
        iteration: Of the whole solve.
        seconds: Since its start, without compiling.
        residual: Of the iterate, in the problem that was given [as `perp.residual`].
        done: Whether this is the answer.
    """

    solver: str
    iteration: int
    seconds: float
    residual: float
    done: bool = False

    def __str__(self) -> str:
        work = f"iteration {self.iteration:<8d} residual {self.residual:<9.2e}"
        return f"{self.solver:<20s} {work} {self.seconds:.2f} s"


Watch = Callable[[Progress], Any]


class Watcher(list[tuple[int, float, float]]):
    """A history that tells about each of its points.

    Args:
        solver: The algorithm that is at work.
        tell: Is given the progress.
    """

    def __init__(self, solver: str, tell: Watch) -> None:
        super().__init__()
        self.solver, self._tell = solver, tell

    def append(self, point: tuple[int, float, float], /) -> None:
        """Keep a point (iteration, seconds, residual) and tell about it."""
        super().append(point)
        self._tell(Progress(self.solver, *point))


def now_runs(control: Control, solver: str) -> None:
    """Another algorithm takes over, for whoever looks on."""
    if isinstance(control._points, Watcher):
        control._points.solver = solver


def watch_of(verbose: bool, callback: Any) -> Watch | None:
    """What is to be told, or None where nobody looks on.

    Raises:
        ProblemError: The callback cannot be called.
    """
    if callback is not None and not callable(callback):
        raise ProblemError(
            f"callback is of type {type(callback).__name__}: a function of one Progress is needed"
        )
    if not verbose:
        return callback
    lines = _Lines()

    def both(progress: Progress) -> None:
        lines(progress)
        if callback is not None:
            callback(progress)

    return both


class _Lines:
    """Writes progress to stderr: now and then, when another algorithm takes over, and of the answer."""

    def __init__(self) -> None:
        self._last, self._solver = 0.0, ""

    def __call__(self, progress: Progress) -> None:
        if progress.done or progress.solver != self._solver or monotonic() > self._last + _PAUSE:
            self._last, self._solver = monotonic(), progress.solver
            sys.stderr.write(f"{progress}\n")
