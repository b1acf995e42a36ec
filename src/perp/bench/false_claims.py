"""Families for the search for false claims: MCPs with known solutions, INFEASIBLE, and certify.

Each family makes, from a number, claims of perp and says whether each is false, by an oracle of its own: MCPs
are built around an exact solution that is the only one, and answers are compared with it in the variables'
own sizes and by f in 50 digits; a proof that there is no solution is checked in fractions; what `certify`
calls proved is compared with a solution that was found in fractions without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

import perp

TOLERANCE = 1e-8
# An answer of a well-conditioned MCP that is off by more of a variable's own size is not one to 1e-8.
WRONG = 1e-4


class Claim(NamedTuple):
    """One claim: family, number, what was asked, what perp says, whether that is false."""

    family: str
    seed: int
    case: str
    said: str
    false: bool


def known_mcps(seed: int) -> Iterator[Claim]:
    """MCPs f = R (A (z − z*) + D (g(z) − g(z*)) + w*) with scales of 1e±12, from near and far starts."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    rows, columns = (
        10.0 ** rng.uniform(-12, 12, n),
        10.0 ** rng.uniform(-12, 12, n) ** float(rng.random() < 0.5),
    )
    columns = np.where(np.isfinite(columns), np.clip(columns, 1e-12, 1e12), 1.0)
    A = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.5)
    A = A - np.diag(np.diag(A)) + np.diag(np.abs(A).sum(axis=1) + rng.uniform(0.1, 2, n))
    y = rng.standard_normal(n) * 10.0 ** rng.uniform(-2, 1.5, n)
    mode = rng.integers(0, 3, n)
    slack = np.where(mode == 1, 1.0, np.where(mode == 2, -1.0, 0.0)) * 10.0 ** rng.uniform(-1, 2, n)
    lo = np.where(mode == 1, y, np.where(rng.random(n) < 0.5, -np.inf, y - 10.0 ** rng.uniform(0, 3, n)))
    hi = np.where(mode == 2, y, np.where(rng.random(n) < 0.5, np.inf, y + 10.0 ** rng.uniform(0, 3, n)))
    kind = rng.integers(0, 4, n)
    weight = rng.uniform(0, 3, n)

    def monotone(x: Any, exp: Callable[[Any], Any], k: int) -> Any:
        """A growing function: a cube, an exponential that is huge elsewhere, a fifth power, nothing."""
        if k == 0:
            return x**3
        if k == 1:
            return exp(x) if x < 600 else exp(600.0)
        return x**5 if k == 2 else 0 * x

    def evaluate(z: Any, number: Callable[[float], Any], exp: Callable[[Any], Any]) -> list[Any]:
        x = [z[j] / number(columns[j]) for j in range(n)]
        return [
            number(rows[i]) * (
                sum(number(A[i, j]) * (x[j] - number(y[j])) for j in range(n))
                + number(weight[i]) * (monotone(x[i], exp, kind[i]) - monotone(number(y[i]), exp, kind[i]))
                + number(slack[i])
            )
            for i in range(n)
        ]  # fmt: skip

    def f(z: np.ndarray) -> np.ndarray:
        return np.array(evaluate(z, float, lambda x: float(np.exp(x))))

    low, high = lo * columns, hi * columns
    exact = np.clip(y * columns, low, high)
    for name, start in (("near", exact * (1 + 1e-3)), ("far", exact + columns * rng.standard_normal(n) * 10)):
        with np.errstate(all="ignore"):
            problem = perp.MCP(f, low, high, start=np.clip(start, low, high))
            answer = perp.solve(problem, tol=TOLERANCE, throw=False, time_limit=2.0)
        yield Claim(
            "mcp",
            seed,
            name,
            answer.status.name,
            answer.solved and _is_wrong(answer.z, exact, columns, evaluate, low, high),
        )
        wrong = exact + columns * np.where(rng.random(n) < 0.5, 0.0, 10.0 ** rng.uniform(-3, 2, n)) * (
            1 + np.abs(y)
        )
        wrong = np.clip(wrong, low, high)
        with np.errstate(all="ignore"):
            value = perp.residual(problem, wrong)
        away = np.abs(wrong - exact) > 1e-2 * (np.abs(exact) + columns)
        yield Claim("mcp residual", seed, name, f"{value:.1e}", bool(away.any()) and value <= TOLERANCE)


def _is_wrong(
    z: np.ndarray,
    exact: np.ndarray,
    unit: np.ndarray,
    evaluate: Callable[..., list[Any]],
    lo: np.ndarray,
    hi: np.ndarray,
) -> bool:
    """Whether z is far from the only solution in every sense: in z itself, and in f of 50 digits."""
    mp: Any = import_module("mpmath").mp
    if not (np.abs(z - exact) > WRONG * (np.abs(exact) + unit)).any():
        return False
    before, mp.dps = mp.dps, 50
    try:
        here = evaluate([mp.mpf(float(x)) for x in z], mp.mpf, mp.exp)
        for i in range(z.size):
            moved = [mp.mpf(float(x)) for x in z]
            moved[i] += mp.mpf(float(WRONG * (abs(exact[i]) + unit[i])))
            change = abs(evaluate(moved, mp.mpf, mp.exp)[i] - here[i])
            pushes = (here[i] > 0 and z[i] > lo[i]) or (here[i] < 0 and z[i] < hi[i])
            if pushes and abs(here[i]) > change:
                return True
    finally:
        mp.dps = before
    return False


