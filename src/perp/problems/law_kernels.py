"""How far an answer is from the law of its constraints, as velocities: compiled.

Flat layout as in `set_kernels`. Letters: λ impulses, u velocities, d the mobility of a constraint, so that
d λ is a velocity; ℓ the length that makes a velocity of a rolling rate. Formulas and reasons are in
docs/theory/residual.md. NaN stays NaN, so that it can never look like a small violation.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.problems.accurate_slack import improve
from perp.problems.boxed_kernels import beyond, clip, underflow
from perp.problems.data_size import set_mobilities
from perp.problems.matrix_entries import slack
from perp.problems.own_scale import ENOUGH, beside, effects, own_terms
from perp.problems.polar_kernels import beyond_cone
from perp.problems.set_kernels import (
    BOX,
    COHESION,
    COULOMB,
    ELLIPTIC,
    FREE,
    NONNEGATIVE,
    ROLLING,
    ROUND_OFF,
    project,
)

# Newton's method on the multiplier of an ellipse gains at least a bit a step; seven or so are usual.
_STEPS = 100

# Semi-axes of an ellipse below this share of what is at work hold nothing: their ratios would overflow, and
# hide whatever the other axes miss.
_NO_FRICTION = 1e-150
# Larger ratios are not told apart: their squares overflow.
_FURTHEST = 1e150


@part
def _row(i, first, d, length):
    """What makes a velocity of an impulse of row i, and of a rate of row i."""
    s = length if i - first >= 3 else 1.0
    return d / s, s


@part
def _reach(coefficient, push):
    """Radius of a friction disc; ∞ · 0 is 0: without a normal impulse there is no friction."""
    return coefficient * push if push > 0.0 else 0.0


@part
def _disc(radius, begin, end, first, d, length, impulse, u, out):
    """F = x − P(x − u) with x = d λ and P the projection onto a disc, into rows begin … end−1 of `out`.

    Inside the disc F is u itself: x − (x − u) would lose it in the round-off of a large λ.
    """
    size = 0.0
    for i in range(begin, end):
        g, s = _row(i, first, d, length)
        size = math.hypot(size, g * impulse[i] - s * u[i])
    for i in range(begin, end):
        g, s = _row(i, first, d, length)
        if size <= radius:
            out[i] = s * u[i]
        else:
            out[i] = g * impulse[i] - (g * impulse[i] - s * u[i]) * (radius / size)


@part
def _multiplier(axis, y):
    """The ν > 0 with Σ (a_i y_i / (a_i² + ν))² = 1: y_i / (1 + ν/a_i²) is the nearest point of an ellipse.

    1/‖·‖ is nearly linear in ν and concave: Newton's method from the left stays there. It starts where the
    first term is 1. Axes may be 1e-160 and 1e160: their squares are avoided, a_i² + ν = a_i (a_i + ν/a_i).
    Reference: Moré and Sorensen, Computing a trust region step, SIAM J. Sci. Stat. Comput. 4 (1983).
    """
    nu = 0.0
    for i in range(axis.size):
        if axis[i] > 0.0:
            nu = max(nu, axis[i] * (abs(y[i]) - axis[i]))
    for _ in range(_STEPS):
        total = slope = 0.0
        for i in range(axis.size):
            if axis[i] > 0.0:
                reach = axis[i] + nu / axis[i]
                part = y[i] / reach
                total += part * part
                weight = axis[i] * reach
                if weight > 0.0:
                    slope += part * part / weight
        step = (math.sqrt(total) - 1.0) * total / slope if slope > 0.0 else 0.0
        if not step > ROUND_OFF * nu:
            break
        nu += step
    return nu


@part
def _ellipse(p, push, first, last, d, length, impulse, u, out):
    """The same for the ellipse with semi-axes μ_i · push, all as velocities."""
    k = last - first - 1
    axis, y = np.empty(k), np.empty(k)
    largest = used = 0.0
    for i in range(k):
        g, s = _row(first + 1 + i, first, d, length)
        axis[i] = _reach(p[i] / s, push)
        y[i] = g * impulse[first + 1 + i] - s * u[first + 1 + i]
        if axis[i] == math.inf:
            # never slips along this axis: y is kept, the others share what is left
            axis[i] = -1.0
        elif axis[i] > 0.0:
            largest = max(largest, abs(y[i]))
    for i in range(k):
        if 0.0 < axis[i] < _NO_FRICTION * largest:
            axis[i] = 0.0
        elif axis[i] > 0.0:
            used = math.hypot(used, y[i] / axis[i])
    for i in range(k):
        if axis[i] > 0.0 and largest > 0.0:
            axis[i], y[i] = min(axis[i] / largest, 1e300), y[i] / largest
    nu = _multiplier(axis, y) if used > 1.0 else 0.0
    for i in range(k):
        row = first + 1 + i
        g, s = _row(row, first, d, length)
        x = g * impulse[row]
        if axis[i] < 0.0 or (axis[i] > 0.0 and used <= 1.0):
            out[row] = s * u[row]
        elif axis[i] > 0.0:
            out[row] = x - largest * y[i] * (axis[i] / (axis[i] + nu / axis[i]))
        else:
            out[row] = x


@part
def _worse(x, y):
    """Whichever is further from zero."""
    return x if abs(x) >= abs(y) else y


@part
def friction_violation(kind, p, first, last, d, length, impulse, u, out):
    """A friction contact: the smaller of what keeps it from being closed and from being open.

    Closed: u_N = 0, λ_N ≥ 0 and the friction law on the set of radius μ λ_N. Open: λ = 0 and u_N ≥ 0. The two
    maps of Alart and Curnier alone would take any friction for a λ_N of round-off once μ is large.
    """
    for i in range(first, last):
        if not math.isfinite(impulse[i] + u[i]):
            out[first:last] = math.nan
            return
    # a cohesive contact is open at the apex of its cone
    push, speed = d * (impulse[first] + p[COHESION]), u[first]
    if kind == COULOMB:
        _disc(_reach(p[0], push), first + 1, last, first, d, length, impulse, u, out)
    elif kind == ELLIPTIC:
        _ellipse(p, push, first, last, d, length, impulse, u, out)
    else:
        _disc(_reach(p[0], push), first + 1, first + 3, first, d, length, impulse, u, out)
        _disc(_reach(p[1] / length, push), first + 3, last, first, d, length, impulse, u, out)
    closed = speed if push >= 0.0 else _worse(speed, push)
    opened = push if speed >= 0.0 else _worse(speed, push)
    worst_closed, worst_open = abs(closed), abs(opened)
    for i in range(first + 1, last):
        worst_closed = max(worst_closed, abs(out[i]))
        worst_open = max(worst_open, abs(_row(i, first, d, length)[0] * impulse[i]))
    out[first] = closed
    if worst_open < worst_closed:
        out[first] = opened
        for i in range(first + 1, last):
            out[i] = _row(i, first, d, length)[0] * impulse[i]


@part
def relaxed_violation(kind, p, first, last, d, length, impulse, u, x, out):
    """A relaxed contact, −u ∈ N_K(λ): x − P(x − u) with x = d λ, which bounds the distance from it."""
    unit = p
    if p[COHESION] != 0.0 or last - first > 3:
        unit = p.copy()
        if kind == ROLLING:
            unit[1] = p[1] / length
        elif kind == ELLIPTIC:
            for k in range(2, 5):
                unit[k] = p[k] / length
        unit[COHESION] = d * p[COHESION]
    for i in range(first, last):
        g, s = _row(i, first, d, length)
        x[i] = g * impulse[i] - s * u[i]
    project(kind, unit, x, first, last, out)
    taken = np.empty(last)
    beyond_cone(kind, unit, x, first, last, taken)
    unchanged, apex = True, d * p[COHESION]
    for i in range(first, last):
        g, s = _row(i, first, d, length)
        unchanged = unchanged and taken[i] == 0.0
        # the same twice: x − P(x − u) loses a small u beside a large x, u + (x − u) − P(x − u) a small x;
        # with cohesion P is taken from its apex, which hides both
        small = abs(g * impulse[i]) + apex < abs(s * u[i])
        out[i] = g * impulse[i] - out[i] if small else s * u[i] + taken[i]
    if not unchanged:
        # on the surface of the cone the round-off of a large λ cannot be told from a small u
        out[first] += math.copysign(ROUND_OFF * (abs(d * impulse[first]) + apex), out[first])


@part
def violation(kind, start, parameters, d, length, relaxed, impulse, u, x, out):
    """How far every row is from its law [velocity] into `out`: zero at a solution; `x` is workspace."""
    for c in range(kind.size):
        first, last = start[c], start[c + 1]
        k = kind[c]
        if k == FREE:
            out[first] = u[first]
        elif k == NONNEGATIVE:
            out[first] = clip(u[first], -math.inf, d[c] * impulse[first])
        elif k == BOX:
            out[first] = clip(
                u[first],
                beyond(d[c], impulse[first] - parameters[c, 1]),
                beyond(d[c], impulse[first] - parameters[c, 0]),
            )
        elif relaxed:
            relaxed_violation(k, parameters[c], first, last, d[c], length[c], impulse, u, x, out)
        else:
            friction_violation(k, parameters[c], first, last, d[c], length[c], impulse, u, out)


@part
def worst(start, size, values):
    """The largest length of a constraint's rows relative to its size; infinite where one is not finite."""
    largest = 0.0
    for c in range(size.size):
        total = 0.0
        for i in range(start[c], start[c + 1]):
            if not math.isfinite(values[i]):
                return math.inf
            total += (values[i] / size[c]) ** 2
        if total > largest * largest:
            largest = min(math.sqrt(total), _FURTHEST)
    return largest


