"""Random problems of every kind for tests, from a seed."""

from __future__ import annotations

import numpy as np

import perp


def spd(n: int, rng: np.random.Generator, *, shift: float = 1e-2) -> np.ndarray:
    """Symmetric positive definite, condition number near 1/shift."""
    G = rng.standard_normal((n, n))
    return G @ G.T / max(n, 1) + shift * np.eye(n)


def lcp(n: int, seed: int = 0) -> perp.LCP:
    """Positive definite LCP with about half the rows active."""
    rng = np.random.default_rng(seed)
    return perp.LCP(spd(n, rng), -rng.standard_normal(n))


def boxed(n: int, seed: int = 0) -> perp.BoxedLCP:
    """Boxed LCP with finite, one-sided, absent, equal and same-sign bounds."""
    rng = np.random.default_rng(seed)
    lo, hi = -rng.uniform(0, 1, n), rng.uniform(0, 1, n)
    kind = rng.integers(0, 6, n)
    lo[kind == 1], hi[kind == 1] = 0.0, np.inf
    lo[kind == 2], hi[kind == 2] = -np.inf, np.inf
    hi[kind == 3] = lo[kind == 3]
    lo[kind == 4] = 0.5 * hi[kind == 4]
    lo[kind == 5] = -np.inf
    return perp.BoxedLCP(spd(n, rng), -rng.standard_normal(n), lo, hi)


def member(rng: np.random.Generator, kind: int) -> perp.problems.ConstraintSet:
    """A random set of the given kind."""
    mu = float(rng.uniform(0.05, 1.2))
    return [
        perp.Free(),
        perp.Nonnegative(),
        perp.Box(-float(rng.uniform(0, 1)), float(rng.uniform(0, 1))),
        perp.Coulomb(mu),
        perp.Elliptic(mu, float(rng.uniform(0.05, 1.2))),
        perp.Rolling(mu, float(rng.uniform(0.01, 0.3))),
        perp.Coulomb(mu, dimension=2),
    ][kind]


def contact(
    count: int, seed: int = 0, *, kinds: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)
) -> perp.ContactProblem:
    """A full-rank mixture of sets in dynamics form: more unknowns of motion than rows."""
    rng = np.random.default_rng(seed)
    sets = [member(rng, int(rng.choice(kinds))) for _ in range(count)]
    rows = sum(s.dimension for s in sets)
    n = rows + 4
    mass = spd(n, rng, shift=0.5)
    return perp.ContactProblem.from_dynamics(
        mass,
        rng.standard_normal((rows, n)) / np.sqrt(n),
        rng.standard_normal(n),
        0.1 * rng.standard_normal(rows),
        sets,
    )
