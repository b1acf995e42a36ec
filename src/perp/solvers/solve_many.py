"""`solve_many`: independent problems on all cores, with the same answers as one after another.

Compiled kernels release Python's lock, so threads share the work without copying a problem; each problem is
solved by one thread with the same code as `solve`, so that the bits do not depend on their number.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from perp.problems import ContactProblem, NotSolved, Problem, ProblemError, Solution
from perp.solvers.small_contact import solve_small_ones
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
    # neighbours in the list go to one thread in turn: a chunk is long enough for its own bookkeeping not to
    # matter
    chunk = max(1, len(listed) // (8 * count))
    chunks = [listed[k : k + chunk] for k in range(0, len(listed), chunk)]

    short = solver == "auto" and not options.keys() - {"tol"} and type(options.get("tol", 0.0)) is float

    def run(part: list[Problem]) -> list[Solution]:
        found: dict[int, Solution] = {}
        if short:
            # small contact problems of a chunk in one compiled call; whatever is left takes the long way
            small = [k for k, problem in enumerate(part) if type(problem) is ContactProblem]
            solved = solve_small_ones([part[k] for k in small], options.get("tol", _TOLERANCE))  # pyright: ignore[reportArgumentType]
            found = {k: solution for k, solution in zip(small, solved, strict=True) if solution is not None}
        return [
            found[k] if k in found else solve(problem, solver, throw=False, **options)
            for k, problem in enumerate(part)
        ]

    if count == 1:
        solutions = run(listed)
    else:
        # the first solve compiles or loads kernels: threads would wait for each other there
        first = run(chunks[:1][0][:1])
        later = [chunks[0][1:], *chunks[1:]]
        with ThreadPoolExecutor(count) as pool:
            solutions = first + [solution for part in pool.map(run, later) for solution in part]
    if throw:
        for problem, solution in zip(listed, solutions, strict=True):
            if not solution.solved:
                raise NotSolved(problem, solution)
    return solutions


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
