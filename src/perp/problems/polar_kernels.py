"""What the projection onto a friction cone takes away from a point, y − P(y), with all its digits: compiled.

It is the projection onto the polar cone. As a difference it would drown in the round-off of a large y; here
it follows from what y lacks to be in the cone. Arguments and NaN as in `set_kernels`.
"""

from __future__ import annotations

import math

from perp.compilation.kernel import part
from perp.problems.set_kernels import COHESION, COULOMB, ELLIPTIC, WIDEST, ellipse_root


@part
def _beyond_coulomb(mu, normal, y, first, last, out):
    """t (−μ, y_T/‖y_T‖) with t = (‖y_T‖ − μ y_N) / (1 + μ²); y in the polar cone, 0 in the cone."""
    length = 0.0
    for i in range(first + 1, last):
        length = math.hypot(length, y[i])
    taken, share = 0.0, 0.0
    if mu > WIDEST:
        taken = 0.0 if normal >= 0.0 else normal
    elif mu * length <= -normal:
        taken, share = normal, 1.0
    elif not length <= mu * normal:
        t = (length - mu * normal) / (1.0 + mu * mu)
        taken, share = -mu * t, t / length
    out[first] = taken
    for i in range(first + 1, last):
        out[i] = share * y[i]


@part
def _beyond_elliptic(p, normal, y, first, last, out):
    """ν y_i / (μ_i² + ν) and −ν P_N with the ν of the projection."""
    used = polar = 0.0
    for i in range(first + 1, last):
        mu = p[i - first - 1]
        if 0.0 < mu <= WIDEST:
            used = math.hypot(used, y[i] / mu)
            polar = math.hypot(polar, mu * y[i])
    inside, opposite = used == 0.0 or used <= normal, polar <= -normal
    s, c, top = 0.0, 1.0, 0.0
    if not inside and not opposite:
        s, c, top = ellipse_root(p, normal, y, first, last, out)
        out[first] = -(s / c) * top
    else:
        out[first] = 0.0 if normal >= 0.0 else normal
    for i in range(first + 1, last):
        mu = p[i - first - 1]
        if mu > WIDEST or (mu > 0.0 and inside):
            out[i] = 0.0 * y[i]
        elif mu == 0.0 or opposite:
            out[i] = y[i]
        else:
            out[i] = y[i] * (s / (mu * mu * c + s))


@part
def _beyond_rolling(mu, mu_r, normal, y, first, out):
    """‖y_T‖ − μ t and ‖y_R‖ − μ_r t of the discs that bind, t being the normal part of the projection."""
    tangent = math.hypot(y[first + 1], y[first + 2])
    rolling = math.hypot(y[first + 3], y[first + 4])
    wide, wide_r = mu > WIDEST, mu_r > WIDEST
    # a wide disc never binds
    mu, mu_r = 0.0 if wide else mu, 0.0 if wide_r else mu_r
    tangent, rolling = 0.0 * tangent if wide else tangent, 0.0 * rolling if wide_r else rolling
    # one disc alone takes these away, both together those; a disc binds together with the other one if and
    # only if it would bind where the other one alone leads
    over_tangent = over_rolling = 0.0
    taken = 0.0 if normal >= 0.0 else normal
    lone = (tangent - mu * normal) / (1.0 + mu * mu)
    lone_r = (rolling - mu_r * normal) / (1.0 + mu_r * mu_r)
    weight = 1.0 + mu * mu + mu_r * mu_r
    both = (tangent * (1.0 + mu_r * mu_r) - mu * (normal + mu_r * rolling)) / weight
    both_r = (rolling * (1.0 + mu * mu) - mu_r * (normal + mu * tangent)) / weight
    if mu * tangent + mu_r * rolling <= -normal:
        over_tangent, over_rolling = tangent, rolling
    elif both > 0.0 and both_r > 0.0:
        over_tangent, over_rolling = both, both_r
        taken = -(mu * both + mu_r * both_r)
    elif lone > 0.0 and not both_r > 0.0:
        over_tangent, taken = lone, -mu * lone
    elif lone_r > 0.0:
        over_rolling, taken = lone_r, -mu_r * lone_r
    share = 0.0 if over_tangent == 0.0 else over_tangent / tangent
    share_r = 0.0 if over_rolling == 0.0 else over_rolling / rolling
    out[first] = taken + 0.0 * (normal + tangent + rolling)
    out[first + 1], out[first + 2] = share * y[first + 1], share * y[first + 2]
    out[first + 3], out[first + 4] = share_r * y[first + 3], share_r * y[first + 4]


@part
def beyond_cone(kind, p, y, first, last, out):
    """y − P(y) for one friction set, rows first … last−1 of y into out, another array."""
    normal = y[first] + p[COHESION]
    if kind == COULOMB:
        _beyond_coulomb(p[0], normal, y, first, last, out)
    elif kind == ELLIPTIC:
        _beyond_elliptic(p, normal, y, first, last, out)
    else:
        _beyond_rolling(p[0], p[1], normal, y, first, out)
