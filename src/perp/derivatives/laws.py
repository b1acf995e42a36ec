"""The law of one constraint as an equation between small changes, compiled.

At an answer with impulses x, velocities u and parameters p every constraint is in one mode, and there

    B dx + C du + D dp = 0

holds for all small changes that do not leave the mode. Letters as in `kernels.friction_laws`: c cohesion,
x_N + c the push, d mobilities (velocity per impulse of the normal, tangential and angular rows). All
equations are velocities. A disc that slips has x = μ (x_N + c) e with e = −u / ‖u‖; its equation is taken as

    T dx − e d(μ (x_N + c)) + (r / ‖y‖) (I − e eᵀ) du = 0,   T = e eᵀ + κ (I − e eᵀ),   y = d x − u

with r the radius and κ = 1 − d r / ‖y‖, which stays bounded where the sliding velocity vanishes. An ellipse
is a disc of x_i / μ_i against μ_i u_i. In a relaxed problem the normal velocity of what slips is Γ(u).
"""

import math

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.problems.set_kernels import BOX, COULOMB, ELLIPTIC, FREE, NONNEGATIVE, WIDEST, shift

# Modes: of scalar rows, then of sets with friction.
HOLDS, REST, CLOSED, LOWER, UPPER, OPEN, STICK, SLIDE, ROLL, SLIDE_AND_ROLL = range(10)
MODE_NAMES = (
    "free", "open", "closed", "lower", "upper", "open", "stick", "slide", "roll", "slide and roll",
)  # fmt: skip
MOST = 6


@part
def _group(r):
    """Which of the mobilities row r has: normal, tangential, angular."""
    if r == 0:
        return 0
    return 2 if r >= 3 else 1


@part
def law_scalar(kind, p, d, x, u, near, out):
    """Mode of a scalar row and how near it is to another one [velocity]; its equation into B, C, D.

    A row within `near` of a switch counts as one at its bound.
    """
    B, C, D = out
    if kind == FREE:
        C[0, 0] = 1.0
        return HOLDS, np.inf
    y = d * x - u
    if kind == NONNEGATIVE:
        if y > near:
            C[0, 0] = 1.0
            return CLOSED, abs(y)
        B[0, 0] = d
        return REST, abs(y)
    # from its bounds inwards; a row that is `near` one of them rests at it whatever round-off says
    below = y - d * p[0] if p[0] > -np.inf else np.inf
    above = d * p[1] - y if p[1] < np.inf else np.inf
    margin = min(abs(below), abs(above))
    if p[0] == p[1]:
        B[0, 0], D[0, 0] = d, -d
        return LOWER, np.inf
    if below > near and above > near:
        C[0, 0] = 1.0
        return HOLDS, margin
    B[0, 0] = d
    if abs(below) <= abs(above):
        D[0, 0] = -d
        return LOWER, margin
    D[0, 1] = -d
    return UPPER, margin


@part
def _disc(disc, push, x, u, near, relaxed, out):
    """Equations of a round disc of radius μ push; whether it slips, and how near it is to the other mode.

    `disc` is its mobility, μ and its column, the first row and that behind the last.
    """
    (t, mu, column, first, last), (B, C, D) = disc, out
    length = speed = 0.0
    for i in range(first, last):
        length += (t * x[i] - u[i]) ** 2
        speed += u[i] ** 2
    length, speed = math.sqrt(length), math.sqrt(speed)
    radius = mu * push if push > 0.0 else 0.0
    over = length - t * radius
    sticks = mu > WIDEST or (mu > 0.0 and over <= near)
    margin = np.inf if mu > WIDEST else abs(over)
    if sticks:
        for i in range(first, last):
            C[i, i] = 1.0
        return False, margin
    ratio = t * radius / length if length > 0.0 else 0.0
    for i in range(first, last):
        e = (t * x[i] - u[i]) / length if length > 0.0 else 0.0
        B[i, i] += t * (1.0 - ratio)
        C[i, i] += ratio
        B[i, 0] = -t * mu * e
        D[i, column] = -t * push * e
        D[i, 5] = -t * mu * e
        for j in range(first, last):
            other = (t * x[j] - u[j]) / length if length > 0.0 else 0.0
            B[i, j] += t * ratio * e * other
            C[i, j] -= ratio * e * other
        if relaxed:
            C[0, i] += mu * e
    if relaxed:
        D[0, column] -= speed
    return True, margin


