"""The contact conditions as equations F(x, u) = 0 with their derivatives, one constraint at a time.

Letters: x impulses and u velocities in canonical form, d the constraint's scale, y = d x − u. Alart and Curnier's
form: an open contact (y_N ≤ 0) has F = d x; else F_N = u_N, and each disc of radius R = μ y_N has F = u when y_T is
inside (it sticks) and F = d x_T − R y_T / ‖y_T‖ when it is outside (it slips). F is measured as a velocity.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

OPEN, CLOSED = 0, 1


@njit(cache=True, nogil=True)
def _disc(f, m, scale, y0, mu, x, u, i, j, n0, F, B, C):
    """One disc at rows i … i+m−1 (j within the constraint): fills F and the rows of B and C."""
    y1 = scale * x[i] - u[i]
    y2 = scale * x[i + 1] - u[i + 1] if m == 2 else 0.0
    length = math.sqrt(y1 * y1 + y2 * y2)
    radius = mu * y0
    if length <= radius:
        for k in range(m):
            F[f + k] = u[i + k]
            C[j + k, j + k] = 1.0
        return
    e1, e2 = y1 / length, y2 / length
    ratio = radius / length
    # F = d x − R e, e = y / ‖y‖: dF = d dx − μ e (d dx_N − du_N) − (R / ‖y‖) (I − e eᵀ)(d dx − du)
    p11, p12, p22 = ratio * (1.0 - e1 * e1), -ratio * e1 * e2, ratio * (1.0 - e2 * e2)
    F[f] = scale * x[i] - radius * e1
    B[j, j] = scale * (1.0 - p11)
    B[j, 0] = -mu * e1 * scale
    C[j, 0] = mu * e1
    C[j, j] = p11
    if m == 2:
        F[f + 1] = scale * x[i + 1] - radius * e2
        B[j, j + 1] = -scale * p12
        B[j + 1, j] = -scale * p12
        B[j + 1, j + 1] = scale * (1.0 - p22)
        B[j + 1, 0] = -mu * e2 * scale
        C[j + 1, 0] = mu * e2
        C[j, j + 1] = p12
        C[j + 1, j] = p12
        C[j + 1, j + 1] = p22


@njit(cache=True, nogil=True)
def linearise(size, low, high, mu, mu_r, d, x, u, i, F, f, B, C):
    """F of one constraint at rows i … with dF = B dx + C du, written to F[f …], B and C (size × size).

    Returns:
        OPEN when F does not depend on u, else CLOSED.
    """
    if mu < 0.0:
        y = d * x[i] - u[i]
        B[0, 0] = d
        C[0, 0] = 0.0
        if y <= d * low:
            F[f] = d * (x[i] - low)
            return OPEN
        if y >= d * high:
            F[f] = d * (x[i] - high)
            return OPEN
        F[f] = u[i]
        B[0, 0] = 0.0
        C[0, 0] = 1.0
        return CLOSED
    y0 = d * x[i] - u[i]
    for r in range(size):
        for s in range(size):
            B[r, s] = 0.0
            C[r, s] = 0.0
    if y0 <= 0.0:
        for r in range(size):
            F[f + r] = d * x[i + r]
            B[r, r] = d
        return OPEN
    F[f] = u[i]
    C[0, 0] = 1.0
    _disc(f + 1, min(2, size - 1), d, y0, mu, x, u, i + 1, 1, i, F, B, C)
    if size == 5:
        _disc(f + 3, 2, d, y0, mu_r, x, u, i + 3, 3, i, F, B, C)
    return CLOSED


@njit(cache=True, nogil=True)
def linearise_relaxed(size, low, high, mu, mu_r, d, x, u, i, F, f, B, C, y):
    """As `linearise` for the relaxation, from the natural map F = d x − P(y) and the derivative of the projection P."""
    if mu < 0.0:
        return linearise(size, low, high, mu, mu_r, d, x, u, i, F, f, B, C)
    tangent = rolling = 0.0
    for r in range(size):
        y[r] = d * x[i + r] - u[i + r]
        for s in range(size):
            B[r, s] = 0.0
            C[r, s] = 0.0
    tangent = math.hypot(y[1], y[2]) if size > 2 else abs(y[1])
    rolling = math.hypot(y[3], y[4]) if size == 5 else 0.0
    normal = y[0]
    e1, e2, e3, e4 = 0.0, 0.0, 0.0, 0.0
    if tangent > 0.0:
        e1, e2 = y[1] / tangent, y[2] / tangent if size > 2 else 0.0
    if rolling > 0.0:
        e3, e4 = y[3] / rolling, y[4] / rolling
    project_cone(size, mu, mu_r, y)
    t = y[0]
    for r in range(size):
        F[f + r] = d * x[i + r] - y[r]
    if t <= 0.0 and normal < 0.0:
        for r in range(size):
            B[r, r] = d
        return OPEN
    # P_N = t = κ (y_N + Σ μ_k ‖y_k‖) over the discs k that are left, and P_k = μ_k t y_k / ‖y_k‖ there
    slides = tangent > mu * t
    rolls = size == 5 and rolling > mu_r * t
    kappa = 1.0 / (1.0 + (mu * mu if slides else 0.0) + (mu_r * mu_r if rolls else 0.0))
    C[0, 0] = kappa
    if slides:
        _disc_derivative(C, 1, min(2, size - 1), mu, t, tangent, e1, e2)
    else:
        for r in range(1, min(3, size)):
            C[r, r] = 1.0
    if rolls:
        _disc_derivative(C, 3, 2, mu_r, t, rolling, e3, e4)
    elif size == 5:
        C[3, 3] = C[4, 4] = 1.0
    # the derivative of t reaches every row that is proportional to it
    C[0, 1:size] = 0.0
    if slides:
        C[0, 1] = kappa * mu * e1
        if size > 2:
            C[0, 2] = kappa * mu * e2
    if rolls:
        C[0, 3], C[0, 4] = kappa * mu_r * e3, kappa * mu_r * e4
    for s in range(size):
        if slides:
            C[1, s] += mu * e1 * C[0, s]
            if size > 2:
                C[2, s] += mu * e2 * C[0, s]
        if rolls:
            C[3, s] += mu_r * e3 * C[0, s]
            C[4, s] += mu_r * e4 * C[0, s]
    for r in range(size):
        for s in range(size):
            B[r, s] = -d * C[r, s]
        B[r, r] += d
    return CLOSED


@njit(cache=True, nogil=True)
def _disc_derivative(C, j, m, mu, t, length, e1, e2):
    """The part (μ t / ‖y‖)(I − e eᵀ) of the derivative of a disc at rows j … of a projection."""
    ratio = mu * t / length
    C[j, j] = ratio * (1.0 - e1 * e1)
    if m == 2:
        C[j, j + 1] = C[j + 1, j] = -ratio * e1 * e2
        C[j + 1, j + 1] = ratio * (1.0 - e2 * e2)


@njit(cache=True, nogil=True)
def residual_parts(blocks, x, u, work):
    """Squares of the natural map with the scales d, of the one with scale 1, and of x and u.

    The first is what decides SOLVED, the second is the literature's.
    """
    start, low, high, mu, mu_r, d = (
        blocks.start, blocks.low, blocks.high, blocks.mu, blocks.mu_r, blocks.d
    )  # fmt: skip
    natural = literature = impulse = speed = 0.0
    for c in range(start.size - 1):
        i, size = start[c], start[c + 1] - start[c]
        for r in range(size):
            impulse += x[i + r] * x[i + r]
            speed += u[i + r] * u[i + r]
        for scaled in range(2):
            s = d[c] if scaled == 1 else 1.0
            total = 0.0
            if mu[c] < 0.0:
                y = min(max(s * x[i] - u[i], s * low[c]), s * high[c])
                total = (s * x[i] - y) ** 2
            else:
                for r in range(size):
                    work[r] = s * x[i + r] - u[i + r]
                tangent = math.hypot(u[i + 1], u[i + 2]) if size > 2 else abs(u[i + 1])
                rolling = math.hypot(u[i + 3], u[i + 4]) if size == 5 else 0.0
                if not blocks.relaxed:
                    work[0] -= mu[c] * tangent + max(mu_r[c], 0.0) * rolling
                project_cone(size, mu[c], mu_r[c], work)
                for r in range(size):
                    total += (s * x[i + r] - work[r]) ** 2
            if scaled == 1:
                natural += total
            else:
                literature += total
    return natural, literature, impulse, speed


@njit(cache=True, nogil=True)
def project_cone(size, mu, mu_r, y):
    """Nearest point with ‖y_T‖ ≤ μ y_N and, with five rows, ‖y_R‖ ≤ μ_r y_N, in place."""
    tangent = math.hypot(y[1], y[2]) if size > 2 else abs(y[1])
    if size < 5:
        if tangent <= mu * y[0]:
            return
        if mu * tangent <= -y[0]:
            y[:size] = 0.0
            return
        y[0] = (y[0] + mu * tangent) / (1.0 + mu * mu)
        ratio = mu * y[0] / tangent
        y[1] *= ratio
        if size > 2:
            y[2] *= ratio
        return
    rolling = math.hypot(y[3], y[4])
    # the normal part is the root of an increasing piecewise linear function: the largest root of its pieces
    t = max(y[0], (y[0] + mu * tangent) / (1.0 + mu * mu))
    t = max(t, (y[0] + mu_r * rolling) / (1.0 + mu_r * mu_r))
    t = max(t, (y[0] + mu * tangent + mu_r * rolling) / (1.0 + mu * mu + mu_r * mu_r))
    if t <= 0.0:
        y[:5] = 0.0
        return
    y[0] = t
    if tangent > mu * t:
        y[1] *= mu * t / tangent
        y[2] *= mu * t / tangent
    if rolling > mu_r * t:
        y[3] *= mu_r * t / rolling
        y[4] *= mu_r * t / rolling


@njit(cache=True, nogil=True)
def relative_residual(blocks, x, u, size, work):
    """The larger of the residual that decides SOLVED and the literature's; `size` is ‖q‖ of the problem."""
    natural, literature, impulse, speed = residual_parts(blocks, x, u, work)
    largest = max(size, math.sqrt(max(impulse, speed)))
    return max(
        math.sqrt(natural) / (size if size > 0.0 else 1.0),
        math.sqrt(literature) / (largest if largest > 0.0 else 1.0),
    )


@njit(cache=True, nogil=True)
def norm(q):
    """Euclidean length."""
    total = 0.0
    for value in q:
        total += value * value
    return math.sqrt(total)
