"""The relaxed contact conditions as equations with their derivatives: the natural map F = d x − P(d x − u).

P is the projection onto the friction cone, P_N = t = κ (y_N + Σ μ_k ‖y_k‖) over the discs k that y leaves,
and P_k = μ_k t y_k / ‖y_k‖ there.
"""

from __future__ import annotations

import math

from numba import njit

from perp.kernels.cone import project_cone
from perp.stepping.contact_equations import CLOSED, OPEN


@njit(cache=True, nogil=True)
def linearise_relaxed(size, mu, mu_r, g, d, x, u, i, F, B, C, y):
    """F of one contact at rows i … with dF = B dx + C du; g holds the change that makes its discs circular.

    Returns:
        OPEN when F does not depend on u, else CLOSED.
    """
    for r in range(size):
        y[r] = d * x[i + r] / g[r] - g[r] * u[i + r]
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
    project_cone(size, mu, mu_r if size == 5 else -1.0, y)
    t = y[0]
    for r in range(size):
        F[i + r] = d * x[i + r] - g[r] * y[r]
    if t <= 0.0 and normal < 0.0:
        for r in range(size):
            B[r, r] = d
        return OPEN
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
            B[r, s] = -d * C[r, s] * g[r] / g[s]
            C[r, s] *= g[r] * g[s]
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
