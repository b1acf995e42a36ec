"""Compiled mathematics of the constraint sets: projection and De Saxcé's shift.

Flat layout (see `Sets`): constraint c has kind[c], rows start[c] … start[c+1]−1, parameters a[c] and b[c].
Letters: x a point, K the set, u velocities, Γ the shift of the normal row. A coefficient of ∞ means that a
contact never slips: its cone is a half-space. Every function leaves NaN as NaN, so that a NaN can never look
like a small residual.
"""

from __future__ import annotations

import math

from numba import njit

FREE, NONNEGATIVE, BOX, COULOMB, ELLIPTIC, ROLLING = 0, 1, 2, 3, 4, 5
ROUND_OFF = 2.0**-53
# Squares of coefficients beyond this overflow: a cone as wide cannot be told from a half-space.
WIDEST = 1e150


@njit(cache=True, nogil=True, fastmath=False)
def _times(coefficient, slip):
    """Coefficient times slip, where ∞ · 0 is 0: what does not slip needs no shift."""
    return coefficient * slip if slip != 0.0 else 0.0


@njit(cache=True, nogil=True, fastmath=False)
def shift(kind, a, b, u, first, last):
    """Γ(u): what De Saxcé's correction adds to the normal velocity of one constraint."""
    if kind == COULOMB:
        if last - first == 2:
            return _times(a, abs(u[first + 1]))
        return _times(a, math.hypot(u[first + 1], u[first + 2]))
    if kind == ELLIPTIC:
        return math.hypot(_times(a, u[first + 1]), _times(b, u[first + 2]))
    if kind == ROLLING:
        sliding, rolling = math.hypot(u[first + 1], u[first + 2]), math.hypot(u[first + 3], u[first + 4])
        return _times(a, sliding) + _times(b, rolling)
    return 0.0


@njit(cache=True, nogil=True, fastmath=False)
def _project_coulomb(mu, x, first, last, out):
    """Nearest point of ‖x_T‖ ≤ μ x_N in 2 or 3 dimensions (closed form)."""
    normal = x[first]
    two = last - first == 2
    length = abs(x[first + 1]) if two else math.hypot(x[first + 1], x[first + 2])
    if mu > WIDEST:
        normal = 0.0 if normal < 0.0 else normal
        scale = 1.0
    # the polar cone first: with μ = 0 a negative normal part would pass the other test
    elif mu * length <= -normal:
        normal = 0.0
        scale = 0.0
    elif length <= mu * normal:
        scale = 1.0
    else:
        normal = (mu * length + normal) / (1.0 + mu * mu)
        scale = mu * normal / length
    out[first] = normal
    out[first + 1] = scale * x[first + 1]
    if not two:
        out[first + 2] = scale * x[first + 2]


@njit(cache=True, nogil=True, fastmath=False)
def _project_elliptic(mu1, mu2, x, first, out):
    """Nearest point of ‖(x₁/μ₁, x₂/μ₂)‖ ≤ x_N.

    On the boundary the answer is y_i = x_i μ_i² / (μ_i² + ν), y_N = ‖(x_i μ_i / (μ_i² + ν))‖ with the root
    ν > 0 of the decreasing function (1 − ν) y_N(ν) − x_N, found by bisection on s = ν / (1 + ν).
    """
    normal, x1, x2 = x[first], x[first + 1], x[first + 2]
    if mu1 > WIDEST or mu2 > WIDEST:
        # a wide axis is free; with the other one the cone is plane
        free, other, mu = (1, 2, mu2) if mu1 > WIDEST else (2, 1, mu1)
        t = x[first + other]
        scale = 1.0
        if mu > WIDEST:
            normal = 0.0 if normal < 0.0 else normal
        elif mu * abs(t) <= -normal:
            normal = scale = 0.0
        elif not abs(t) <= mu * normal:
            normal = (mu * abs(t) + normal) / (1.0 + mu * mu)
            scale = mu * normal / abs(t)
        out[first], out[first + free], out[first + other] = normal, x[first + free], scale * t
        return
    # without friction along a tangent the cone is flat there: nothing of x is left (a NaN stays)
    if mu1 == 0.0:
        x1 *= 0.0
    if mu2 == 0.0:
        x2 *= 0.0
    inside = (x1 == 0.0 or mu1 > 0.0) and (x2 == 0.0 or mu2 > 0.0)
    if inside and normal >= 0.0:
        t1 = x1 / mu1 if x1 != 0.0 else 0.0
        t2 = x2 / mu2 if x2 != 0.0 else 0.0
        inside = math.hypot(t1, t2) <= normal
    else:
        inside = inside and x1 == 0.0 and x2 == 0.0 and normal >= 0.0
    if inside:
        out[first], out[first + 1], out[first + 2] = normal, x1, x2
        return
    if math.hypot(mu1 * x1, mu2 * x2) <= -normal:
        out[first] = out[first + 1] = out[first + 2] = 0.0
        return
    # with s = ν / (1 + ν): 1 / (μ² + ν) = (1 − s) / (μ² (1 − s) + s), 1 − ν = (1 − 2 s) / (1 − s).
    # Beyond ν = 1, where x_N < 0, 1 − s is what is bisected: near s = 1 it would lose its digits
    flipped = normal < 0.0
    low, high = 0.0, 0.5
    y1 = y2 = top = 0.0
    for _ in range(1100):
        middle = 0.5 * (low + high)
        if middle == low or middle == high:
            break
        s = 1.0 - middle if flipped else middle
        c = middle if flipped else 1.0 - middle
        y1 = x1 * mu1 * c / (mu1 * mu1 * c + s)
        y2 = x2 * mu2 * c / (mu2 * mu2 * c + s)
        top = math.hypot(y1, y2)
        value = (c - s) * top - normal * c
        if value == 0.0:
            break
        if (value > 0.0) != flipped:
            low = middle
        elif value == value:
            high = middle
        if value != value:
            top = value
            break
    out[first], out[first + 1], out[first + 2] = top, mu1 * y1, mu2 * y2


