"""Second implementations in plain NumPy, written from the formulas and not from the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

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
    mu = np.array([member.mu1, member.mu2])
    if x[0] >= 0 and np.linalg.norm(x[1:] / mu) <= x[0]:
        return x
    if np.linalg.norm(mu * x[1:]) <= -x[0]:
        return np.zeros(3)

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
        return float(np.hypot(member.mu1 * u[1], member.mu2 * u[2]))
    if isinstance(member, perp.Rolling):
        return member.mu * float(np.linalg.norm(u[1:3])) + member.mu_r * float(np.linalg.norm(u[3:]))
    return 0.0


def contact_residual(problem: perp.ContactProblem, impulse: np.ndarray) -> float:
    """‖d λ − P(d λ − u − Γ)‖ / ‖q‖ with rolling rows brought to velocities, constraint by constraint."""
    W = problem.W.toarray() if hasattr(problem.W, "toarray") else np.asarray(problem.W)
    u = problem.evaluate(impulse)
    scale = np.ones(problem.size)
    starts = problem.sets.start
    for c, member in enumerate(problem.sets):
        if isinstance(member, perp.Rolling):
            i = starts[c]
            diagonal = np.diag(W)
            scale[i + 3 : i + 5] = np.sqrt(diagonal[i : i + 3].mean() / diagonal[i + 3 : i + 5].mean())
    scaled = np.abs(scale[:, None] * W * scale)
    total = 0.0
    for c, member in enumerate(problem.sets):
        rows = slice(starts[c], starts[c + 1])
        d = scaled[:, rows].max() or scaled.max() or 1.0
        x = d * impulse[rows] / scale[rows]
        velocity = scale[rows] * u[rows]
        if not problem.relaxed:
            velocity[0] += shift(member, u[rows])
        if isinstance(member, perp.Box):
            member = perp.Box(member.lo * d, member.hi * d)
        if isinstance(member, perp.Rolling):
            member = perp.Rolling(member.mu, member.mu_r / scale[rows][3])
        total += float(np.sum((x - project(member, x - velocity)) ** 2))
    size = float(np.linalg.norm(scale * problem.q))
    return np.sqrt(total) / (size if size > 0 else 1.0)


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
    """‖d z − clip(d z − w, d lo, d hi)‖ / ‖q‖."""
    M = problem.M.toarray() if hasattr(problem.M, "toarray") else np.asarray(problem.M)
    w = M @ z + problem.q
    d = np.abs(M).max(axis=0)
    d = np.where(d > 0, d, np.abs(M).max() or 1.0)
    lo, hi = problem.lo.copy(), problem.hi.copy()
    if isinstance(problem, perp.BoxedLCP) and problem.friction_index is not None:
        for i, j in enumerate(problem.friction_index):
            if j >= 0:
                lo[i] *= max(z[j], 0)
                hi[i] *= max(z[j], 0)
    f = d * z - np.clip(d * z - w, d * lo, d * hi)
    return float(np.linalg.norm(f) / (np.linalg.norm(problem.q) or 1.0))
