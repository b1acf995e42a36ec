"""Compiled mathematics of the constraint sets: projection, De Saxcé's shift, natural map.

Flat layout (see `Sets`): constraint c has kind[c], rows start[c] … start[c+1]−1, parameters a[c] and b[c].
Letters: x a point, K the set, λ impulses, u velocities, Γ the shift of the normal row, d and ℓ the scales of
`contact_scale`. Every function leaves NaN as NaN, so that a NaN can never look like a small residual.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.problems.accurate_slack import dense_row, largest_length, sparse_row
from perp.problems.boxed_kernels import clip, dense_slack, relative_norm, sparse_slack

FREE, NONNEGATIVE, BOX, COULOMB, ELLIPTIC, ROLLING = 0, 1, 2, 3, 4, 5
ROUND_OFF = 2.0**-53


@njit(cache=True)
def shift(kind, a, b, u, first, last):
    """Γ(u): what De Saxcé's correction adds to the normal velocity of one constraint."""
    if kind == COULOMB:
        if last - first == 2:
            return a * abs(u[first + 1])
        return a * math.hypot(u[first + 1], u[first + 2])
    if kind == ELLIPTIC:
        return math.hypot(a * u[first + 1], b * u[first + 2])
    if kind == ROLLING:
        return a * math.hypot(u[first + 1], u[first + 2]) + b * math.hypot(u[first + 3], u[first + 4])
    return 0.0


@njit(cache=True)
def _project_coulomb(mu, x, first, last, out):
    """Nearest point of ‖x_T‖ ≤ μ x_N in 2 or 3 dimensions (closed form)."""
    normal = x[first]
    two = last - first == 2
    length = abs(x[first + 1]) if two else math.hypot(x[first + 1], x[first + 2])
    # the polar cone first: with μ = 0 a negative normal part would pass the other test
    if mu * length <= -normal:
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


@njit(cache=True)
def _project_elliptic(mu1, mu2, x, first, out):
    """Nearest point of ‖(x₁/μ₁, x₂/μ₂)‖ ≤ x_N.

    On the boundary the answer is y_i = x_i μ_i² / (μ_i² + ν), y_N = ‖(x_i μ_i / (μ_i² + ν))‖ with the root
    ν > 0 of the decreasing function (1 − ν) y_N(ν) − x_N, found by bisection on s = ν / (1 + ν).
    """
    normal, x1, x2 = x[first], x[first + 1], x[first + 2]
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


@njit(cache=True)
def _project_rolling(mu, mu_r, x, first, out):
    """Nearest point of ‖x_T‖ ≤ μ x_N, ‖x_R‖ ≤ μ_r x_N.

    The normal part t is the root of t − x_N − μ (‖x_T‖ − μ t)⁺ − μ_r (‖x_R‖ − μ_r t)⁺, which is increasing
    and piecewise linear: each of its four pieces is tried.
    """
    normal = x[first]
    tangent = math.hypot(x[first + 1], x[first + 2])
    rolling = math.hypot(x[first + 3], x[first + 4])
    both = (normal + mu * tangent + mu_r * rolling) / (1.0 + mu * mu + mu_r * mu_r)
    only_tangent = (normal + mu * tangent) / (1.0 + mu * mu)
    only_rolling = (normal + mu_r * rolling) / (1.0 + mu_r * mu_r)
    # the function is the least of its four increasing pieces, so its root is the largest of their roots
    t = max(normal, max(only_tangent, max(only_rolling, both)))
    if math.isnan(normal + tangent + rolling):
        t = math.nan
    if t <= 0.0:
        for i in range(5):
            out[first + i] = 0.0
        return
    tangent_scale = 1.0 if tangent <= mu * t else mu * t / tangent
    rolling_scale = 1.0 if rolling <= mu_r * t else mu_r * t / rolling
    out[first] = t
    out[first + 1] = tangent_scale * x[first + 1]
    out[first + 2] = tangent_scale * x[first + 2]
    out[first + 3] = rolling_scale * x[first + 3]
    out[first + 4] = rolling_scale * x[first + 4]


@njit(cache=True)
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


