"""A test set in figures: what each solver solved, claimed and took."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from perp.bench.profiles import Profile, performance_profiles, shifted_geometric_mean
from perp.bench.rows import Outcome, Row, by_solver


@dataclass(frozen=True)
class SolverSummary:
    """One solver on one set."""

    solver: str
    tried: int  # problems that it takes
    outcomes: Counter[Outcome]  # how many ended how
    # shifted geometric mean of CPU times over all problems of the set [s]; a problem that is not solved
    # counts with the time limit
    mean_time: float
    relative: float  # the mean time over the smallest one of the set
    iterations: int | None  # median of the solved problems, or None
    memory: float | None  # largest peak memory [MiB], or None

    @property
    def solved(self) -> int:
        """Solved in either measure."""
        return self.outcomes[Outcome.SOLVED] + self.outcomes[Outcome.LITERATURE_ONLY]


@dataclass(frozen=True)
class SetSummary:
    """One set."""

    name: str
    problems: list[str]  # names
    solvers: list[SolverSummary]  # best first: most solved, then fastest
    profiles: dict[str, Profile]  # performance profile (CPU time) by solver
    rows: list[Row]  # all its rows


def summarise(rows: Iterable[Row]) -> list[SetSummary]:
    """One summary a set, in the order in which sets first appear."""
    sets: dict[str, list[Row]] = {}
    for row in rows:
        sets.setdefault(row.set, []).append(row)
    return [_of_set(name, listed) for name, listed in sets.items()]


def _of_set(name: str, rows: list[Row]) -> SetSummary:
    problems = list(dict.fromkeys(row.problem for row in rows))
    groups = by_solver(rows)
    times = {
        solver: {row.problem: row.cpu for row in group if row.solved and row.cpu is not None}
        for solver, group in groups.items()
    }
    means = {
        solver: shifted_geometric_mean(
            times[solver].get(problem, group[0].time_limit) for problem in problems
        )
        for solver, group in groups.items()
    }
    smallest = min(means.values(), default=1.0)
    solvers = [_of_solver(solver, group, means[solver], smallest) for solver, group in groups.items()]
    solvers.sort(key=lambda summary: (-summary.solved, summary.mean_time, summary.solver))
    return SetSummary(name, problems, solvers, performance_profiles(times, len(problems)), rows)


def _of_solver(solver: str, rows: list[Row], mean_time: float, smallest: float) -> SolverSummary:
    iterations = sorted(row.iterations for row in rows if row.solved and row.iterations is not None)
    return SolverSummary(
        solver=solver,
        tried=len(rows),
        outcomes=Counter(row.outcome for row in rows),
        mean_time=mean_time,
        relative=mean_time / smallest if smallest > 0 else 1.0,
        iterations=iterations[len(iterations) // 2] if iterations else None,
        memory=max((row.memory for row in rows if row.memory is not None), default=None),
    )
