"""`solve`: one call for every problem and solver, with the status set by the shared residual."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, overload

import numpy as np

from perp.compilation.deadline import OutOfTime, within
from perp.compilation.stopwatch import working_time
from perp.formulations.registry import Formulation, Reformulated
from perp.problems import (
    LCP,
    MCP,
    BoxedLCP,
    ContactProblem,
    ContactSolution,
    NotSolved,
    Problem,
    ProblemError,
    Solution,
    Status,
)
from perp.problems.active_sets import active_rows
from perp.problems.infeasibility import exact_certificate
from perp.problems.residual import as_answer, judge
from perp.problems.validation import Vector
from perp.solvers import registry
from perp.solvers.attempt import Attempt, Control, run_in_time
from perp.solvers.cohesion import solve_cohesive
from perp.solvers.friction_limits import AUTO_STEPS, FAILURES, carried, friction_limits, with_less_friction
from perp.solvers.outer_iterations import run_formulation
from perp.solvers.registry import SolverInfo
from perp.solvers.routes import find_route
from perp.solvers.short_way import short_way
from perp.solvers.watching import Progress, Watch, Watcher, watch_of

# Seconds that the short way of a small problem does not take: a limit above them changes nothing of it.
_SHORT = 0.05


@overload
def solve(
    problem: ContactProblem,
    solver: str = "auto",
    *,
    formulation: str | None = None,
    tol: float = 1e-8,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    start: Any = None,
    history: bool = False,
    throw: bool = True,
    options: Any = None,
    verbose: bool = False,
    callback: Watch | None = None,
) -> ContactSolution: ...
@overload
def solve(
    problem: Problem,
    solver: str = "auto",
    *,
    formulation: str | None = None,
    tol: float = 1e-8,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    start: Any = None,
    history: bool = False,
    throw: bool = True,
    options: Any = None,
    verbose: bool = False,
    callback: Watch | None = None,
) -> Solution: ...
def solve(
    problem: Problem,
    solver: str = "auto",
    *,
    formulation: str | None = None,
    tol: float = 1e-8,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    start: Any = None,
    history: bool = False,
    throw: bool = True,
    options: Any = None,
    verbose: bool = False,
    callback: Watch | None = None,
) -> Solution:
    """Solve a problem and verify the answer.

    Args:
        problem: LCP, BoxedLCP, MCP or ContactProblem.
        solver: A name from `perp.solvers()`; "auto" chooses and says which.
        formulation: Turn the problem into another one first; None lets the solver decide.
        tol: The residual (`perp.residual`) that counts as solved.
        max_iterations: Iteration or pivot limit; None for the solver's own.
        time_limit: Seconds.
        start: Where to begin: an array of shape (size,), or an earlier Solution.
        history: Keep a per-iteration record in `solution.history`.
        throw: Raise `NotSolved` when the residual misses `tol`; with False return the unsolved answer.
        options: The solver's options: a dict or its options dataclass.
        verbose: Write the algorithm at work, its iteration and residual to stderr, a few times a second.
        callback: Is given a `Progress` (solver, iteration, seconds, residual) whenever an iterate is
            measured; an exception of it ends the solve.

    Returns:
        The answer; `ContactSolution` for a ContactProblem.

    Raises:
        NotSolved: The residual misses `tol` and `throw` is set. The exception carries problem and solution.
        ProblemError: The problem or the start makes no sense.
        SolverError: Unknown solver, one that cannot take the problem, one that is not installed, bad options.
    """
    swept = None
    if (
        solver == "auto" and formulation is None and start is None
        and max_iterations is None and history is False and options is None and not verbose
        and callback is None
        and (time_limit is None or (type(time_limit) is float and time_limit > _SHORT))
    ):  # fmt: skip
        solution, swept = short_way(problem, tol)
        if solution is not None:
            return solution
    check_problem(problem)
    _check_limits(tol, max_iterations, time_limit)
    watch = watch_of(verbose, callback)
    if isinstance(problem, ContactProblem) and problem.sets.cohesion.any():
        return solve_cohesive(
            problem, tol, start, throw, solver=solver, formulation=formulation, options=options,
            max_iterations=max_iterations, time_limit=time_limit, history=history, callback=watch,
        )  # fmt: skip
    info = registry.find(solver)
    settings = registry.read_options(info, options)
    first = _start(problem, start)
    limits = (tol, max_iterations, time_limit, history, watch)
    best = _solve_along(problem, (info, settings, formulation), first, limits, swept)
    if watch is not None:
        watch(Progress(best.solver, best.iterations, best.solve_time, best.residual, done=True))
    if throw and best.status is not Status.SOLVED:
        raise NotSolved(problem, best)
    return best


def _solve_along(
    problem: Problem,
    way: tuple[SolverInfo, Any, str | None],
    first: Vector | None,
    limits: tuple[float, int | None, float | None, bool, Watch | None],
    swept: tuple[Vector, tuple[float, int], tuple[float, int]] | None,
) -> Solution:
    """The algorithm with friction limited to more and more, from what it found with less."""
    began, (tol, most, time_limit, history, watch) = working_time(), limits
    ladder, missed, start = friction_limits(problem), 0, first
    limit = ladder.pop(0)
    limited = with_less_friction(problem, limit)
    fewer = AUTO_STEPS if most is None and ladder and way[0].name == "auto" else most
    best = found = _solve_once(problem, limited, way, start, (tol, fewer, time_limit, history, watch), swept)
    while ladder and best.status is not Status.SOLVED:
        left = None if time_limit is None else time_limit - (working_time() - began)
        if left is not None and left <= 0.0:
            break
        missed += judge(limited, found.z)[0] > tol
        if missed == FAILURES:
            ladder, start = ladder[-1:], first
        elif isinstance(problem, ContactProblem) and np.isfinite(found.z).all():
            start = carried(problem, found.z, limit, ladder[0])
        limit = ladder.pop(0)
        limited = with_less_friction(problem, limit)
        steps = fewer if ladder else most
        found = _solve_once(problem, limited, way, start, (tol, steps, left, history, watch), None)
        best = _joined(best, found)
    return best


def _solve_once(
    problem: Problem,
    limited: Problem,
    way: tuple[SolverInfo, Any, str | None],
    first: Vector | None,
    limits: tuple[float, int | None, float | None, bool, Watch | None],
    swept: tuple[Vector, tuple[float, int], tuple[float, int]] | None,
) -> Solution:
    """One run of an algorithm until the problem with limited friction is solved, judged in the problem."""
    began, (info, settings, formulation) = working_time(), way
    route = find_route(limited, info, formulation, advise=True)
    if info.needs is not None:
        registry.require_available(info)
    turned = None if route is None else route.build(limited)
    if turned is not None:
        objection = info.objection(turned.problem)
        if objection is not None and route is not None:
            raise registry.mismatch(info, problem, f"as {route.name}, {objection}")
        first = None if first is None or turned.start is None else turned.start(first)
    tol, max_iterations, time_limit, history, watch = limits
    judged = _Judged()
    control = Control(
        _measure(judged, limited, route, turned),
        tol=tol,
        max_iterations=max_iterations,
        time_limit=time_limit,
        start=first,
        history=history,
    )
    control.swept = swept
    if watch is not None:
        control._points = Watcher(info.name, watch)
    ready = working_time()
    with within(time_limit):
        if turned is None:
            attempt = run_in_time(info.run, limited, control, settings)
        else:
            attempt, turned = run_formulation(info, turned, control, settings)
            if route is not None and not route.is_exact(problem):
                attempt.info["own_residual"] = _own_residual(problem, turned, attempt.z)
        finished = working_time()
        if turned is not None:
            attempt = _bring_back(problem, attempt, turned)
        seconds = ready - began, finished - ready
        solution = _conclude(judged, problem, attempt, control, info, route, seconds)
    return solution if history or watch is None else replace(solution, history=None)


def _joined(before: Solution, after: Solution) -> Solution:
    """The better of two runs on one problem, with the work of both."""
    better = after if after.residual <= before.residual else before
    return replace(
        better,
        iterations=before.iterations + after.iterations,
        build_time=before.build_time + after.build_time,
        solve_time=before.solve_time + after.solve_time,
    )


class _Judged:
    """`judge`, which remembers its last answer: as a rule an algorithm ends at the point it measured last."""

    def __init__(self) -> None:
        self._last: tuple[Problem, Vector, tuple[float, Vector]] | None = None

    def __call__(self, problem: Problem, z: Vector) -> tuple[float, Vector]:
        if self._last is None or self._last[0] is not problem or not np.array_equal(self._last[1], z):
            self._last = problem, np.array(z), judge(problem, z)
        return self._last[2]


def _measure(
    judged: _Judged, problem: Problem, route: Formulation | None, turned: Reformulated | None
) -> Callable[[Vector], float]:
    """The residual that an algorithm iterates on: of the original problem wherever that can be met.

    An inexact formulation cannot be iterated until the original is solved: its own residual stops it.
    """
    if turned is None or route is None:
        return lambda z: judged(problem, z)[0]
    inner, back = turned.problem, turned.back
    if not route.is_exact(problem):
        if turned.measure is not None:
            return turned.measure
        if isinstance(inner, Problem):
            return lambda z: judge(inner, z)[0]
    return lambda z: judged(problem, back(z))[0]


def _own_residual(problem: Problem, turned: Reformulated, z: Vector) -> float:
    """How well an inexact formulation's own problem is solved: what is left is what the formulation costs.

    Programs have no residual of their own here; their answers are those of the problem without Γ.
    """
    if turned.measure is not None:
        return turned.measure(z)
    if isinstance(turned.problem, Problem):
        return judge(turned.problem, z)[0]
    if isinstance(problem, ContactProblem):
        return judge(problem.as_relaxed(), turned.back(z))[0]
    return judge(problem, turned.back(z))[0]


def check_problem(problem: Any) -> None:
    """Raises `ProblemError` for anything but a problem."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"{type(problem).__name__} is not a problem: LCP, BoxedLCP, MCP or ContactProblem")


