"""Compiled mathematics of the constraint sets: projection and De Saxcé's shift.

Flat layout (see `Sets`): constraint c has kind[c], rows start[c] … start[c+1]−1, parameters[c].
Letters: x a point, K the set, u velocities, Γ the shift of the normal row. A coefficient of ∞ means that a
contact never slips: its cone is a half-space. Every function leaves NaN as NaN, so that a NaN can never look
like a small residual.
"""

from __future__ import annotations

import math

from perp.compilation.kernel import kernel, part

FREE, NONNEGATIVE, BOX, COULOMB, ELLIPTIC, ROLLING = 0, 1, 2, 3, 4, 5
ROUND_OFF = 2.0**-53
# The column of the parameters that holds the cohesion of a friction set.
COHESION = 5
# Squares of coefficients beyond this overflow: a cone as wide cannot be told from a half-space.
WIDEST = 1e150


@part
def _times(coefficient, slip):
    """Coefficient times slip, where ∞ · 0 is 0: what does not slip needs no shift."""
    return coefficient * slip if slip != 0.0 else 0.0


@part
def coefficient_of(kind, p, k):
    """The friction coefficient of tangent k = 1, 2, … of a friction set with parameters p."""
    if kind == COULOMB:
        return p[0]
    if kind == ROLLING:
        return p[0] if k < 3 else p[1]
    return p[k - 1]


@kernel(nogil=True)
def shift(kind, p, u, first, last):
    """Γ(u): what De Saxcé's correction adds to the normal velocity of one constraint."""
    if kind < COULOMB:
        return 0.0
    sliding = rolling = 0.0
    for i in range(first + 1, last):
        part = _times(coefficient_of(kind, p, i - first), u[i])
        if kind == ROLLING and i - first >= 3:
            rolling = math.hypot(rolling, part)
        else:
            sliding = math.hypot(sliding, part)
    return sliding + rolling


@part
def _project_coulomb(mu, normal, x, first, last, out):
    """Nearest point of ‖x_T‖ ≤ μ x_N in 2 or 3 dimensions (closed form), with `normal` for x_N."""
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


@part
def ellipse_root(p, normal, x, first, last, out):
    """s = ν / (1 + ν), 1 − s and y_N of a point outside of an elliptic cone; its y_i go into `out`."""
    # with s = ν / (1 + ν): 1 / (μ² + ν) = (1 − s) / (μ² (1 − s) + s), 1 − ν = (1 − 2 s) / (1 − s).
    # Beyond ν = 1, where x_N < 0, 1 − s is what is bisected: near s = 1 it would lose its digits
    flipped = normal < 0.0
    low, high, middle, top, s, c = 0.0, 0.5, 0.0, 0.0, 0.0, 0.0
    for _ in range(1100):
        middle = 0.5 * (low + high)
        s = 1.0 - middle if flipped else middle
        c = middle if flipped else 1.0 - middle
        top = 0.0
        for i in range(first + 1, last):
            mu = p[i - first - 1]
            if 0.0 < mu <= WIDEST:
                out[i] = mu * (x[i] * mu * c / (mu * mu * c + s))
                top = math.hypot(top, out[i] / mu)
        value = (c - s) * top - normal * c
        if value == 0.0 or value != value or middle == low or middle == high:
            if value != value:
                top = value
            break
        if (value > 0.0) != flipped:
            low = middle
        else:
            high = middle
    return s, c, top


@part
def _project_elliptic(p, normal, x, first, last, out):
    """Nearest point of ‖(x_i/μ_i)‖ ≤ x_N, with `normal` for x_N.

    On the boundary the answer is y_i = x_i μ_i² / (μ_i² + ν), y_N = ‖(x_i μ_i / (μ_i² + ν))‖ with the root
    ν > 0 of the decreasing function (1 − ν) y_N(ν) − x_N, found by bisection on s = ν / (1 + ν). A tangent
    without friction has y_i = 0, one that never slips keeps its x_i and has no part in the others.
    """
    used = polar = 0.0
    for i in range(first + 1, last):
        mu = p[i - first - 1]
        if mu > WIDEST:
            out[i] = x[i]
        elif mu == 0.0:
            out[i] = 0.0 * x[i]
        else:
            used = math.hypot(used, x[i] / mu)
            polar = math.hypot(polar, mu * x[i])
    wide = used == 0.0
    if wide or used <= normal or polar <= -normal:
        keep = 1.0 if used <= normal else 0.0
        for i in range(first + 1, last):
            if 0.0 < p[i - first - 1] <= WIDEST:
                out[i] = keep * x[i]
        out[first] = 0.0 if normal < 0.0 else normal
        return
    _, _, out[first] = ellipse_root(p, normal, x, first, last, out)


@part
def _project_rolling(mu, mu_r, normal, x, first, out):
    """Nearest point of ‖x_T‖ ≤ μ x_N, ‖x_R‖ ≤ μ_r x_N, with `normal` for x_N.

    The normal part t is the root of t − x_N − μ (‖x_T‖ − μ t)⁺ − μ_r (‖x_R‖ − μ_r t)⁺, which is increasing
    and piecewise linear: each of its four pieces is tried.
    """
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


@kernel(nogil=True)
def project(kind, p, x, first, last, out):
    """Nearest point of one constraint's set, rows first … last−1 of x into out, another array."""
    if kind == FREE:
        out[first] = x[first]
    elif kind == NONNEGATIVE:
        out[first] = 0.0 if x[first] < 0.0 else x[first]
    elif kind == BOX:
        value = x[first]
        out[first] = p[0] if value < p[0] else (p[1] if value > p[1] else value)
    else:
        # the apex of a cohesive cone is moved to zero and back
        normal = x[first] + p[COHESION]
        if kind == COULOMB:
            _project_coulomb(p[0], normal, x, first, last, out)
        elif kind == ELLIPTIC:
            _project_elliptic(p, normal, x, first, last, out)
        else:
            _project_rolling(p[0], p[1], normal, x, first, out)
        out[first] -= p[COHESION]


@kernel(nogil=True)
def project_all(kind, start, parameters, x, out):
    """Nearest point of the whole product of sets; x and out are different arrays."""
    for c in range(kind.size):
        project(kind[c], parameters[c], x, start[c], start[c + 1], out)
