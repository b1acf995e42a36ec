"""Cells in parallel processes, each under a time limit that holds even for a solver that ignores it."""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import IO, Any, Self, cast

from perp.comparison.cells import Cell
from perp.comparison.verdict import CellResult, Verdict
from perp.problems import ContactProblem
from perp.solvers import registry

# Seconds for a worker to start and load its packages.
START_UP = 120.0
# Seconds on top of a cell's own limit before its process is ended: building and judging are not in the limit.
GRACE = 15.0
# One thread each: cells are small, and several run side by side.
ENVIRONMENT = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


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
        with _Worker() as worker:
            while True:
                try:
                    i = queue.get_nowait()
                except Empty:
                    return
                results[i] = result = worker.run(cells[i], problem, limits)
                if done is not None:
                    done(result)

    count = min(workers or os.cpu_count() or 1, max(queue.qsize(), 1))
    threads = [threading.Thread(target=serve, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [result for result in results if result is not None]


class _Worker:
    """A worker process that is replaced when it hangs or dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def run(self, cell: Cell, problem: ContactProblem, limits: dict[str, Any]) -> CellResult:
        """One cell; a hang or a crash becomes a failed result."""
        limit = limits["time_limit"]
        process = self._process
        try:
            process = self._start()
            requests = cast(IO[bytes], process.stdin)
            pickle.dump({"cell": cell, "problem": problem, **limits}, requests)
            requests.flush()
            if _waits(process, limit + GRACE):
                return pickle.load(process.stdout)  # type: ignore[arg-type]  # noqa: S301
            message = f"no answer within {limit:.3g} s: the process was ended"
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            code = process.wait() if process is not None else 0
            message = (
                f"the solver ended its process ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
            )
        self._end()
        return CellResult(cell, Verdict.FAILED, message=message)

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "perp.comparison.worker"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(sys.path)},
            )  # fmt: skip
            if not _waits(self._process, START_UP):
                raise EOFError
            pickle.load(self._process.stdout)  # type: ignore[arg-type]  # noqa: S301
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            self._process.kill()
            self._process.wait()
            self._process = None


def _waits(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether something to read arrives in time; the end of the stream counts."""
    return bool(select.select([cast(IO[bytes], process.stdout)], [], [], seconds)[0])
