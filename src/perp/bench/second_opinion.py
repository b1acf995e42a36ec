"""A second residual of contact problems, in long double and by other code: the judge of the judge.

The definition is that of `perp.problems.residual`; nothing of its code is used. Matrices are read entry by
entry, sums carry 64 bits (all bits where impulses cancel), the cones are projected on through their
multipliers by bisection. It is slow and for benchmarks and tests: an answer called solved whose second
residual is large is a false SOLVED.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from perp.problems import BoxedLCP, ContactProblem
from perp.problems.lcp import LCP
from perp.problems.sets import BOX, COULOMB, ELLIPTIC, FREE, NONNEGATIVE, ROLLING

Long = np.longdouble
_BISECTIONS = 140
# Impulses that cancel to one part in so many lose digits that a coefficient of 10⁶ needs: rational sums then.
CANCELS = 100


def second_residual(problem: LCP | BoxedLCP | ContactProblem, z: Any) -> float:
    """The residual of z, relative to the data, in long double; infinite where z is not finite."""
    z = np.asarray(z, dtype=np.float64).astype(Long)
    if not np.isfinite(z).all():
        return float("inf")
    if isinstance(problem, ContactProblem):
        F, reference = _contact(problem, z)
    else:
        F, reference = _boxed(problem, z)
    size = np.sqrt(np.sum(reference * reference))
    value = np.sqrt(np.sum(F * F)) / (size if size > 0 else Long(1))
    return float(value) if np.isfinite(value) else float("inf")


def _boxed(problem: LCP | BoxedLCP, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    M, q = _long(problem.M), _long(problem.q)
    d = np.abs(M).max(axis=0, initial=Long(0))
    overall = d.max(initial=Long(0))
    d[d == 0] = overall if overall > 0 else Long(1)
    if isinstance(problem, BoxedLCP):
        lo, hi = _long(problem.lo), _long(problem.hi)
        for i, f in enumerate(problem.friction_index if problem.friction_index is not None else ()):
            if f >= 0:
                limit = abs(z[f]) if problem.negative_limit == "magnitude" else max(z[f], Long(0))
                lo[i], hi[i] = lo[i] * limit, hi[i] * limit
    else:
        lo, hi = np.zeros_like(z), np.full_like(z, np.inf)
    return np.clip(M @ z + q, d * (z - hi), d * (z - lo)), q


def _contact(problem: ContactProblem, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sets = problem.sets
    W, q, u = _system(problem, z)
    unit = np.ones_like(q)
    for c in np.flatnonzero(sets.kind == ROLLING):
        i = sets.start[c]
        linear, angular = np.diag(W)[i : i + 3].mean(), np.diag(W)[i + 3 : i + 5].mean()
        fallback = Long(sets.b[c]) if sets.b[c] > 0 else Long(1)
        unit[i + 3 : i + 5] = np.sqrt(linear / angular) if linear > 0 and angular > 0 else fallback
    # λ / unit and unit · u are impulse and velocity in one unit each
    largest = np.abs(unit[:, None] * W * unit).max(axis=0, initial=Long(0))
    largest[largest == 0] = largest.max(initial=Long(0)) or Long(1)
    F = np.empty_like(u)
    for c in range(sets.count):
        rows = slice(sets.start[c], sets.start[c + 1])
        F[rows] = _natural(
            int(sets.kind[c]), Long(sets.a[c]), Long(sets.b[c]) / unit[rows][-1] ** (sets.kind[c] == ROLLING),
            largest[rows].max() * z[rows] / unit[rows], unit[rows] * u[rows], largest[rows].max(),
            problem.relaxed,
        )  # fmt: skip
    return F, unit * q


def _natural(
    kind: int, a: np.floating, b: np.floating, x: np.ndarray, u: np.ndarray, d: np.floating, relaxed: bool
) -> np.ndarray:
    """x − P(x − u − Γ(u)) of one constraint, with x = d λ."""
    if kind == FREE:
        return u
    if kind == NONNEGATIVE:
        return np.minimum(u, x)
    if kind == BOX:
        return np.clip(u, x - d * b, x - d * a)
    y = x - u
    if not relaxed:
        if kind == COULOMB:
            y[0] -= a * _length(u[1:])
        elif kind == ELLIPTIC:
            y[0] -= _length(np.array([a, b]) * u[1:])
        else:
            y[0] -= a * _length(u[1:3]) + b * _length(u[3:])
    if kind == ELLIPTIC:
        return x - _nearest_elliptic(a, b, y)
    if kind == COULOMB:
        return x - _nearest_discs(y, ((a, slice(1, x.size)),))
    return x - _nearest_discs(y, ((a, slice(1, 3)), (b, slice(3, 5))))


def _nearest_discs(y: np.ndarray, discs: tuple[tuple[Any, slice], ...]) -> np.ndarray:
    """Nearest point with ‖y_i‖ ≤ μ_i y_N for every disc i, from the piecewise linear equation of its y_N."""
    pairs = [(mu, _length(y[rows])) for mu, rows in discs]

    def excess(t: Any) -> Any:
        return t - y[0] - sum(mu * max(r - mu * t, Long(0)) for mu, r in pairs)

    if excess(Long(0)) >= 0:
        return np.zeros_like(y)
    # between two neighbouring kinks the equation is linear
    low = Long(0)
    for kink in sorted(r / mu for mu, r in pairs if mu > 0):
        if excess(kink) >= 0:
            break
        low = kink
    active = [(mu, r) for mu, r in pairs if mu > 0 and r / mu > low]
    t = (y[0] + sum(mu * r for mu, r in active)) / (1 + sum(mu * mu for mu, _ in active))
    out = y.copy()
    out[0] = t
    for (mu, r), (_, rows) in zip(pairs, discs, strict=True):
        if r > mu * t:
            out[rows] *= mu * t / r
    return out


def _nearest_elliptic(mu1: Any, mu2: Any, y: np.ndarray) -> np.ndarray:
    """Nearest point with ‖(y_1/μ_1, y_2/μ_2)‖ ≤ y_N.

    On the surface it is y_i μ_i² / (μ_i² + ν), y_N / (1 − ν) with a multiplier ν > 0 that is bisected, or
    1 / ν where it is above 1.
    """
    mu = np.array([mu1, mu2], dtype=Long)
    tangent = np.where(mu > 0, y[1:], Long(0))
    quotient = np.where(mu > 0, tangent / np.where(mu > 0, mu, Long(1)), Long(0))
    if y[0] >= 0 and _length(quotient) <= y[0]:
        return np.array([y[0], *tangent], dtype=Long)
    if _length(mu * tangent) <= -y[0]:
        return np.zeros(3, dtype=Long)
    # with x_N > 0, ν in (0, 1); with x_N < 0, 1/ν in (0, 1); both bisected as t
    outward = y[0] >= 0
    low, high = Long(0), Long(1)
    for _ in range(_BISECTIONS):
        t = (low + high) / 2
        # y_N from the tangents minus y_N from the normal row, times 1 − ν (times 1/ν outside of 1)
        if outward:
            value = (1 - t) * _length(mu * tangent / (mu * mu + t)) - y[0]
        else:
            value = (1 - t) * _length(mu * tangent / (t * mu * mu + 1)) + y[0]
        if value > 0:
            low = t
        else:
            high = t
    t = (low + high) / 2
    scaled = tangent * mu / (mu * mu + t) if outward else t * tangent * mu / (t * mu * mu + 1)
    return np.array([_length(scaled), *(mu * scaled)], dtype=Long)


def _system(problem: ContactProblem, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W, q and u = W z + q in long double, from mass and Jacobian where the problem is given so."""
    if problem.dynamics is None:
        W, q = _long(problem.W), _long(problem.q)
        size = np.abs(W * z).max(initial=Long(0))
        if size > CANCELS * np.abs(q).max(initial=Long(0)):
            return W, q, _exact_velocity(W, q, z)
        return W, q, W @ z + q
    form = problem.dynamics
    mass, J = _long(form.mass), _long(form.jacobian)
    if mass.ndim == 3:
        bodies, k, _ = mass.shape
        full = np.zeros((bodies * k, bodies * k), dtype=Long)
        for i in range(bodies):
            full[k * i : k * i + k, k * i : k * i + k] = mass[i]
        mass = full
    columns = _solve(mass, np.column_stack([J.T, _long(form.momentum)]))
    W = J @ columns[:, :-1] + np.diag(np.broadcast_to(_long(form.compliance), (J.shape[0],)))
    q = J @ columns[:, -1] + _long(form.bias)
    return W, q, W @ z + q


