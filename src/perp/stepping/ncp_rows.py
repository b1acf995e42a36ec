"""Compiled complementarity rows of the Newton route: each row as J Δu + C Δλ = −residual, C diagonal.

With a the row's velocity y and b = r λ (r the row's diagonal of W, so that both are velocities):

    unilateral   φ(a, b) = 0,   linearised and divided by φ_a:  C = r φ_b / φ_a,  residual φ / φ_a
    friction     y_t + w λ_t = 0,   w = r (‖y_t‖ − ψ) / (r ‖λ_t‖ + ψ),   ψ = φ(‖y_t‖, r (μ λ_n − ‖λ_t‖))
    box          λ clipped where λ − y / r leaves the box, y = 0 inside

φ is Fischer–Burmeister, a + b − √(a² + b²) without smoothing, or the minimum. The friction compliance w is
frozen within a Newton step. An elliptic cone is brought to the round one by λ_i / μ_i and μ_i y_i; rolling
rates have their own compliance.

Reference: Macklin et al., Non-smooth Newton methods for deformable multi-body dynamics (2019).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.problems.set_kernels import BOX, ELLIPTIC, FREE, NONNEGATIVE, ROLLING

FISCHER_BURMEISTER, MINIMUM = 0, 1
# A row with this compliance, relative to its diagonal, is an equation for λ alone.
_RIGID = 1e12
# At the corner a = b = 0 both derivatives may lie anywhere on a circle: the middle is taken.
_CORNER = 1.0 - math.sqrt(0.5)


@njit(cache=True)
def _ncp(form, a, b):
    """φ and its derivatives with respect to a and b."""
    if form == MINIMUM:
        if a < b:
            return a, 1.0, 0.0
        return b, 0.0, 1.0
    length = math.hypot(a, b)
    if length == 0.0:
        return 0.0, _CORNER, _CORNER
    # written without cancellation where both are positive
    value = 2.0 * a * b / (a + b + length) if a + b > 0.0 else a + b - length
    return value, 1.0 - a / length, 1.0 - b / length


@njit(cache=True)
def _unilateral(form, y, impulse, r, i, compliance, residual):
    value, by_a, by_b = _ncp(form, y, r * impulse)
    if by_a * _RIGID < by_b:
        compliance[i] = _RIGID * r
        residual[i] = _RIGID * value / by_b
    else:
        compliance[i] = r * by_b / by_a
        residual[i] = value / by_a


@njit(cache=True)
def _friction(form, mu1, mu2, normal, y, impulse, diagonal, i, last, compliance, residual):
    """Rows i … last − 1 of friction with coefficients mu1, mu2 against the normal impulse."""
    two = last - i == 2
    if mu1 <= 0.0 or (two and mu2 <= 0.0):
        for k in range(i, last):
            compliance[k] = _RIGID * diagonal[k]
            residual[k] = compliance[k] * impulse[k]
        return
    slip = abs(mu1 * y[i])
    push = abs(impulse[i] / mu1)
    r = mu1 * mu1 * diagonal[i]
    if two:
        slip = math.hypot(mu1 * y[i], mu2 * y[i + 1])
        push = math.hypot(impulse[i] / mu1, impulse[i + 1] / mu2)
        r = 0.5 * (r + mu2 * mu2 * diagonal[i + 1])
    value, _, _ = _ncp(form, slip, r * (normal - push))
    numerator, denominator = r * (slip - value), r * push + value
    # at the solution ψ = 0 and this is slip / push; far from it the quotient may leave the positive numbers
    if numerator <= 0.0:
        w = 0.0
    elif denominator * _RIGID <= numerator / r or denominator <= 1e-3 * r * push:
        w = _RIGID * r if push == 0.0 or normal <= 0.0 else 1e3 * numerator / (r * push)
    else:
        w = numerator / denominator
    w = min(w, _RIGID * r)
    for k in range(i, last):
        mu = mu1 if k == i else mu2
        compliance[k] = w / (mu * mu)
        residual[k] = y[k] + compliance[k] * impulse[k]


@njit(cache=True)
def linearise(form, kind, start, a, b, diagonal, y, impulse, compliance, residual):
    """C and residual of every row at velocities y and impulses λ."""
    for c in range(kind.size):
        i, last = start[c], start[c + 1]
        if kind[c] == FREE:
            compliance[i], residual[i] = 0.0, y[i]
        elif kind[c] == BOX:
            target = impulse[i] - y[i] / diagonal[i]
            if a[c] < target < b[c]:
                compliance[i], residual[i] = 0.0, y[i]
            else:
                bound = a[c] if target <= a[c] else b[c]
                compliance[i] = _RIGID * diagonal[i]
                residual[i] = compliance[i] * (impulse[i] - bound)
        else:
            _unilateral(form, y[i], impulse[i], diagonal[i], i, compliance, residual)
            if kind[c] == NONNEGATIVE:
                continue
            normal = max(impulse[i], 0.0)
            second = b[c] if kind[c] == ELLIPTIC else a[c]
            tangents = last if kind[c] != ROLLING else i + 3
            _friction(form, a[c], second, normal, y, impulse, diagonal, i + 1, tangents, compliance, residual)
            if kind[c] == ROLLING:
                _friction(form, b[c], b[c], normal, y, impulse, diagonal, i + 3, last, compliance, residual)


@njit(cache=True)
def solve_scaled(W, added, scale, right, out):
    """(W + diag(added)) x = right by Cholesky's method on the matrix with `scale` on both sides.

    NaN where that matrix is not positive definite.
    """
    n = right.size
    L = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = W[i, j] + (added[i] if i == j else 0.0)
            total *= scale[i] * scale[j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if not total > 0.0:
                    out[:] = np.nan
                    return
                L[i, i] = math.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
        out[i] = scale[i] * right[i]
        for k in range(i):
            out[i] -= L[i, k] * out[k]
        out[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            out[i] -= L[k, i] * out[k]
        out[i] /= L[i, i]
    for i in range(n):
        out[i] *= scale[i]
