"""Families of small random contact problems, LCPs and boxed LCPs for `false_solved`.

The oracle of all families here is `Law.violation`: the sentences of the law in 60 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from second_opinion import Law

import perp
from perp.bench.sets.small_problems import SmallProblem, delassus, random_mixtures, random_rows

STEEP = (0.0, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 1.0, 30.0, 1e3, 1e4, 1e6, 1e9, 1e12, 1e160, np.inf)


class Try(NamedTuple):
    """One problem of the search.

    Attributes:
        form: Type and form of the problem, in words.
        problem: The problem.
        oracle: By how much an answer is wrong, to be compared with the tolerance.
        start: Where to start, None for nowhere.
        points: Answers that no solver made; the residual may only accept what the oracle does.
        claims: Makes further claims of perp about the problem: by whom, what it says, by how much that is
            wrong.
    """

    form: str
    problem: Any
    oracle: Callable[[Any], float]
    start: Any = None
    points: tuple[Any, ...] = ()
    claims: Callable[[], Iterable[tuple[str, str, float]]] | None = None


Family = Callable[[int], Iterator[Try]]


def _try(form: str, problem: Any, start: Any = None) -> Try:
    return Try(form, problem, Law(problem).violation, start)


def _coefficient(rng: np.random.Generator) -> float:
    return float(rng.choice(STEEP)) if rng.random() < 0.5 else float(10.0 ** rng.uniform(-9, 12))


def _set(rng: np.random.Generator) -> Any:
    kind = rng.integers(7)
    if kind == 0:
        return perp.Free()
    if kind == 1:
        return perp.Nonnegative()
    if kind == 2:
        lo, hi = np.sort(rng.normal(size=2) * 10.0 ** rng.uniform(-6, 6))
        return perp.Box(-np.inf if rng.random() < 0.2 else lo, np.inf if rng.random() < 0.2 else hi)
    cohesion = 10.0 ** rng.uniform(-6, 3) if rng.random() < 0.2 else 0.0
    if kind == 3:
        return perp.Coulomb(_coefficient(rng), dimension=2, cohesion=cohesion)
    if kind == 4:
        coefficients = [_coefficient(rng) for _ in range(rng.integers(1, 6))]
        return perp.Elliptic(*coefficients, cohesion=cohesion)
    if kind == 5:
        return perp.Rolling(_coefficient(rng), _coefficient(rng), cohesion=cohesion)
    return perp.Coulomb(_coefficient(rng), cohesion=cohesion)


def steep(seed: int) -> Iterator[Try]:
    """One to three constraints of every set, coefficients from 0 to ∞, exact and relaxed."""
    rng = np.random.default_rng([seed, 2])
    sets = perp.Sets([_set(rng) for _ in range(rng.integers(1, 4))])
    W, q = delassus(rng, sets.rows), rng.normal(size=sets.rows)
    if rng.random() < 0.2:
        q = np.round(q)
    yield _try("contact", perp.ContactProblem(W, q, sets))
    yield _try("contact relaxed", perp.ContactProblem(W, q, sets, relaxed=True))
    start = rng.normal(size=sets.rows) * 10.0 ** rng.uniform(-12, 3)
    yield _try("contact started", perp.ContactProblem(W, q, sets), start)


def _scaled_set(member: Any, factor: float) -> Any:
    """The set for impulses that are `factor` times as large."""
    if isinstance(member, perp.Box):
        return perp.Box(member.lo * factor, member.hi * factor)
    cohesion = getattr(member, "cohesion", 0.0) * factor
    if isinstance(member, perp.Elliptic):
        return perp.Elliptic(*member.mu, cohesion=cohesion)
    return replace(member, cohesion=cohesion) if cohesion else member


def scaled(seed: int) -> Iterator[Try]:
    """The problems of `steep` with W and q scaled by 10⁻¹² to 10¹² each."""
    rng = np.random.default_rng([seed, 3])
    for attempt in steep(seed):
        problem = attempt.problem
        w, v = 10.0 ** rng.uniform(-12, 12, 2)
        sets = [_scaled_set(member, v / w) for member in problem.sets]
        changed = perp.ContactProblem(problem.W * w, problem.q * v, sets, relaxed=problem.relaxed)
        start = None if attempt.start is None else attempt.start * v / w
        yield _try("scaled " + attempt.form, changed, start)


def islands(seed: int) -> Iterator[Try]:
    """Two to four islands whose velocities differ by up to 10¹²."""
    from scipy.linalg import block_diag
    from scipy.sparse import csr_array

    rng = np.random.default_rng([seed, 4])
    parts = [[_set(rng) for _ in range(rng.integers(1, 3))] for _ in range(rng.integers(2, 5))]
    blocks, velocities = [], []
    for part in parts:
        rows = perp.Sets(part).rows
        blocks.append(delassus(rng, rows) * 10.0 ** rng.uniform(-6, 6))
        velocities.append(rng.normal(size=rows) * 10.0 ** rng.uniform(-12, 0) * (rng.random() < 0.95))
    W, q, sets = (
        block_diag(*blocks),
        np.concatenate(velocities),
        perp.Sets([member for part in parts for member in part]),
    )
    yield _try("islands", perp.ContactProblem(W, q, sets))
    yield _try("islands sparse", perp.ContactProblem(csr_array(W), q, sets))
    yield _try("islands lcp", perp.LCP(W, q))


def heavy(seed: int) -> Iterator[Try]:
    """Bodies with masses up to 10¹² apart, and masses close to singular, in dynamics form and as W."""
    rng = np.random.default_rng([seed, 5])
    sets = perp.Sets([_set(rng) for _ in range(rng.integers(1, 4))])
    n = int(rng.integers(2, 8))
    spread = rng.uniform(0, 18) if rng.random() < 0.5 else rng.uniform(0, 12)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0] if rng.random() < 0.5 else np.eye(n)
    mass = Q @ np.diag(10.0 ** rng.uniform(-spread / 2, spread / 2, n)) @ Q.T
    mass = (mass + mass.T) / 2
    J = rng.normal(size=(sets.rows, n)) * (rng.random((sets.rows, n)) < 0.7)
    velocity = rng.normal(size=n)
    try:
        bodies = perp.ContactProblem.from_dynamics(mass, J, mass @ velocity, 0.0, sets)
        W = np.array(bodies.W)
    except perp.PerpError:
        return
    yield _try("dynamics", bodies)
    if np.isfinite(W).all():
        yield _try("heavy", perp.ContactProblem((W + W.T) / 2, J @ velocity, sets))


def _judged(problems: Callable[[int], Iterator[SmallProblem]]) -> Family:
    """Random problems of `perp.bench` with the law as their oracle."""
    return lambda seed: (_try(*small) for small in problems(seed))


FAMILIES: dict[str, Family] = {
    "steep": steep,
    "scaled": scaled,
    "islands": islands,
    "heavy": heavy,
    "rows": _judged(random_rows),
    "mixtures": _judged(random_mixtures),
}
