"""The law of one constraint: how far an answer is from it, and Alart and Curnier's equations.

Letters: x impulses and u velocities of the constraint's rows, d their mobilities (velocity per impulse; one
for the normal row, one for the tangential, one for the angular rows), c cohesion, y_N = d_N (x_N + c) − u_N
with a weight d_N for the size of friction.
Scalar rows have bounds. Friction has discs: the rows 1 … k of a Coulomb or Elliptic set are one, the pairs
(1, 2) and (3, 4) of a Rolling set two. A disc is a ball of radius μ in x / g, with u times g against it.

    open (y_N ≤ 0):    F_N = d_N (x_N + c),  F_i = d_i x_i           every F is a velocity
    closed:            F_N = u_N
      sticking disc:   F_i = u_i                                   ‖y‖ ≤ d_T μ y_N / d_N
      slipping disc:   F_i = d_i (x_i − g_i μ (y_N / d_N) e_i)     y_i = d_T x_i / g_i − g_i u_i,  e = y / ‖y‖

The relaxation, for circular discs without cohesion, has the natural map F = d x − P(d x − u) with P the
projection onto the cone: P_N = t = κ (y_N + Σ μ_k ‖y_k‖) over the discs k that y leaves, P_k = μ_k t y_k /
‖y_k‖ there.

References: Alart and Curnier, A mixed formulation for frictional contact problems prone to Newton like
methods (1991); Hüeber, Stadler and Wohlmuth, A primal-dual active set algorithm for three-dimensional contact
problems with Coulomb friction (2008).
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.cone import disc_rows, length, project_cone
from perp.problems.set_kernels import COULOMB, FREE, NONNEGATIVE, ROLLING

MOST_ROWS = 6
# Added to the kind of a friction set whose relaxation is meant.
RELAXED = 8
# First angular row of a friction set.
ANGULAR = 3
OPEN, STICKING, SLIPPING = 0, 1, 2


# The least weight of impulses against slip, in units of mobility.
_LEAST_WEIGHT = 1e-2
# Friction from this share of its limit on is at it.
_AT_LIMIT = 1.0 - 1e-6
# Friction from which normal impulses are weighed by it.
_LARGE = 10.0
# Round-off of the velocity of a stiff row, as a share of its impulse times the mobility, and how much of it,
# in units of what is allowed, counts as none: limits that contradict each other had impulses of 1e19.
_ROUND_OFF, _ABSORBED = 2.3e-16, 1e5


@part
def row_group(r):
    """Which of a constraint's mobilities row r has."""
    if r == 0:
        return 0
    return 2 if r >= ANGULAR else 1


@part
def bounds(kind, parameter):
    """Lower and upper bound of a scalar row."""
    if kind == FREE:
        return -np.inf, np.inf
    if kind == NONNEGATIVE:
        return 0.0, np.inf
    return parameter[0], parameter[1]


@part
def disc(kind, parameter, size, first, g):
    """The disc that begins at row `first`: its last row + 1 and its μ; stretches into g[first …].

    A stretch of zero marks a direction without friction.
    """
    if kind % RELAXED == COULOMB:
        for i in range(1, size):
            g[i] = 1.0
        return size, parameter[0]
    if kind % RELAXED == ROLLING:
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


@part
def _relaxed_violation(kind, parameter, size, mobility, x, u, unit, y):
    """The same of a relaxed friction set."""
    d = max(mobility[0], mobility[1])
    for i in range(size):
        y[i] = d * x[i] - u[i]
    project_cone(size, parameter[0], parameter[1] if kind == ROLLING + RELAXED else -1.0, y)
    worst = total = 0.0
    for i in range(size):
        value = abs(d * x[i] - y[i]) / unit[i]
        worst = value if not value <= worst else worst
        total += value * value
    return worst, total