@part
def _largest_push(start, d, length, impulse):
    """The largest velocity that an impulse causes anywhere."""
    largest = 0.0
    for c in range(d.size):
        for i in range(start[c], start[c + 1]):
            largest = max(largest, _row(i, start[c], d[c], length[c])[0] * abs(impulse[i]))
    return largest


@kernel(nogil=True)
def verdict(size, kind, start, parameters, d, length, relaxed, impulse, u):
    """The residual: the worst violation relative to what is at work there; infinite where not finite."""
    n = u.size
    for i in range(n):
        if not (math.isfinite(impulse[i]) and math.isfinite(u[i])):
            return math.inf
    values, work = np.empty(n), np.empty(n)
    violation(kind, start, parameters, d, length, relaxed, impulse, u, work, values)
    largest = worst(start, size, values)
    for c in range(size.size):
        largest = max(largest, underflow(impulse, size[c]))
    return largest


@part
def _row_sizes(size, start, length):
    """What is at work at each row, in the row's own unit."""
    out = np.empty(start[size.size])
    for c in range(size.size):
        for i in range(start[c], start[c + 1]):
            out[i] = size[c] / _row(i, start[c], 1.0, length[c])[1]
    return out


@part
def _own_mobility(size, kind, start, parameters, d, length, effect):
    """What makes a velocity of an impulse, for constraints of their own size."""
    out = np.empty(size.size)
    for c in range(size.size):
        most = 0.0
        for i in range(start[c], start[c + 1]):
            most = max(most, effect[i] * _row(i, start[c], 1.0, length[c])[1])
        out[c] = min(most * size[c], 1e300) if most > 0.0 else d[c]
    set_mobilities(kind, parameters, size, out)
    return out


@kernel(nogil=True)
def judge_contacts(A, q, size, kind, start, parameters, d, length, relaxed, impulse, u):
    """Residual of a problem with the entries A of W in one call, and its velocities into `u`."""
    slack(A, q, impulse, u)
    push = _largest_push(start, d, length, impulse)
    unknown = improve(A, q, impulse, push, size, start, u)
    own, effect = np.empty(size.size), np.empty(q.size)
    if not own_terms(A, q, impulse, size, start, length, own):
        return max(verdict(size, kind, start, parameters, d, length, relaxed, impulse, u), unknown)
    value = math.inf
    for look in range(2):
        if look and not (value > ENOUGH and beside(A, q, size, start, length, own)):
            break
        effects(A, _row_sizes(own, start, length), effect)
        mobility = _own_mobility(own, kind, start, parameters, d, length, effect)
        value = verdict(own, kind, start, parameters, mobility, length, relaxed, impulse, u)
    return max(value, unknown)
