"""Runs one cell and says what its answer is worth."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter
from typing import Any

import numpy as np

from perp.comparison.cells import Cell
from perp.models.box_on_slope import box_on_slope
from perp.problems import ContactProblem, PerpError, Solution, SolverMissing, Status, residual
from perp.problems.sets import COULOMB, NONNEGATIVE
from perp.problems.validation import Vector
from perp.solvers import solve


class Verdict(StrEnum):
    """What a cell's answer is worth, decided by the residual alone."""

    EXACT = "exact"
    RELAXED = "relaxed answer"
    WRONG = "wrong"
    FAILED = "failed"
    NOT_INSTALLED = "not installed"


@dataclass(frozen=True)
class CellResult:
    """What came out of a cell."""

    cell: Cell
    verdict: Verdict  # what the answer is worth
    normal: float | None = None  # sum of the normal forces [N], or None without an answer
    tangential: float | None = None  # norm of the sum of the tangential forces [N], or None
    residual: float | None = None  # of the exact problem
    time: float | None = None  # in the solver [s]
    iterations: int | None = None  # as the solver counts them
    message: str = ""  # the solver's words, or why there is no answer


@dataclass(frozen=True)
class Limits:
    """What is asked of every cell, and how it is judged: options of `perp compare`.

    Attributes:
        tol: What is asked of every solver, as residual.
        accept: The residual up to which an answer counts as exact.
        time_limit: Of each solve [s].
    """

    tol: float = 1e-11
    accept: float = 1e-6
    time_limit: float = 20.0


def run_cell(cell: Cell, problem: ContactProblem, step: float, limits: Limits) -> CellResult:
    """Solve one cell of the exact contact problem, whose forces are impulses / step [s].

    Whatever goes wrong becomes a result.
    """
    began = perf_counter()
    try:
        solution = solve(
            problem, cell.solver, formulation=cell.formulation, tol=limits.tol, throw=False,
            time_limit=limits.time_limit, options=cell.options or None,
        )  # fmt: skip
    except SolverMissing as missing:
        return CellResult(cell, Verdict.NOT_INSTALLED, message=str(missing))
    except PerpError as error:
        return CellResult(cell, Verdict.FAILED, message=str(error), time=perf_counter() - began)
    if solution.info.get("no_answer"):
        return CellResult(cell, Verdict.FAILED, message=solution.message, time=solution.solve_time)
    normal, tangential = totals(problem, solution.z)
    return CellResult(
        cell, judge(problem, solution, limits.accept), normal / step, tangential / step, solution.residual,
        solution.solve_time, solution.iterations, solution.message,
    )  # fmt: skip


def serving() -> Callable[[tuple[Any, ...]], CellResult]:
    """What a process that runs cells does: a vendor that prints, hangs or crashes does so there."""
    warm_up()
    return lambda request: run_cell(*request)


def warm_up() -> None:
    """Load solvers and compiled code before the clock runs."""
    problem = box_on_slope(angle=25.0, mu=0.3).problem
    for solver, formulation in (("cone-interior", "primal"), ("mcp-newton", "equations_of_motion")):
        solve(problem, solver, formulation=formulation, throw=False)


def judge(problem: ContactProblem, solution: Solution, accept: float) -> Verdict:
    """The verdict: by the residual in the exact problem, then in the relaxed one, then by what it claimed."""
    if solution.residual <= accept:
        return Verdict.EXACT
    if residual(problem.as_relaxed(), solution.z) <= accept:
        return Verdict.RELAXED
    claimed = solution.status in (Status.SOLVED, Status.INACCURATE, Status.RELAXED)
    return Verdict.WRONG if claimed else Verdict.FAILED


def totals(problem: ContactProblem, impulse: Vector) -> tuple[float, float]:
    """Sum of normal impulses, and norm of the sum of tangential impulses, over contacts [N·s]."""
    sets = problem.sets
    normal, tangential = 0.0, np.zeros(2)
    for c in range(sets.count):
        first, last = int(sets.start[c]), int(sets.start[c + 1])
        if sets.kind[c] == NONNEGATIVE or sets.kind[c] >= COULOMB:
            normal += impulse[first]
        if sets.kind[c] >= COULOMB:
            across = impulse[first + 1 : min(last, first + 3)]
            tangential[: across.size] += across
    return normal, float(np.linalg.norm(tangential))
