"""Second implementations in plain NumPy, written from the formulas and not from the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import perp


def project(member: perp.problems.ConstraintSet, x: np.ndarray) -> np.ndarray:
    """Nearest point of one set, by the optimality conditions of a one-dimensional problem in the normal part."""
    x = np.asarray(x, dtype=float)
    if isinstance(member, perp.Free):
        return x
    if isinstance(member, perp.Nonnegative):
        return np.maximum(x, 0)
    if isinstance(member, perp.Box):
        return np.minimum(np.maximum(x, member.lo), member.hi)
    if isinstance(member, perp.Elliptic):
        return _elliptic(member, x)
    if isinstance(member, perp.Rolling):
        parts = [(member.mu, slice(1, 3)), (member.mu_r, slice(3, 5))]
    else:
        assert isinstance(member, perp.Coulomb)
        parts = [(member.mu, slice(1, member.dimension))]

    def derivative(t: float) -> float:
        return t - x[0] - sum(mu * max(np.linalg.norm(x[rows]) - mu * t, 0) for mu, rows in parts)

    if derivative(0.0) >= 0:
        return np.zeros_like(x)
    top: Any = brentq(
        derivative,
        0.0,
        1.0 + 2 * (1 + sum(mu for mu, _ in parts)) * np.linalg.norm(x),
        xtol=1e-30,
        maxiter=1000,
    )
    out = x.copy()
    out[0] = top
    for mu, rows in parts:
        length = np.linalg.norm(x[rows])
        if length > mu * top:
            out[rows] = x[rows] * (mu * top / length)
    return out


def _elliptic(member: perp.Elliptic, x: np.ndarray) -> np.ndarray:
    mu = np.array(member.mu)
    if (mu == 0).any():
        kept = np.flatnonzero(np.concatenate([[1.0], mu]))
        out = np.zeros_like(x)
        out[kept] = np.maximum(x[:1], 0) if kept.size == 1 else _elliptic(perp.Elliptic(*mu[mu > 0]), x[kept])
        return out
    if x[0] >= 0 and np.linalg.norm(x[1:] / mu) <= x[0]:
        return x
    if np.linalg.norm(mu * x[1:]) <= -x[0]:
        return np.zeros_like(x)

    def top(nu: float) -> float:
        return float(np.linalg.norm(x[1:] * mu / (mu**2 + nu)))

    high = 1.0
    while (1 - high) * top(high) - x[0] > 0:
        high *= 2
    nu: Any = brentq(lambda s: (1 - s) * top(s) - x[0], 0.0, high, xtol=1e-30, rtol=1e-15, maxiter=1000)
    return np.concatenate([[top(nu)], x[1:] * mu**2 / (mu**2 + nu)])


def shift(member: perp.problems.ConstraintSet, u: np.ndarray) -> float:
    """De Saxcé's Γ."""
    if isinstance(member, perp.Coulomb):
        return member.mu * float(np.linalg.norm(u[1:]))
    if isinstance(member, perp.Elliptic):
        return float(np.linalg.norm(np.array(member.mu) * u[1:]))
    if isinstance(member, perp.Rolling):
        return member.mu * float(np.linalg.norm(u[1:3])) + member.mu_r * float(np.linalg.norm(u[3:]))
    return 0.0


