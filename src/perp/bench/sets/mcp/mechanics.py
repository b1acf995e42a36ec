"""Free boundaries and control: obstacles, films of oil, options, bounded controls, contact."""

import math

from perp.bench.sets.mcp.model import McpModel, total
from perp.formulations.expressions import INFINITY, Symbol, exp, variables


def _membrane(m: int) -> list[Symbol]:
    """−Δz times h² on m × m points of a square whose boundary is held at zero."""
    z = variables(m * m)

    def at(i: int, j: int) -> Symbol | float:
        return z[i * m + j] if 0 <= i < m and 0 <= j < m else 0.0

    return [
        4 * z[i * m + j] - at(i - 1, j) - at(i + 1, j) - at(i, j - 1) - at(i, j + 1)
        for i in range(m)
        for j in range(m)
    ]


def _obstacle(m: int, name: str, load: float, reaction: float, upper: float) -> McpModel:
    """A membrane over an obstacle on the unit square, m × m points: −Δz + r (e^z − 1) = load."""
    z, h, bent = variables(m * m), 1 / (m + 1), _membrane(m)
    rows, lower = [], []
    for i in range(m):
        for j in range(m):
            x, y, k = (i + 1) * h, (j + 1) * h, i * m + j
            rows.append(bent[k] + h * h * (reaction * (exp(z[k]) - 1) - load if reaction else -load))
            low = (math.sin(9 * x) * math.sin(9 * y)) ** 3 if load > 0 else -abs(x - 0.5) - 0.02
            lower.append(min(low, upper))
    source = "Dembo and Tulowitzki (1983); Moré and Toraldo, SIAM J. Optim. 1 (1991)"
    return McpModel(name, source, rows, (lower, min(1.0, upper)), lower, upper)


def _torsion(m: int, c: float) -> McpModel:
    """Elastic–plastic torsion: |z| ≤ distance to the boundary."""
    h = 1 / (m + 1)
    rows = [row - c * h * h for row in _membrane(m)]
    width = [h * min(i + 1, j + 1, m - i, m - j) for i in range(m) for j in range(m)]
    source = "Glowinski (1984); Moré and Toraldo (1991)"
    return McpModel(f"torsion-{c:g}", source, rows, (0.0, width), [-w for w in width], width)


def _journal_bearing(n: int, eccentricity: float) -> McpModel:
    """Reynolds's equation of a long bearing with cavitation: −(h³ p′)′ + e h′ ≥ 0 ⊥ p ≥ 0."""
    p, step = variables(n), 2 * math.pi / (n + 1)

    def film(t: float) -> float:
        return (1 + eccentricity * math.cos(t)) ** 3

    rows = []
    for i in range(n):
        t = (i + 1) * step
        left, right = film(t - step / 2), film(t + step / 2)
        row = (left + right) * p[i]
        row = row - left * p[i - 1] if i else row
        row = row - right * p[i + 1] if i < n - 1 else row
        rows.append(row - step**2 * eccentricity * math.sin(t))
    name = f"journal-bearing-{eccentricity:g}"
    return McpModel(name, "Cryer, J. ACM 18 (1971); Lin and Cryer (1985)", rows, (0.0, 1.0))


def _lubrication(n: int, load: float, viscosity: float) -> McpModel:
    """Elastohydrodynamic line contact: p ≥ 0 ⊥ Reynolds with h(p) by a logarithmic kernel, k by the load."""
    z = variables(n + 1)
    p, k = z[:n], z[n]
    a, b = -3.0, 2.0
    step = (b - a) / (n + 1)
    x = [a + step * (i + 1) for i in range(n)]

    def thickness(at: float) -> Symbol:
        bend = total([(math.log(abs(at - x[j]) + 0.25 * step) * (-step / math.pi)) * p[j] for j in range(n)])
        return k + at * at / 2 + bend

    rows = []
    for i in range(n):
        left, right = thickness(x[i] - step / 2), thickness(x[i] + step / 2)
        before, after = (p[i - 1] if i else None), (p[i + 1] if i < n - 1 else None)

        def flow(h: Symbol, low: Symbol | None, high: Symbol | None) -> Symbol:
            low, high = (0 * k if low is None else low), (0 * k if high is None else high)
            return h**3 * exp(-viscosity * 0.5 * (low + high)) * (high - low) / step

        rows.append(flow(left, before, p[i]) - flow(right, p[i], after) + load * (right - left))
    rows.append(total([step * pressure for pressure in p]) - math.pi / 2)
    starts = ([max(0.0, 1 - t * t) ** 0.5 for t in x] + [1.0], [0.5] * n + [1.0])
    name, source = f"lubrication-{n}-{viscosity:g}", "Kostreva, Comput. Struct. 19 (1984): line contact"
    return McpModel(name, source, rows, starts, lower=[0.0] * n + [-INFINITY])