@part
def _ellipse(d, p, push, x, u, near, relaxed, out):
    """The same for all tangents of an elliptic set: a disc in x_i / μ_i and μ_i u_i."""
    t, size, (B, C, D) = d[1], x.size, out
    length, some = 0.0, False
    for i in range(1, size):
        mu = p[i - 1]
        if 0.0 < mu <= WIDEST:
            some = True
            length += (t * x[i] / mu - mu * u[i]) ** 2
    length = math.sqrt(length)
    radius = push if push > 0.0 else 0.0
    over = length - t * radius
    sticks = some and over <= near
    margin = abs(over) if some else np.inf
    ratio = t * radius / length if length > 0.0 else 0.0
    slips = False
    for i in range(1, size):
        mu = p[i - 1]
        if mu > WIDEST or (sticks and mu > 0.0):
            C[i, i] = 1.0
            continue
        slips = True
        if mu == 0.0:
            B[i, i] = d[_group(i)]
            continue
        e = (t * x[i] / mu - mu * u[i]) / length
        B[i, 0], D[i, 5] = -t * e, -t * e
        B[i, i] += t * (1.0 - ratio) / mu
        C[i, i] += ratio * mu
        D[i, i - 1] += -t * (1.0 - ratio) * x[i] / (mu * mu) + ratio * u[i]
        for j in range(1, size):
            nu = p[j - 1]
            if not 0.0 < nu <= WIDEST:
                continue
            bend = ratio * e * (t * x[j] / nu - nu * u[j]) / length
            B[i, j] += t * bend / nu
            C[i, j] -= bend * nu
            D[i, j - 1] -= t * bend * x[j] / (nu * nu) + bend * u[j]
        if relaxed:
            C[0, i] += mu * e
            D[0, i - 1] += u[i] * e
    return slips, margin


@part
def law(kind, p, d, x, u, relaxed, near, out):
    """Mode of a constraint and how near it is to another one [velocity]; its equation into B, C and D.

    These are by the impulses, by the velocities, by the columns of the parameters p, shape (6, 6). The
    mobilities d are those of normal, tangential and angular rows; a relaxed law leaves out Γ. Within the
    velocity `near` of a switch a contact counts as open, and as one that sticks.
    """
    size, (B, C, D) = x.size, out
    for i in range(size):
        for j in range(MOST):
            B[i, j] = C[i, j] = D[i, j] = 0.0
    if kind <= BOX:
        return law_scalar(kind, p, d[0], x[0], u[0], near, out)
    push = x[0] + p[5]
    speed = u[0] - shift(kind, p, u, 0, size) if relaxed else u[0]
    y = d[0] * push - speed
    if not y > near:
        for i in range(size):
            B[i, i] = d[_group(i)]
        D[0, 5] = d[0]
        return OPEN, abs(y)
    C[0, 0] = 1.0
    margin = abs(y)
    if kind == COULOMB:
        slides, other = _disc((d[1], p[0], 0, 1, size), push, x, u, near, relaxed, out)
        return SLIDE if slides else STICK, min(margin, other)
    if kind == ELLIPTIC:
        slides, other = _ellipse(d, p, push, x, u, near, relaxed, out)
        return SLIDE if slides else STICK, min(margin, other)
    slides, other = _disc((d[1], p[0], 0, 1, 3), push, x, u, near, relaxed, out)
    # rates of turning become velocities by this length
    length = math.sqrt(d[1] / d[2])
    rolls, turning = _disc((d[2], p[1], 1, 3, 5), push, x, u, near / length, relaxed, out)
    margin = min(margin, min(other, length * turning))
    if slides:
        return SLIDE_AND_ROLL if rolls else SLIDE, margin
    return ROLL if rolls else STICK, margin


@kernel(nogil=True)
def laws(sets, d, x, u, relaxed, near, out):
    """`law` of all constraints of sets (kinds, starts, parameters); what belongs to one has a leading axis.

    `out` is their modes, margins, B, C and D.
    """
    (kind, start, parameters), (mode, margin, B, C, D) = sets, out
    for c in range(kind.size):
        a, b, own = start[c], start[c + 1], (B[c], C[c], D[c])
        mode[c], margin[c] = law(kind[c], parameters[c], d[c], x[a:b], u[a:b], relaxed, near[c], own)
