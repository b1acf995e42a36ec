"""`solve_many`: independent problems on all cores, with the same answers as one after another.

Compiled kernels release Python's lock, so threads share the work without copying a problem; each problem is
solved by one thread with the same code as `solve`, so that the bits do not depend on their number.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import chain
from typing import Any

from perp.problems import ContactProblem, NotSolved, Problem, ProblemError, Solution, Status
from perp.solvers.small_contact import SmallProblems, is_plain
from perp.solvers.solve import solve

# The default of `solve`.
_TOLERANCE = 1e-8


def solve_many(
    problems: Iterable[Problem],
    solver: str = "auto",
    *,
    threads: int | None = None,
    throw: bool = True,
    **options: Any,
) -> list[Solution]:
    """Solve independent problems at once.

    Args:
        problems: Any problems of perp; they need not be alike.
        solver: As in `solve`.
        threads: How many to use; None for one per core that this process may use.
        throw: Raise `NotSolved` for the first problem, in their order, that misses its tolerance.
        options: The other arguments of `solve`, the same for all problems.

    Returns:
        One solution per problem, in their order, equal to what `solve` returns for each.

    Raises:
        NotSolved: As in `solve`, after all problems were tried.
        ProblemError: `problems` is not a list of problems, or `threads` is not a positive whole number.
    """
    listed = _listed(problems)
    if threads is not None and not (isinstance(threads, int) and threads > 0):
        raise ProblemError(f"threads = {threads!r}: a positive whole number or None is needed")
    count = max(1, min(_cores() if threads is None else threads, len(listed)))
    tol = options.get("tol", _TOLERANCE)
    short = solver == "auto" and not options.keys() - {"tol"} and type(tol) is float and 0.0 < tol < math.inf
    found = (
        [(k, p) for k, p in enumerate(listed) if type(p) is ContactProblem and is_plain(p)] if short else []
    )
    solutions: list[Any] = [None] * len(listed)
    with ThreadPoolExecutor(count) if count > 1 else nullcontext() as pool:
        # packing and solutions take Python's lock, so one thread makes them while others solve
        packed = (SmallProblems([p for _, p in some], tol) for some in _chunks(found, count))
        solved = chain.from_iterable(each.solutions() for each in _each(SmallProblems.solve, packed, pool))
        for (k, _), solution in zip(found, solved, strict=True):
            solutions[k] = solution
        left = [k for k, solution in enumerate(solutions) if solution is None]

        def run(some: list[int]) -> list[Solution]:
            return [solve(listed[k], solver, throw=False, **options) for k in some]

        # the first solve compiles or loads kernels: threads would wait for each other there
        parts = [left[:1], *_chunks(left[1:], count)] if left else []
        longer = [run(parts[0]), *_each(run, parts[1:], pool)] if left else []
        for k, solution in zip(left, chain(*longer), strict=True):
            solutions[k] = solution
    if throw:
        for problem, solution in zip(listed, solutions, strict=True):
            if solution.status is not Status.SOLVED:
                raise NotSolved(problem, solution)
    return solutions


def _chunks(some: list[Any], count: int) -> list[list[Any]]:
    """Neighbours for one thread in turn: some chunks a thread share large problems evenly."""
    size = max(1, len(some) // (8 * count))
    return [some[k : k + size] for k in range(0, len(some), size)]


def _each(work: Any, parts: Any, pool: Any) -> Any:
    """What work makes of the parts, in their order."""
    if pool is None:
        return map(work, parts)
    return (future.result() for future in [pool.submit(work, part) for part in parts])


def _listed(problems: Any) -> list[Problem]:
    """The problems as a list."""
    if isinstance(problems, Problem):
        raise ProblemError(f"problems is one {type(problems).__name__}: a list of them is needed, [problem]")
    if not isinstance(problems, Iterable) or isinstance(problems, (str, bytes)):
        raise ProblemError(f"{type(problems).__name__} holds no problems: a list of them is needed")
    listed = list(problems)
    for i, problem in enumerate(listed):
        if not isinstance(problem, Problem):
            raise ProblemError(
                f"problems[{i}] is {type(problem).__name__}: LCP, BoxedLCP, MCP or ContactProblem is needed"
            )
    return listed


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
