"""Runs one cell and says what its answer is worth."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter

import numpy as np

from perp.comparison.cells import Cell
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
    """What came out of a cell.

    Attributes:
        cell: The cell.
        verdict: What the answer is worth.
        normal: Sum of the normal forces [N], or None without an answer.
        tangential: Norm of the sum of the tangential forces [N], or None.
        residual: Of the exact problem.
        time: Seconds in the solver, or None.
        iterations: As the solver counts them.
        message: The solver's words, or why there is no answer.
    """

    cell: Cell
    verdict: Verdict
    normal: float | None = None
    tangential: float | None = None
    residual: float | None = None
    time: float | None = None
    iterations: int | None = None
    message: str = ""


def run_cell(
    cell: Cell, problem: ContactProblem, *, step: float, tol: float, accept: float, time_limit: float
) -> CellResult:
    """Solve one cell; whatever goes wrong becomes a result.

    Args:
        cell: What to run.
        problem: The exact contact problem.
        step: Time step [s]: forces are impulses / step.
        tol: What is asked of every solver.
        accept: The residual up to which an answer counts as exact.
        time_limit: Seconds.
    """
    began = perf_counter()
    try:
        solution = solve(
            problem, cell.solver, formulation=cell.formulation, tol=tol, time_limit=time_limit, throw=False,
            options=cell.options or None,
        )  # fmt: skip
    except SolverMissing as missing:
        return CellResult(cell, Verdict.NOT_INSTALLED, message=str(missing))
    except PerpError as error:
        return CellResult(cell, Verdict.FAILED, message=str(error), time=perf_counter() - began)
    if solution.info.get("no_answer"):
        return CellResult(cell, Verdict.FAILED, message=solution.message, time=solution.solve_time)
    normal, tangential = totals(problem, solution.z)
    return CellResult(
        cell, judge(problem, solution, accept), normal / step, tangential / step, solution.residual,
        solution.solve_time, solution.iterations, solution.message,
    )  # fmt: skip


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
