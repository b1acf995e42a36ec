"""Nesterov–Todd scaling of second-order cones of one to three rows, for interior points.

Letters: s and z inside the cone ‖x₁…‖ ≤ x₀, w and η their scaling: V = η [w₀ w₁ᵀ; w₁ I + w₁w₁ᵀ/(1 + w₀)] is
symmetric with V z = V⁻¹ s. x ∘ y = (x·y, x₀ y₁ + y₀ x₁) is the Jordan product.

Reference: Vandenberghe, The CVXOPT linear and quadratic cone program solvers (2010).
"""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def length_of_rest(x, m):
    """The norm ‖x₁…‖."""
    total = 0.0
    for i in range(1, m):
        total += x[i] * x[i]
    return math.sqrt(total)


@njit(cache=True, nogil=True, error_model="numpy")
def depth(x, m):
    """√(x₀² − ‖x₁…‖²); not a number outside the cone."""
    rest = length_of_rest(x, m)
    squared = (x[0] - rest) * (x[0] + rest)
    return math.sqrt(squared) if squared > 0.0 and x[0] > 0.0 else math.nan


@njit(cache=True, nogil=True, error_model="numpy")
def scaling(s, z, m, w):
    """The direction w of the scaling; returns η (not a number where s or z is not inside)."""
    a, b = depth(s, m), depth(z, m)
    if not (a > 0.0 and b > 0.0):
        return math.nan
    dot = 0.0
    for i in range(m):
        dot += s[i] * z[i]
    g = math.sqrt(2.0 + 2.0 * dot / (a * b))
    w[0] = (s[0] / a + z[0] / b) / g
    for i in range(1, m):
        w[i] = (s[i] / a - z[i] / b) / g
    return math.sqrt(a / b)


@njit(cache=True, nogil=True, error_model="numpy")
def scale(w, eta, m, x, out):
    """V x into out."""
    dot = 0.0
    for i in range(1, m):
        dot += w[i] * x[i]
    top = w[0] * x[0] + dot
    along = x[0] + dot / (1.0 + w[0])
    for i in range(1, m):
        out[i] = eta * (x[i] + along * w[i])
    out[0] = eta * top


@njit(cache=True, nogil=True, error_model="numpy")
def unscale(w, eta, m, x, out):
    """V⁻¹ x into out."""
    dot = 0.0
    for i in range(1, m):
        dot += w[i] * x[i]
    top = w[0] * x[0] - dot
    along = dot / (1.0 + w[0]) - x[0]
    for i in range(1, m):
        out[i] = (x[i] + along * w[i]) / eta
    out[0] = top / eta


@njit(cache=True, nogil=True, error_model="numpy")
def inverse_square(w, eta, i, j):
    """Entry (i, j) of V⁻² = (2 (J w)(J w)ᵀ − J) / η²."""
    a = w[i] if i == 0 else -w[i]
    b = w[j] if j == 0 else -w[j]
    value = 2.0 * a * b
    if i == j:
        value += -1.0 if i == 0 else 1.0
    return value / (eta * eta)


@njit(cache=True, nogil=True, error_model="numpy")
def divide(x, y, m, out):
    """The v with x ∘ v = y into out."""
    rest = length_of_rest(x, m)
    dot = 0.0
    for i in range(1, m):
        dot += x[i] * y[i]
    top = (x[0] * y[0] - dot) / ((x[0] - rest) * (x[0] + rest))
    for i in range(1, m):
        out[i] = (y[i] - top * x[i]) / x[0]
    out[0] = top


@njit(cache=True, nogil=True, error_model="numpy")
def room(x, dx, m):
    """The largest t with x + t dx in the cone."""
    far = 1e30
    if dx[0] < 0.0:
        far = -x[0] / dx[0]
    if m == 1:
        return far
    rest = length_of_rest(x, m)
    a, b, c = dx[0] * dx[0], x[0] * dx[0], (x[0] - rest) * (x[0] + rest)
    for i in range(1, m):
        a -= dx[i] * dx[i]
        b -= x[i] * dx[i]
    # the first positive root of a t² + 2 b t + c
    under = b * b - a * c
    if under < 0.0:
        return far
    root = math.sqrt(under)
    if b < 0.0:
        far = min(far, c / (root - b))
    elif a < 0.0:
        far = min(far, -(b + root) / a)
    return far
