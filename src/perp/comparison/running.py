"""Cells in parallel processes, each under a time limit that holds even for a solver that ignores it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from perp.comparison.cells import Cell
from perp.comparison.processes import COMPILING, WorkerLost, WorkerProcess
from perp.comparison.verdict import CellResult, Verdict
from perp.problems import ContactProblem
from perp.solvers import registry

# Seconds on top of a cell's own limit before its process is ended: building and judging are not in the limit.
GRACE = 15.0


def run_cells(
    cells: list[Cell],
    problem: ContactProblem,
    *,
    step: float = 1.0,
    tol: float = 1e-11,
    accept: float = 1e-6,
    time_limit: float = 20.0,
    workers: int | None = None,
    done: Callable[[CellResult], None] | None = None,
) -> list[CellResult]:
    """Run the cells and return their results in the same order.

    Args:
        cells: What to run.
        problem: The exact contact problem.
        step: Time step [s]: forces are impulses / step.
        tol: What is asked of every solver.
        accept: The residual up to which an answer counts as exact.
        time_limit: Seconds a cell.
        workers: Processes; one per core by default.
        done: Called with every result as it comes in.
    """
    results: list[CellResult | None] = [None] * len(cells)
    queue: SimpleQueue[int] = SimpleQueue()
    for i, cell in enumerate(cells):
        reason = registry.find(cell.solver).reason
        if reason is None:
            queue.put(i)
            continue
        results[i] = absent = CellResult(cell, Verdict.NOT_INSTALLED, message=reason)
        if done is not None:
            done(absent)
    limits = {"step": step, "tol": tol, "accept": accept, "time_limit": time_limit}

    def serve() -> None:
        with WorkerProcess([sys.executable, "-m", "perp.comparison.worker"]) as worker:
            while True:
                try:
                    i = queue.get_nowait()
                except Empty:
                    return
                results[i] = result = _run(worker, cells[i], problem, limits)
                if done is not None:
                    done(result)

    count = min(workers or os.cpu_count() or 1, max(queue.qsize(), 1))
    threads = [threading.Thread(target=serve, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [result for result in results if result is not None]


def _run(worker: WorkerProcess, cell: Cell, problem: ContactProblem, limits: dict[str, Any]) -> CellResult:
    """One cell; a hang or a crash becomes a failed result."""
    limit = limits["time_limit"]
    compiles = registry.find(cell.solver).family not in ("external", "user")
    try:
        return worker.ask(
            {"cell": cell, "problem": problem, **limits}, limit + GRACE + (COMPILING if compiles else 0.0)
        )
    except WorkerLost as lost:
        message = f"no answer within {limit:.3g} s: {lost}" if lost.hung else str(lost)
        return CellResult(cell, Verdict.FAILED, message=message)