def data_sizes(M: np.ndarray, owner: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The largest of `own` on each island of owners that entries of M couple; the least of all where it is zero."""
    entries = np.argwhere(M != 0)
    pairs = (owner[entries[:, 0]], owner[entries[:, 1]])
    graph = coo_array((np.ones(len(entries)), pairs), shape=(own.size, own.size))
    label = connected_components(graph, directed=False)[1]
    size = np.array([own[label == k].max() for k in label])
    least = size[size > 0].min() if (size > 0).any() else 1.0
    return np.where(size > 0, size, least)


def mobility(lo: float, hi: float, d: float, size: float) -> float:
    """d, or what makes a velocity of `size` of the distance of bounds or of what they demand."""
    extents = [hi - lo, lo, -hi]
    return max([d, *(size / extent for extent in extents if 0 < extent < np.inf)])


def friction_part(discs: list[tuple[np.ndarray, slice]], x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """x − P(x − u) for ellipses with the semi-axes given, disc by disc."""
    out = np.zeros_like(x)
    for axes, rows in discs:
        y = x[rows] - u[rows]
        flat, wide = axes == 0, np.isinf(axes)
        if np.sum((y / np.where(flat, np.inf, axes)) ** 2) <= 1:
            nearest = np.where(flat, 0.0, y)
        else:
            square = np.where(wide | flat, 1.0, axes) ** 2
            counted = np.where(wide | flat, 0.0, np.sqrt(square) * y)
            top: Any = brentq(
                lambda nu, square=square, counted=counted: np.sum((counted / (square + nu)) ** 2) - 1,
                0.0, np.linalg.norm(counted), xtol=1e-300, rtol=1e-15, maxiter=1000,
            )  # fmt: skip
            nearest = np.where(flat, 0.0, np.where(wide, y, y * square / (square + top)))
        out[rows] = x[rows] - nearest
    return out


def violation(member: perp.problems.ConstraintSet, x: np.ndarray, u: np.ndarray, relaxed: bool) -> np.ndarray:
    """How far impulse and velocity of one set are from its law, both as velocities."""
    if relaxed or x.size == 1:
        return x - project(member, x - u)
    push = max(x[0], 0.0)
    if isinstance(member, perp.Rolling):
        mu = [[member.mu] * 2, [member.mu_r] * 2]
    elif isinstance(member, perp.Elliptic):
        mu = [list(member.mu)]
    else:
        assert isinstance(member, perp.Coulomb)
        mu = [[member.mu] * (x.size - 1)]
    discs, first = [], 1
    for coefficients in mu:
        axes = np.array([0.0 if push == 0 else m * push for m in coefficients])
        discs.append((axes, slice(first, first + axes.size)))
        first += axes.size
    closed = friction_part(discs, x, u)
    closed[0] = u[0] if x[0] >= 0 else max(u[0], x[0], key=abs)
    opened = x.copy()
    opened[0] = x[0] if u[0] >= 0 else max(u[0], x[0], key=abs)
    return min(closed, opened, key=lambda part: np.abs(part).max())


def own_sizes(
    M: np.ndarray, q: np.ndarray, z: np.ndarray, parts: list[slice], size: np.ndarray
) -> np.ndarray:
    """The least of `size` and what each part's rows are summed from, or round-off of its neighbours."""
    root = np.sqrt(np.maximum(np.diag(M), 0.0))
    coupled = np.abs(M) > 1e-20 * root[:, None] * root
    terms = np.abs(q) + np.abs(M) @ np.abs(z)
    terms = 10 * np.maximum(terms, 1e-8 * root * (coupled * (root * np.abs(z))).max(axis=1, initial=0.0))
    return np.minimum(size, [terms[rows].max() for rows in parts])


def own_mobility(M: np.ndarray, parts: list[slice], own: np.ndarray, d: np.ndarray) -> np.ndarray:
    """What a unit impulse of each part does to any row in the row's own size, as a velocity of the part."""
    of_row = np.repeat(own, [rows.stop - rows.start for rows in parts])
    effect = (np.abs(M) / of_row[:, None]).max(axis=0)
    return np.array([effect[rows].max() * s or old for rows, s, old in zip(parts, own, d, strict=True)])


def contact_residual(problem: perp.ContactProblem, impulse: np.ndarray) -> float:
    """The worst violation over what is at work there, with rolling rows brought to velocities."""
    W = problem.W.toarray() if hasattr(problem.W, "toarray") else np.asarray(problem.W)
    u = problem.evaluate(impulse)
    scale = np.ones(problem.size)
    starts = problem.sets.start
    for c, member in enumerate(problem.sets):
        if member.dimension > 3:
            i, j = starts[c], starts[c + 1]
            diagonal = np.diag(W)
            scale[i + 3 : j] = np.sqrt(diagonal[i : i + 3].mean() / diagonal[i + 3 : j].mean())
    scaled = np.abs(scale[:, None] * W * scale)
    columns = scaled.max(axis=0)
    parts = [slice(starts[c], starts[c + 1]) for c in range(len(problem.sets))]
    d = np.array([columns[rows].max() or scaled.max() or 1.0 for rows in parts])
    own = np.array([np.abs(scale * problem.q)[rows].max() for rows in parts])
    for c, member in enumerate(problem.sets):
        if isinstance(member, perp.Box):
            own[c] = max(own[c], d[c] * abs(np.clip(0.0, member.lo, member.hi)))
    size = data_sizes(W, np.repeat(np.arange(d.size), np.diff(starts)), own)
    if problem.dynamics is None:
        scaled = scale[:, None] * W * scale
        size = own_sizes(scaled, scale * problem.q, impulse / scale, parts, size)
        d = own_mobility(scaled, parts, size, d)
    else:
        moved, free = (np.abs(problem.dynamics.body_velocity(x)) for x in (impulse, 0 * impulse))
        terms = abs(problem.dynamics.jacobian) @ (moved + free) + np.abs(problem.dynamics.bias)
        terms = 10 * scale * (terms + np.abs(problem.dynamics.compliance * impulse))
        least = np.minimum(size, [terms[rows].max() for rows in parts])
        itself = np.array([np.diag(scaled)[rows].max() for rows in parts])
        size, d = least, np.maximum(d * least / size, itself)
    worst = 0.0
    for c, member in enumerate(problem.sets):
        if isinstance(member, perp.Box):
            d[c] = mobility(member.lo, member.hi, d[c], size[c])
            member = perp.Box(member.lo * d[c], member.hi * d[c])
        if isinstance(member, perp.Rolling):
            member = perp.Rolling(member.mu, member.mu_r / scale[parts[c]][3], member.cohesion)
        if isinstance(member, perp.Elliptic):
            member = perp.Elliptic(*(np.array(member.mu) / scale[parts[c]][1:]), cohesion=member.cohesion)
        x, velocity = d[c] * impulse[parts[c]] / scale[parts[c]], scale[parts[c]] * u[parts[c]]
        x[0] += d[c] * getattr(member, "cohesion", 0.0)
        gap = violation(member, x, velocity, problem.relaxed)
        worst = max(worst, float(np.linalg.norm(gap)) / size[c])
    return worst


def literature(problem: perp.ContactProblem, impulse: np.ndarray) -> float:
    """The error of Siconos 4.4: ρ = 1, over max(‖q‖, ‖r‖, ‖u‖)."""
    u = problem.evaluate(impulse)
    total = 0.0
    for c, member in enumerate(problem.sets):
        rows = slice(problem.sets.start[c], problem.sets.start[c + 1])
        velocity = u[rows].copy()
        velocity[0] += shift(member, u[rows])
        total += float(np.sum((impulse[rows] - project(member, impulse[rows] - velocity)) ** 2))
    return np.sqrt(total) / max(np.linalg.norm(problem.q), np.linalg.norm(impulse), np.linalg.norm(u))


def boxed_residual(problem: perp.LCP | perp.BoxedLCP, z: np.ndarray) -> float:
    """The worst |d z − clip(d z − w, d lo, d hi)| over what is at work there.

    Bounds that follow a row are taken where that row is in balance, or where it is at one of its bounds.
    """
    M = problem.M.toarray() if hasattr(problem.M, "toarray") else np.asarray(problem.M)
    w = M @ z + problem.q
    d = np.abs(M).max(axis=0)
    d = np.where(d > 0, d, np.abs(M).max() or 1.0)
    index = getattr(problem, "friction_index", None)
    index = np.full(z.size, -1) if index is None else index
    coupled = M.copy()
    own = np.abs(problem.q)
    for i, j in enumerate(index):
        if j >= 0:
            coupled[i, j] = 1.0
        else:
            own[i] = max(own[i], d[i] * abs(np.clip(0.0, problem.lo[i], problem.hi[i])))
    parts = [slice(i, i + 1) for i in range(z.size)]
    size = own_sizes(M, problem.q, z, parts, data_sizes(coupled, np.arange(z.size), own))
    d = own_mobility(M, parts, size, d)
    for i in np.flatnonzero(index < 0):
        d[i] = mobility(problem.lo[i], problem.hi[i], d[i], size[i])

    def row(i: int, factor: float) -> float:
        lo, hi = problem.lo[i] * factor, problem.hi[i] * factor
        return abs(d[i] * z[i] - np.clip(d[i] * z[i] - w[i], d[i] * lo, d[i] * hi)) / size[i]

    worst = 0.0
    for i, j in enumerate(index):
        value = row(i, 1.0)
        if j >= 0:
            ways = [(abs(w[j]) / size[j], z[j])]
            bounds = [b for b in (problem.lo[j], problem.hi[j]) if np.isfinite(b)]
            ways += [(d[j] * abs(z[j] - b) / size[j], b) for b in bounds]
            value = min(max(price, row(i, max(factor, 0.0))) for price, factor in ways)
        worst = max(worst, value)
    return float(worst)
