"""Optimality conditions of nonlinear programs of Hock and Schittkowski's collection (1981), by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from perp.bench.sets.mcp.model import McpModel, Vector
from perp.formulations.expressions import Symbol, exp, gradient, log, variables

INF = float("inf")
SOURCE = "Hock and Schittkowski, Test examples for nonlinear programming codes (1981)"


def kkt(
    name: str,
    n: int,
    objective: Callable[[list[Symbol]], Symbol],
    constraints: Callable[[list[Symbol]], list[Symbol]],
    starts: Sequence[Vector],
    *,
    equal: int = 0,
    lower: Vector | None = None,
    upper: Vector | None = None,
) -> McpModel:
    """The optimality conditions of min φ(x), c(x) ≥ 0 (the first `equal` ones = 0), lower ≤ x ≤ upper.

    ∇φ − λᵀ ∇c ⊥ x in its box, c(x) ⊥ λ ≥ 0 (free for equations).
    """
    m = len(constraints(variables(n)))
    z = variables(n + m)
    c = constraints(z[:n])
    lagrangian = objective(z[:n]) - sum((z[n + k] * c[k] for k in range(m)), z[0] * 0.0)
    rows = gradient(lagrangian, n) + c
    return McpModel(
        name,
        SOURCE,
        rows,
        [*(lower or [-np.inf] * n), *([-np.inf] * equal), *([0.0] * (m - equal))],
        [*(upper or [np.inf] * n), *([np.inf] * m)],
        [[*start, *([0.0] * m)] for start in starts],
    )


def _none(_: list[Symbol]) -> list[Symbol]:
    return []


def _sum(terms: list[Symbol]) -> Symbol:
    return sum(terms[1:], terms[0])


def _colville() -> McpModel:
    """Problem 117 (Colville 2): 15 variables, 5 cubic constraints."""
    e, d = [-15.0, -27, -36, -18, -12], [4.0, 8, 10, 6, 2]
    b = [-40.0, -2, -0.25, -4, -4, -1, -40, -60, 5, 1]
    c = [
        [30, -20, -10, 32, -10],
        [-20, 39, -6, -31, 32],
        [-10, -6, 10, -6, -10],
        [32, -31, -6, 39, -20],
        [-10, 32, -10, -20, 30],
    ]
    a = [
        [-16, 2, 0, 1, 0],
        [0, -2, 0, 0.4, 2],
        [-3.5, 0, 2, 0, 0],
        [0, -2, 0, -4, -1],
        [0, -9, -2, 1, -2.8],
        [2, 0, -4, 0, 0],
        [-1, -1, -1, -1, -1],
        [-1, -2, -3, -2, -1],
        [1, 2, 3, 4, 5],
        [1, 1, 1, 1, 1],
    ]

    def objective(x: list[Symbol]) -> Symbol:
        y = x[10:]
        linear = _sum([-b[j] * x[j] for j in range(10)])
        quadratic = _sum([c[k][j] * y[k] * y[j] for k in range(5) for j in range(5)])
        return linear + quadratic + 2 * _sum([d[j] * y[j] ** 3 for j in range(5)])

    def constraints(x: list[Symbol]) -> list[Symbol]:
        y = x[10:]
        return [
            2 * _sum([c[k][j] * y[k] for k in range(5)])
            + 3 * d[j] * y[j] ** 2
            + e[j]
            - _sum([a[k][j] * x[k] for k in range(10) if a[k][j]])
            for j in range(5)
        ]

    start = [0.001] * 6 + [60.0] + [0.001] * 8
    return kkt("hs117-colville", 15, objective, constraints, [start, [1.0] * 15], lower=[0.0] * 15)


def programs() -> list[McpModel]:
    """The problems."""
    return [
        kkt(
            "hs1",
            2,
            lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2,
            _none,
            [[-2.0, 1.0], [3.0, 3.0]],
            lower=[-INF, -1.5],
        ),
        kkt(
            "hs2",
            2,
            lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2,
            _none,
            [[-2.0, 1.5], [3.0, 3.0]],
            lower=[-INF, 1.5],
        ),
        kkt(
            "hs3",
            2,
            lambda x: x[1] + 1e-5 * (x[1] - x[0]) ** 2,
            _none,
            [[10.0, 1.0]],
            lower=[-INF, 0.0],
        ),
        kkt(
            "hs4",
            2,
            lambda x: (x[0] + 1) ** 3 / 3 + x[1],
            _none,
            [[1.125, 0.125], [5.0, 5.0]],
            lower=[1.0, 0.0],
        ),
        kkt(
            "hs21",
            2,
            lambda x: 0.01 * x[0] ** 2 + x[1] ** 2,
            lambda x: [10 * x[0] - x[1] - 10],
            [[2.0, -1.0], [40.0, 40.0]],
            lower=[2.0, -50.0],
            upper=[50.0, 50.0],
        ),
        kkt(
            "hs24",
            2,
            lambda x: ((x[0] - 3) ** 2 - 9) * x[1] ** 3 / (27 * 3.0**0.5),
            lambda x: [x[0] / 3.0**0.5 - x[1], x[0] + 3.0**0.5 * x[1], 6 - x[0] - 3.0**0.5 * x[1]],
            [[1.0, 0.5], [2.0, 1.0]],
            lower=[0.0, 0.0],
        ),
        kkt(
            "hs35-beale",
            3,
            lambda x: (
                9
                - 8 * x[0]
                - 6 * x[1]
                - 4 * x[2]
                + 2 * x[0] ** 2
                + 2 * x[1] ** 2
                + x[2] ** 2
                + 2 * x[0] * x[1]
                + 2 * x[0] * x[2]
            ),
            lambda x: [3 - x[0] - x[1] - 2 * x[2]],
            [[0.5] * 3, [5.0] * 3],
            lower=[0.0] * 3,
        ),
        kkt(
            "hs38-colville4",
            4,
            lambda x: (
                100 * (x[1] - x[0] ** 2) ** 2
                + (1 - x[0]) ** 2
                + 90 * (x[3] - x[2] ** 2) ** 2
                + (1 - x[2]) ** 2
                + 10.1 * ((x[1] - 1) ** 2 + (x[3] - 1) ** 2)
                + 19.8 * (x[1] - 1) * (x[3] - 1)
            ),
            _none,
            [[-3.0, -1, -3, -1], [2.0] * 4],
            lower=[-10.0] * 4,
            upper=[10.0] * 4,
        ),
        kkt(
            "hs43-rosen-suzuki",
            4,
            lambda x: (
                x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3]
            ),
            lambda x: [
                8 - x[0] ** 2 - x[1] ** 2 - x[2] ** 2 - x[3] ** 2 - x[0] + x[1] - x[2] + x[3],
                10 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - 2 * x[3] ** 2 + x[0] + x[3],
                5 - 2 * x[0] ** 2 - x[1] ** 2 - x[2] ** 2 - 2 * x[0] + x[1] + x[3],
            ],
            [[0.0] * 4, [1.0] * 4],
        ),
        kkt(
            "hs48",
            5,
            lambda x: (x[0] - 1) ** 2 + (x[1] - x[2]) ** 2 + (x[3] - x[4]) ** 2,
            lambda x: [x[0] + x[1] + x[2] + x[3] + x[4] - 5, x[2] - 2 * (x[3] + x[4]) + 3],
            [[3.0, 5, -3, 2, -2]],
            equal=2,
        ),
        kkt(
            "hs64",
            3,
            lambda x: 5 * x[0] + 50000 / x[0] + 20 * x[1] + 72000 / x[1] + 10 * x[2] + 144000 / x[2],
            lambda x: [1 - 4 / x[0] - 32 / x[1] - 120 / x[2]],
            [[50.0] * 3, [100.0] * 3],
            lower=[1e-5] * 3,
        ),
        kkt(
            "hs65",
            3,
            lambda x: (x[0] - x[1]) ** 2 + (x[0] + x[1] - 10) ** 2 / 9 + (x[2] - 5) ** 2,
            lambda x: [48 - x[0] ** 2 - x[1] ** 2 - x[2] ** 2],
            [[-5.0, 5, 0], [1.0] * 3],
            lower=[-4.5, -4.5, -5.0],
            upper=[4.5, 4.5, 5.0],
        ),
        kkt(
            "hs66",
            3,
            lambda x: 0.2 * x[2] - 0.8 * x[0],
            lambda x: [x[1] - exp(x[0]), x[2] - exp(x[1])],
            [[0.0, 1.05, 2.9], [0.0] * 3],
            lower=[0.0] * 3,
            upper=[100.0, 100.0, 10.0],
        ),
        kkt(
            "hs71",
            4,
            lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
            lambda x: [x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2 - 40, x[0] * x[1] * x[2] * x[3] - 25],
            [[1.0, 5, 5, 1], [2.0, 4, 4, 2]],
            equal=1,
            lower=[1.0] * 4,
            upper=[5.0] * 4,
        ),
        kkt(
            "hs76",
            4,
            lambda x: (
                x[0] ** 2
                + 0.5 * x[1] ** 2
                + x[2] ** 2
                + 0.5 * x[3] ** 2
                - x[0] * x[2]
                + x[2] * x[3]
                - x[0]
                - 3 * x[1]
                + x[2]
                - x[3]
            ),
            lambda x: [
                5 - x[0] - 2 * x[1] - x[2] - x[3],
                4 - 3 * x[0] - x[1] - 2 * x[2] + x[3],
                x[1] + 4 * x[2] - 1.5,
            ],
            [[0.5] * 4, [5.0] * 4],
            lower=[0.0] * 4,
        ),
        replace(
            kkt(
                "hs110-separable",
                4,
                lambda x: _sum([log(x[i] - 2) ** 2 + log(10 - x[i]) ** 2 for i in range(4)]),
                _none,
                [[9.0] * 4, [3.0] * 4],
                lower=[2.001] * 4,
                upper=[9.999] * 4,
            ),
            source=f"{SOURCE}: 110 without its product, in four variables",
        ),
        _colville(),
    ]