def _check_limits(tol: float, max_iterations: int | None, time_limit: float | None) -> None:
    if not (isinstance(tol, (int, float, np.floating)) and tol > 0 and math.isfinite(tol)):
        raise ProblemError(f"tol = {tol!r}: a positive number is needed")
    if max_iterations is not None and not (
        isinstance(max_iterations, (int, np.integer)) and max_iterations >= 0
    ):
        raise ProblemError(f"max_iterations = {max_iterations!r}: a whole number of at least 0 is needed")
    if time_limit is not None and not (isinstance(time_limit, (int, float, np.floating)) and time_limit > 0):
        raise ProblemError(f"time_limit = {time_limit!r}: a positive number of seconds is needed")


def _start(problem: Problem, start: Any) -> Vector | None:
    if start is None:
        return None
    first = as_answer(problem, start.z if isinstance(start, Solution) else start, "start")
    if not np.isfinite(first).all():
        i = int(np.argmin(np.isfinite(first)))
        raise ProblemError(f"start[{i}] is {first[i]}: every entry must be finite")
    return first


def _bring_back(problem: Problem, attempt: Attempt, turned: Reformulated) -> Attempt:
    if turned.info is not None:
        attempt.info.update(turned.info(attempt.z))
    attempt.z = turned.back(attempt.z)
    bring_back_active_set(problem, attempt)
    return attempt


