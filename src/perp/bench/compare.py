"""Two runs side by side: what is solved no longer, what is solved now, and how times have changed."""

import math
from dataclasses import dataclass

from perp.bench.profiles import shifted_geometric_mean
from perp.bench.rows import Row


@dataclass(frozen=True)
class SolverChange:
    """One solver on one set, old against new, over the problems that both runs have."""

    set: str
    solver: str
    problems: int  # that both runs have
    solved_old: int
    solved_new: int
    # shifted geometric mean of CPU time now over then, of problems solved both times; NaN for none
    ratio: float
    false_old: int  # claims that did not hold
    false_new: int


@dataclass(frozen=True)
class RunComparison:
    """Two runs."""

    changes: list[SolverChange]  # one a set and solver
    lost: list[tuple[Row, Row]]  # then and now: solved no longer
    won: list[tuple[Row, Row]]  # then and now: solved only now


def compare(old: list[Row], new: list[Row]) -> RunComparison:
    """Compare the rows that two runs have in common."""
    before = {row.key: row for row in old}
    pairs = [(before[row.key], row) for row in new if row.key in before]
    groups: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
    for then, now in pairs:
        groups.setdefault((now.set, now.solver), []).append((then, now))
    return RunComparison(
        [_change(name, solver, group) for (name, solver), group in groups.items()],
        [(then, now) for then, now in pairs if then.solved and not now.solved],
        [(then, now) for then, now in pairs if now.solved and not then.solved],
    )


def _change(name: str, solver: str, pairs: list[tuple[Row, Row]]) -> SolverChange:
    both = [(then.cpu, now.cpu) for then, now in pairs if then.solved and now.solved]
    means = [shifted_geometric_mean(times) for times in zip(*both, strict=True)] if both else [math.nan, 1.0]
    return SolverChange(
        name, solver, len(pairs), sum(then.solved for then, _ in pairs), sum(now.solved for _, now in pairs),
        means[-1] / means[0], sum(then.false_claim for then, _ in pairs),
        sum(now.false_claim for _, now in pairs),
    )  # fmt: skip
