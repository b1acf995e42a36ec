"""A random search for answers that are called solved and are not, over every solver and formulation.

One number gives one small problem in every type and form (LCP, boxed, contact; dense, sparse, from mass and
Jacobian; exact and relaxed), with W and q scaled by 10⁻⁸, 1 or 10⁸ each. Every pair of solver and formulation
that takes it is run, and what it calls solved is judged by `law_violation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import NamedTuple

import numpy as np

import perp
from perp.bench.second_opinion import law_violation
from perp.bench.sets.random_contacts import random_problem
from perp.formulations.registry import all_formulations
from perp.solvers.registry import SolverInfo, all_solvers

TOLERANCE = 1e-8
# Round-off between the two ways to measure, and the scales of rows that formulations change.
ALLOWED = 3.0
LARGEST = 8
TIME_LIMIT, ITERATIONS = 1.0, 300


class Verdict(NamedTuple):
    """One solve: what it was, what it claimed, what is true.

    Attributes:
        seed: Number of the problem.
        form: Type and form of the problem.
        solver: Name of the solver.
        formulation: Name of the formulation, empty for none.
        status: What `solve` said, or the name of an exception that is none of perp's.
        residual: What `solve` measured.
        second: What `law_violation` says.
        seconds: CPU time.
    """

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


def problems(seed: int) -> dict[str, perp.LCP | perp.BoxedLCP | perp.ContactProblem]:
    """The problem with this number in every type and form."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(seed)
    base = random_problem(seed)
    while base.contact_count > LARGEST:
        base = random_problem(int(rng.integers(2**40)))
    W, q, sets = np.array(base.W), np.array(base.q), base.sets
    size = 10.0 ** rng.choice([-8, 0, 8])
    W, q = W * size, q * 10.0 ** rng.choice([-8, 0, 8])
    # bounds follow the size of impulses, so that they still count
    bound = np.abs(q).max() / np.abs(W).max() if np.abs(q).max() > 0 else 1.0
    lo, hi = -bound * rng.uniform(0, 1, q.size), bound * rng.uniform(0, 1, q.size)
    lo[rng.random(q.size) < 0.5], hi[rng.random(q.size) < 0.5] = 0.0, np.inf
    index = np.where(np.arange(q.size) % 3 == 0, -1, np.arange(q.size) // 3 * 3)
    limits = np.where(index < 0, np.inf, 0.6)
    lowest = np.where(index < 0, 0.0, -limits)
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    dynamics = perp.ContactProblem.from_dynamics(np.eye(q.size), root, np.zeros(q.size), q, sets)
    return {
        "lcp": perp.LCP(W, q),
        "lcp sparse": perp.LCP(csr_array(W), q),
        "boxed": perp.BoxedLCP(W, q, lo, hi),
        "boxed friction": perp.BoxedLCP(W, q, lowest, limits, friction_index=index),
        "contact": perp.ContactProblem(W, q, sets),
        "contact sparse": perp.ContactProblem(csr_array(W), q, sets),
        "contact dynamics": dynamics,
        "contact relaxed": perp.ContactProblem(W, q, sets, relaxed=True),
    }


def pairs(
    problem: perp.LCP | perp.BoxedLCP | perp.ContactProblem, *, external: bool
) -> Iterator[tuple[SolverInfo, str | None]]:
    """Solvers that take the problem, as it is or through a formulation."""
    for info in all_solvers().values():
        if info.family == "user" or not info.available or (info.family == "external" and not external):
            continue
        if isinstance(problem, info.takes):
            yield info, None
        for name, form in all_formulations().items():
            if isinstance(problem, form.source) and issubclass(form.target, info.takes):
                yield info, name


def verdicts(seed: int, *, external: bool = False, forms: tuple[str, ...] = ()) -> Iterator[Verdict]:
    """Every solve of the problem with this number; forms restricts its types and forms."""
    for form, problem in problems(seed).items():
        if forms and form not in forms:
            continue
        for info, formulation in pairs(problem, external=external):
            verdict = _verdict(seed, form, problem, info, formulation)
            if verdict is not None and verdict.is_broken:  # perhaps it compiled
                verdict = _verdict(seed, form, problem, info, formulation)
            if verdict is not None:
                yield verdict


def _verdict(
    seed: int,
    form: str,
    problem: perp.LCP | perp.BoxedLCP | perp.ContactProblem,
    info: SolverInfo,
    formulation: str | None,
) -> Verdict | None:
    """One solve; None where the solver refuses the problem."""
    began = process_time()
    limit = None if info.name == "auto" else ITERATIONS
    try:
        answer = perp.solve(
            problem, info.name, formulation=formulation, tol=TOLERANCE, throw=False,
            time_limit=TIME_LIMIT, max_iterations=limit,
        )  # fmt: skip
    except perp.PerpError:
        return None
    except Exception as error:  # noqa: BLE001 a crash is a row of the table
        status, value, second = type(error).__name__, np.inf, np.inf
    else:
        status, value = answer.status.name, answer.residual
        second = law_violation(problem, answer.z) if answer.solved else np.inf
    seconds = process_time() - began
    return Verdict(seed, form, info.name, formulation or "", status, value, second, seconds)
