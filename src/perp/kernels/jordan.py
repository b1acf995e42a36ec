"""The contact conditions as Fischer–Burmeister equations on the Jordan algebra of the second-order cone.

With a = d (g λ_N, g λ_T / μ) and b = ((u_N + Γ) / g, μ u_T / g), g = √μ, a contact says a, b ∈ L, a · b = 0
for the cone L = {(s, t): ‖t‖ ≤ s}, and that is Φ(a, b) = a + b − (a∘a + b∘b)^½ = 0 with the product
x∘y = (x · y, x₀ ȳ + y₀ x̄). With z the root, L_z dz = L_a da + L_b db gives the derivative, where
L_x y = x∘y; an eigenvalue of z that is nearly zero, as where a and b lie on one ray of the boundary, is
lifted in the derivative. A scalar row is the same on the line, nested for a box. ‖Φ‖² is smooth for the
relaxation.

Reference: Fukushima, Luo and Tseng, Smoothing functions for second-order-cone complementarity problems
(2002).
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.kernels.cone import length
from perp.kernels.packed import velocity, view
from perp.kernels.tree_elimination import newton_step, plan_of
from perp.kernels.tree_islands import prepare
from perp.kernels.tree_problem import problem_view
from perp.kernels.tree_state import impulse_step, weigh_rows
from perp.kernels.tree_workspace import workspace_view

# Eigenvalues of the root below this part of ‖a‖ + ‖b‖ are lifted to it in the derivative.
LEAST = 1e-8


@part
def scalar_root(a, b):
    """φ(a, b) = a + b − √(a² + b²) and its derivatives by a and b; one of many at a = b = 0."""
    length = math.hypot(a, b)
    if length == 0.0:
        return 0.0, 1.0 - math.sqrt(0.5), 1.0 - math.sqrt(0.5)
    # the difference loses all digits for a ≫ b > 0
    value = 2.0 * a * b / (a + b + length) if a + b > 0.0 else a + b - length
    return value, 1.0 - a / length, 1.0 - b / length


@part
def cone_root(a, b, value, A, B):
    """Φ(a, b) for a second-order cone of any dimension, with derivatives A = dΦ/da and B = dΦ/db."""
    size = a.size
    w = np.empty(size)
    w[0] = 0.0
    for r in range(size):
        w[0] += a[r] * a[r] + b[r] * b[r]
    tail = 0.0
    for r in range(1, size):
        w[r] = 2.0 * (a[0] * a[r] + b[0] * b[r])
        tail += w[r] * w[r]
    tail = math.sqrt(tail)
    high = math.sqrt(w[0] + tail)
    low = math.sqrt(max(w[0] - tail, 0.0))
    direction = np.zeros(size)
    if tail > 0.0:
        for r in range(1, size):
            direction[r] = w[r] / tail
    value[0] = a[0] + b[0] - 0.5 * (high + low)
    for r in range(1, size):
        value[r] = a[r] + b[r] - 0.5 * (high - low) * direction[r]
    floor = LEAST * math.sqrt(w[0]) if w[0] > 0.0 else 1.0
    high, low = max(high, floor), max(low, floor)
    # the inverse of L_z in the frame of z: 1/high and 1/low along its idempotents, 2/(high + low) across
    inverse = np.zeros((size, size))
    mean, difference, across = 0.5 * (1 / high + 1 / low), 0.5 * (1 / high - 1 / low), 2.0 / (high + low)
    inverse[0, 0] = mean
    for r in range(1, size):
        inverse[0, r] = inverse[r, 0] = difference * direction[r]
        for s in range(1, size):
            inverse[r, s] = (mean - across) * direction[r] * direction[s]
        inverse[r, r] += across
    for r in range(size):
        for s in range(size):
            total_a, total_b = inverse[r, s] * a[0], inverse[r, s] * b[0]
            if s == 0:
                for m in range(1, size):
                    total_a += inverse[r, m] * a[m]
                    total_b += inverse[r, m] * b[m]
            else:
                total_a += inverse[r, 0] * a[s]
                total_b += inverse[r, 0] * b[s]
            A[r, s] = (1.0 if r == s else 0.0) - total_a
            B[r, s] = (1.0 if r == s else 0.0) - total_b


@part
def _row(blocks, c, d, x, u, F, B, C):
    """Scalar row c: Φ(d (x − low), −Φ(d (high − x), −u)), whose parts are left out where a bound is."""
    i, low, high = blocks.start[c], blocks.low[c], blocks.high[c]
    upper, slope, weight = u[i], 0.0, 1.0
    if high < np.inf:
        value, da, db = scalar_root(d * (high - x[i]), -u[i])
        upper, slope, weight = -value, d * da, db
    if low == -np.inf:
        F[i], B[0, 0], C[0, 0] = upper, slope, weight
        return
    F[i], da, db = scalar_root(d * (x[i] - low), upper)
    B[0, 0], C[0, 0] = d * da + db * slope, db * weight


@part
def _contact(blocks, c, d, x, u, F, B, C):
    """Contact c: F at its rows and dF = B dx + C du."""
    i, size, mu = blocks.start[c], blocks.start[c + 1] - blocks.start[c], blocks.mu[c]
    g = math.sqrt(mu)
    shift = 0.0 if blocks.relaxed else mu * length(u, i + 1, i + size)
    a, b, value = np.empty(size), np.empty(size), np.empty(size)
    A, D = np.empty((size, size)), np.empty((size, size))
    a[0], b[0] = d * g * x[i], (u[i] + shift) / g
    for k in range(1, size):
        a[k] = d * g * x[i + k] / mu
        b[k] = mu * u[i + k] / g
    cone_root(a, b, value, A, D)
    for r in range(size):
        F[i + r] = value[r]
        B[r, 0], C[r, 0] = d * g * A[r, 0], D[r, 0] / g
        for s in range(1, size):
            slope = mu * mu * u[i + s] / shift if shift > 0.0 else 0.0
            B[r, s] = d * g / mu * A[r, s]
            C[r, s] = (D[r, 0] * slope + mu * D[r, s]) / g


@kernel(nogil=True)
def linearise_jordan(packed, d, x, u, F, B, C):
    """Φ of every constraint at x into F, with dΦ = B dx + C du in B[c] and C[c], velocities into u; ‖Φ‖."""
    blocks, total = view(packed), 0.0
    velocity(blocks, x, u)
    for c in range(d.size):
        i, size = blocks.start[c], blocks.start[c + 1] - blocks.start[c]
        if blocks.mu[c] < 0.0:
            _row(blocks, c, d[c], x, u, F, B[c], C[c])
        else:
            _contact(blocks, c, d[c], x, u, F, B[c], C[c])
        for r in range(size):
            total += F[i + r] * F[i + r]
    return math.sqrt(total)


@kernel(nogil=True)
def gradient(packed, F, B, C, out):
    """The gradient of ½ ‖Φ‖² by x, Bᵀ Φ + Wᵀ Cᵀ Φ, into `out`."""
    blocks = view(packed)
    start, first, column, at, data = blocks.start, blocks.first, blocks.column, blocks.at, blocks.data
    out[:] = 0.0
    for c in range(start.size - 1):
        i, size = start[c], start[c + 1] - start[c]
        for m in range(size):
            push = 0.0
            for r in range(size):
                push += C[c, r, m] * F[i + r]
                out[i + m] += B[c, r, m] * F[i + r]
            for k in range(first[c], first[c + 1]):
                j = start[column[k]]
                width = start[column[k] + 1] - j
                for s in range(width):
                    out[j + s] += data[at[k] + m * width + s] * push


@kernel(nogil=True)
def solve_linearised(problem, workspace, rho, sigma, F, B, C, dx):
    """Solves B_c dx_c + C_c ((W + σ ρ) dx)_c = −F_c into dx, for a problem of `packed_trees`."""
    p, w = problem_view(problem), workspace_view(workspace)
    islands = prepare(p, w)
    for c in range(p.count[0]):
        i, size = p.start[c], p.start[c + 1] - p.start[c]
        for r in range(size):
            w.f[i + r] = F[i + r]
            for s in range(size):
                w.A[c, r, s] = B[c, r, s] + sigma * rho[c] * C[c, r, s]
                w.K[c, r, s] = C[c, r, s]
        weigh_rows(p, w, c)
    for k in range(islands):
        newton_step(p, w, plan_of(p, w, k))
    for c in range(p.count[0]):
        for i in range(p.start[c], p.start[c + 1]):
            dx[i] = impulse_step(p, w, c, i)
