"""The data of `mcp-literature` are those of their sources: published solutions come out."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.bench.sets.mcp.literature import models

# The first unknowns, as printed in the sources: Murphy, Sherali and Soyster (1982), table 1; Hock and
# Schittkowski (1981); Kojima and Shindo (1986); Josephy (1979).
PUBLISHED = {
    "nash-cournot-5": [[36.9325, 41.8181, 43.7066, 42.6592, 39.1790]],
    "nash-cournot-10": [[7.4416, 4.0976, 2.5908, 0.9353, 17.949, 4.0976, 1.3047, 5.5900, 3.2221, 1.6772]],
    "kojima-shindo": [[1.2247449, 0, 0, 0.5], [1, 0, 3, 0]],
    "josephy": [[1.2247449, 0, 0, 0.5]],
    "billups": [[1 + 1.01**0.5]],
    "hs1": [[1, 1]],
    "hs2": [[1.2243707, 1.5], [-1.2210262, 1.5]],
    "hs3": [[0, 0]],
    "hs4": [[1, 0]],
    "hs21": [[2, 0]],
    "hs24": [[3, 1.7320508], [0, 0]],  # the other is stationary too: a cubic saddle
    "hs35-beale": [[1.3333333, 0.7777778, 0.4444444]],
    "hs38-colville4": [[1, 1, 1, 1], [-0.967974, 0.947139, -0.969516, 0.951248]],  # a minimum and a saddle
    "hs43-rosen-suzuki": [[0, 1, 2, -1]],
    "hs48": [[1, 1, 1, 1, 1]],
    "hs64": [[108.7347, 85.12614, 204.3247]],
    "hs65": [[3.650462, 3.650462, 4.620417]],
    "hs66": [[0.1841265, 1.2021679, 3.3273223]],
    "hs71": [[1, 4.742999, 3.821150, 1.379408]],
    "hs76": [[0.2727273, 2.0909091, 0, 0.5454545]],
    "hs117-colville": [[0, 0, 5.174136, 0, 3.061093, 11.83968, 0, 0, 0.1039071, 0, 0.2999929, 0.3334709,
                        0.3999910, 0.4283145, 0.2239607]],
}  # fmt: skip
MODELS = {model.name: model for model in models()}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_solutions_come_out(name: str) -> None:
    model = MODELS[name]
    for k in range(len(model.starts)):
        z = perp.solve(model.mcp(k), tol=1e-9).z
        misses = [np.abs(z[: len(x)] - x).max() / max(1.0, np.abs(x).max()) for x in PUBLISHED[name]]
        assert min(misses) < 3e-5, (k, z)


def test_braess_s_paradox() -> None:
    """Six travellers: 92 minutes with the short cut, 83 once a toll keeps them off it (Braess 1968)."""
    times = [perp.solve(MODELS[name].mcp(), tol=1e-10).z for name in ("braess-0", "braess-13")]
    assert times[0] == pytest.approx([2, 2, 2, 92], abs=1e-6)
    assert times[1][[0, 1, 3]] == pytest.approx([3, 3, 83], abs=1e-6)
