"""A random search for false claims: SOLVED, INFEASIBLE and proofs, over every solver and formulation.

A family turns a number into tries: a problem, where to start, and an oracle that says by how much an answer
misses the law. All problems are small, so that every pair of solver and formulation that takes one can be
run. False is what is called solved and misses the law by more than ALLOWED tolerances, what is called
infeasible without a proof in fractions, and what is called proved and is not the exact solution. Answers that
no solver made are judged as well: whatever the residual accepts is called solved. `FAMILIES` is the one list:
another kind of problem is added there with its own oracle.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from time import process_time
from typing import Any, NamedTuple

import false_claims
import false_solved_families
import false_solved_mcps
import false_solved_units
import numpy as np
from false_claims import unproved
from false_solved_families import Family, Try

import perp
from perp.solvers.listing import pairs

FAMILIES: dict[str, Family] = (
    false_solved_families.FAMILIES
    | false_solved_units.FAMILIES
    | false_solved_mcps.FAMILIES
    | false_claims.FAMILIES
)
TOLERANCE = 1e-8
# The largest part of a violation against its length over all rows of a constraint, and ways to be near a law.
ALLOWED = 5.0
TIME_LIMIT, ITERATIONS = 0.2, 100
# Solvers and formulations that cost ten milliseconds and more on these problems are tried in this part of the
# cases: as often as the others, they would take nine tenths of the time.
SELDOM = {
    "auto": 0.3,
    "admm": 0.3,
    "apgd": 0.4,
    "boxed-interior-point": 0.15,
    "boxed-newton": 0.2,
    "cone-interior": 0.3,
    "direct": 0.5,
    "fischer-burmeister": 0.2,
    "minimum-map": 0.2,
    "newton-fb": 0.3,
    "subspace-minimisation": 0.1,
    "anitescu-potra": 0.15,
    "box": 0.4,
    "dual": 0.1,
    "dual_fixed_point": 0.03,
    "dual_published": 0.1,
    "dual_pyramid": 0.15,
    "equations_of_motion": 0.02,
    "equations_of_motion_relaxed": 0.01,
    "lcp-as-contact": 0.5,
    "primal": 0.1,
    "primal_published": 0.05,
    "stewart-trinkle": 0.15,
}
# Answers made by nobody: how an answer is moved.
MOVES = 4
JUDGED = "(residual)"
CLAIMS = ("SOLVED", "INFEASIBLE", "PROVED")


class ClaimVerdict(NamedTuple):
    """One claim: what it was about, what was said, what is true.

    Attributes:
        family: Name of the family.
        seed: Number of the problem in it.
        form: Type and form of the problem.
        solver: Name of the solver; JUDGED for an answer that none made.
        formulation: Name of the formulation, empty for none.
        status: What perp said, or the name of an exception that is none of perp's.
        residual: What perp measured.
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
        """Claimed, and not so."""
        return self.status in CLAIMS and not self.second <= ALLOWED * TOLERANCE

    @property
    def is_broken(self) -> bool:
        """An exception that is none of perp's, or a time limit that was overrun by far."""
        return not self.status.isupper() or self.seconds > 20 * TIME_LIMIT


def verdicts(
    family: str, seed: int, *, external: bool = False, share: float = 1.0, forms: tuple[str, ...] = ()
) -> Iterator[ClaimVerdict]:
    """Claims about the problems with this number: `share` of the pairs, of the costly ones less."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number, attempt in enumerate(FAMILIES[family](seed)):
            if not forms or attempt.form in forms:
                rng = np.random.default_rng([seed, 1, number])
                yield from _claims(family, seed, attempt, external, share, rng)


def _claims(
    family: str, seed: int, attempt: Try, external: bool, share: float, rng: np.random.Generator
) -> Iterator[ClaimVerdict]:
    answers = []
    for info, formulation in pairs(attempt.problem, external=external):
        chance = share * SELDOM.get(info.name, 1.0) * SELDOM.get(formulation or "", 1.0)
        # a number is drawn for every pair, so that no pair's turn depends on another's
        if rng.random() >= chance:
            continue
        verdict = _solve(family, seed, attempt, (info.name, formulation), answers)
        if verdict is not None and verdict.is_broken:  # perhaps it compiled
            verdict = _solve(family, seed, attempt, (info.name, formulation), answers)
        if verdict is not None:
            yield verdict
    for z in (*attempt.points, *_moved(answers, rng)):
        value = perp.residual(attempt.problem, z)
        status = "SOLVED" if value <= TOLERANCE else "UNSOLVED"
        second = attempt.oracle(z) if status == "SOLVED" else np.inf
        yield ClaimVerdict(family, seed, attempt.form, JUDGED, "", status, value, second, 0.0)
    for name, status, second in attempt.claims() if attempt.claims is not None else ():
        yield ClaimVerdict(family, seed, attempt.form, name, "", status, 0.0, second, 0.0)


def _moved(answers: list[np.ndarray], rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Answers of solvers with an entry or all of them off by a share, or by a share of the largest."""
    for _ in range(MOVES if answers else 0):
        z = np.array(answers[rng.integers(len(answers))])
        chosen = rng.random(z.size) < rng.random()
        chosen[rng.integers(z.size)] = True
        unit = np.abs(z) if rng.random() < 0.5 else np.abs(z).max()
        z += np.where(chosen, unit * rng.normal(size=z.size) * 10.0 ** rng.uniform(-9, 0), 0.0)
        yield np.where(chosen & (rng.random() < 0.2), 0.0, z)


def _solve(
    family: str, seed: int, attempt: Try, pair: tuple[str, str | None], answers: list[Any]
) -> ClaimVerdict | None:
    """One solve; None where the solver refuses the problem."""
    solver, formulation = pair
    began = process_time()
    limit = None if solver == "auto" else ITERATIONS
    try:
        answer = perp.solve(
            attempt.problem, solver, formulation=formulation, tol=TOLERANCE, throw=False,
            time_limit=TIME_LIMIT, max_iterations=limit, start=attempt.start,
        )  # fmt: skip
    except perp.PerpError:
        return None
    except Exception as error:  # noqa: BLE001 a crash is a row of the table
        status, value, second = type(error).__name__, np.inf, np.inf
        seconds = process_time() - began
    else:
        seconds = process_time() - began
        status, value, second = answer.status.name, answer.residual, np.inf
        if answer.solved:
            second = attempt.oracle(answer.z)
            answers.append(answer.z)
        elif status == "INFEASIBLE":
            second = unproved(attempt.problem, answer.info.get("certificate"))
    return ClaimVerdict(family, seed, attempt.form, solver, formulation or "", status, value, second, seconds)
