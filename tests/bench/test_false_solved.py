"""A slice of the search for false claims, and whether it would see one; `benchmarks/false_solved.py` runs it."""

from __future__ import annotations

import numpy as np
import pytest
from false_claims import unproved
from false_search import ALLOWED, CLAIMS, FAMILIES, JUDGED, TOLERANCE, ClaimVerdict, verdicts

import perp

# Numbers and part of the pairs of each family: about a second each once everything is compiled.
SLICE = {
    "steep": (8, 0.1),
    "scaled": (8, 0.1),
    "islands": (4, 0.1),
    "heavy": (6, 0.1),
    "rows": (12, 0.1),
    "mixtures": (4, 0.1),
    "units": (4, 0.1),
    "edges": (4, 0.1),
    "mcp coupled": (3, 1.0),
    "mcp separate": (4, 1.0),
    "infeasible": (20, 0.3),
    "certify": (12, 0.1),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_claim_of_a_slice_is_false(family: str) -> None:
    count, share = SLICE[family]
    rows = [row for seed in range(10_000, 10_000 + count) for row in verdicts(family, seed, share=share)]
    assert [row for row in rows if row.is_false or row.status.endswith("Error")] == []
    claims = {status: sum(row.status == status for row in rows) for status in CLAIMS}
    assert claims["SOLVED"] >= 20
    assert family != "certify" or claims["PROVED"] >= 20
    assert family != "infeasible" or claims["INFEASIBLE"] >= 3


# What a million tries found: Lemke's ties among ratios that underflow ended the process; bodies whose mass has
# a condition of 1e10 counted the round-off of their free motion as something at work, and nothing at work was
# told from answers of 1e-292 by the oracle only.
FOUND = [
    ("edges", 800000262),
    ("heavy", 800000089),
    ("heavy", 800000103),
    ("steep", 800000309),
    ("edges", 900000785),
]


@pytest.mark.parametrize(("family", "seed"), FOUND)
def test_what_the_search_found_is_right(family: str, seed: int) -> None:
    rows = list(verdicts(family, seed))
    assert [row for row in rows if row.is_false or row.status.endswith("Error")] == []
    assert len(rows) > 20


@pytest.mark.parametrize("family", FAMILIES)
def test_the_oracle_of_a_family_sees_what_is_wrong(family: str) -> None:
    rng = np.random.default_rng(5)
    seen = judged = 0
    for seed in range(20_000, 20_002 if family.startswith("mcp") else 20_012):
        for attempt in FAMILIES[family](seed):
            answer = perp.solve(attempt.problem, throw=False, tol=TOLERANCE, time_limit=1.0)
            if not answer.solved or not answer.z.any():
                continue
            assert attempt.oracle(answer.z) <= ALLOWED * TOLERANCE
            judged += 1
            unit = np.abs(answer.z).max()
            # far away along every entry; some problems have a whole line of answers
            seen += attempt.oracle(answer.z + unit * rng.choice([-1.0, 1.0], answer.z.size)) > 1e-3
    assert judged >= 8
    assert seen >= 0.8 * judged


def test_a_lie_and_a_crash_are_seen():
    lie = ClaimVerdict("steep", 0, "lcp", "x", "", "SOLVED", 0.1 * TOLERANCE, 10 * TOLERANCE, 0.0)
    assert lie.is_false
    assert not lie.is_broken
    assert not lie._replace(second=TOLERANCE).is_false
    assert lie._replace(second=np.nan).is_false
    assert lie._replace(status="INFEASIBLE", second=np.inf).is_false
    assert lie._replace(status="PROVED", second=np.inf).is_false
    assert lie._replace(status="ZeroDivisionError").is_broken


def test_a_proof_that_nothing_exists_is_checked_in_fractions():
    none = perp.LCP([[-1.0]], [-1.0])
    assert unproved(none, [1.0]) == 0
    assert unproved(none, [-1.0]) == np.inf
    assert unproved(none, None) == np.inf
    # 2ε more than nothing: the LCP has the solution 1/ε
    assert unproved(perp.LCP([[1e-300]], [-1.0]), [1.0]) == np.inf
    bounded = perp.BoxedLCP([[1.0, 0.0], [0.0, 1.0]], [-3.0, 0.0], [0.0, 0.0], [np.inf, 1.0])
    assert unproved(bounded, [1.0, 0.0]) == np.inf
    assert unproved(perp.BoxedLCP([[0.0, 1.0], [1.0, 0.0]], [-3.0, 0.0], 0.0, [np.inf, 1.0]), [1.0, 0.0]) == 0


def test_every_type_and_set_is_searched():
    tries = [attempt for family in FAMILIES.values() for seed in range(40) for attempt in family(seed)]
    kinds = {type(attempt.problem).__name__ for attempt in tries}
    assert kinds >= {"LCP", "BoxedLCP", "ContactProblem", "MCP"}
    contacts = [attempt.problem for attempt in tries if isinstance(attempt.problem, perp.ContactProblem)]
    members = [member for problem in contacts for member in problem.sets]
    assert {type(member).__name__ for member in members} == {
        "Free", "Nonnegative", "Box", "Coulomb", "Elliptic", "Rolling"
    }  # fmt: skip
    assert {len(m.mu) for m in members if isinstance(m, perp.Elliptic)} == {1, 2, 3, 4, 5}
    assert any(getattr(member, "cohesion", 0.0) > 0 for member in members)
    assert any(np.isinf(m.mu) for m in members if isinstance(m, perp.Coulomb))
    assert any(problem.relaxed for problem in contacts)
    assert any(problem.dynamics is not None for problem in contacts)
    assert any(attempt.start is not None for attempt in tries)


def test_claims_are_made_again_by_their_number():
    def made() -> list[tuple[str, str, str]]:
        return [(row.form, row.solver, row.formulation) for row in verdicts("rows", 7, share=0.3)]

    rows = made()
    assert rows == made()
    assert JUDGED in {solver for _, solver, _ in rows}
