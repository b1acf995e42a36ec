"""LCPs on which complementarity solvers have been tried since the 1970s."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perp.bench.sets.mcp.model import McpModel, linear


def classics() -> list[McpModel]:
    """The problems."""
    murty, fathi, harker_pang = (
        _murty(20),
        _murty(16) @ _murty(16).T,
        "Harker and Pang, Lect. Appl. Math. 26 (1990)",
    )
    cycling, degenerate = [[1, 2, 0], [0, 1, 2], [2, 0, 1]], [[1, 0, 0], [2, 1, 0], [2, 2, 1]]
    ahn, geiger = _tridiagonal(40, 1, 4, -2), _tridiagonal(64, -1, 4, -1)
    unsolvable = np.array([[0.0, -1], [1, 0]])
    return [
        linear("murty-20", "Murty, Math. Program. 14 (1978): exponential for Lemke", murty, -np.ones(20)),
        linear("fathi-16", "Fathi, Math. Program. 17 (1979)", fathi, -np.ones(16)),
        linear("ahn-40", "Ahn, Math. Program. 26 (1983): tridiagonal (1, 4, −2)", ahn, -np.ones(40)),
        linear(
            "geiger-kanzow-64",
            "Geiger and Kanzow, Comput. Optim. Appl. 5 (1996): tridiagonal (−1, 4, −1)",
            geiger,
            -np.ones(64),
        ),
        linear("kostreva-cycling", "Kostreva, Oper. Res. Lett. 1 (1979)", np.array(cycling), -np.ones(3)),
        linear(
            "murty-degenerate",
            "Murty, Linear complementarity (1988): degenerate at the solution",
            np.array(degenerate),
            np.array([-1.0, -2, -2]),
        ),
        linear("harker-pang-20", f"{harker_pang}, seed 1", *_harker_pang(20, 1)),
        linear("harker-pang-40", f"{harker_pang}, seed 2", *_harker_pang(40, 2)),
        replace(
            linear("no-solution-lcp", "Cottle, Pang and Stone (1992), section 3.1", unsolvable, -np.ones(2)),
            solvable=False,
        ),
    ]


def _murty(n: int) -> np.ndarray:
    return np.eye(n) + 2 * np.tril(np.ones((n, n)), -1)


def _tridiagonal(n: int, below: float, on: float, above: float) -> np.ndarray:
    return on * np.eye(n) + below * np.eye(n, k=-1) + above * np.eye(n, k=1)


def _harker_pang(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """M = AᵀA + B + D with A in (−5, 5), B skew in (−5, 5), D diagonal in (0, 0.3); q in (−500, 500)."""
    rng = np.random.default_rng(seed)
    A, B = rng.uniform(-5, 5, (n, n)), np.triu(rng.uniform(-5, 5, (n, n)), 1)
    return A.T @ A + B - B.T + np.diag(rng.uniform(0, 0.3, n)), rng.uniform(-500, 500, n)
