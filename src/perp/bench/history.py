"""How the residual of a solve falls with time.

A solver of ours is watched: it is solved once more with `history`, which leaves out the time of watching. A
solver of others cannot be, so it is asked for coarser tolerances, one call each: where a call ends, and what
its answer is worth, is a point. What is kept is the least residual reached so far.
"""

from collections.abc import Callable, Iterable
from math import isfinite, log10

import numpy as np

from perp.bench.timing import Timing
from perp.problems import Solution

Point = tuple[float, float]
"""Wall time [s], perp's residual."""

# Seconds (wall) spent on the history of one solve: pictures are not worth more.
BUDGET = 1.0
# A peer is asked for these before the tolerance of the run.
COARSE = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
# Points of a history that are kept: a picture shows no more.
MOST_POINTS = 16
# Residuals below are drawn as this: logarithms end here.
SMALLEST = 1e-17


def watched(solution: Solution) -> list[Point]:
    """The points of a solve with `history=True`, and where it ended."""
    record = solution.history
    points = (
        [] if record is None else list(zip(record.times.tolist(), record.residuals.tolist(), strict=True))
    )
    return [*points, (solution.solve_time, solution.residual)]


def stepwise(
    ask: Callable[[float], tuple[Timing, Solution]], tolerances: Iterable[float], last: Point
) -> list[Point]:
    """The points of a solver that is asked for one tolerance after another, from coarse to fine.

    `ask` solves to a tolerance and returns the time of the solver's own call with the answer; `last` is the
    answer that the run has already.
    """
    points, spent = [last], 0.0
    for tolerance in tolerances:
        if spent + last[0] > BUDGET:
            break
        timing, solution = ask(tolerance)
        spent += timing.wall
        points.append((timing.wall, solution.residual))
    return falling(points)


def falling(points: Iterable[Point]) -> list[Point]:
    """Those points, by time, that are better than all before, thinned out evenly in the residual's digits."""
    best: list[Point] = []
    for time, residual in sorted(points):
        if isfinite(residual) and (not best or residual < best[-1][1]):
            best.append((time, residual))
    if len(best) <= MOST_POINTS:
        return best
    digits = -np.array([log10(max(residual, SMALLEST)) for _, residual in best])
    wanted = np.linspace(digits[0], digits[-1], MOST_POINTS)
    kept = np.unique(np.searchsorted(digits, wanted).clip(max=len(best) - 1))
    return [best[k] for k in kept]


def median_curve(histories: list[tuple[Point, ...]], problem_count: int, times: np.ndarray) -> np.ndarray:
    """The median over all problems of the least residual reached by each time, shape (times,).

    A problem without a point so far, or that the solver does not take, counts as infinite.
    """
    reached = np.full((problem_count, times.size), np.inf)
    for row, history in zip(reached, histories, strict=False):
        for time, residual in history:
            row[times >= time] = max(residual, SMALLEST)
    return np.median(reached, axis=0)
