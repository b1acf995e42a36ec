"""The nearest point of a friction cone with one or two circular discs."""

from __future__ import annotations

import math

from numba import njit


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
