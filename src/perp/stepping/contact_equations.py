"""The contact conditions as equations F(x, u) = 0 with their derivatives, one constraint at a time.

Letters: x impulses and u velocities in canonical form, d the constraint's scale, y = d x − u. Alart and
Curnier's form: an open contact (y_N ≤ 0) has F = d x; else F_N = u_N, and each disc of radius R = μ y_N has F
= u when y_T is inside (it sticks) and F = d x_T − R y_T / ‖y_T‖ when it is outside (it slips), divided by
max(1, μ). F is a velocity. An elliptic disc is circular in x / g and g u.

Reference: Alart and Curnier, A mixed formulation for frictional contact problems prone to Newton like methods
(1991).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

OPEN, CLOSED = 0, 1


@njit(cache=True, nogil=True)
def _line(d, y0, mu, x, u, i, j, F, B, C):
    """A disc with one row i (j within the constraint)."""
    y = d * x[i] - u[i]
    radius = mu * y0
    if abs(y) <= radius:
        F[i] = u[i]
        C[j, j] = 1.0
        return
    sign = 1.0 if y > 0.0 else -1.0
    weight = 1.0 / max(1.0, mu)
    F[i] = weight * (d * x[i] - sign * radius)
    B[j, j] = weight * d
    B[j, 0] = -weight * sign * mu * d
    C[j, 0] = weight * sign * mu


@njit(cache=True, nogil=True)
def _disc(d, y0, mu, g1, g2, x, u, i, j, F, B, C):
    """A disc at rows i and i + 1 (j within the constraint): fills F and its rows of B and C."""
    if g1 == 0.0 or g2 == 0.0:
        row, other = (1, 0) if g2 == 0.0 else (0, 1)
        F[i + row] = d * x[i + row]
        B[j + row, j + row] = d
        _line(d, y0, mu, x, u, i + other, j + other, F, B, C)
        return
    y1, y2 = d * x[i] / g1 - g1 * u[i], d * x[i + 1] / g2 - g2 * u[i + 1]
    length = math.sqrt(y1 * y1 + y2 * y2)
    radius = mu * y0
    if length <= radius:
        F[i], F[i + 1] = u[i], u[i + 1]
        C[j, j] = C[j + 1, j + 1] = 1.0
        return
    e1, e2 = y1 / length, y2 / length
    ratio = radius / length
    weight = 1.0 / max(1.0, mu)
    # F = d x − R e, e = y / ‖y‖: dF = d dx − μ e (d dx_N − du_N) − (R / ‖y‖) (I − e eᵀ)(d dx − du)
    p11, p12, p22 = ratio * (1.0 - e1 * e1), -ratio * e1 * e2, ratio * (1.0 - e2 * e2)
    F[i] = weight * (d * x[i] - g1 * radius * e1)
    F[i + 1] = weight * (d * x[i + 1] - g2 * radius * e2)
    B[j, j] = weight * d * (1.0 - p11)
    B[j, j + 1] = -weight * d * p12 * g1 / g2
    B[j + 1, j] = -weight * d * p12 * g2 / g1
    B[j + 1, j + 1] = weight * d * (1.0 - p22)
    B[j, 0] = -weight * g1 * mu * e1 * d
    B[j + 1, 0] = -weight * g2 * mu * e2 * d
    C[j, 0] = weight * g1 * mu * e1
    C[j + 1, 0] = weight * g2 * mu * e2
    C[j, j] = weight * g1 * g1 * p11
    C[j, j + 1] = C[j + 1, j] = weight * g1 * g2 * p12
    C[j + 1, j + 1] = weight * g2 * g2 * p22


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def linearise(size, mu, mu_r, g1, g2, d, x, u, i, F, B, C):
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
    if size == 2:
        _line(d, y0, mu, x, u, i + 1, 1, F, B, C)
    else:
        _disc(d, y0, mu, g1, g2, x, u, i + 1, 1, F, B, C)
    if size == 5:
        _disc(d, y0, mu_r, 1.0, 1.0, x, u, i + 3, 3, F, B, C)
    return CLOSED


@njit(cache=True, nogil=True)
def parameters_of(a, b):
    """`Sets.parameters` from their first two columns, shape (count, 6)."""
    table = np.zeros((a.size, 6))
    for c in range(a.size):
        table[c, 0], table[c, 1] = a[c], b[c]
    return table
