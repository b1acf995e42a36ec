"""Compiled: laws on the central path, for smoothed derivatives.

On the path no contact is open or closed for good: with s = u + Γ(u) every constraint obeys

    nonnegative          x u = τ
    box                  u = τ / (x − lo) − τ / (hi − x)
    friction             x̃ ∘ s̃ = τ e,   x̃ = (x_N + c, x_i / μ_i),   s̃ = (s_N, μ_i u_i)

(∘ the product of second-order cones), and impulses follow gaps and velocities smoothly. τ → 0 is the exact
law. The derivative of the point of the path is the smoothed one: useful to a planner that has to find contact
first, and not the gradient of the step.
"""

import math

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.problems.set_kernels import BOX, COULOMB, FREE, NONNEGATIVE, WIDEST

_ITERATIONS, _FRACTION, _SHRINKS = 120, 0.9, 0.3
_TOLERANCE = 1e-9
# Round-off of the residuals as a share of what was at work at the start of the path.
_KNOWN = 1e-13


@kernel(nogil=True)
def path_law(kind, p, x, u, tau, slopes):
    """The law of a constraint on the path: its residual.

    `slopes` are derivatives by x, u and parameters, out.
    """
    size, out, (B, C, D) = x.size, np.empty(6), slopes
    for i in range(6):
        for j in range(6):
            B[i, j] = C[i, j] = D[i, j] = 0.0
    if kind == FREE:
        out[0], C[0, 0] = u[0], 1.0
        return out
    if kind == NONNEGATIVE:
        out[0], B[0, 0], C[0, 0] = x[0] * u[0] - tau, u[0], x[0]
        return out
    if kind == BOX:
        C[0, 0], out[0] = 1.0, u[0]
        if p[0] == p[1]:
            out[0], C[0, 0], B[0, 0], D[0, 0] = x[0] - p[0], 0.0, 1.0, -1.0
            return out
        for k in range(2):
            if abs(p[k]) < np.inf:
                away = x[0] - p[k]
                out[0] -= tau / away
                B[0, 0] += tau / (away * away)
                D[0, k] -= tau / (away * away)
        return out
    shift = 0.0
    for i in range(1, size):
        mu = p[0] if kind == COULOMB else p[i - 1]
        if mu <= WIDEST:
            shift += (mu * u[i]) ** 2
    shift = math.sqrt(shift)
    push, s = x[0] + p[5], u[0] + shift
    out[0] = push * s - tau
    B[0, 0], C[0, 0], D[0, 5] = s, push, s
    for i in range(1, size):
        column = 0 if kind == COULOMB else i - 1
        mu = p[column]
        if mu > WIDEST:
            out[i], C[i, i] = u[i], 1.0
            continue
        if mu == 0.0:
            out[i], B[i, i] = x[i], 1.0
            continue
        out[0] += x[i] * u[i]
        B[0, i] = u[i]
        C[0, i] += x[i]
        out[i] = push * mu * u[i] + s * x[i] / mu
        B[i, 0], B[i, i], C[i, 0], D[i, 5] = mu * u[i], s / mu, x[i] / mu, mu * u[i]
        C[i, i] += push * mu
        D[i, column] += push * u[i] - s * x[i] / (mu * mu)
        if shift == 0.0:
            continue
        for j in range(size):
            # how the shift of the normal row follows row i
            weight = push if j == 0 else _over(x[j], p[0] if kind == COULOMB else p[j - 1])
            C[j, i] += weight * mu * mu * u[i] / shift
            D[j, column] += weight * mu * u[i] * u[i] / shift
    return out


@part
def _over(x, mu):
    return x / mu if 0.0 < mu <= WIDEST else 0.0


