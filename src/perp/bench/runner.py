"""Runs jobs in worker processes and appends a row for each; what is already there is not run again."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from perp.bench import rows as table
from perp.bench.job import REPEAT_BUDGET, Job
from perp.bench.peers import peers
from perp.bench.rows import Outcome, Row
from perp.bench.sets.base import TestSet
from perp.comparison.processes import COMPILING, WorkerLost, WorkerProcess
from perp.problems.errors import SolverError
from perp.solvers import registry
from perp.solvers.listing import can_take

# Seconds on top of a solve's own limit before its process is ended: converting and judging are not in it.
GRACE = 10.0


@dataclass(frozen=True)
class RunSettings:
    """What is asked of every solver.

    Attributes:
        tol: The residual.
        time_limit: Seconds for one solve.
        repeat: Timed solves at most; the least counts.
        peers: Whether peers run as well.
        solvers: Only these solvers; None for all that take a problem.
        workers: Processes side by side. One by default: neighbours disturb times.
        scheduler: Address of a Dask scheduler, or None for processes of this machine.
        imports: Modules that register solvers of the user's own.
        largest: Problems with more rows are left out; None for none.
    """

    tol: float = 1e-8
    time_limit: float = 10.0
    repeat: int = 5
    peers: bool = False
    solvers: tuple[str, ...] | None = None
    workers: int = 1
    scheduler: str | None = None
    imports: tuple[str, ...] = ()
    largest: int | None = None


def choose_solvers(settings: RunSettings) -> tuple[list[str], dict[str, str]]:
    """The solvers to run, and those that would but are missing, with the command that adds each.

    Raises:
        UnknownSolver: A solver that was asked for does not exist.
    """
    others = {info.name for info in peers()}
    known = registry.all_solvers()
    if settings.solvers is not None:
        chosen = [registry.find(name) for name in settings.solvers]
        chosen += [known[name] for name in sorted(others) if settings.peers and name not in settings.solvers]
    else:
        ours = sorted(known.values(), key=lambda info: (info.family, info.name))
        chosen = [info for info in ours if info.family != "external" and info.name not in others]
        chosen += [known[name] for name in sorted(others)] if settings.peers else []
    missing = {info.name: info.reason for info in chosen if info.reason is not None}
    return [info.name for info in chosen if info.name not in missing], missing


def plan(
    sets: Iterable[TestSet], names: list[str], settings: RunSettings, left_out: dict[str, int]
) -> Iterator[Job]:
    """A job for every problem and every solver that takes it.

    Args:
        sets: Where problems come from.
        names: The solvers.
        settings: What is asked of them.
        left_out: Gets the names of problems that are too large, with their rows.
    """
    for chosen in sets:
        for named in chosen.problems():
            left_out.pop(f"{chosen.name}/{named.name}", None)
            if settings.largest is not None and named.problem.size > settings.largest:
                left_out[f"{chosen.name}/{named.name}"] = named.problem.size
                continue
            for name in names:
                if can_take(registry.find(name), named.problem):
                    yield Job(
                        chosen.name, named.name, named.problem, named.start, name, tol=settings.tol,
                        time_limit=settings.time_limit, repeat=settings.repeat, imports=settings.imports,
                    )  # fmt: skip


def run(
    jobs: list[Job], out: Path, settings: RunSettings, *, done: Callable[[Row], None] = lambda _: None
) -> None:
    """Run the jobs that have no row yet and append their rows to `out / rows.csv`.

    Args:
        jobs: What to run.
        out: Folder of the results.
        settings: How.
        done: Called with every row, those that were there already first.
    """
    path = out / table.FILE_NAME
    table.mend(path)
    present = {row.key: row for row in table.read(path)} if path.exists() else {}
    waiting = []
    for job in jobs:
        if job.key in present:
            done(present[job.key])
        else:
            waiting.append(job)
    execute = _on_processes if settings.scheduler is None else _on_dask
    for row in execute(waiting, settings):
        table.append(path, row)
        done(row)


class Runner:
    """Runs jobs one after another in a worker process that it replaces when it hangs or dies."""

    def __init__(self) -> None:
        self.worker = WorkerProcess([sys.executable, "-m", "perp.bench.worker"])

    def row(self, job: Job, *, first: bool = False) -> Row:
        """The row of a job, whatever becomes of it.

        Args:
            job: What to run.
            first: Whether it is the solver's first job: more time is allowed for.
        """
        allowed = 1.5 * job.time_limit + REPEAT_BUDGET + GRACE
        if first or registry.find(job.solver).family not in ("external", "user"):
            allowed += COMPILING + job.time_limit
        try:
            return self.worker.ask(job, allowed)
        except WorkerLost as lost:
            if not lost.hung:
                return job.row(Outcome.CRASHED, str(lost))
            return job.row(Outcome.HUNG, f"no answer within {job.time_limit:.3g} s: {lost}")


def _on_processes(jobs: list[Job], settings: RunSettings) -> Iterator[Row]:
    queue: SimpleQueue[Job] = SimpleQueue()
    finished: SimpleQueue[Row | BaseException] = SimpleQueue()
    for job in jobs:
        queue.put(job)
    families: set[tuple[str, str, bool]] = set()
    runners = [Runner() for _ in range(min(settings.workers, max(len(jobs), 1)))]

    def work(runner: Runner) -> None:
        try:
            while True:
                try:
                    job = queue.get_nowait()
                except Empty:
                    return
                first = job.family not in families
                families.add(job.family)
                finished.put(runner.row(job, first=first))
        except BaseException as error:  # noqa: BLE001
            finished.put(error)

    with ExitStack() as stack:
        for runner in runners:
            stack.callback(runner.worker.end)
            threading.Thread(target=work, args=(runner,), daemon=True).start()
        for _ in jobs:
            row = finished.get()
            if isinstance(row, BaseException):
                raise row
            yield row


_of_thread = threading.local()


def _row_on_cluster(job: Job) -> Row:
    """A job in a process of its own on a Dask worker, which outlives what the solver does."""
    if not hasattr(_of_thread, "runner"):
        _of_thread.runner = Runner()
    return _of_thread.runner.row(job, first=True)


def _on_dask(jobs: list[Job], settings: RunSettings) -> Iterator[Row]:
    try:
        from dask.distributed import Client, as_completed
    except ImportError:
        raise SolverError("dask is not installed; add it with: pip install 'perp[cluster]'") from None
    with Client(settings.scheduler) as client:
        futures = [client.submit(_row_on_cluster, job, pure=False) for job in jobs]
        for future in as_completed(futures):
            yield future.result()
