"""Equilibria of markets: Walras, Cournot and Nash, transport, traffic, land, electricity, games."""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.bench.sets.mcp.model import McpModel, linear, total
from perp.formulations.expressions import INFINITY, Symbol, variables


def _nash(beta: list[float], cost: list[float], slope: float, gamma: float) -> list[Symbol]:
    """Marginal cost less marginal revenue of each firm; costs of five rise with q/5, of ten with 10 q."""
    q = variables(len(cost))
    supply = total(q)
    price = 5000 ** (1 / gamma) * supply ** (-1 / gamma)
    return [
        c + (slope * q[i]) ** (1 / b) - price + q[i] * price / (gamma * supply)
        for i, (b, c) in enumerate(zip(beta, cost, strict=True))
    ]


def _mathiesen(alpha: float, b2: float, b3: float) -> McpModel:
    """Three goods, one activity that makes good 1 from goods 2 and 3, one consumer (Mathiesen 1985)."""
    y, p1, p2, p3 = variables(4)
    income = b2 * p2 + b3 * p3
    rows = [
        p2 + p3 - p1,  # no profit
        y - alpha * income / p1,
        b2 - y - (1 - alpha) * income / p2,
        b3 - y,
    ]
    starts = (1.0, [0.5, 1.0, 2.0, 1.0], [3.0, 3.0, 1.0, 1.0])
    name = f"mathiesen-{alpha:g}-{b2:g}-{b3:g}"
    return McpModel(name, "Mathiesen, Econ. Lett. 18 (1985)", rows, starts)


def _scarf_1960(weight: float) -> McpModel:
    """Three consumers with complementary goods, whose tâtonnement cycles; good 3 is the numéraire."""
    p: list[Any] = [*variables(2), 1.0]
    demand: list[Any] = [0.0, 0.0, 0.0]
    for i in range(3):
        j = (i + 1) % 3
        share = p[i] / (p[i] + weight * p[j])
        demand[i] = demand[i] + share
        demand[j] = demand[j] + weight * share
    rows, starts = [1.0 - demand[0], 1.0 - demand[1]], ([1.0, 2.0], [0.3, 0.2], 5.0)
    return McpModel(f"scarf-{weight:g}", "Scarf, Int. Econ. Review 1 (1960)", rows, starts, lower=1e-6)


def _exchange(goods: int, consumers: int, sigma: float, seed: int) -> McpModel:
    """Pure exchange with CES demands, as Scarf's and Kehoe's tests: excess supply ⊥ price, one numéraire."""
    rng = np.random.default_rng(seed)
    share, endowment = rng.uniform(0.2, 1, (consumers, goods)), rng.uniform(0, 3, (consumers, goods))
    p = [*variables(goods - 1), 1.0]
    rows = []
    for i in range(goods - 1):
        excess: object = float(endowment[:, i].sum())
        for c in range(consumers):
            income = sum(float(endowment[c, j]) * p[j] for j in range(goods))
            index = sum(
                float(share[c, j]) * (p[j] ** (1 - sigma) if j < goods - 1 else 1.0) for j in range(goods)
            )
            excess = excess - float(share[c, i]) * income / (p[i] ** sigma * index)  # type: ignore[operator]
        rows.append(excess)
    name = f"ces-exchange-{goods}-{consumers}-{sigma:g}"
    return McpModel(name, "Kehoe, Econometrica 48 (1980): CES exchange", rows, (1.0, 0.1, 5.0), lower=1e-6)


def _transport(
    name: str, supply: list[float], demand: list[float], cost: np.ndarray, elasticity: float, tax: float
) -> McpModel:
    """Flows, prices at sources and markets; demand falls with its price (spatial price equilibrium)."""
    m, n = len(supply), len(demand)
    z = variables(m * n + m + n)
    x = [[z[i * n + j] for j in range(n)] for i in range(m)]
    source, market = z[m * n : m * n + m], z[m * n + m :]
    rows = [source[i] + (float(cost[i, j]) + tax) - market[j] for i in range(m) for j in range(n)]
    rows += [supply[i] - sum(x[i][1:], x[i][0]) for i in range(m)]
    rows += [
        sum((x[i][j] for i in range(1, m)), x[0][j]) - demand[j] * market[j] ** (-elasticity)
        for j in range(n)
    ]
    lower = [0.0] * (m * n + m) + [1e-4] * n
    source = "Samuelson (1952); Takayama and Judge (1971); GAMS library transmcp"
    return McpModel(name, source, rows, (1.0, [0.0] * (m * n + m) + [1.0] * n, 10.0), lower)


