"""Equilibria of markets of any size: exchange, transport, land; `formulas.toml` has the small ones."""

import numpy as np

from perp.bench.sets.mcp.model import McpModel, total
from perp.formulations.expressions import variables


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


def economics() -> list[McpModel]:
    """The problems."""
    seattle = np.array([[2.5, 1.7, 1.8], [2.5, 1.8, 1.4]]) * 0.09
    random = np.random.default_rng(7).uniform(0.2, 2, (5, 6))
    plants, markets = [350.0, 600.0], [325.0, 300.0, 275.0]
    return [
        _exchange(4, 3, 0.5, 1),
        _exchange(6, 5, 2.0, 2),
        _exchange(10, 4, 0.8, 3),
        _exchange(14, 6, 3.0, 4),
        _transport("transport-fixed", plants, markets, seattle, 0.0, 0.0),
        _transport("transport-elastic", plants, markets, seattle, 1.5, 0.0),
        _transport("transport-tax", plants, markets, seattle, 0.5, 0.1),
        _transport("spatial-price-5-6", [100, 80, 60, 120, 90], [60, 70, 80, 50, 90, 40], random, 0.8, 0.0),
        _thuenen(4),
        _thuenen(10),
    ]
