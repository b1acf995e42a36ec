"""The nearest point of a friction cone with one disc of any number of rows, or with two."""

from __future__ import annotations

import math

from perp.compilation.kernel import part


@part
def disc_rows(size, mu_r):
    """Rows of the first disc of a contact with `size` rows; the second, of a rolling contact, has two."""
    return 2 if mu_r >= 0.0 else size - 1


@part
def length(y, begin, end):
    """‖y‖ over rows begin … end − 1."""
    if end - begin == 2:
        return math.hypot(y[begin], y[begin + 1])
    total = 0.0
    for k in range(begin, end):
        total += y[k] * y[k]
    return math.sqrt(total)


@part
def project_cone(size, mu, mu_r, y):
    """Nearest point with ‖y_T‖ ≤ μ y_N and, with a second disc, ‖y_R‖ ≤ μ_r y_N, in place."""
    m = disc_rows(size, mu_r)
    tangent = length(y, 1, 1 + m)
    if mu_r < 0.0:
        if tangent <= mu * y[0]:
            return
        if mu * tangent <= -y[0]:
            y[:size] = 0.0
            return
        y[0] = (y[0] + mu * tangent) / (1.0 + mu * mu)
        ratio = mu * y[0] / tangent
        for k in range(1, size):
            y[k] *= ratio
        return
    rolling = length(y, 3, 5)
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
