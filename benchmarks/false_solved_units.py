"""Families for `false_solved`: coupled rows in units of their own, and what is at the edge of doubles.

A problem keeps its meaning when its rows are scaled: M → D M D, q → D q, z → D⁻¹ z. Here D has powers of two
from 2⁻³⁰ to 2³⁰, so that the scaled problem is the first one to the last bit. Beside the sentences of the law
the oracle of the LCPs has the answer itself, found in fractions on the rows before they were scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from false_claims import exact_solution
from false_solved_families import Family, Try, _scaled_set, _set, _try
from second_opinion import Law

import perp
from perp.bench.sets.small_problems import delassus


def units(seed: int) -> Iterator[Try]:
    """LCPs, boxed LCPs and contact problems whose rows differ by up to 10¹⁸, in every form."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng([seed, 10])
    n = int(rng.integers(2, 7))
    D = 2.0 ** rng.integers(-30, 31, n)
    M, q = _matrix(rng, n), rng.normal(size=n) * 10.0 ** (rng.uniform(-9, 0, n) * (rng.random() < 0.3))
    scaled, right = D[:, None] * M * D, D * q
    lcp, known = perp.LCP(scaled, right), _known(M, q, D)
    points = tuple(_near(rng, known, D) for _ in range(4)) if known is not None else ()
    oracle = _with_answer(lcp, M, D, known)
    yield Try("lcp", lcp, oracle, None, points)
    yield Try("lcp sparse", perp.LCP(csr_array(scaled), right), oracle, np.abs(rng.normal(size=n)) / D)
    lo = np.where(rng.random(n) < 0.5, 0.0, -(10.0 ** rng.uniform(-6, 3, n)))
    hi = np.where(rng.random(n) < 0.3, np.inf, 10.0 ** rng.uniform(-6, 3, n))
    yield _try("boxed", perp.BoxedLCP(scaled, right, lo / D, hi / D), rng.normal(size=n) / D)
    index = np.where(np.arange(n) % 3 == 0, -1, np.arange(n) // 3 * 3)
    # z_i D_i ≤ μ z_j D_j
    limit = np.where(index < 0, np.inf, 10.0 ** rng.uniform(-3, 3, n) * D[index] / D)
    lowest = np.where(index < 0, 0.0, -limit)
    yield _try("boxed friction", perp.BoxedLCP(scaled, right, lowest, limit, friction_index=index))
    yield from _contacts(rng)


def _matrix(rng: np.random.Generator, n: int) -> np.ndarray:
    """Positive definite, semidefinite, zeros on the diagonal, any sign, or two parts that hardly couple."""
    kind = rng.integers(5)
    if kind == 0:
        F = rng.normal(size=(n, n))
        return F @ F.T + np.eye(n)
    if kind == 1:
        return delassus(rng, n)
    M = rng.normal(size=(n, n))
    if kind == 2:
        M -= M.T
        return M + np.diag(rng.random(n) * (rng.random(n) < 0.5))
    if kind == 3:
        return M
    part = np.arange(n) < n // 2
    weak = 10.0 ** -float(rng.choice([3, 6, 9, 12, 15, 100, 300]))
    return np.where(part[:, None] == part, M @ M.T + np.eye(n), weak * (M + M.T))


def _known(M: np.ndarray, q: np.ndarray, D: np.ndarray) -> np.ndarray | None:
    """The one answer of a positive definite problem in its rows' own units, None for others."""
    if not (M.T == M).all() or np.linalg.eigvalsh(M).min() < 1e-3 * np.abs(M).max():
        return None
    plain = perp.LCP(M, q)
    found = exact_solution(plain, perp.solve(plain, "principal", throw=False).z)
    return None if found is None else found / D


def _near(rng: np.random.Generator, answer: np.ndarray, D: np.ndarray) -> np.ndarray:
    """The answer with rows left out, or moved by something in their own unit."""
    out = np.where(rng.random(answer.size) < 0.3, 0.0, answer)
    chosen = rng.random(answer.size) < 0.3
    return out + chosen * np.abs(rng.normal(size=answer.size)) * 10.0 ** rng.uniform(-12, 0) / D


def _with_answer(
    lcp: perp.LCP, M: np.ndarray, D: np.ndarray, known: np.ndarray | None
) -> Callable[[Any], float]:
    law = Law(lcp)
    if known is None:
        return law.violation
    # ‖z − z*‖ ≤ (1 + ‖M‖) / λ_min ‖min(z, w)‖ (Pang 1990), and the residual is at most what sums up to w
    condition = (1.0 + np.linalg.norm(M, 2)) / np.linalg.eigvalsh(M).min()
    size = float((np.abs(M) @ np.abs(D * known) + np.abs(lcp.q / D)).max()) * max(1.0, 1.0 / np.abs(M).max())

    def violation(z: Any) -> float:
        apart = float(np.linalg.norm(D * (np.asarray(z) - known)))
        return max(law.violation(z), apart / (condition * size * known.size) if size > 0.0 else 0.0)

    return violation


def _contacts(rng: np.random.Generator) -> Iterator[Try]:
    """Every contact in a unit of its own."""
    from scipy.sparse import csr_array

    members = [_set(rng) for _ in range(rng.integers(2, 4))]
    sets = perp.Sets(members)
    unit = 2.0 ** rng.integers(-25, 26, len(members))
    D = np.repeat(unit, sets.dimension)
    J = rng.normal(size=(sets.rows, int(rng.integers(2, sets.rows + 3))))
    q = rng.normal(size=sets.rows)
    changed = [_scaled_set(member, 1.0 / u) for member, u in zip(members, unit, strict=True)]
    bodies = perp.ContactProblem.from_dynamics(
        np.eye(J.shape[1]), D[:, None] * J, np.zeros(J.shape[1]), D * q, changed
    )
    W = np.array(bodies.W)
    yield _try("contact dynamics", bodies)
    yield _try("contact", perp.ContactProblem(W, D * q, changed))
    yield _try(
        "contact sparse", perp.ContactProblem(csr_array(W), D * q, changed), rng.normal(size=q.size) / D
    )
    yield _try("contact relaxed", perp.ContactProblem(W, D * q, changed, relaxed=True))


def edges(seed: int) -> Iterator[Try]:
    """At the edge of doubles: denormal data and coefficients, bounds that nearly meet, weak couplings."""
    rng = np.random.default_rng([seed, 11])
    n = int(rng.integers(2, 6))
    J = rng.normal(size=(n, n + 1))
    M, wide = J @ J.T, rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-6, 6, (n, n))
    yield _try("lcp", perp.LCP(M * 10.0 ** rng.choice([-150, 0, 150]), rng.normal(size=n) * _tiny(rng, n)))
    yield _try(
        "lcp without diagonal", perp.LCP(np.where(np.eye(n) * (rng.random(n) < 0.6), 0.0, wide), J[:, 0])
    )
    base = rng.normal(size=n) * 10.0 ** rng.choice([-300, -150, -10, 0, 10], n)
    gap = np.abs(base) * 2.0 ** -rng.integers(40, 53, n) + (rng.random(n) < 0.5) * _tiny(rng, n)
    yield _try("boxed", perp.BoxedLCP(M, J[:, 0] * 10.0 ** rng.uniform(-8, 8), base, base + gap))
    weak = 10.0 ** -rng.uniform(0, 25, (n, n))
    weak = np.where(np.eye(n), 1.0, np.minimum(weak, weak.T))
    yield _try("lcp weak", perp.LCP(M * weak, J[:, 0] * 10.0 ** -rng.uniform(0, 12, n)))
    count = int(rng.integers(1, 3))
    mu = [float(rng.choice([5e-324, 1e-310, 1e-8, 1.0, 1e8])) for _ in range(2 * count)]
    sets = [perp.Elliptic(a, b) if rng.random() < 0.5 else perp.Coulomb(a) for a, b in batched(mu)]
    J = rng.normal(size=(3 * count, 6))
    unit = np.tile([1.0, *10.0 ** rng.uniform(-8, 8, 2)], count)
    yield _try("tangents", perp.ContactProblem(unit[:, None] * (J @ J.T) * unit, unit * J[:, 0], sets))
    q = J[:, 0] * _tiny(rng, 1)
    yield _try("contact", perp.ContactProblem(J @ J.T, q, sets), rng.normal(size=q.size) * 1e150)
    twice = np.vstack([J, J])
    yield _try("twice", perp.ContactProblem(twice @ twice.T, np.tile(J[:, 0], 2), sets * 2))


def batched(values: list[float]) -> Iterator[tuple[float, float]]:
    """Pairs, one after the other."""
    yield from zip(values[::2], values[1::2], strict=True)


def _tiny(rng: np.random.Generator, n: int) -> np.ndarray:
    return 10.0 ** rng.choice([-322, -315, -300, -20, 0], n)


FAMILIES: dict[str, Family] = {"units": units, "edges": edges}
