"""The law of one constraint: how far an answer is from it, and its equations.

Letters: x impulses and u velocities of the constraint's rows, d their mobilities (velocity per impulse; one
for the normal row, one for the tangential, one for the angular rows), c cohesion, y_N = d_N (x_N + c) − u_N
with a weight d_N for the size of friction.
Scalar rows have bounds. Friction has discs: the rows 1 … k of a Coulomb or Elliptic set are one, the pairs
(1, 2) and (3, 4) of a Rolling set two. A disc is a ball of radius μ in x / g, with u times g against it.

    open (y_N ≤ 0):    F_N = d_N (x_N + c),  F_i = d_i x_i           every F is a velocity
    closed:            F_N = u_N
      sticking disc:   F_i = u_i
      slipping disc:   F_i = d_i (x_i − g_i (r e_i + t_i))           r = μ y_N / d_N
                       t = r / (d_T r + α) (1 − e eᵀ) (d_T x / g − g u)

That is the tangent plane of the law at a point of it: impulses r e against slip α. The point is the answer
that a disc comes to by itself, with the block of its rows: a scalar in the place of the block (Alart and
Curnier) has the same answers, and sees neither that a wheel rolls where it is pushed nor how little it takes
to turn it, so that Newton's steps jump between sticking and slipping. What is violated is measured with
scalars.

The relaxation, for circular discs without cohesion, has the natural map F = d x − P(d x − u) with P the
projection onto the cone: P_N = t = κ (y_N + Σ μ_k ‖y_k‖) over the discs k that y leaves, P_k = μ_k t y_k /
‖y_k‖ there.

References: Alart and Curnier, A mixed formulation for frictional contact problems prone to Newton like
methods (1991); Moré and Sorensen, Computing a trust region step (1983), for the answer of a disc.
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


# Steps for the slip of a disc at most, and how near it has to be: it is where a tangent is taken.
_ROOT_STEPS, _ROOT = 30, 1e-10
# Room for one constraint: stretches, F, the equations that they become, B and C from their lines; then what a
# disc takes: b, e, L⁻¹ x, a factor L.
ROOM = 28, 16
_TO_X, _TO_U, _B, _E, _HALF, _FACTOR = 8, 14, 20, 21, 22, 23
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
def _answer_of_disc(own, rows, x, u, radius, room):
    """Where a disc of this radius comes to by itself: its direction e into the room, and its slip.

    With b = u − S x for the block S of its rows, in rows times stretches, and what its normal velocity adds
    when it goes, e is that of the answer of S x + b + β x = 0, ‖x‖ ≤ radius, and β ‖x‖ the slip; −1 where the
    disc sticks. β is the root of 1/‖x(β)‖ = 1/radius by Newton's method, from below without overshooting.
    """
    g, b, e, half, A = room[0], room[_B], room[_E], room[_HALF], room[_FACTOR:]
    first, n = rows[0], rows[1] - rows[0]
    square = 0.0
    for r in range(n):
        b[r] = g[first + r] * u[first + r] - own[first + r, 0] * u[0]
        for s in range(n):
            if g[first + s] > 0.0 and g[first + r] > 0.0:
                b[r] -= own[first + r, first + s] * x[first + s] / g[first + s]
        square += b[r] * b[r]
    beta, far = 0.0, math.sqrt(square)
    if not radius > 0.0:
        for r in range(n):
            e[r] = -b[r] / far if far > 0.0 else 0.0
        return far
    if radius == np.inf or far == 0.0:
        return -1.0
    for _ in range(_ROOT_STEPS):
        if not _shifted_answer(own[first:, first:], beta, n, room):
            return -1.0
        far = length(e, 0, n)
        if far <= radius and beta == 0.0:
            return -1.0
        if abs(far - radius) <= _ROOT * radius:
            break
        # −2 times the derivative of ‖x‖² by β is ‖L⁻¹ x‖²
        steep = 0.0
        for r in range(n):
            total = e[r]
            for k in range(r):
                total -= A[r, k] * half[k]
            half[r] = total * A[r, r]
            steep += half[r] * half[r]
        beta += far * far / steep * (far - radius) / radius
    for r in range(n):
        e[r] /= far
    return beta * far


@part
def _shifted_answer(S, beta, n, room):
    """x of (S + β I) x = −b in the room of e, with Cholesky's factor, whose diagonal has the inverse pivots.

    False where S is not positive definite.
    """
    b, e, A = room[_B], room[_E], room[_FACTOR:]
    for r in range(n):
        for s in range(r + 1):
            total = S[r, s] + beta if r == s else S[r, s]
            for k in range(s):
                total -= A[r, k] * A[s, k]
            if r > s:
                A[r, s] = total * A[s, s]
            elif total > 0.0:
                A[r, r] = 1.0 / math.sqrt(total)
            else:
                return False
    for r in range(n):
        total = -b[r]
        for k in range(r):
            total -= A[r, k] * e[k]
        e[r] = total * A[r, r]
    for r in range(n - 1, -1, -1):
        total = e[r]
        for k in range(r + 1, n):
            total -= A[k, r] * e[k]
        e[r] = total * A[r, r]
    return True


@part
def is_definite(S, n, room):
    """Whether S has a factor; of one that is not symmetric that is asked of its lower triangle."""
    return _shifted_answer(S, 0.0, n, room)


@part
def _recalled_slip(rows, x, u, radius, room):
    """The same of the problem that impulses x are the answer of: slip against friction at its limit."""
    g, e = room[0], room[_E]
    square = along = 0.0
    for i in range(rows[0], rows[1]):
        e[i - rows[0]] = x[i] / g[i] if g[i] > 0.0 else 0.0
        square += e[i - rows[0]] ** 2
        along -= x[i] * u[i] if g[i] > 0.0 else 0.0
    far = math.sqrt(square)
    if not (square > 0.0 and far >= _AT_LIMIT * radius and along > 0.0):
        return -1.0
    for r in range(rows[1] - rows[0]):
        e[r] /= far
    return along / far


@part
def closes(kind, parameter, size, mobility, x, u):
    """y_N of a friction set over its weight, and the weight: the set is closed where that is positive."""
    d = normal_weight(kind, parameter, size, mobility[0])
    return x[0] + parameter[5] - u[0] / d, d


@part
def linearise(kind, parameter, size, mobility, x, u, own, room):
    """The law (F, B, C) with dF = B dx + C du of a friction set; OPEN, STICKING (all discs) or SLIPPING.

    It is the tangent plane at the point of the law that the set comes to by itself, with the block `own[0]`
    of its tangential rows; where `own[1]`, at the point that impulses x are the answer for. A contact that
    carries nothing has none such.
    """
    g, F = room[0], room[1]
    B, C = room[_TO_X:_TO_U, :MOST_ROWS], room[_TO_U:_B, :MOST_ROWS]
    if kind >= RELAXED:
        return linearise_relaxed(kind, parameter, size, mobility, x, u, g, (F, B, C))
    for r in range(size):
        for s in range(size):
            B[r, s] = 0.0
            C[r, s] = 0.0
    push, d = closes(kind, parameter, size, mobility, x, u)
    recalled = own[1] and x[0] + parameter[5] > 0.0
    if push <= 0.0 and not recalled:
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
        rows, radius = (first, last), mu * (x[0] + parameter[5] if recalled else push)
        if recalled:
            slip = _recalled_slip(rows, x, u, radius, room)
        else:
            slip = _answer_of_disc(own[0], rows, x, u, radius, room)
        if slip >= 0.0:
            _slide(rows, (mu, d, mu * push, radius, slip), mobility, x, u, room)
            state = SLIPPING
        for i in range(first, last):
            if g[i] == 0.0:
                state = SLIPPING
                r = mobility[row_group(i)]
                for j in range(size):
                    B[i, j] = C[i, j] = 0.0
                F[i], B[i, i] = r * x[i], r
            elif slip < 0.0:
                F[i] = u[i]
                C[i, i] = 1.0
        first = last
    return state


@part
def _slide(rows, numbers, mobility, x, u, room):
    """Equations of a slipping disc: slip (x⊥) + radius (u⊥) = 0 across e, and x along it at the limit."""
    (mu, d, limit, radius, slip), t = numbers, mobility[1]
    first, last = rows
    g, e, F = room[0], room[_E], room[1]
    B, C = room[_TO_X:_TO_U], room[_TO_U:_B]
    total = t * radius + slip
    ratio = radius / total if total > 0.0 else 0.0
    along = 0.0
    for i in range(first, last):
        if g[i] > 0.0:
            along += e[i - first] * (t * x[i] / g[i] - g[i] * u[i])
    for i in range(first, last):
        if g[i] == 0.0:
            continue
        r, own = mobility[row_group(i)], e[i - first]
        across = t * x[i] / g[i] - g[i] * u[i] - own * along
        F[i] = r * (x[i] - g[i] * (limit * own + ratio * across))
        B[i, 0] = -r * g[i] * mu * own
        C[i, 0] = r * g[i] * mu * own / d
        for j in range(first, last):
            if g[j] == 0.0:
                continue
            bend = ratio * ((1.0 if i == j else 0.0) - own * e[j - first])
            B[i, j] = -r * t * g[i] / g[j] * bend
            C[i, j] = r * g[i] * g[j] * bend
        B[i, i] += r
