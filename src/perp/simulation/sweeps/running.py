"""Where the runs of a sweep or an identification are done: here, on processes, on an executor, on a cluster.

Every way hands results over as they come, so that progress can be told and what is done can be kept.
"""

import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from perp.problems import PerpError, ProblemError

Job = tuple[Any, ...]
Result = dict[str, Any]
Run = Callable[[Job], Result]
Keep = Callable[[int, Result], None]
_DIED: Result = {"error": "the process that ran it died", "seconds": math.nan}


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is.

    Attributes:
        done, total: Runs.
        rate: Runs a second so far.
        remaining: Seconds that the others will take at this rate; infinite before the first is done.
    """

    done: int
    total: int
    rate: float
    remaining: float

    def __str__(self) -> str:
        if not self.done:
            return f"0 of {self.total}"
        return f"{self.done} of {self.total}, {self.rate:.3g} runs/s, {self.remaining:.0f} s left"


class Results:
    """Results as they come: told to somebody, and kept in a file of one JSON line a run.

    What a result depends on beside the parameters of its run is in `about`: results of another sweep are not
    taken, and runs that are in the file without an error are not done again. `watch` is given a
    `SweepProgress` after every run; True for a line on stderr.
    """

    def __init__(
        self,
        rows: Sequence[dict[str, Any]],
        about: str,
        out: Any,
        watch: bool | Callable[[SweepProgress], Any],
    ) -> None:
        self._keys = [sha256(f"{about}\n{sorted(row.items())!r}".encode()).hexdigest()[:24] for row in rows]
        self._found: dict[int, Result] = {}
        self._path = None if out is None else Path(out)
        self._watch = (_line if watch else None) if isinstance(watch, bool) else watch
        if self._path is not None and self._path.exists():
            self._read()
        self._known, self._began = len(self._found), time.perf_counter()

    def _read(self) -> None:
        assert self._path is not None  # noqa: S101 - for the type checker
        kept: dict[str, Result] = {}
        text = self._path.read_text(encoding="utf-8")
        if text and not text.endswith("\n"):
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n")  # after a line that an interruption cut
        for line in text.splitlines():
            try:
                entry = json.loads(line)
                kept[entry["key"]] = entry["result"]
            except (ValueError, KeyError, TypeError):
                continue
        for i, key in enumerate(self._keys):
            if key in kept and not kept[key]["error"]:
                self._found[i] = kept[key]

    @property
    def missing(self) -> list[int]:
        """Runs that are to be done."""
        return [i for i in range(len(self._keys)) if i not in self._found]

    def keep(self, i: int, result: Result) -> None:
        """Take the result of a run."""
        self._found[i] = result
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": self._keys[i], "result": result}, default=float) + "\n")
        if self._watch:
            done, total = len(self._found), len(self._keys)
            rate = (done - self._known) / max(time.perf_counter() - self._began, 1e-9)
            self._watch(SweepProgress(done, total, rate, (total - done) / rate if rate else math.inf))

    def listed(self) -> list[Result]:
        """All results, in order."""
        return [self._found[i] for i in range(len(self._keys))]


def _line(progress: SweepProgress) -> None:
    end = "\n" if progress.done == progress.total else ""
    print(f"\r{progress}   ", end=end, file=sys.stderr, flush=True)  # noqa: T201


@dataclass(frozen=True)
class Place:
    """Where runs are done."""

    # local processes; one for each processor when None, none of them (this process) when 0
    workers: int | None = None
    scheduler: str | None = None  # address of a Dask scheduler, in place of local processes
    # an executor of `concurrent.futures`, in place of both as long as it takes work
    executor: Executor | None = None

    def do(self, run: Run, jobs: dict[int, Job], keep: Keep) -> None:
        """Do all runs; `keep` is given each result as it comes."""
        if self.executor is not None:
            left = _run_on_executor(run, jobs, keep, self.executor)
            if left:
                Place(self.workers).do(run, left, keep)
        elif self.scheduler is not None:
            _run_on_cluster(run, jobs, keep, self.scheduler)
        elif self.workers == 0:
            for i, job in jobs.items():
                keep(i, run(job))
        else:
            _run_on_processes(run, jobs, keep, self.workers)


def _run_on_processes(run: Run, jobs: dict[int, Job], keep: Keep, workers: int | None) -> None:
    """On fresh processes, as a fork of one with threads may hang.

    Each is a pool of its own: one that dies takes no other run with it than its own, which is done again.
    """
    if workers is not None and workers < 0:
        raise ProblemError(f"workers = {workers}: a number of at least 0 is needed")
    count = max(1, min(workers or os.cpu_count() or 1, len(jobs)))
    idle: SimpleQueue[ProcessPoolExecutor] = SimpleQueue()
    for _ in range(count):
        idle.put(_process())

    def twice(job: Job) -> Result:
        process = idle.get()
        try:
            for _ in range(2):
                try:
                    return process.submit(run, job).result()
                except BrokenProcessPool:
                    process.shutdown()
                    process = _process()
            return dict(_DIED)
        finally:
            idle.put(process)

    threads = ThreadPoolExecutor(count)
    try:
        futures = {threads.submit(twice, job): i for i, job in jobs.items()}
        for future in as_completed(futures):
            keep(futures[future], future.result())
    finally:
        threads.shutdown(cancel_futures=True)
        while not idle.empty():
            idle.get().shutdown()


def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


def _run_on_executor(run: Run, jobs: dict[int, Job], keep: Keep, executor: Executor) -> dict[int, Job]:
    """On any executor of `concurrent.futures`; it stays open.

    Returns what is left: a pool of processes gives up all that is under way where one of them dies, and takes
    no more work.
    """
    futures, left = dict[Any, int](), dict[int, Job]()
    for i, job in jobs.items():
        try:
            futures[executor.submit(run, job)] = i
        except BrokenExecutor:
            left[i] = job
    for future in as_completed(futures):
        i = futures[future]
        if isinstance(future.exception(), BrokenExecutor):
            left[i] = jobs[i]
        else:
            keep(i, _of_worker(future))
    return left


def _run_on_cluster(run: Run, jobs: dict[int, Job], keep: Keep, scheduler: str) -> None:
    """On the workers of a Dask scheduler, which runs again what a lost worker was at.

    Futures that are held would be run again too, where the worker that has their results is lost.
    """
    try:
        from distributed import Client
        from distributed import as_completed as as_they_come
    except ImportError:
        raise PerpError("a Dask cluster needs dask: pip install 'perp[cluster]'") from None
    try:
        client = Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise PerpError(f"scheduler {scheduler}: {error}") from None
    with client:
        futures = {client.submit(run, job, pure=False): i for i, job in jobs.items()}
        for future in as_they_come(list(futures), loop=client.loop):
            keep(futures.pop(future), _of_worker(future))
            future.release()


def _of_worker(future: Any) -> Result:
    """What a run returned; a worker that died is a failed run too."""
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001 a worker may be lost in any way
        return {"error": f"the worker failed: {type(error).__name__}: {error}", "seconds": math.nan}
