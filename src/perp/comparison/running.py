"""Cells in parallel processes, each under a time limit that holds even for a solver that ignores it."""

import os
from collections.abc import Callable

from perp.comparison.cells import Cell
from perp.comparison.processes import COMPILING, WorkerLost, WorkerProcess, share_out
from perp.comparison.verdict import CellResult, Limits, Verdict
from perp.problems import ContactProblem
from perp.solvers import registry

# Seconds on top of a cell's own limit before its process is ended: building and judging are not in the limit.
GRACE = 15.0
_USUAL = Limits()


def run_cells(
    cells: list[Cell],
    problem: ContactProblem,
    limits: Limits = _USUAL,
    *,
    step: float = 1.0,
    workers: int | None = None,
    done: Callable[[CellResult], None] | None = None,
) -> list[CellResult]:
    """Run the cells in processes, one per core by default, and return their results in the same order.

    Forces are impulses / step [s]; `done` is called with every result as it comes in.
    """
    told = done or (lambda _: None)
    results: dict[int, CellResult] = {}
    for i, cell in enumerate(cells):
        reason = registry.find(cell.solver).reason
        if reason is not None:
            results[i] = CellResult(cell, Verdict.NOT_INSTALLED, message=reason)
            told(results[i])
    left = [i for i in range(len(cells)) if i not in results]

    def do(worker: WorkerProcess, i: int) -> CellResult:
        return _run(worker, cells[i], problem, step, limits)

    for k, result in share_out("perp.comparison.verdict:serving", left, workers or os.cpu_count() or 1, do):
        results[left[k]] = result
        told(result)
    return [results[i] for i in range(len(cells))]


def _run(
    worker: WorkerProcess, cell: Cell, problem: ContactProblem, step: float, limits: Limits
) -> CellResult:
    """One cell; a hang or a crash becomes a failed result."""
    compiles = registry.find(cell.solver).family not in ("external", "user")
    seconds = limits.time_limit + GRACE + (COMPILING if compiles else 0.0)
    try:
        return worker.ask((cell, problem, step, limits), seconds)
    except WorkerLost as lost:
        message = f"no answer within {limits.time_limit:.3g} s: {lost}" if lost.hung else str(lost)
        return CellResult(cell, Verdict.FAILED, message=message)