@njit(cache=True)
def project_all(kind, start, a, b, x, out):
    """Nearest point of the whole product of sets."""
    for c in range(kind.size):
        project(kind[c], a[c], b[c], x, start[c], start[c + 1], out)


@njit(cache=True)
def natural_map(kind, start, a, b, d, length, relaxed, impulse, u, x, out):
    """F = x − P(x − ũ − Γ) with x = d λ a velocity, for every constraint; `x` is workspace.

    Rolling rows are brought to velocities by the constraint's `length`, box bounds by its d. Where P changes
    nothing F is ũ + Γ itself, and single rows are written as clip(u, …): x − (x − u) would lose u in the
    round-off of a large λ. On a cone's surface that round-off cannot be avoided and is counted as an error.
    """
    for c in range(kind.size):
        first, last = start[c], start[c + 1]
        k = kind[c]
        if k == FREE:
            out[first] = u[first]
            continue
        if k == NONNEGATIVE:
            out[first] = clip(u[first], -math.inf, d[c] * impulse[first])
            continue
        if k == BOX:
            out[first] = clip(u[first], d[c] * (impulse[first] - b[c]), d[c] * (impulse[first] - a[c]))
            continue
        gamma = 0.0 if relaxed else shift(k, a[c], b[c], u, first, last)
        for i in range(first, last):
            s = length[c] if i - first >= 3 else 1.0
            x[i] = d[c] * impulse[i] / s - s * u[i]
        x[first] -= gamma
        project(k, a[c], b[c] / length[c] if k == ROLLING else b[c], x, first, last, out)
        unchanged = True
        for i in range(first, last):
            unchanged = unchanged and out[i] == x[i]
        for i in range(first, last):
            s = length[c] if i - first >= 3 else 1.0
            out[i] = s * u[i] if unchanged else d[c] * impulse[i] / s - out[i]
        if unchanged:
            out[first] += gamma
        else:
            out[first] += math.copysign(ROUND_OFF * abs(d[c] * impulse[first]), out[first])


@njit(cache=True)
def _verdict(q, row_scale, kind, start, a, b, d, length, relaxed, impulse, u):
    """‖F‖ / ‖q‖ with q in one unit; infinite where something is not finite."""
    n = q.size
    for i in range(n):
        if not (math.isfinite(impulse[i]) and math.isfinite(u[i])):
            return math.inf
    values, reference = np.empty(n), np.empty(n)
    natural_map(kind, start, a, b, d, length, relaxed, impulse, u, reference, values)
    for i in range(n):
        reference[i] = q[i] * row_scale[i]
    value = relative_norm(values, reference)
    return value if math.isfinite(value) else math.inf


@njit(cache=True)
def _longest_row(kind, a, b, c, entries):
    """How many entries a row of constraint c may have before its round-off must be looked at."""
    amplified = 1.0 + max(a[c], b[c]) if kind[c] >= COULOMB else 1.0
    return largest_length(entries * amplified)


@njit(cache=True)
def _largest_entry(q, row_scale, start, d, impulse):
    """The largest velocity that an impulse causes relative to ‖q‖; 0 without q."""
    size = largest = 0.0
    for i in range(q.size):
        size = max(size, abs(q[i] * row_scale[i]))
    for c in range(d.size):
        for i in range(start[c], start[c + 1]):
            largest = max(largest, d[c] * abs(impulse[i]) / row_scale[i])
    return largest / size if size > 0.0 else 0.0


@njit(cache=True, nogil=True)
def judge_dense(W, q, row_scale, kind, start, a, b, d, length, relaxed, impulse, u):
    """Residual of a problem with a dense W in one call, and its velocities into `u`."""
    dense_slack(W, q, impulse, u)
    entries = _largest_entry(q, row_scale, start, d, impulse)
    for c in range(kind.size):
        if q.size > _longest_row(kind, a, b, c, entries):
            for i in range(start[c], start[c + 1]):
                u[i] = dense_row(W, q, impulse, i)
    return _verdict(q, row_scale, kind, start, a, b, d, length, relaxed, impulse, u)