@part
def violation(kind, parameter, size, mobility, x, u, unit, g):
    """Largest residual of the rows in units of what is allowed, and the sum of their squares.

    The normal pair is measured as in an LCP, friction on the disc of radius μ (x_N + c): neither shrinks
    with μ.
    """
    d, t = mobility[0], mobility[1]
    if kind < COULOMB:
        low, high = bounds(kind, parameter)
        y = d * x[0] - u[0]
        value = abs(d * x[0] - min(max(y, d * low), d * high)) / unit[0]
        if not abs(_ROUND_OFF * d * x[0]) <= _ABSORBED * unit[0]:
            # the difference loses u behind a huge impulse: the same as a median
            above = d * (x[0] - high) if high < np.inf else -np.inf
            below = d * (x[0] - low) if low > -np.inf else np.inf
            value = abs(min(max(u[0], above), below)) / unit[0]
        return value, value * value
    if kind >= RELAXED:
        return _relaxed_violation(kind, parameter, size, mobility, x, u, unit, g)
    push = x[0] + parameter[5]
    value = abs(min(d * push, u[0])) / unit[0]
    worst, total = value, value * value
    push = max(push, 0.0)
    if kind == COULOMB and size == ANGULAR:
        a, b = t * x[1] - u[1], t * x[2] - u[2]
        radius, length = parameter[0] * push if push > 0.0 else 0.0, math.sqrt(a * a + b * b)
        one, two = abs(u[1]), abs(u[2])
        if not length <= t * radius:
            one, two = abs(t * (x[1] - radius * (a / length))), abs(t * (x[2] - radius * (b / length)))
        one, two = one / unit[1], two / unit[2]
        return max(worst, one, two), total + one * one + two * two
    first = 1
    while first < size:
        last, mu = disc(kind, parameter, size, first, g)
        radius = mu * push if push > 0.0 else 0.0
        length = 0.0
        for i in range(first, last):
            if g[i] > 0.0:
                length += (t * x[i] / g[i] - g[i] * u[i]) ** 2
        length = math.sqrt(length)
        for i in range(first, last):
            r = mobility[row_group(i)]
            if g[i] == 0.0:
                value = abs(r * x[i])
            elif length <= t * radius:
                value = abs(u[i])
            else:
                share = (t * x[i] / g[i] - g[i] * u[i]) / length
                value = abs(r * (x[i] - g[i] * radius * share))
            value /= unit[i]
            worst = max(worst, value)
            total += value * value
        first = last
    return worst, total


@part
def slip_weight(mobility, radius, first, last, g, u):
    """Weight of the impulses against the slip in the law of a disc: what makes both of one size.

    Any positive weight has the same answer. With the mobility alone slip that is slow for it, as that of a
    wheel against its rolling friction, lies next to sticking, and Newton's steps jump between the two.
    """
    square = 0.0
    for i in range(first, last):
        square += (g[i] * u[i]) ** 2
    if not radius > 0.0:
        return mobility
    return min(mobility, max(math.sqrt(square) / radius, _LEAST_WEIGHT * mobility))


@part
def linearise_relaxed(kind, parameter, size, mobility, x, u, y, law):
    """The same of a relaxed friction set; STICKING where y is inside the cone."""
    F, B, C = law
    d, mu_r = max(mobility[0], mobility[1]), parameter[1] if kind == ROLLING + RELAXED else -1.0
    for r in range(size):
        y[r] = y[size + r] = d * x[r] - u[r]
        for s in range(size):
            B[r, s] = 0.0
            C[r, s] = 0.0
    project_cone(size, parameter[0], mu_r, y)
    t = y[0]
    for r in range(size):
        F[r] = d * x[r] - y[r]
    if t <= 0.0 and y[size] < 0.0:
        for r in range(size):
            B[r, r] = d
        return OPEN
    kappa, begin, state = 1.0, size + 1, STICKING
    while begin < 2 * size:
        first = begin == size + 1
        rows = disc_rows(size, mu_r) if first else 2
        coefficient = parameter[0] if first else parameter[1]
        far = length(y, begin, begin + rows)
        slides = far > coefficient * t
        if slides:
            kappa += coefficient * coefficient
            state = SLIPPING
        for a in range(rows):
            j = begin - size + a
            e = y[begin + a] / far if slides else 0.0
            # the derivative of t by y, up to κ; P_k = μ t e varies with t and with e
            C[0, j] = coefficient * e
            for b in range(rows):
                same = 1.0 if a == b else 0.0
                across = same - e * y[begin + b] / far if slides else same
                C[j, begin - size + b] = coefficient * t / far * across if slides else same
        begin += rows
    C[0, 0] = 1.0
    for s in range(size):
        C[0, s] /= kappa
    for r in range(1, size):
        # μ e of the row, which is zero where its disc holds y
        e = C[0, r] * kappa
        if e != 0.0:
            for s in range(size):
                C[r, s] += e * C[0, s]
    for r in range(size):
        for s in range(size):
            B[r, s] = -d * C[r, s]
        B[r, r] += d
    return state


@part
def normal_weight(kind, parameter, size, mobility):
    """Weight d_N of the normal impulse in the law: what makes it of the size of the friction that it allows.

    Any positive weight has the same answer. A contact that slips with μ = 1e8 has an impulse of 1e-8 of its
    friction: with the mobility alone a normal velocity of 1e-8 is then as much, and opens and closes it.
    """
    most = _LARGE
    for i in range(2 if kind == ROLLING else (1 if kind == COULOMB else size - 1)):
        if parameter[i] < np.inf:
            most = max(most, parameter[i])
    return most / _LARGE * mobility


