"""One constraint solved for its impulse with all others fixed, exactly.

With u = B λ + b for the constraint's own block B, a scalar row is a clipped division. A contact is open when
b_N ≥ 0. Else u_N = 0 gives λ_N from the tangents, u_T = S λ_T + c with the Schur complement S, and maximal
dissipation makes λ_T = −(S + β I)⁻¹ c with β ≥ 0: β = 0 sticks, and a slipping contact has the root of the
scalar equation ‖λ_T(β)‖ = μ λ_N(β), found by Newton's method inside a bracket, with two tangents in closed
form, with more by a small factorisation. A rolling contact alternates between its two discs. A contact of the
relaxation is a convex problem: Newton on its natural map.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.cone import project_cone
from perp.kernels.small_systems import solve_small

_STEPS = 60
_ACCURACY = 1e-14
# Newton steps on a relaxed contact with three rows: it nearly always takes three, and projected steps follow.
_RELAXED_NEWTON = 8
# Accelerated projected steps on a block of at most five rows: enough to be as good as the sweep around them.
_RELAXED_STEPS = 30


@part
def _disc_root(S, c, normal, k, mu, beta):
    """Friction λ_T = −(S + β I)⁻¹ c of a disc whose radius is μ (normal − k·λ_T), from a guess of β."""
    s11, s12, s21, s22 = S
    c1, c2 = c
    k1, k2 = k
    low, high = 0.0, math.inf
    size = abs(s11) + abs(s22)
    l1 = l2 = 0.0
    for step in range(_STEPS):
        a11, a22 = s11 + beta, s22 + beta
        determinant = a11 * a22 - s12 * s21
        if determinant > 1e-14 * a11 * a22:
            l1 = -(a22 * c1 - s12 * c2) / determinant
            l2 = -(a11 * c2 - s21 * c1) / determinant
            length = math.sqrt(l1 * l1 + l2 * l2)
            radius = mu * (normal - k1 * l1 - k2 * l2)
            value = length - radius
            if abs(value) <= _ACCURACY * length or (value <= 0.0 and beta == 0.0):
                return l1, l2
            if value > 0.0:
                low = beta
            else:
                high = beta
            # derivative of λ_T with respect to β is −(S + β I)⁻¹ λ_T
            e1 = -(a22 * l1 - s12 * l2) / determinant
            e2 = -(a11 * l2 - s21 * l1) / determinant
            slope = (l1 * e1 + l2 * e2) / length + mu * (k1 * e1 + k2 * e2) if length > 0.0 else 0.0
            # Newton on the logarithm of length / radius is nearly exact when the radius is fixed
            if radius > 0.0 and slope < 0.0:
                ratio = length / radius
                change = -value / slope * (ratio if value > 0.0 else 1.0)
                new = beta + change
            else:
                new = -1.0
        else:
            low = beta
            new = -1.0
        if not (low < new < high):
            if high == math.inf:
                new = 4.0 * beta + 1e-3 * size + 1e-300
            else:
                new = 0.5 * (low + high) if low > 0.0 else 0.1 * high
                if step > 20 and low > 0.0:
                    new = math.sqrt(low * high)
        if abs(new - beta) <= 1e-15 * beta:
            return l1, l2
        beta = new
    return l1, l2


@part
def _interval(s, c, normal, k, mu):
    """Friction along one line with |λ| ≤ μ (normal − k λ)."""
    friction = -c / s
    if abs(friction) <= mu * (normal - k * friction):
        return friction
    sign = -1.0 if c > 0.0 else 1.0
    divisor = 1.0 + sign * mu * k
    return sign * mu * normal / divisor if divisor > 0.0 else 0.0


@part
def _disc(S, c, normal, k, mu, old):
    """Friction of one disc: stick when that is inside, else the root from the old friction's β."""
    s11, s12, s21, s22 = S
    c1, c2 = c
    old1, old2 = old
    determinant = s11 * s22 - s12 * s21
    if determinant > 1e-14 * abs(s11 * s22):
        l1 = -(s22 * c1 - s12 * c2) / determinant
        l2 = -(s11 * c2 - s21 * c1) / determinant
        radius = mu * (normal - k[0] * l1 - k[1] * l2)
        if radius >= 0.0 and l1 * l1 + l2 * l2 <= radius * radius:
            return l1, l2
    squared = old1 * old1 + old2 * old2
    beta = 0.0
    if squared > 0.0:
        along = s11 * old1 * old1 + (s12 + s21) * old1 * old2 + s22 * old2 * old2
        beta = max(0.0, -(along + c1 * old1 + c2 * old2) / squared)
    if beta == 0.0:
        radius = mu * normal
        beta = math.sqrt(c1 * c1 + c2 * c2) / radius if radius > 0.0 else 1e-3 * (abs(s11) + abs(s22))
    return _disc_root(S, c, normal, k, mu, beta)


