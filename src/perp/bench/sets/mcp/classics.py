"""LCPs on which complementarity solvers have been tried since the 1970s."""

import numpy as np

from perp.bench.sets.families import fathi, murty
from perp.bench.sets.mcp.model import McpModel, linear


def classics() -> list[McpModel]:
    """The problems; `formulas.toml` has those of two or three rows."""
    random = "Harker and Pang, Lect. Appl. Math. 26 (1990), seed"
    banded = "Geiger and Kanzow, Comput. Optim. Appl. 5 (1996): tridiagonal (−1, 4, −1)"
    return [
        linear("murty-20", "Murty, Math. Program. 14 (1978): exponential for Lemke", murty(20).M),
        linear("fathi-16", "Fathi, Math. Program. 17 (1979)", fathi(16).M),
        linear("ahn-40", "Ahn, Math. Program. 26 (1983): tridiagonal (1, 4, −2)", _tridiagonal(40, 1, 4, -2)),
        linear("geiger-kanzow-64", banded, _tridiagonal(64, -1, 4, -1)),
        linear("harker-pang-20", f"{random} 1", *_harker_pang(20, 1)),
        linear("harker-pang-40", f"{random} 2", *_harker_pang(40, 2)),
    ]


def _tridiagonal(n: int, below: float, on: float, above: float) -> np.ndarray:
    return on * np.eye(n) + below * np.eye(n, k=-1) + above * np.eye(n, k=1)


def _harker_pang(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """M = AᵀA + B + D with A in (−5, 5), B skew in (−5, 5), D diagonal in (0, 0.3); q in (−500, 500)."""
    rng = np.random.default_rng(seed)
    A, B = rng.uniform(-5, 5, (n, n)), np.triu(rng.uniform(-5, 5, (n, n)), 1)
    return A.T @ A + B - B.T + np.diag(rng.uniform(0, 0.3, n)), rng.uniform(-500, 500, n)
