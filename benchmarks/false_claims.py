"""Families for `false_solved` with claims that need other oracles: INFEASIBLE and certify.

A proof that there is no solution is checked in fractions; what `certify` calls proved is compared with a
solution that was found in fractions without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from false_solved_families import Family, Try
from second_opinion import Law

import perp

# How far an answer may be from the exact solution that certify proves it to be, in each entry's own size and
# beside the largest: ten times what certify allows.
APART = 1e-5


def infeasible(seed: int) -> Iterator[Try]:
    """LCPs and boxed LCPs that are singular up to round-off, or not, or that have no solution at all."""
    rng = np.random.default_rng([seed, 8])
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
    q = rng.standard_normal(n) - 0.3
    lcp = perp.LCP(M, q)
    yield Try("lcp", lcp, Law(lcp).violation)
    lo = np.where(rng.random(n) < 0.4, -np.inf, 0.0)
    hi = np.where(rng.random(n) < 0.6, np.inf, 10.0 ** rng.uniform(-3, 3, n))
    boxed = perp.BoxedLCP(M, q, lo, hi)
    yield Try("boxed", boxed, Law(boxed).violation)


def unproved(problem: Any, certificate: Any) -> float:
    """Zero if a certificate proves in fractions that a problem has no solution, else infinity."""
    if certificate is None or not isinstance(problem, (perp.LCP, perp.BoxedLCP)):
        return np.inf
    if getattr(problem, "friction_index", None) is not None:
        return np.inf
    n, dense = problem.size, problem.M.toarray() if hasattr(problem.M, "toarray") else problem.M
    M = [[Fraction(float(x)) for x in row] for row in dense]
    q = [Fraction(float(x)) for x in problem.q]
    v = np.asarray(certificate)
    if v.ndim == 2:  # one vector for each choice of columns from I or −M
        proved = isinstance(problem, perp.LCP) and v.shape == (1 << n, n)
        proved = proved and all(
            _separates(M, q, [Fraction(float(x)) for x in v[c]], c) for c in range(1 << n)
        )
    else:
        proved = _contradicts(M, q, [Fraction(float(x)) for x in v], problem.lo, problem.hi)
    return 0.0 if proved else np.inf


def _contradicts(
    M: list[list[Fraction]], q: list[Fraction], v: list[Fraction], lo: np.ndarray, hi: np.ndarray
) -> bool:
    """Whether vᵀ w ≥ 0 for every answer while vᵀ w = (Mᵀ v)ᵀ z + qᵀ v < 0 for every z within bounds."""
    n, total = len(q), sum((a * b for a, b in zip(q, v, strict=True)), Fraction(0))
    for i in range(n):
        # w_i ≥ 0 where z_i can never be at an upper bound, w_i ≤ 0 where it can never be at a lower one
        if (v[i] > 0 and np.isfinite(hi[i])) or (v[i] < 0 and np.isfinite(lo[i])):
            return False
    for j in range(n):
        slope = sum((M[i][j] * v[i] for i in range(n)), Fraction(0))
        bound = hi[j] if slope > 0 else lo[j]
        if slope != 0:
            if not np.isfinite(bound):
                return False
            total += slope * Fraction(float(bound))
    return total < 0


def _separates(M: list[list[Fraction]], q: list[Fraction], y: list[Fraction], choice: int) -> bool:
    n = len(q)
    for j in range(n):
        against = -sum(M[i][j] * y[i] for i in range(n)) if choice >> j & 1 else y[j]
        if against < 0:
            return False
    return sum(q[i] * y[i] for i in range(n)) < 0


def certified(seed: int) -> Iterator[Try]:
    """Answers of LCPs, moved by something or not: what is proved is the answer, not its neighbour."""
    rng = np.random.default_rng([seed, 9])
    n = int(rng.integers(1, 7))
    F = rng.standard_normal((n, n))
    M = F @ F.T + np.eye(n) * 10.0 ** rng.uniform(-6, 0)
    problem = perp.LCP(M, rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 3))
    shares = rng.random((4, n))
    yield Try("lcp", problem, Law(problem).violation, claims=lambda: _proofs(problem, shares))


def _proofs(problem: perp.LCP, shares: np.ndarray) -> Iterator[tuple[str, str, float]]:
    answer = perp.solve(problem, throw=False)
    exact = exact_solution(problem, answer.z)
    for size, share in zip((0.0, 1e-12, 1e-3, 200.0), shares, strict=True):
        z = answer.z + size * (1 + np.abs(answer.z)) * share * (answer.z > 0)
        w = problem.M @ z + problem.q
        moved = perp.Solution(problem, z, w, perp.Status.SOLVED, 0.0, 1e-8, 0, "moved")
        for method in ("exact", "interval"):
            proof = perp.certify(problem, moved, method=method)
            near = exact is not None and bool(
                (np.abs(z - exact) <= APART * (np.abs(exact) + APART * np.abs(exact).max())).all()
            )
            yield (
                f"certify {method} {size:g}",
                "PROVED" if proof.proved else "UNPROVED",
                0.0 if near else np.inf,
            )


def exact_solution(problem: perp.LCP, z: np.ndarray) -> np.ndarray | None:
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
    out = [Fraction(0)] * z.size
    for c, i in enumerate(free):
        out[i] = rows[c][k] / rows[c][c]
    slack = [
        sum((Fraction(float(problem.M[i, j])) * out[j] for j in free), Fraction(float(problem.q[i])))
        for i in range(z.size)
    ]
    solves = all(x >= 0 for x in out) and all(w >= 0 for w in slack)
    return np.array([float(x) for x in out]) if solves else None


FAMILIES: dict[str, Family] = {"infeasible": infeasible, "certify": certified}
