"""The law of one constraint: how far an answer is from it, and Alart and Curnier's equations.

Letters: x impulses and u velocities of the constraint's rows, d the mobility of its normal and tangential
rows and a that of its angular ones (velocity per impulse), c cohesion, y_N = d (x_N + c) − u_N. Scalar rows
have bounds. Friction has discs: the rows 1 … k of a Coulomb or Elliptic set are one, the pairs (1, 2) and
(3, 4) of a Rolling set two. A disc is a ball of radius μ in x / g, with u times g against it.

    open (y_N ≤ 0):    F = d (x_N + c), r x_T                r = d or a, so that every F is a velocity
    closed:            F_N = u_N
      sticking disc:   F_i = u_i                             ‖y_T‖ ≤ μ y_N,  y_i = d x_i / g_i − g_i u_i
      slipping disc:   F_i = r_i (x_i − g_i μ (y_N / d) e_i),   e = y_T / ‖y_T‖

Reference: Alart and Curnier, A mixed formulation for frictional contact problems prone to Newton like methods
(1991).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.problems.set_kernels import COULOMB, FREE, NONNEGATIVE, ROLLING

MOST_ROWS = 6
# First angular row of a friction set.
ANGULAR = 3
OPEN, STICKING, SLIPPING = 0, 1, 2


@njit(cache=True)
def bounds(kind, parameter):
    """Lower and upper bound of a scalar row."""
    if kind == FREE:
        return -np.inf, np.inf
    if kind == NONNEGATIVE:
        return 0.0, np.inf
    return parameter[0], parameter[1]


@njit(cache=True)
def disc(kind, parameter, size, first, g):
    """The disc that begins at row `first`: its last row + 1 and its μ; stretches into g[first …].

    A stretch of zero marks a direction without friction.
    """
    if kind == COULOMB:
        for i in range(1, size):
            g[i] = 1.0
        return size, parameter[0]
    if kind == ROLLING:
        g[first] = g[first + 1] = 1.0
        return first + 2, parameter[0] if first == 1 else parameter[1]
    mu = 0.0
    for i in range(size - 1):
        if parameter[i] > 0.0:
            mu = parameter[i]
            break
    for i in range(size - 1):
        # infinite beside infinite is a circle
        g[1 + i] = 1.0 if parameter[i] == mu else parameter[i] / mu
    return size, mu


@njit(cache=True)
def violation(kind, parameter, size, d, a, x, u, unit, g):
    """Largest residual of the rows in units of what is allowed, and the sum of their squares.

    The normal pair is measured as in an LCP, friction on the disc of radius μ (x_N + c): neither shrinks
    with μ.
    """
    if kind < COULOMB:
        low, high = bounds(kind, parameter)
        value = abs(d * x[0] - min(max(d * x[0] - u[0], d * low), d * high)) / unit[0]
        return value, value * value
    push = x[0] + parameter[5]
    value = abs(min(d * push, u[0])) / unit[0]
    worst, total = value, value * value
    push = max(push, 0.0)
    first = 1
    while first < size:
        last, mu = disc(kind, parameter, size, first, g)
        radius = mu * push if push > 0.0 else 0.0
        length = 0.0
        for i in range(first, last):
            if g[i] > 0.0:
                length += (d * x[i] / g[i] - g[i] * u[i]) ** 2
        length = math.sqrt(length)
        for i in range(first, last):
            r = a if i >= ANGULAR else d
            if g[i] == 0.0:
                value = abs(r * x[i])
            elif length <= d * radius:
                value = abs(u[i])
            else:
                share = (d * x[i] / g[i] - g[i] * u[i]) / length
                value = abs(r * (x[i] - g[i] * radius * share))
            value /= unit[i]
            worst = max(worst, value)
            total += value * value
        first = last
    return worst, total


@njit(cache=True)
def linearise(kind, parameter, size, d, a, x, u, g, F, B, C):
    """F with dF = B dx + C du for a friction set; OPEN, STICKING (all discs) or SLIPPING."""
    for r in range(size):
        for s in range(size):
            B[r, s] = 0.0
            C[r, s] = 0.0
    y0 = d * (x[0] + parameter[5]) - u[0]
    if y0 <= 0.0:
        for r in range(size):
            B[r, r] = a if r >= ANGULAR else d
            F[r] = B[r, r] * x[r]
        F[0] += d * parameter[5]
        return OPEN
    F[0] = u[0]
    C[0, 0] = 1.0
    state, first = STICKING, 1
    while first < size:
        last, mu = disc(kind, parameter, size, first, g)
        radius = mu * y0
        length = 0.0
        for i in range(first, last):
            if g[i] > 0.0:
                length += (d * x[i] / g[i] - g[i] * u[i]) ** 2
        length = math.sqrt(length)
        sticks = length <= radius
        ratio = 0.0 if sticks else radius / length
        for i in range(first, last):
            r = a if i >= ANGULAR else d
            if g[i] == 0.0:
                F[i] = r * x[i]
                B[i, i] = r
                state = SLIPPING
                continue
            if sticks:
                F[i] = u[i]
                C[i, i] = 1.0
                continue
            state = SLIPPING
            e = (d * x[i] / g[i] - g[i] * u[i]) / length
            F[i] = r * (x[i] - g[i] * mu * (y0 / d) * e)
            B[i, 0] = -r * g[i] * mu * e
            C[i, 0] = r * g[i] * mu * e / d
            for j in range(first, last):
                if g[j] == 0.0:
                    continue
                other = (d * x[j] / g[j] - g[j] * u[j]) / length
                bend = ratio * ((1.0 if i == j else 0.0) - e * other)
                B[i, j] = -r * g[i] / g[j] * bend
                C[i, j] = r * g[i] * g[j] * bend / d
            B[i, i] += r
        first = last
    return state