@part
def _inside(kind, p, x, u, dx, du, t):
    """Whether x + t dx and u + t du are inside their cones."""
    size = x.size
    if kind == FREE or (kind == BOX and p[0] == p[1]):
        return True
    first = x[0] + t * dx[0]
    if kind == BOX:
        return p[0] < first < p[1]
    if kind == NONNEGATIVE:
        return first > 0.0 and u[0] + t * du[0] > 0.0
    force = 0.0
    for i in range(1, size):
        mu = p[0] if kind == COULOMB else p[i - 1]
        if 0.0 < mu <= WIDEST:
            force += ((x[i] + t * dx[i]) / mu) ** 2
    # s̃ is inside its cone where its normal part, u_N + ‖ũ‖, exceeds ‖ũ‖
    return first + p[5] > math.sqrt(force) and u[0] + t * du[0] > 0.0


@kernel(nogil=True)
def path_point(kind, start, parameter, W, q, tau, x, u):
    """The point of the central path of u = W x + q, with τ of each constraint, into x and u.

    Returns whether it was found.
    """
    count, n = kind.size, x.size
    wide = tau.copy()
    room = np.empty(n)
    for c in range(count):
        a = start[c]
        mobility = abs(W[a, a]) if W[a, a] != 0.0 else 1.0
        speed = math.sqrt(tau[c] * mobility)
        for i in range(a, start[c + 1]):
            speed = max(speed, abs(q[i]))
            x[i] = u[i] = 0.0
        wide[c] = speed * speed / mobility
        if kind[c] == BOX:
            low, high = parameter[c, 0], parameter[c, 1]
            x[a] = min(max(0.0, low), high)
            if low > -np.inf and high < np.inf:
                x[a] = 0.5 * (low + high)
            elif low > -np.inf:
                x[a] = low + speed / mobility
            elif high < np.inf:
                x[a] = high - speed / mobility
        elif kind[c] != FREE:
            x[a], u[a] = speed / mobility, speed
    B, C, D = np.empty((6, 6)), np.empty((6, 6)), np.empty((6, 6))
    whole_B, whole_C, now = np.zeros((n, n)), np.zeros((n, n)), wide.copy()
    for _ in range(_ITERATIONS):
        lag, worst = W @ x + q - u, 0.0
        done = True
        for c in range(count):
            a, b = start[c], start[c + 1]
            out = path_law(kind[c], parameter[c], x[a:b], u[a:b], now[c], (B, C, D))
            products = kind[c] > BOX or kind[c] == NONNEGATIVE
            unit = now[c] if products else math.sqrt(now[c] * abs(W[a, a]) + 1e-300)
            known = _KNOWN * (wide[c] if products else math.sqrt(wide[c] * abs(W[a, a])))
            for i in range(b - a):
                room[a + i] = -out[i]
                worst = max(worst, (abs(out[i]) - known) / unit)
                for j in range(b - a):
                    whole_B[a + i, a + j], whole_C[a + i, a + j] = B[i, j], C[i, j]
            done = done and now[c] <= tau[c]
            speed = math.sqrt(now[c] * abs(W[a, a])) + 1e-300
            for i in range(a, b):
                worst = max(worst, (abs(lag[i]) - _KNOWN * math.sqrt(wide[c] * abs(W[a, a]))) / speed)
        if worst < 0.3 and not done:
            for c in range(count):
                now[c] = max(tau[c], _SHRINKS * now[c])
            continue
        if done and worst < _TOLERANCE:
            return True
        A = whole_B + whole_C @ W
        for i in range(n):
            largest = 0.0
            for j in range(n):
                largest = max(largest, abs(A[i, j]))
            A[i, i] += 1e-13 * largest
        dx = np.linalg.solve(A, room - whole_C @ lag)
        du = W @ dx + lag
        t = 1.0
        for c in range(count):
            a, b = start[c], start[c + 1]
            while t > 1e-12 and not _inside(
                kind[c], parameter[c], x[a:b], u[a:b], dx[a:b], du[a:b], t / _FRACTION
            ):
                t *= 0.7
        for i in range(n):
            x[i] += t * dx[i]
            u[i] += t * du[i]
    return False
