"""Every solver on every problem that it claims to solve, with the shared residual and exact answers as oracle."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import generators
import perp
from perp.bench.sets import literature

# An LCP with a known answer: M z + q = (0, 0, 3), z = (1, 2, 0).
KNOWN = perp.LCP([[2.0, 0, 1], [0, 4, 0], [1, 0, 2]], [-2, -8, 2])

PROBLEMS: dict[str, perp.problems.Problem] = {
    "empty LCP": perp.LCP(np.zeros((0, 0)), []),
    "LCP n=1 active": perp.LCP([[2.0]], [-3.0]),
    "LCP n=1 inactive": perp.LCP([[2.0]], [3.0]),
    "LCP known": KNOWN,
    "LCP known, sparse": perp.LCP(sp.csr_array(KNOWN.M), KNOWN.q),
    "LCP q >= 0": perp.LCP(generators.spd(5, np.random.default_rng(0)), np.arange(5.0)),
    "LCP n=20": generators.lcp(20),
    "LCP scaled down": perp.LCP(1e-8 * generators.lcp(12).M, 1e-8 * generators.lcp(12).q),
    "LCP scaled up": perp.LCP(1e8 * generators.lcp(12).M, 1e8 * generators.lcp(12).q),
    "boxed n=15": generators.boxed(15),
    "boxed friction index": perp.BoxedLCP(
        generators.spd(6, np.random.default_rng(3), shift=0.5),
        [-1.0, 0.4, -0.2, -2.0, 3.0, 0.1],
        [0, -0.5, -0.5, 0, -0.3, -0.3],
        [np.inf, 0.5, 0.5, np.inf, 0.3, 0.3],
        friction_index=[-1, 0, 0, -1, 3, 3],
    ),
    "boxed fixed": perp.BoxedLCP(np.eye(3), [1.0, 2, 3], [0.5, 0.5, -1], [0.5, 0.5, -1]),
    "boxed all free": perp.BoxedLCP(
        generators.spd(6, np.random.default_rng(1)), np.arange(6.0), -np.inf, np.inf
    ),
    "contact mixture": generators.contact(8, 1),
    "contact Coulomb 3-D": generators.contact(6, 2, kinds=(3,)),
    "contact Coulomb 2-D": generators.contact(6, 3, kinds=(6,)),
    "contact Elliptic": generators.contact(6, 4, kinds=(4,)),
    "contact Rolling": generators.contact(6, 5, kinds=(5,)),
    "contact scalar sets": generators.contact(9, 6, kinds=(0, 1, 2)),
    "contact relaxed": generators.contact(6, 7, kinds=(3, 4, 5)).as_relaxed(),
}
# Vendors answer as well as they can: tests/solvers/external asks that they are judged, not that they are right.
# peers of the benchmark harness, once loaded, are of the family "user"
OURS = [info for info in perp.solvers() if info.family not in ("external", "user")]
# asked once a problem: every process of the tests makes this list
TAKERS = {name: {info.name for info in perp.solvers(problem)} for name, problem in PROBLEMS.items()}
CASES = [
    pytest.param(info.name, name, id=f"{info.name}: {name}")
    for info in OURS
    for name in PROBLEMS
    if info.available and info.name in TAKERS[name]
]
# what only one solver takes: the others need not solve a game
PROBLEMS["bimatrix game"] = literature.example("bimatrix-game")
CASES.append(pytest.param("lemke-howson", "bimatrix game", id="lemke-howson: bimatrix game"))


@pytest.mark.parametrize(("solver", "name"), CASES)
def test_solver_solves_what_it_claims(solver, name):
    solution = perp.solve(PROBLEMS[name], solver)
    assert solution.residual <= 1e-8
    if name.startswith("LCP known"):
        np.testing.assert_allclose(solution.z, [1, 2, 0], atol=1e-7)


@pytest.mark.parametrize(("solver", "name"), CASES)
def test_being_watched_changes_no_outcome(solver, name):
    """A generous time limit and a history make solvers look up more often; they must not fail for it."""
    solution = perp.solve(PROBLEMS[name], solver, time_limit=1e4, history=True)
    assert solution.residual <= 1e-8
    assert solution.history is not None


def test_every_solver_is_exercised():
    tested = {case.values[0] for case in CASES}
    assert {info.name for info in OURS if info.available} <= tested