def infeasible(seed: int) -> Iterator[Claim]:
    """LCPs that are singular up to round-off, or not: INFEASIBLE has to be proved in fractions."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    kind = int(rng.integers(0, 4))
    if kind == 0:
        F = rng.standard_normal((n, max(1, n - 1)))
        M = F @ F.T
    elif kind == 1:
        M = rng.integers(-2, 3, (n, n)).astype(float)
    elif kind == 2:
        F = rng.integers(-2, 3, (n, max(1, n - 1))).astype(float)
        M = F @ F.T + np.diag(10.0 ** rng.uniform(-17, -8, n) * (rng.random(n) < 0.3))
    else:
        M = -rng.random((n, n))
    M = M * 10.0 ** rng.integers(-8, 9)
    problem = perp.LCP(M, rng.standard_normal(n) - 0.3)
    for solver in ("lemke", "principal", "dantzig", "baraff", "direct", "auto"):
        try:
            answer = perp.solve(problem, solver, throw=False, time_limit=2.0)
        except perp.PerpError:
            continue
        said = answer.status is perp.Status.INFEASIBLE
        yield Claim(
            "infeasible",
            seed,
            solver,
            answer.status.name,
            said and not _proves(problem, answer.info["certificate"]),
        )


def _proves(problem: perp.LCP, certificate: Any) -> bool:
    n = problem.size
    M = [[Fraction(float(x)) for x in row] for row in np.asarray(problem.M)]
    q = [Fraction(float(x)) for x in problem.q]
    v = np.asarray(certificate)
    if v.ndim == 2:  # one vector for each choice of columns from I or −M
        return v.shape == (1 << n, n) and all(
            _separates(M, q, [Fraction(float(x)) for x in v[c]], c) for c in range(1 << n)
        )
    y = [Fraction(float(x)) for x in v]
    below = all(sum(M[i][j] * y[i] for i in range(n)) <= 0 for j in range(n))
    return min(y) >= 0 and below and sum(q[i] * y[i] for i in range(n)) < 0


def _separates(M: list[list[Fraction]], q: list[Fraction], y: list[Fraction], choice: int) -> bool:
    n = len(q)
    for j in range(n):
        against = -sum(M[i][j] * y[i] for i in range(n)) if choice >> j & 1 else y[j]
        if against < 0:
            return False
    return sum(q[i] * y[i] for i in range(n)) < 0


def certified(seed: int) -> Iterator[Claim]:
    """Answers of LCPs, moved by something or not: what is proved is the answer, not its neighbour."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    F = rng.standard_normal((n, n))
    problem = perp.LCP(
        F @ F.T + np.eye(n) * 10.0 ** rng.uniform(-6, 0), rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 3)
    )
    answer = perp.solve(problem, throw=False)
    exact = _exact(problem, answer.z)
    for size in (0.0, 1e-12, 1e-3, 1.0, 200.0):
        z = answer.z + size * (1 + np.abs(answer.z)) * rng.random(n) * (answer.z > 0)
        moved = perp.Solution(
            problem, z, problem.M @ z + problem.q, perp.Status.SOLVED, 0.0, TOLERANCE, 0, "moved"
        )
        for method in ("exact", "interval"):
            proof = perp.certify(problem, moved, method=method)
            far = exact is None or bool(
                (np.abs(z - exact) > 1e-5 * (np.abs(exact) + 1e-5 * np.abs(exact).max(initial=0.0))).any()
            )
            yield Claim("certify", seed, f"{method} {size:g}", proof.status[:12], proof.proved and far)


def _exact(problem: perp.LCP, z: np.ndarray) -> np.ndarray | None:
    """The solution with the positive entries of z, by elimination in fractions; None if that is none."""
    free = [int(i) for i in np.flatnonzero(z > 0)]
    rows = [[Fraction(float(problem.M[i, j])) for j in free] + [-Fraction(float(problem.q[i]))] for i in free]
    k = len(free)
    for c in range(k):
        pivot = next((r for r in range(c, k) if rows[r][c] != 0), None)
        if pivot is None:
            return None
        rows[c], rows[pivot] = rows[pivot], rows[c]
        for r in range(k):
            if r != c and rows[r][c] != 0:
                factor = rows[r][c] / rows[c][c]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[c], strict=True)]
    out = np.zeros(z.size)
    for c, i in enumerate(free):
        out[i] = float(rows[c][k] / rows[c][c])
    return out if (out >= 0).all() else None


FAMILIES: dict[str, Callable[[int], Iterator[Claim]]] = {
    "mcp": known_mcps,
    "infeasible": infeasible,
    "certify": certified,
}