def bring_back_active_set(problem: Problem, attempt: Attempt) -> None:
    """Say in the rows of `problem` what an algorithm has said of the rows of another form."""
    attempt.info.pop("at_upper", None)
    if attempt.info.pop("active_set", None) is None or not isinstance(problem, (LCP, BoxedLCP)):
        return
    active, upper = active_rows(problem, attempt.z, problem.evaluate(attempt.z))
    attempt.info["active_set"] = active
    if isinstance(problem, BoxedLCP):
        attempt.info["at_upper"] = upper


def _onto_bounds(problem: MCP, z: Vector, w: Vector, value: float) -> tuple[Vector, Vector, float]:
    """An answer a hair off its bounds, as interior points give it, moved onto them where that is better."""
    from perp.problems.mcp_residual import at_its_bounds

    moved = at_its_bounds(problem, z, w)
    if np.array_equal(moved, z):
        return z, w, value
    other, slack = judge(problem, moved)
    return (moved, slack, other) if other < value else (z, w, value)


def _proved_infeasible(problem: Problem, info: dict[str, Any]) -> Status:
    """INFEASIBLE with the vector that proves it in exact arithmetic, or another word where none does."""
    certificate = exact_certificate(problem, info.pop("certificate", None))
    if certificate is None:
        return Status.RAY if "ray" in info else Status.FAILED
    info["certificate"] = certificate
    return Status.INFEASIBLE


def _conclude(
    judged: _Judged,
    problem: Problem,
    attempt: Attempt,
    control: Control,
    info: SolverInfo,
    route: Formulation | None,
    seconds: tuple[float, float],
) -> Solution:
    """Measure the answer and set the status: the only place where SOLVED is given."""
    z = np.ascontiguousarray(attempt.z, dtype=np.float64)
    reason = attempt.reason
    try:
        value, w = judged(problem, z)
        if isinstance(problem, MCP) and np.isfinite(w).all() and value > 0.0:
            z, w, value = _onto_bounds(problem, z, w, value)
    except OutOfTime:
        # what was measured on the way, if anything was
        value, w, reason = max(control.best, control.tol * 2.0), problem.evaluate(z), Status.TIME_LIMIT
    if value <= control.tol:
        status = Status.SOLVED
    elif reason is Status.INFEASIBLE:
        status = _proved_infeasible(problem, attempt.info)
    elif reason is None or reason is Status.SOLVED:
        exact = route is None or route.is_exact(problem)
        status = Status.INACCURATE if exact or route is None else route.shortfall
    else:
        status = reason
    kind = ContactSolution if isinstance(problem, ContactProblem) else Solution
    return kind(
        problem=problem,
        z=z,
        w=w,
        status=status,
        residual=value,
        tolerance=control.tol,
        iterations=int(attempt.iterations),
        solver=attempt.info.pop("solver", info.name),
        formulation=attempt.info.pop("formulation", None if route is None else route.name),
        build_time=seconds[0],
        solve_time=seconds[1],
        history=control.history(),
        info=attempt.info,
        message=attempt.message,
    )
