"""Small problems on which complementarity solvers have been tried since the 1970s."""

from __future__ import annotations

import numpy as np

from perp.bench.sets.mcp.model import McpModel, linear, ncp
from perp.formulations.expressions import Symbol, exp, log, variables

INF = float("inf")


def kojima(z: list[Symbol], row1: float, row2: float, constant: float) -> list[Symbol]:
    """Kojima and Shindo's quadratic functions; Josephy's differ in three coefficients."""
    a, b, c, d = z
    return [
        3 * a**2 + 2 * a * b + 2 * b**2 + c + 3 * d - 6,
        2 * a**2 + a + b**2 + row1 * c + 2 * d - 2,
        3 * a**2 + a * b + 2 * b**2 + 2 * c + row2 * d - constant,
        a**2 + 3 * b**2 + 2 * c + 3 * d - 3,
    ]


FOUR = ([0.0] * 4, [1.0] * 4, [10.0] * 4, [1.0, 0, 1, 0], [100.0] * 4)


def classics() -> list[McpModel]:
    """The problems."""
    return [
        ncp(
            "kojima-shindo",
            "Kojima and Shindo, J. Oper. Res. Soc. Japan 29 (1986)",
            4,
            lambda z: kojima(z, 10, 9, 9),
            FOUR,
        ),
        ncp(
            "josephy",
            "Josephy, Newton's method for generalized equations (1979)",
            4,
            lambda z: kojima(z, 3, 3, 1),
            FOUR,
        ),
        ncp(
            "kojima-josephy",
            "Dirkse and Ferris, MCPLIB (1995): a degenerate variant",
            4,
            lambda z: kojima(z, 3, 9, 9),
            FOUR,
        ),
        ncp(
            "billups",
            "Billups, Algorithms for complementarity problems (1995)",
            1,
            lambda z: [(z[0] - 1) ** 2 - 1.01],
            ([0.0], [1.5], [5.0]),
        ),
        ncp(
            "watson-third",
            "Watson, SIAM J. Control Optim. 17 (1979), problem with a singular Jacobian",
            4,
            lambda z: [
                (z[0] - z[1]) ** 3 + z[2] - 1,
                -3.0 * (z[0] - z[1]) ** 2 * 0.5 + z[1] + z[3] - 2,
                z[2] - z[0] + 1,
                z[3] - z[1] + 0.5,
            ],
            ([0.0] * 4, [1.0] * 4, [3.0, 1, 2, 1]),
        ),
        ncp(
            "sun-exponential",
            "Sun and Wang's test family: exponentials with a banded coupling",
            8,
            lambda z: [
                exp(z[i]) - 2 + (z[i - 1] if i else 0 * z[0]) - 0.5 * (z[i + 1] if i < 7 else 0 * z[0])
                for i in range(8)
            ],
            ([0.0] * 8, [1.0] * 8, [3.0] * 8),
        ),
        ncp(
            "logarithmic",
            "Kanzow, J. Optim. Theory Appl. 88 (1996): logarithms in the functions",
            5,
            lambda z: [log(z[i] + 1) + (z[i] - 0.3 * i) - (0.1 * z[i - 1] if i else 0.0) for i in range(5)],
            ([0.0] * 5, [2.0] * 5, [20.0] * 5),
        ),
        McpModel(
            "square-root-2",
            "De Luca, Facchinei and Kanzow, Math. Program. 75 (1996): free variables",
            [variables(2)[0] ** 2 - 2, variables(2)[1] - variables(2)[0]],
            [-INF] * 2,
            [INF] * 2,
            ([1.0, 0.0], [10.0, -5.0], [0.1, 0.1]),
        ),
        McpModel(
            "powell-singular",
            "Powell (1962): equations with a singular Jacobian at the solution",
            _powell(),
            [-INF] * 4,
            [INF] * 4,
            ([3.0, -1, 0, 1], [1.0] * 4),
        ),
        McpModel(
            "powell-bounded",
            "the same in the box [0.1, 10]",
            _powell(),
            [0.1] * 4,
            [10.0] * 4,
            ([3.0, 1, 1, 1], [0.1] * 4),
        ),
        McpModel(
            "rosenbrock-equations",
            "Rosenbrock (1960) as equations with bounds",
            [10 * (variables(2)[1] - variables(2)[0] ** 2), 1 - variables(2)[0]],
            [-INF] * 2,
            [INF] * 2,
            ([-1.2, 1.0], [5.0, 5.0]),
        ),
        McpModel(
            "box-both-sides",
            "Ferris and Pang, SIAM Review 39 (1997): one variable at each side",
            [z**3 + c for z, c in zip(variables(3), (-8.0, 8.0, 0.125), strict=True)],
            [-1.0] * 3,
            [1.0] * 3,
            ([0.0] * 3, [1.0] * 3, [-1.0] * 3),
        ),
        McpModel(
            "fixed-variables",
            "Rutherford, MILES (1993): variables whose bounds are equal",
            [
                variables(3)[0] + variables(3)[1] - 3,
                variables(3)[1] ** 2 - variables(3)[2],
                variables(3)[2] - 7,
            ],
            [0.0, 2.0, 0.0],
            [INF, 2.0, 5.0],
            ([0.0, 2, 0], [9.0, 2, 5]),
        ),
        linear(
            "murty-20", "Murty, Math. Program. 14 (1978): exponential for Lemke", _murty(20), -np.ones(20)
        ),
        linear("fathi-16", "Fathi, Math. Program. 17 (1979)", _murty(16) @ _murty(16).T, -np.ones(16)),
        linear(
            "ahn-40",
            "Ahn, Math. Program. 26 (1983): tridiagonal (1, 4, −2)",
            _tridiagonal(40, 1, 4, -2),
            -np.ones(40),
        ),
        linear(
            "geiger-kanzow-64",
            "Geiger and Kanzow, Comput. Optim. Appl. 5 (1996): tridiagonal (−1, 4, −1)",
            _tridiagonal(64, -1, 4, -1),
            -np.ones(64),
        ),
        linear(
            "kostreva-cycling",
            "Kostreva, Oper. Res. Lett. 1 (1979)",
            np.array([[1, 2, 0], [0, 1, 2], [2, 0, 1]]),
            -np.ones(3),
        ),
        linear(
            "murty-degenerate",
            "Murty, Linear complementarity (1988): degenerate at the solution",
            np.array([[1.0, 0, 0], [2, 1, 0], [2, 2, 1]]),
            np.array([-1.0, -2, -2]),
        ),
        linear(
            "harker-pang-20", "Harker and Pang, Lect. Appl. Math. 26 (1990), seed 1", *_harker_pang(20, 1)
        ),
        linear(
            "harker-pang-40", "Harker and Pang, Lect. Appl. Math. 26 (1990), seed 2", *_harker_pang(40, 2)
        ),
        linear(
            "no-solution-lcp",
            "Cottle, Pang and Stone (1992), section 3.1",
            np.array([[0.0, -1], [1, 0]]),
            np.array([-1.0, -1]),
            solvable=False,
        ),
        ncp(
            "no-solution-billups",
            "Billups's function lifted: (z − 1)² + 0.01 is never 0",
            1,
            lambda z: [-1.0 * (z[0] - 1) ** 2 - 0.01],
            ([0.0], [3.0]),
            solvable=False,
        ),
        McpModel(
            "no-solution-free",
            "1 + z² has no zero",
            [1 + variables(1)[0] ** 2],
            [-INF],
            [INF],
            ([0.0], [2.0]),
            solvable=False,
        ),
        ncp(
            "no-solution-exponential",
            "−e^(−z): an infimum that is not attained",
            1,
            lambda z: [-1.0 * exp(-1.0 * z[0])],
            ([0.0], [5.0]),
            solvable=False,
        ),
    ]


def _powell() -> list[Symbol]:
    a, b, c, d = variables(4)
    return [a + 10 * b, 5.0**0.5 * (c - d), (b - 2 * c) ** 2, 10.0**0.5 * (a - d) ** 2]


def _murty(n: int) -> np.ndarray:
    return np.eye(n) + 2 * np.tril(np.ones((n, n)), -1)


def _tridiagonal(n: int, below: float, on: float, above: float) -> np.ndarray:
    return on * np.eye(n) + below * np.eye(n, k=-1) + above * np.eye(n, k=1)


def _harker_pang(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """M = AᵀA + B + D with A in (−5, 5), B skew in (−5, 5), D diagonal in (0, 0.3); q in (−500, 500)."""
    rng = np.random.default_rng(seed)
    A, B = rng.uniform(-5, 5, (n, n)), np.triu(rng.uniform(-5, 5, (n, n)), 1)
    return A.T @ A + B - B.T + np.diag(rng.uniform(0, 0.3, n)), rng.uniform(-500, 500, n)