@part
def recalled_velocities(kind, parameter, size, x, u, g, out):
    """Velocities that these impulses are the answer for, next to u: no motion, or slip against friction.

    Returns whether there are any: a contact that carries nothing has none, nor has the relaxation.
    """
    push = x[0] + parameter[5]
    if kind >= RELAXED or not push > 0.0:
        return False
    out[0] = 0.0
    first = 1
    while first < size:
        last, mu = disc(kind, parameter, size, first, g)
        square = slip = 0.0
        for i in range(first, last):
            out[i] = 0.0 if g[i] > 0.0 else u[i]
            if g[i] > 0.0:
                square += (x[i] / g[i]) ** 2
                slip -= x[i] * u[i]
        if square > 0.0 and math.sqrt(square) >= _AT_LIMIT * mu * push and slip > 0.0:
            for i in range(first, last):
                if g[i] > 0.0:
                    out[i] = -slip / square * x[i] / (g[i] * g[i])
        first = last
    return True


@part
def _slip_factors(x, u, factors, lengths, rows, g):
    """Of the slope of a slipping disc: the bend of e, and what impulses are divided by in the place of one e.

    ‖y‖ F is linearised, not F: its slope has x over μ x_N in the place of one e. On the law both are the
    same, off it this one is nearer to linear. Impulses beyond the disc are cut to it, and where they point
    against e the bend is lowered, so that the slope by u keeps its sign (Hüeber, Stadler and Wohlmuth, 2008).
    With large friction x is as good as 0 beside its limit, and e stays: the second number is then 0.
    """
    (t, mu), (radius, length) = factors, lengths
    square = along = 0.0
    for i in range(rows[0], rows[1]):
        if g[i] > 0.0:
            square += (x[i] / g[i]) ** 2
            along += x[i] / g[i] * (t * x[i] / g[i] - g[i] * u[i]) / length
    reach = max(math.sqrt(square), radius)
    if mu > _LARGE or not reach > 0.0:
        return radius / length, 0.0
    return radius / length / (1.0 - min(along / reach, 0.0)), reach


@part
def linearise(kind, parameter, size, mobility, x, u, g, law):
    """The law (F, B, C) with dF = B dx + C du of a friction set; OPEN, STICKING (all discs) or SLIPPING.

    Off the law slipping discs have the slopes of `_slip_factors`.
    """
    if kind >= RELAXED:
        return linearise_relaxed(kind, parameter, size, mobility, x, u, g, law)
    F, B, C = law
    d = normal_weight(kind, parameter, size, mobility[0])
    for r in range(size):
        for s in range(size):
            B[r, s] = 0.0
            C[r, s] = 0.0
    y0 = d * (x[0] + parameter[5]) - u[0]
    if y0 <= 0.0:
        for r in range(size):
            B[r, r] = mobility[row_group(r)]
            F[r] = B[r, r] * x[r]
        F[0] += mobility[0] * parameter[5]
        return OPEN
    F[0] = u[0]
    C[0, 0] = 1.0
    state, first = STICKING, 1
    while first < size:
        last, mu = disc(kind, parameter, size, first, g)
        radius = mu * (y0 / d)
        t = slip_weight(mobility[1], radius, first, last, g, u)
        length = 0.0
        for i in range(first, last):
            if g[i] > 0.0:
                length += (t * x[i] / g[i] - g[i] * u[i]) ** 2
        length = math.sqrt(length)
        sticks = length <= t * radius
        ratio, reach = 0.0, 0.0
        if not sticks:
            ratio, reach = _slip_factors(x, u, (t, mu), (radius, length), (first, last), g)
        for i in range(first, last):
            r = mobility[row_group(i)]
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
            e = (t * x[i] / g[i] - g[i] * u[i]) / length
            F[i] = r * (x[i] - g[i] * radius * e)
            B[i, 0] = -r * g[i] * mu * e
            C[i, 0] = r * g[i] * mu * e / d
            own = x[i] / g[i] / reach if reach > 0.0 else e
            for j in range(first, last):
                if g[j] == 0.0:
                    continue
                other = (t * x[j] / g[j] - g[j] * u[j]) / length
                bend = ratio * ((1.0 if i == j else 0.0) - own * other)
                B[i, j] = -r * t * g[i] / g[j] * bend
                C[i, j] = r * g[i] * g[j] * bend
            B[i, i] += r
        first = last
    return state