@njit(cache=True, nogil=True, fastmath=False)
def _project_rolling(mu, mu_r, x, first, out):
    """Nearest point of ‖x_T‖ ≤ μ x_N, ‖x_R‖ ≤ μ_r x_N.

    The normal part t is the root of t − x_N − μ (‖x_T‖ − μ t)⁺ − μ_r (‖x_R‖ − μ_r t)⁺, which is increasing
    and piecewise linear: each of its four pieces is tried.
    """
    normal = x[first]
    tangent = math.hypot(x[first + 1], x[first + 2])
    rolling = math.hypot(x[first + 3], x[first + 4])
    wide, wide_r = mu > WIDEST, mu_r > WIDEST
    # a wide disc never binds: it has no part in t
    mu, mu_r = 0.0 if wide else mu, 0.0 if wide_r else mu_r
    both = (normal + mu * tangent + mu_r * rolling) / (1.0 + mu * mu + mu_r * mu_r)
    only_tangent = (normal + mu * tangent) / (1.0 + mu * mu)
    only_rolling = (normal + mu_r * rolling) / (1.0 + mu_r * mu_r)
    # the function is the least of its four increasing pieces, so its root is the largest of their roots
    t = max(normal, max(only_tangent, max(only_rolling, both)))
    if math.isnan(normal + tangent + rolling):
        t = math.nan
    if t <= 0.0:
        t = 0.0
    tangent_scale = 1.0 if wide or tangent <= mu * t else mu * t / tangent
    rolling_scale = 1.0 if wide_r or rolling <= mu_r * t else mu_r * t / rolling
    out[first] = t
    out[first + 1] = tangent_scale * x[first + 1]
    out[first + 2] = tangent_scale * x[first + 2]
    out[first + 3] = rolling_scale * x[first + 3]
    out[first + 4] = rolling_scale * x[first + 4]


@njit(cache=True, nogil=True, fastmath=False)
def project(kind, a, b, x, first, last, out):
    """Nearest point of one constraint's set, rows first … last−1 of x into out."""
    if kind == FREE:
        out[first] = x[first]
    elif kind == NONNEGATIVE:
        out[first] = 0.0 if x[first] < 0.0 else x[first]
    elif kind == BOX:
        value = x[first]
        out[first] = a if value < a else (b if value > b else value)
    elif kind == COULOMB:
        _project_coulomb(a, x, first, last, out)
    elif kind == ELLIPTIC:
        _project_elliptic(a, b, x, first, out)
    else:
        _project_rolling(a, b, x, first, out)


@njit(cache=True, nogil=True, fastmath=False)
def project_all(kind, start, a, b, x, out):
    """Nearest point of the whole product of sets."""
    for c in range(kind.size):
        project(kind[c], a[c], b[c], x, start[c], start[c + 1], out)