@part
def solve_planar(p, data, b0, b1, mu):
    """A contact in the plane: block at data[p …], free velocity (b0, b1); returns normal and friction."""
    if b0 >= 0.0 or data[p] <= 0.0:
        return 0.0, 0.0
    nn, nt, tn, tt = data[p], data[p + 1], data[p + 2], data[p + 3]
    s = tt - tn * nt / nn
    if s <= 1e-14 * tt:
        s = 1e-14 * tt if tt > 0.0 else 1e-14 * nn
    friction = _interval(s, b1 - tn * b0 / nn, -b0 / nn, nt / nn, mu)
    return max(0.0, -(b0 + nt * friction) / nn), friction


@part
def solve_coulomb(p, width, data, b, mu, old):
    """A contact in space: block at data[p …] with rows of `width`; returns normal and two frictions.

    b is the free velocity and `old` the friction before.
    """
    nn = data[p]
    b0, b1, b2 = b
    if b0 >= 0.0 or nn <= 0.0:
        return 0.0, 0.0, 0.0
    n1, n2 = data[p + 1] / nn, data[p + 2] / nn
    t1, t2 = data[p + width], data[p + 2 * width]
    normal = -b0 / nn
    S = (
        data[p + width + 1] - t1 * n1, data[p + width + 2] - t1 * n2,
        data[p + 2 * width + 1] - t2 * n1, data[p + 2 * width + 2] - t2 * n2,
    )  # fmt: skip
    l1, l2 = _disc(S, (b1 + t1 * normal, b2 + t2 * normal), normal, (n1, n2), mu, old)
    return max(0.0, normal - n1 * l1 - n2 * l2), l1, l2


@part
def _shifted_solve(S, m, beta, right, A, out):
    """(S + β I)⁻¹ right into out, with room A; false where it is singular."""
    largest = 0.0
    for r in range(m):
        for s in range(m):
            A[r, s] = S[r, s]
        A[r, r] += beta
        A[r, m] = right[r]
        largest = max(largest, abs(A[r, r]))
    if not (largest > 0.0 and solve_small(A, m, 1, 1e-14 * largest)):
        return False
    for r in range(m):
        out[r] = A[r, m]
    return True


@part
def solve_many_tangents(p, size, data, b, mu, x, i):
    """A contact with three to five tangents, in place at x[i …]; b is its free velocity."""
    nn, m = data[p], size - 1
    if b[0] >= 0.0 or nn <= 0.0:
        x[i : i + size] = 0.0
        return
    normal = -b[0] / nn
    S, A, c = np.empty((m, m)), np.empty((m, m + 1)), np.empty(m)
    friction, slope = np.zeros(m), np.empty(m)
    trace = 0.0
    for r in range(m):
        t = data[p + (r + 1) * size]
        c[r] = -(b[1 + r] + t * normal)
        for s in range(m):
            S[r, s] = data[p + (r + 1) * size + 1 + s] - t * data[p + 1 + s] / nn
        trace += abs(S[r, r])
    low, high, beta = 0.0, math.inf, 0.0
    for _ in range(_STEPS):
        new = -1.0
        if _shifted_solve(S, m, beta, c, A, friction):
            length, along = 0.0, 0.0
            for r in range(m):
                length += friction[r] * friction[r]
                along += data[p + 1 + r] / nn * friction[r]
            length = math.sqrt(length)
            radius = mu * (normal - along)
            value = length - radius
            if abs(value) <= _ACCURACY * length or (value <= 0.0 and beta == 0.0):
                break
            if value > 0.0:
                low = beta
            else:
                high = beta
            if length > 0.0 and radius > 0.0 and _shifted_solve(S, m, beta, friction, A, slope):
                # derivative of λ_T with respect to β is −(S + β I)⁻¹ λ_T
                change = 0.0
                for r in range(m):
                    change -= slope[r] * (friction[r] / length + mu * data[p + 1 + r] / nn)
                if change < 0.0:
                    new = beta - value / change * (length / radius if value > 0.0 else 1.0)
        else:
            low = beta
        if not low < new < high:
            new = 4.0 * beta + 1e-3 * trace + 1e-300 if high == math.inf else 0.5 * (low + high)
        if abs(new - beta) <= 1e-15 * beta:
            break
        beta = new
    x[i] = normal
    for r in range(m):
        x[i] -= data[p + 1 + r] / nn * friction[r]
        x[i + 1 + r] = friction[r]
    x[i] = max(0.0, x[i])


@part
def solve_disc(p, width, data, b, radius, old):
    """A disc of given radius with its 2 × 2 block at data[p …]; returns the two components."""
    if radius <= 0.0:
        return 0.0, 0.0
    S = data[p], data[p + 1], data[p + width], data[p + width + 1]
    return _disc(S, b, radius, (0.0, 0.0), 1.0, old)