def _exact_velocity(W: np.ndarray, q: np.ndarray, z: np.ndarray) -> np.ndarray:
    """W z + q from doubles in rational arithmetic, rounded once."""
    impulse = {j: Fraction(float(value)) for j, value in enumerate(z) if value != 0}
    u = np.empty_like(q)
    for i in range(q.size):
        terms = (Fraction(float(W[i, j])) * value for j, value in impulse.items() if W[i, j] != 0)
        total = sum(terms, Fraction(float(q[i])))
        u[i] = Long(float(total)) + Long(float(total - Fraction(float(total))))
    return u


def _solve(mass: np.ndarray, right: np.ndarray) -> np.ndarray:
    """mass⁻¹ right in long double: Cholesky's factors of double precision, refined."""
    approximate = np.linalg.inv(mass.astype(np.float64)).astype(Long)
    answer = approximate @ right
    for _ in range(4):
        answer += approximate @ (right - mass @ answer)
    return answer


def _length(x: np.ndarray) -> Any:
    largest = np.abs(x).max(initial=Long(0))
    return largest * np.sqrt(np.sum((x / largest) ** 2)) if largest > 0 else Long(0)


def _long(matrix: Any) -> np.ndarray:
    return np.array(matrix.toarray() if hasattr(matrix, "toarray") else matrix).astype(Long)
