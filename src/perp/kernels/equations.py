"""The contact conditions as equations F(x, u) = 0 with their derivatives, one constraint at a time.

Letters: x impulses and u velocities of the packed form, d the constraint's scale, y = d x − u. Alart and
Curnier's form: an open contact (y_N ≤ 0) has F = d x; else F_N = u_N, and each disc of radius R = μ y_N has F
= u when y_T is inside (it sticks) and F = d x_T − R y_T / ‖y_T‖ when it is outside (it slips), divided by
max(1, μ). F is a velocity.

Reference: Alart and Curnier, A mixed formulation for frictional contact problems prone to Newton like methods
(1991).
"""

from __future__ import annotations

import math

from perp.compilation.kernel import kernel
from perp.kernels.cone import disc_rows

OPEN, CLOSED = 0, 1


@kernel(nogil=True)
def _slip(d, radius, x, u, i, m):
    """‖y_T‖ of the disc at rows i … i + m − 1, and R / ‖y_T‖ where it slips, −1 where it sticks."""
    total = 0.0
    for k in range(i, i + m):
        total += (d * x[k] - u[k]) ** 2
    length = math.sqrt(total)
    return length, -1.0 if length <= radius else radius / length


@kernel(nogil=True)
def _disc(d, y0, mu, x, u, i, j, m, F, B, C):
    """A disc at rows i … (j … within the constraint): fills F and its rows of B and C.

    Where it slips, dF = d dx − μ e (d dx_N − du_N) − (R / ‖y‖) (I − e eᵀ)(d dx − du) with e = y / ‖y‖.
    """
    length, ratio = _slip(d, mu * y0, x, u, i, m)
    if ratio < 0.0:
        for a in range(m):
            F[i + a] = u[i + a]
            C[j + a, j + a] = 1.0
        return
    weight = 1.0 / max(1.0, mu)
    for a in range(m):
        y = d * x[i + a] - u[i + a]
        e = y / length
        F[i + a] = weight * (d * x[i + a] - ratio * y)
        for b in range(m):
            p = ratio * ((1.0 if a == b else 0.0) - e * (d * x[i + b] - u[i + b]) / length)
            B[j + a, j + b] = weight * d * ((1.0 if a == b else 0.0) - p)
            C[j + a, j + b] = weight * p
        B[j + a, 0] = -weight * mu * e * d
        C[j + a, 0] = weight * mu * e


@kernel(nogil=True)
def linearise_row(low, high, d, x, u, i, F, B, C):
    """A scalar row with bounds. Returns OPEN when it is at one of them, else CLOSED."""
    y = d * x[i] - u[i]
    B[0, 0] = d
    C[0, 0] = 0.0
    if y <= d * low:
        F[i] = d * (x[i] - low)
        return OPEN
    if y >= d * high:
        F[i] = d * (x[i] - high)
        return OPEN
    F[i] = u[i]
    B[0, 0] = 0.0
    C[0, 0] = 1.0
    return CLOSED


@kernel(nogil=True)
def linearise(size, mu, mu_r, d, x, u, i, F, B, C):
    """F of one contact at rows i … with dF = B dx + C du, written to F[i …], B and C (size × size).

    Returns:
        OPEN when F does not depend on u, else CLOSED.
    """
    for r in range(size):
        for s in range(size):
            B[r, s] = 0.0
            C[r, s] = 0.0
    y0 = d * x[i] - u[i]
    if y0 <= 0.0:
        for r in range(size):
            F[i + r] = d * x[i + r]
            B[r, r] = d
        return OPEN
    F[i] = u[i]
    C[0, 0] = 1.0
    m = disc_rows(size, mu_r)
    _disc(d, y0, mu, x, u, i + 1, 1, m, F, B, C)
    if mu_r >= 0.0:
        _disc(d, y0, mu_r, x, u, i + 1 + m, 1 + m, 2, F, B, C)
    return CLOSED


@kernel(nogil=True)
def _disc_size(d, y0, mu, x, u, i, m):
    """The square of F of a disc."""
    _, ratio = _slip(d, mu * y0, x, u, i, m)
    total = 0.0
    if ratio < 0.0:
        for k in range(i, i + m):
            total += u[k] * u[k]
        return total
    for k in range(i, i + m):
        total += (d * x[k] - ratio * (d * x[k] - u[k])) ** 2
    return total / max(1.0, mu) ** 2


@kernel(nogil=True)
def equation_size(blocks, rho, x, u):
    """‖F‖ over all constraints of the exact problem, with the scales rho."""
    total = 0.0
    for c in range(rho.size):
        i, d = blocks.start[c], rho[c]
        size = blocks.start[c + 1] - i
        y = d * x[i] - u[i]
        if blocks.mu[c] < 0.0:
            total += (d * x[i] - min(max(y, d * blocks.low[c]), d * blocks.high[c])) ** 2
        elif y <= 0.0:
            for r in range(size):
                total += (d * x[i + r]) ** 2
        else:
            m = disc_rows(size, blocks.mu_r[c])
            total += u[i] * u[i] + _disc_size(d, y, blocks.mu[c], x, u, i + 1, m)
            if blocks.mu_r[c] >= 0.0:
                total += _disc_size(d, y, blocks.mu_r[c], x, u, i + 1 + m, 2)
    return math.sqrt(total)
