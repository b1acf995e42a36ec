"""One solver on one problem: solved a few times, timed, and the answer judged by our code."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from perp.bench import history
from perp.bench.machine import solver_version
from perp.bench.peers import load_peers
from perp.bench.peers.adapter import TOLERANCES
from perp.bench.rows import Outcome, Row
from perp.bench.timing import Timing, peak_memory, repeated, timed
from perp.comparison.processes import WorkerLost
from perp.problems import ContactProblem, PerpError, Problem, Solution, Status
from perp.problems.validation import Vector, is_sparse
from perp.solvers import registry, solve

# Seconds (wall) spent on repeating a solve; one that takes longer needs no repeats to be timed well.
REPEAT_BUDGET = 1.0
# A solve that compiles may end early at its time limit and leave more to compile for the next.
COMPILING_SOLVES = 4
# A solver that ends with one of these believes that it has an answer.
_CLAIMS = (Status.SOLVED, Status.INACCURATE, Status.RELAXED, Status.APPROXIMATE)

_loaded: set[tuple[str, str, bool]] = set()


@dataclass(frozen=True)
class Job:
    """What a worker is asked to do."""

    set: str  # name of the test set
    name: str  # of the problem
    problem: Problem
    start: Vector | None  # where to begin, shape (size,)
    solver: str
    tol: float = 1e-8  # the residual asked for
    time_limit: float = 10.0  # of one solve [s]
    repeat: int = 5  # timed solves at most
    imports: tuple[str, ...] = ()  # modules to import first: those that register a user's solvers

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of its row."""
        return self.set, self.name, self.solver

    @property
    def family(self) -> tuple[str, str, bool]:
        """Jobs of one family use the same compiled code: solver, kind of problem, sparse or dense."""
        problem = self.problem
        if isinstance(problem, ContactProblem):
            matrix = problem.W if problem.dynamics is None else problem.dynamics.jacobian
        else:
            matrix = problem.M
        return self.solver, type(problem).__name__, is_sparse(matrix)

    def row(self, outcome: Outcome, message: str = "") -> Row:
        """A row without an answer."""
        problem = self.problem
        return Row(
            set=self.set,
            problem=self.name,
            solver=self.solver,
            kind=type(problem).__name__,
            rows=problem.size,
            contacts=problem.contact_count if isinstance(problem, ContactProblem) else 0,
            start="cold" if self.start is None else "warm",
            outcome=outcome,
            tol=self.tol,
            time_limit=self.time_limit,
            message=" ".join(message.split()),
        )


def serving() -> Callable[[Job], Row]:
    """What a process that runs jobs does: a solver that prints, hangs or crashes does so there."""
    load_peers()
    return run_job


def run_job(job: Job) -> Row:
    """Solve, time and judge."""
    for module in job.imports:
        importlib.import_module(module)
    try:
        memory, (first, solution) = _undisturbed(job)
        runs = [(first, solution)]
        if min(solution.residuals.value, solution.residuals.literature) <= job.tol:
            runs = list(repeated(lambda: _solve(job), most=job.repeat, least=1, budget=REPEAT_BUDGET))
        row = _judged(job, runs, memory)
    except WorkerLost as lost:  # a peer in a process of its own
        return job.row(Outcome.HUNG if lost.hung else Outcome.CRASHED, str(lost))
    except PerpError as error:
        return job.row(Outcome.ERROR, str(error))
    except Exception as error:  # noqa: BLE001
        return job.row(Outcome.ERROR, f"{type(error).__name__}: {error}")
    return replace(row, history=tuple(_history(job, row)))


def _undisturbed(job: Job) -> tuple[float | None, tuple[Timing, Solution]]:
    """Memory, time and answer of a solve in which no code was compiled or loaded: that is not its own."""
    from numba.core.event import install_recorder

    fresh, solves = job.family not in _loaded, 0
    _loaded.add(job.family)
    while True:
        with install_recorder("numba:compile") as compiled:
            result = peak_memory(lambda: timed(lambda: _solve(job)))
        solves += 1
        if not (compiled.buffer or (fresh and solves == 1)) or solves == COMPILING_SOLVES:
            return result


def _solve(job: Job, **options: Any) -> Solution:
    asked: dict[str, Any] = {"tol": job.tol, "time_limit": job.time_limit, "start": job.start}
    return solve(job.problem, job.solver, throw=False, **asked | options)


def _history(job: Job, row: Row) -> list[history.Point]:
    """How the residual fell; where looking again goes wrong, the answer alone."""
    if row.wall is None or row.residual is None:
        return []
    last = (row.wall, row.residual)

    def ask(tol: float) -> tuple[Timing, Solution]:
        timing, solution = timed(lambda: _solve(job, tol=tol))
        return _own_time(timing, solution), solution

    try:
        if registry.find(job.solver).family != "external" and job.solver not in TOLERANCES:
            seen = _solve(job, history=True, time_limit=min(job.time_limit, history.BUDGET))
            return history.falling([*history.watched(seen), last])
        # a peer that has no tolerance, as pivoting has none, has one answer
        asked = [tol for tol in history.COARSE if tol > job.tol] if TOLERANCES.get(job.solver, True) else []
        return history.stepwise(ask, asked, last)
    except Exception:  # noqa: BLE001
        return history.falling([last])


def _judged(job: Job, runs: list[tuple[Timing, Solution]], memory: float | None) -> Row:
    solution = runs[-1][1]
    times = [_own_time(timing, solution) for timing, solution in runs]
    parts = solution.residuals
    claimed = bool(solution.info.get("claimed", solution.status in _CLAIMS))
    outcome = outcome_of(claimed, solution.status, parts.value, parts.literature, job.tol)
    return replace(
        job.row(outcome, solution.message),
        claimed=claimed,
        status=solution.status.name,
        formulation=solution.formulation or "",
        residual=parts.value,
        literature=parts.literature,
        literature_q=parts.literature_q,
        cpu=min(t.cpu for t in times),
        wall=min(t.wall for t in times),
        repeats=len(runs),
        iterations=solution.iterations,
        memory=solution.info.get("memory", memory),
        version=solver_version(job.solver),
    )


def _own_time(timing: Timing, solution: Solution) -> Timing:
    """The whole call of `perp.solve`; for a peer what its own call took, without our conversions."""
    own = solution.info.get("own_time")
    return timing if own is None else Timing(*own)


def outcome_of(claimed: bool, status: Status, residual: float, literature: float, tol: float) -> Outcome:
    """What an answer is worth. A false claim holds neither in our measure nor in the literature's."""
    if residual <= tol:
        return Outcome.SOLVED
    if literature <= tol:
        return Outcome.LITERATURE_ONLY
    if claimed:
        return Outcome.FALSE_CLAIM
    return Outcome.INFEASIBLE if status is Status.INFEASIBLE else Outcome.UNSOLVED