@part
def _relaxed_newton(p, data, b, mu, scale, x, i):
    """A contact of the relaxation with three rows by Newton on d x − P(d x − u), in place at x[i …].

    Returns whether it arrived; x is as it was where not.
    """
    B00, B01, B02 = data[p], data[p + 1], data[p + 2]
    B10, B11, B12 = data[p + 3], data[p + 4], data[p + 5]
    B20, B21, B22 = data[p + 6], data[p + 7], data[p + 8]
    b0, b1, b2 = b[0], b[1], b[2]
    n, f1, f2 = x[i], x[i + 1], x[i + 2]
    # without impulse when the free velocity is in the dual cone
    if b0 >= mu * math.sqrt(b1 * b1 + b2 * b2):
        x[i] = x[i + 1] = x[i + 2] = 0.0
        return True
    d, kappa = scale, 1.0 / (1.0 + mu * mu)
    size = abs(b0) + abs(b1) + abs(b2)
    last = math.inf
    for _ in range(_RELAXED_NEWTON):
        u0 = b0 + B00 * n + B01 * f1 + B02 * f2
        u1 = b1 + B10 * n + B11 * f1 + B12 * f2
        u2 = b2 + B20 * n + B21 * f1 + B22 * f2
        y0, y1, y2 = d * n - u0, d * f1 - u1, d * f2 - u2
        tangent = math.sqrt(y1 * y1 + y2 * y2)
        if tangent <= mu * y0:
            # inside the cone the velocity must vanish
            F0, F1, F2 = u0, u1, u2
            A00, A01, A02, A10, A11, A12, A20, A21, A22 = B00, B01, B02, B10, B11, B12, B20, B21, B22
        elif mu * tangent <= -y0:
            F0, F1, F2 = d * n, d * f1, d * f2
            A00 = A11 = A22 = d
            A01 = A02 = A10 = A12 = A20 = A21 = 0.0
        else:
            t = kappa * (y0 + mu * tangent)
            e1, e2 = y1 / tangent, y2 / tangent
            F0, F1, F2 = d * n - t, d * f1 - mu * t * e1, d * f2 - mu * t * e2
            ratio = mu * t / tangent
            k = kappa * mu
            m = kappa * mu * mu - ratio
            D01, D02 = k * e1, k * e2
            D11, D12, D22 = ratio + m * e1 * e1, m * e1 * e2, ratio + m * e2 * e2
            # A = d (I − D) + D B
            A00 = d * (1.0 - kappa) + kappa * B00 + D01 * B10 + D02 * B20
            A01 = -d * D01 + kappa * B01 + D01 * B11 + D02 * B21
            A02 = -d * D02 + kappa * B02 + D01 * B12 + D02 * B22
            A10 = -d * D01 + D01 * B00 + D11 * B10 + D12 * B20
            A11 = d * (1.0 - D11) + D01 * B01 + D11 * B11 + D12 * B21
            A12 = -d * D12 + D01 * B02 + D11 * B12 + D12 * B22
            A20 = -d * D02 + D02 * B00 + D12 * B10 + D22 * B20
            A21 = -d * D12 + D02 * B01 + D12 * B11 + D22 * B21
            A22 = d * (1.0 - D22) + D02 * B02 + D12 * B12 + D22 * B22
        error = abs(F0) + abs(F1) + abs(F2)
        if error <= _ACCURACY * (size + d * (abs(n) + abs(f1) + abs(f2))):
            x[i], x[i + 1], x[i + 2] = n, f1, f2
            return True
        if not error < 10.0 * last:
            return False
        last = min(error, last)
        c0, c1, c2 = A11 * A22 - A12 * A21, A12 * A20 - A10 * A22, A10 * A21 - A11 * A20
        determinant = A00 * c0 + A01 * c1 + A02 * c2
        if not abs(determinant) > 1e-14 * d * d * d:
            return False
        n -= (c0 * F0 + (A02 * A21 - A01 * A22) * F1 + (A01 * A12 - A02 * A11) * F2) / determinant
        f1 -= (c1 * F0 + (A00 * A22 - A02 * A20) * F1 + (A02 * A10 - A00 * A12) * F2) / determinant
        f2 -= (c2 * F0 + (A01 * A20 - A00 * A21) * F1 + (A00 * A11 - A01 * A10) * F2) / determinant
    return False


@part
def solve_relaxed(p, size, data, b, mu, mu_r, x, i):
    """A contact of the relaxation, in place at x[i …]: Newton for three rows, else projected steps."""
    largest = 0.0
    for r in range(size):
        total = 0.0
        for s in range(size):
            total += abs(data[p + r * size + s])
        largest = max(largest, total)
    if largest == 0.0:
        return
    if size == 3 and _relaxed_newton(p, data, b, mu, largest, x, i):
        return
    old, point, momentum = np.empty(size), np.empty(size), 1.0
    for r in range(size):
        point[r] = old[r] = x[i + r]
    for _ in range(_RELAXED_STEPS):
        for r in range(size):
            gradient = b[r]
            for s in range(size):
                gradient += data[p + r * size + s] * point[s]
            x[i + r] = point[r] - gradient / largest
        project_cone(size, mu, mu_r, x[i : i + size])
        uphill = change = length = 0.0
        for r in range(size):
            uphill += (point[r] - x[i + r]) * (x[i + r] - old[r])
            change += (x[i + r] - old[r]) ** 2
            length += x[i + r] ** 2
        if change <= 1e-30 * length:
            break
        new = 1.0 if uphill > 0.0 else 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
        weight = 0.0 if uphill > 0.0 else (momentum - 1.0) / new
        for r in range(size):
            point[r] = x[i + r] + weight * (x[i + r] - old[r])
            old[r] = x[i + r]
        momentum = new
