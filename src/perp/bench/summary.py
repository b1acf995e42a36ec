"""A test set in figures: what each solver solved, claimed and took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from perp.bench.profiles import Profile, performance_profiles, shifted_geometric_mean
from perp.bench.rows import Outcome, Row, by_solver


@dataclass(frozen=True)
class SolverSummary:
    """One solver on one set.

    Attributes:
        solver: Its name.
        tried: Problems that it takes.
        outcomes: How many ended how.
        mean_time: Shifted geometric mean of CPU times over all problems of the set [s]; a problem that is not
            solved counts with the time limit.
        relative: The mean time over the smallest one of the set.
        iterations: Median of the solved problems, or None.
        memory: Largest peak memory [MiB], or None.
    """

    solver: str
    tried: int
    outcomes: Counter[Outcome]
    mean_time: float
    relative: float
    iterations: int | None
    memory: float | None

    @property
    def solved(self) -> int:
        """Solved in either measure."""
        return self.outcomes[Outcome.SOLVED] + self.outcomes[Outcome.LITERATURE_ONLY]


@dataclass(frozen=True)
class SetSummary:
    """One set.

    Attributes:
        name: Of the set.
        problems: Names of its problems.
        solvers: Best first: most solved, then fastest.
        profiles: Performance profile (CPU time) by solver.
        rows: All its rows.
    """

    name: str
    problems: list[str]
    solvers: list[SolverSummary]
    profiles: dict[str, Profile]
    rows: list[Row]


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
