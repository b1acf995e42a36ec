"""LCPs and relays of the Siconos collection, where they lie beside the repository."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import perp
from files.shared_data import shared_files


@pytest.mark.parametrize("path", shared_files("problems/lcp__*.npz"))
def test_lcp_of_the_collection(path: Path) -> None:
    data = np.load(path)
    problem = perp.LCP(data["M"], data["q"])
    solutions = [
        perp.solve(problem, s.name, throw=False)
        for s in perp.solvers(problem)
        if s.family == "pivoting" and s.objection(problem) is None
    ]
    solved = [s for s in solutions if s.solved]
    assert solved, f"none of {[s.solver for s in solutions]}"
    for solution in solved:
        assert perp.certify(problem, solution).proved


@pytest.mark.parametrize("path", shared_files("problems/relay__*.npz"))
@pytest.mark.parametrize("solver", ["principal", "dantzig"])
def test_relay_of_the_collection(path: Path, solver: str) -> None:
    data = np.load(path)
    problem = perp.BoxedLCP(data["M"], data["q"], data["lb"], data["ub"])
    if solver == "dantzig" and not np.allclose(problem.M, problem.M.T):
        pytest.skip("not symmetric")
    assert perp.solve(problem, solver).residual <= 1e-10