def _traffic() -> McpModel:
    """Bertsekas and Gafni's ring of five towns: flow each way round per pair, and its travel time."""
    n = 5
    z = variables(15)
    demand = [0.1, 0.2, 0.3, 0.4, 0.5]

    def delay(x: Symbol) -> Symbol:
        return 1 + x + x**2

    clockwise = [total([z[o] for o in range(n) if (link - o) % n < 2]) for link in range(n)]
    counter = [total([z[5 + o] for o in range(n) if (o - 1 - link) % n < 3]) for link in range(n)]
    rows = [
        total([10 * delay(clockwise[(o + k) % n]) for k in range(2)]) + delay(z[o]) - z[10 + o]
        for o in range(n)
    ]
    rows += [
        total([10 * delay(counter[(o - 1 - k) % n]) for k in range(3)]) + delay(z[5 + o]) - z[10 + o]
        for o in range(n)
    ]
    rows += [z[o] + z[5 + o] - demand[o] for o in range(n)]
    source = "Bertsekas and Gafni, Math. Program. Study 17 (1982)"
    return McpModel("bertsekas-gafni", source, rows, (0.0, 1.0, [0.1] * 10 + [50.0] * 5))


def _braess(toll: float) -> McpModel:
    """Braess's network (1968): three routes for 6 vehicles, a toll on the short cut."""
    a, b, c, t = variables(4)
    first, second = a + c, b + c
    rows = [
        10 * first + 50 + a - t,
        50 + b + 10 * second - t,
        10 * first + 10 + c + 10 * second + toll - t,
        a + b + c - 6,
    ]
    starts = (0.0, [2.0, 2.0, 2.0, 92.0], [6.0, 0, 0, 0])
    return McpModel(f"braess-{toll:g}", "Braess, Unternehmensforschung 12 (1968)", rows, starts)


def _thuenen(rings: int) -> McpModel:
    """Von Thünen: crops compete for rings of land at growing distance; labour has one wage, rent is local."""
    crops = 3
    z = variables(crops * rings + rings + crops + 1)
    land = [[z[c * rings + r] for r in range(rings)] for c in range(crops)]
    rent, price, wage = z[crops * rings : crops * rings + rings], z[crops * rings + rings : -1], z[-1]
    yields, freight, labour, size = [3.0, 2.0, 1.0], [0.6, 0.3, 0.1], [1.0, 0.5, 0.2], [8.0, 6.0, 4.0]
    rows = [
        rent[r] + labour[c] * wage + yields[c] * freight[c] * (r + 1.0) * 0.2 - yields[c] * price[c]
        for c in range(crops)
        for r in range(rings)
    ]
    rows += [(2.0 * r + 1.0) - total([land[c][r] for c in range(crops)]) for r in range(rings)]
    rows += [total([yields[c] * land[c][r] for r in range(rings)]) - size[c] / price[c] for c in range(crops)]
    rows += [6.0 - total([labour[c] * land[c][r] for c in range(crops) for r in range(rings)])]
    source = "von Thünen (1826) in the form of Samuelson (1983) and MCPLIB's vonthmcp"
    lower = [0.0] * (len(rows) - 1 - crops) + [1e-3] * crops + [0.0]
    return McpModel(f"von-thuenen-{rings}", source, rows, (1.0, 0.1), lower)


def _power_market(conjecture: float) -> McpModel:
    """Two firms at three nodes of a network with one congested line (Hobbs 2001): sales, wheeling fees."""
    nodes, firms = 3, 2
    z = variables(firms * nodes + nodes + 2)
    sales = [[z[f * nodes + i] for i in range(nodes)] for f in range(firms)]
    fee, up, down = z[firms * nodes : firms * nodes + nodes], z[-2], z[-1]
    intercept, slope, cost, home = [40.0, 40.0, 32.0], [0.08, 0.08, 0.0516], [15.0, 15.0], [0, 1]
    factor = [1 / 3, -1 / 3, 0.0]
    sold = [sales[0][i] + sales[1][i] for i in range(nodes)]
    rows = []
    for f in range(firms):
        for i in range(nodes):
            price = intercept[i] - slope[i] * sold[i]
            rows.append(
                cost[f]
                + fee[i]
                - fee[home[f]]
                + 0.01 * total(sales[f])
                - price
                + conjecture * slope[i] * sales[f][i]
            )
    injection = [total(sales[i]) - sold[i] if i < firms else -1.0 * sold[i] for i in range(nodes)]
    flow = total([factor[i] * injection[i] for i in range(nodes)])
    rows += [fee[i] + factor[i] * (up - down) for i in range(nodes)]
    rows += [30.0 - flow, 30.0 + flow]
    lower = [0.0] * (firms * nodes) + [-INFINITY] * nodes + [0.0, 0.0]
    starts = (0.0, [100.0] * (firms * nodes) + [0.0] * 5)
    return McpModel(
        f"power-market-{conjecture:g}", "Hobbs, IEEE Trans. Power Syst. 16 (2001)", rows, starts, lower
    )


