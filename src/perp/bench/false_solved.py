"""A random search for answers that are called solved and are not, over every solver and formulation.

A family turns a number into tries: a problem, where to start, and an oracle that says by how much an answer
misses the law. All problems are small, so that every pair of solver and formulation that takes one can be
run. What is called solved and misses the law by more than ALLOWED tolerances is false. `FAMILIES` is the one
list of families: another kind of problem is added there with its own oracle.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import NamedTuple

import numpy as np

import perp
from perp.bench.false_solved_families import FAMILIES, Try
from perp.formulations.registry import all_formulations
from perp.solvers.registry import SolverInfo, all_solvers

TOLERANCE = 1e-8
# The largest part of a violation against its length over all rows of a constraint, and ways to be near a law.
ALLOWED = 5.0
TIME_LIMIT, ITERATIONS = 1.0, 300


class Verdict(NamedTuple):
    """One solve: what it was, what it claimed, what is true.

    Attributes:
        family: Name of the family.
        seed: Number of the problem in it.
        form: Type and form of the problem.
        solver: Name of the solver.
        formulation: Name of the formulation, empty for none.
        status: What `solve` said, or the name of an exception that is none of perp's.
        residual: What `solve` measured.
        second: What the oracle says.
        seconds: CPU time.
    """

    family: str
    seed: int
    form: str
    solver: str
    formulation: str
    status: str
    residual: float
    second: float
    seconds: float

    @property
    def is_false(self) -> bool:
        """Called solved, and not."""
        return self.status == "SOLVED" and not self.second <= ALLOWED * TOLERANCE

    @property
    def is_broken(self) -> bool:
        """An exception that is none of perp's, or a time limit that was overrun by far."""
        return self.status.endswith("Error") or self.seconds > 20 * TIME_LIMIT


def pairs(problem: perp.problems.Problem, *, external: bool) -> Iterator[tuple[SolverInfo, str | None]]:
    """Solvers that take the problem, as it is or through a formulation."""
    for info in all_solvers().values():
        if info.family == "user" or not info.available or (info.family == "external" and not external):
            continue
        if isinstance(problem, info.takes):
            yield info, None
        for name, form in all_formulations().items():
            if isinstance(problem, form.source) and issubclass(form.target, info.takes):
                yield info, name


def verdicts(
    family: str, seed: int, *, external: bool = False, share: float = 1.0, forms: tuple[str, ...] = ()
) -> Iterator[Verdict]:
    """Solves of the problem with this number: `share` of the pairs, and `auto` always."""
    rng = np.random.default_rng([seed, 1])
    for attempt in FAMILIES[family](seed):
        if forms and attempt.form not in forms:
            continue
        for info, formulation in pairs(attempt.problem, external=external):
            if rng.random() >= share and info.name != "auto":
                continue
            verdict = _verdict(family, seed, attempt, info, formulation)
            if verdict is not None and verdict.is_broken:  # perhaps it compiled
                verdict = _verdict(family, seed, attempt, info, formulation)
            if verdict is not None:
                yield verdict


def _verdict(
    family: str, seed: int, attempt: Try, info: SolverInfo, formulation: str | None
) -> Verdict | None:
    """One solve; None where the solver refuses the problem."""
    began = process_time()
    limit = None if info.name == "auto" else ITERATIONS
    try:
        answer = perp.solve(
            attempt.problem, info.name, formulation=formulation, tol=TOLERANCE, throw=False,
            time_limit=TIME_LIMIT, max_iterations=limit, start=attempt.start,
        )  # fmt: skip
    except perp.PerpError:
        return None
    except Exception as error:  # noqa: BLE001 a crash is a row of the table
        status, value, second = type(error).__name__, np.inf, np.inf
    else:
        status, value = answer.status.name, answer.residual
        second = attempt.oracle(answer.z) if answer.solved else np.inf
    seconds = process_time() - began
    return Verdict(family, seed, attempt.form, info.name, formulation or "", status, value, second, seconds)
