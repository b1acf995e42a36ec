"""Runs jobs in worker processes and appends a row for each; what is already there is not run again."""

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from perp.bench import rows as table
from perp.bench.job import REPEAT_BUDGET, Job
from perp.bench.peers import peers
from perp.bench.rows import Outcome, Row
from perp.bench.sets.base import TestSet
from perp.comparison.processes import COMPILING, WorkerLost, WorkerProcess, share_out, worker_process
from perp.simulation.sweeps.running import Place
from perp.solvers import registry
from perp.solvers.listing import can_take

# Seconds on top of a solve's own limit before its process is ended: converting and judging are not in it.
GRACE = 10.0
_SERVING = "perp.bench.job:serving"


def _listed(kind: Any, tokens: Any) -> tuple[str, ...]:
    """Names between commas."""
    return tuple(filter(None, (name.strip() for token in tokens for name in token.value.split(","))))


@dataclass(frozen=True)
class RunSettings:
    """What is asked of every solver: the options of `perp bench run`.

    Attributes:
        tol: The residual asked of every solver.
        time_limit: Seconds for one solve.
        repeat: Timed solves at most; the least counts.
        peers: Run solvers of others as well; missing ones are listed with the command that adds them.
        solvers: Only these, separated by commas; all that take a problem without it.
        workers: Processes side by side; more than one disturbs times.
        scheduler: Address of a Dask scheduler to run on.
        imports: A module that registers a solver of your own; may be given several times.
        largest: Leave out problems with more rows than this; they are listed in the report.
    """

    tol: float = 1e-8
    time_limit: float = 10.0
    repeat: int = 5
    peers: bool = False
    solvers: Annotated[tuple[str, ...] | None, Parameter(converter=_listed)] = None
    workers: int = 1
    scheduler: str | None = None
    imports: Annotated[tuple[str, ...], Parameter(name="--import")] = ()
    largest: int | None = None


def choose_solvers(settings: RunSettings) -> tuple[list[str], dict[str, str]]:
    """The solvers to run, and those that would but are missing, with the command that adds each."""
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
    """A job for every problem and every solver that takes it; what is too large goes into `left_out`."""
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

    `done` is called with every row, those that were there already first.
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

    def keep(row: Row) -> None:
        table.append(path, row)
        done(row)

    if settings.scheduler is not None:
        cluster = Place(scheduler=settings.scheduler)
        cluster.do(_on_cluster, dict(enumerate(waiting)), lambda i, found: keep(_whole(waiting[i], found)))
        return
    families: set[tuple[str, str, bool]] = set()

    def do(worker: WorkerProcess, job: Job) -> Row:
        first = job.family not in families
        families.add(job.family)
        return row_of(worker, job, first=first)

    for _, row in share_out(_SERVING, waiting, settings.workers, do):
        keep(row)


def row_of(worker: WorkerProcess, job: Job, *, first: bool) -> Row:
    """The row of a job, whatever becomes of it; the first job of a solver is allowed more time."""
    allowed = 1.5 * job.time_limit + REPEAT_BUDGET + GRACE
    if first or registry.find(job.solver).family not in ("external", "user"):
        allowed += COMPILING + job.time_limit
    try:
        return worker.ask(job, allowed)
    except WorkerLost as lost:
        if not lost.hung:
            return job.row(Outcome.CRASHED, str(lost))
        return job.row(Outcome.HUNG, f"no answer within {job.time_limit:.3g} s: {lost}")


_of_thread = threading.local()


def _on_cluster(job: Any) -> Any:
    """A job in a process of its own on a Dask worker, which outlives what the solver does."""
    if not hasattr(_of_thread, "worker"):
        _of_thread.worker = worker_process(_SERVING)
    return {"row": row_of(_of_thread.worker, job, first=True)}


def _whole(job: Job, found: dict[str, Any]) -> Row:
    return found["row"] if "row" in found else job.row(Outcome.ERROR, found["error"])