def _american_put(n: int, volatility: float, cost: float) -> McpModel:
    """One implicit year of an American put in log-price; `cost` makes volatility depend on the curvature."""
    z, strike, rate, width = variables(n), 1.0, 0.06, 2.0
    step = width / (n + 1)
    s = [-1.0 + step * (i + 1) for i in range(n)]
    payoff = [max(0.0, strike - math.exp(x)) for x in s]

    def value(i: int) -> Symbol | float:
        return strike - math.exp(-1.0) if i < 0 else (0.0 if i >= n else z[i])

    rows = []
    for i in range(n):
        bend = (value(i - 1) - 2 * z[i] + value(i + 1)) / step**2
        slope = (value(i + 1) - value(i - 1)) / (2 * step)
        variance = volatility**2
        extra = cost * bend**2 if cost else 0.0 * z[i]
        rows.append(
            (z[i] - payoff[i]) - 0.25 * (0.5 * variance * (bend - slope) + extra + rate * slope - rate * z[i])
        )
    source = "Brennan and Schwartz, J. Finance 32 (1977); Leland (1985) for the cost"
    return McpModel(f"american-put-{n}-{cost:g}", source, rows, (payoff, 1.0), payoff)


def _control(steps: int, bound: float, nonlinear: float) -> McpModel:
    """Minimise ½ Σ (x² + u²) h over x′ = −x − n x³ + u, |u| ≤ bound: states, controls, costates."""
    z, h = variables(3 * steps), 1 / steps
    x, u, costate = z[:steps], z[steps : 2 * steps], z[2 * steps :]
    rows = []
    for k in range(steps):
        following = costate[k + 1] if k < steps - 1 else 0 * z[0]
        # x_{k+1} = x_k + h (−x_k − n x_k³ + u_{k+1}), written backwards in time for the costate
        rows.append(h * (x[k] - 1) + costate[k] - following * (1 - h - 3 * h * nonlinear * x[k] ** 2))
    rows += [h * u[k] - h * costate[k] for k in range(steps)]
    for k in range(steps):
        before = x[k - 1] if k else 0 * z[0]
        rows.append(x[k] - before - h * (u[k] - before - nonlinear * before**3))
    limits = [INFINITY] * steps + [bound] * steps + [INFINITY] * steps
    source = "Bertsekas (1982); MCPLIB's opt_cont and bert_oc: the form"
    name = f"control-{steps}-{nonlinear:g}"
    return McpModel(name, source, rows, (0.0, 0.5), [-limit for limit in limits], limits)


def _frame(count: int) -> McpModel:
    """A string of nonlinear springs over unilateral supports at a depth of 0.1 (Tin-Loi and Pang 1993)."""
    z = variables(2 * count)
    w, force = z[:count], z[count:]
    rows = []
    for i in range(count):
        left = w[i] - (w[i - 1] if i else 0 * z[0])
        right = (w[i + 1] if i < count - 1 else 0 * z[0]) - w[i]
        rows.append((left + 20 * left**3) - (right + 20 * right**3) - 0.05 - force[i] * -1.0)
    rows += [0.1 - w[i] for i in range(count)]
    source = "Tin-Loi and Pang, Comput. Methods Appl. Mech. Eng. 107 (1993): the form"
    return McpModel(f"springs-{count}", source, rows, (0.0, 0.05), [-INFINITY] * count + [0.0] * count)


def _ignition(n: int, parameter: float) -> McpModel:
    """Bratu's equation with an obstacle: −z″ = λ e^z under z ≤ 1 (Hoppe and Mittelmann 1989)."""
    z, h = variables(n), 1 / (n + 1)
    rows = [
        2 * z[i] - (z[i - 1] if i else 0.0) - (z[i + 1] if i < n - 1 else 0.0) - h * h * parameter * exp(z[i])
        for i in range(n)
    ]
    source = "Hoppe and Mittelmann, IMA J. Numer. Anal. 9 (1989)"
    return McpModel(f"bratu-{parameter:g}", source, rows, (0.0, 1.0, 0.5), upper=1.0)


def mechanics() -> list[McpModel]:
    """The problems."""
    return [
        _obstacle(12, "obstacle-lower", 100.0, 0.0, INFINITY),
        _obstacle(12, "obstacle-both", 100.0, 0.0, 0.6),
        _obstacle(12, "obstacle-nonlinear", -10.0, 5.0, INFINITY),
        _obstacle(7, "obstacle-small", -20.0, 1.0, INFINITY),
        _torsion(12, 5.0),
        _torsion(12, 20.0),
        _journal_bearing(100, 0.1),
        _journal_bearing(100, 0.8),
        _journal_bearing(200, 0.95),
        _lubrication(40, 4.0, 0.0),
        _lubrication(40, 4.0, 1.0),
        _american_put(60, 0.3, 0.0),
        _american_put(100, 0.2, 0.0),
        _american_put(60, 0.3, 1e-3),
        _control(20, 0.5, 0.0),
        _control(40, 0.2, 1.0),
        _frame(10),
        _frame(30),
        _ignition(60, 3.0),
        _ignition(60, 8.0),
    ]