@njit(cache=True, nogil=True)
def judge_sparse(data, indices, indptr, q, row_scale, kind, start, a, b, d, length, relaxed, impulse, u):
    """Residual of a problem with W in compressed rows in one call, and its velocities into `u`."""
    sparse_slack(data, indices, indptr, q, impulse, u)
    entries = _largest_entry(q, row_scale, start, d, impulse)
    for c in range(kind.size):
        longest = _longest_row(kind, a, b, c, entries)
        for i in range(start[c], start[c + 1]):
            if indptr[i + 1] - indptr[i] > longest:
                u[i] = sparse_row(data, indices, indptr, q, impulse, i)
    return _verdict(q, row_scale, kind, start, a, b, d, length, relaxed, impulse, u)


@njit(cache=True, nogil=True)
def measure(kind, start, a, b, d, length, relaxed, impulse, u, x, y, floor):
    """The parts of a residual in one pass; `x`, `y` are workspaces of the size of u.

    Returns:
        primal², dual² [velocity²], complementarity [velocity²], literature e², largest approach velocity,
        sticking velocity, dissipation angle [rad] of contacts that slip faster than `floor`.
    """
    primal = dual = complementarity = literature = approach = sticking = angle = 0.0
    for c in range(kind.size):
        first, last = start[c], start[c + 1]
        k, p, r = kind[c], a[c], b[c]
        gamma = 0.0 if relaxed else shift(k, p, r, u, first, last)
        for i in range(first, last):
            x[i] = impulse[i]
        project(k, p, r, x, first, last, y)
        for i in range(first, last):
            s = length[c] if i - first >= 3 else 1.0
            primal += (d[c] * (impulse[i] - y[i]) / s) ** 2
        for i in range(first, last):
            x[i] = impulse[i] - u[i]
        x[first] -= gamma
        project(k, p, r, x, first, last, y)
        for i in range(first, last):
            literature += (impulse[i] - y[i]) ** 2
        if k == BOX:
            above, below = max(u[first], 0.0), max(-u[first], 0.0)
            if p == -np.inf:
                dual += above**2
            else:
                complementarity += d[c] * abs((impulse[first] - p) * above)
            if r == np.inf:
                dual += below**2
            else:
                complementarity += d[c] * abs((r - impulse[first]) * below)
        else:
            work = 0.0
            for i in range(first, last):
                s = length[c] if i - first >= 3 else 1.0
                x[i] = -s * u[i]
                work += impulse[i] * u[i]
            x[first] -= gamma
            work += impulse[first] * gamma
            project(k, p, r / length[c] if k == ROLLING else r, x, first, last, y)
            for i in range(first, last):
                dual += y[i] ** 2
            if k != FREE:
                complementarity += d[c] * abs(work)
        if k == NONNEGATIVE or k >= COULOMB:
            approach = max(approach, -u[first])
        if k == COULOMB or k == ELLIPTIC:
            two = last - first == 2
            slip = abs(u[first + 1]) if two else math.hypot(u[first + 1], u[first + 2])
            push = abs(impulse[first + 1]) if two else math.hypot(impulse[first + 1], impulse[first + 2])
            # how much of the cone is used: 1 on its surface
            if k == COULOMB:
                limit = p * impulse[first]
                used = push / limit if limit > 0.0 else np.inf
            else:
                t1 = impulse[first + 1] / p if p > 0.0 else 0.0
                t2 = impulse[first + 2] / r if r > 0.0 else 0.0
                used = math.hypot(t1, t2) / impulse[first] if impulse[first] > 0.0 else np.inf
            if used < 1.0 - 1e-6:
                sticking = max(sticking, slip)
            elif push > 0.0 and slip > floor:
                if k == COULOMB:
                    w1, w2 = 1.0, 1.0
                else:
                    w1, w2 = p * p, r * r
                along = w1 * impulse[first + 1] * u[first + 1]
                size = (w1 * u[first + 1]) ** 2
                if not two:
                    along = impulse[first + 1] * w1 * u[first + 1] + impulse[first + 2] * w2 * u[first + 2]
                    size += (w2 * u[first + 2]) ** 2
                if size > 0.0:
                    angle = max(angle, math.acos(max(-1.0, min(1.0, -along / (push * math.sqrt(size))))))
    return primal, dual, complementarity, literature, approach, sticking, angle
