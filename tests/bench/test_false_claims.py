"""A slice of the search for false claims: MCPs with known solutions, INFEASIBLE, certify."""

from __future__ import annotations

import pytest

from perp.bench.false_claims import FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_no_claim_of_a_slice_is_false(family: str) -> None:
    claims = [claim for seed in range(25) for claim in FAMILIES[family](seed)]
    assert [claim for claim in claims if claim.false] == []
    positive = {"mcp": "SOLVED", "infeasible": "INFEASIBLE", "certify": "proved"}[family]
    assert sum(claim.said == positive for claim in claims) >= 10