def _game(name: str, A: list[list[float]], B: list[list[float]]) -> McpModel:
    """A bimatrix game: costs made positive, 0 ≤ (x, y) ⊥ (A y − 1, Bᵀ x − 1) ≥ 0 (Lemke and Howson 1964)."""
    a, b = np.array(A, float), np.array(B, float)
    m, n = a.shape
    M = np.block([[np.zeros((m, m)), a], [b.T, np.zeros((n, n))]])
    return linear(f"game-{name}", "Lemke and Howson, SIAM J. 12 (1964)", M, -np.ones(m + n), (0.1, 1.0))


def _capital() -> McpModel:
    """Invariant capital stock: max Σ v(x) with A x + k ≤ B x …, discount 0.7 (Hansen and Koopmans 1972)."""
    x = variables(3 + 2 + 1)
    a, y, w = x[:3], x[3:5], x[5]
    use, make, land = [[2.0, 1.0, 3.0], [1.0, 2.0, 0.5]], [[3.0, 2.0, 2.0], [2.0, 3.5, 1.0]], [1.0, 0.5, 0.8]
    discount = 0.7
    utility = [0.5, 0.3, 0.9]
    rows = [
        total([y[k] * (use[k][j] - discount * make[k][j]) for k in range(2)])
        + w * land[j]
        - utility[j] * (1 + a[j]) ** (-0.5)
        for j in range(3)
    ]
    rows += [total([(make[k][j] - use[k][j]) * a[j] for j in range(3)]) for k in range(2)]
    rows += [2.0 - total([land[j] * a[j] for j in range(3)])]
    source = "Hansen and Koopmans, J. Econ. Theory 5 (1972): the form, with three activities"
    return McpModel("hansen-koopmans", source, rows, (0.0, 1.0, 10.0))


def economics() -> list[McpModel]:
    """The problems."""
    five = _nash([1.2, 1.1, 1.0, 0.9, 0.8], [10, 8, 6, 4, 2], 1 / 5, 1.1)
    ten = _nash([1.2, 1, 0.9, 0.6, 1.5, 1, 0.7, 1.1, 0.95, 0.75], [5, 3, 8, 5, 1, 3, 7, 4, 6, 3], 10.0, 1.2)
    murphy = "Murphy, Sherali and Soyster, Math. Program. 24 (1982); Harker (1984)"
    seattle = np.array([[2.5, 1.7, 1.8], [2.5, 1.8, 1.4]]) * 0.09
    return [
        McpModel("nash-cournot-5", murphy, five, (10.0, 1.0, 100.0), lower=1e-4),
        McpModel("nash-cournot-10", murphy, ten, (10.0, 1.0, 50.0), lower=1e-4),
        McpModel(
            "nash-cournot-5-capacity", f"{murphy}, with capacities", five, (10.0, 1.0, 40.0), 1e-4, 40.0
        ),
        _mathiesen(0.75, 1.0, 0.5),
        _mathiesen(0.9, 5.0, 3.0),
        _mathiesen(0.5, 2.0, 2.0),
        _scarf_1960(1.0),
        _scarf_1960(0.5),
        _exchange(4, 3, 0.5, 1),
        _exchange(6, 5, 2.0, 2),
        _exchange(10, 4, 0.8, 3),
        _exchange(14, 6, 3.0, 4),
        _transport("transport-fixed", [350, 600], [325, 300, 275], seattle, 0.0, 0.0),
        _transport("transport-elastic", [350, 600], [325, 300, 275], seattle, 1.5, 0.0),
        _transport("transport-tax", [350, 600], [325, 300, 275], seattle, 0.5, 0.1),
        _transport(
            "spatial-price-5-6",
            [100, 80, 60, 120, 90],
            [60, 70, 80, 50, 90, 40],
            np.random.default_rng(7).uniform(0.2, 2, (5, 6)),
            0.8,
            0.0,
        ),
        _traffic(),
        _braess(0.0),
        _braess(13.0),
        _thuenen(4),
        _thuenen(10),
        _power_market(1.0),
        _power_market(0.0),
        _capital(),
        _game("prisoners", [[2, 4], [1, 3]], [[2, 1], [4, 3]]),
        _game("matching-pennies", [[2, 1], [1, 2]], [[1, 2], [2, 1]]),
        _game("sexes", [[1, 3], [3, 2]], [[2, 3], [3, 1]]),
        _game("shapley", [[2, 1, 3], [3, 2, 1], [1, 3, 2]], [[1, 2, 3], [3, 1, 2], [2, 3, 1]]),
    ]
