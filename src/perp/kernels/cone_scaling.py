"""Nesterov–Todd scaling of second-order cones of one to three rows, for interior points.

Letters: s and z inside the cone ‖x₁…‖ ≤ x₀, w and η their scaling: V = η [w₀ w₁ᵀ; w₁ I + w₁w₁ᵀ/(1 + w₀)] is
symmetric with V z = V⁻¹ s. x ∘ y = (x·y, x₀ y₁ + y₀ x₁) is the Jordan product. Vectors come with the place
where their m rows begin: slices would count references, which costs more than the arithmetic.

Reference: Vandenberghe, The CVXOPT linear and quadratic cone program solvers (2010).
"""

from __future__ import annotations

import math

from perp.compilation.kernel import part


@part
def length_of_tail(x, i, m):
    """The norm ‖x₁…‖ of the rows after i."""
    total = 0.0
    for k in range(i + 1, i + m):
        total += x[k] * x[k]
    return math.sqrt(total)


@part
def depth(x, i, m):
    """√(x₀² − ‖x₁…‖²); not a number outside the cone."""
    tail = length_of_tail(x, i, m)
    squared = (x[i] - tail) * (x[i] + tail)
    return math.sqrt(squared) if squared > 0.0 and x[i] > 0.0 else math.nan


@part
def scaling(s, z, i, m, w):
    """The direction w of the scaling of rows i …; returns η (not a number where s or z is not inside)."""
    a, b = depth(s, i, m), depth(z, i, m)
    if not (a > 0.0 and b > 0.0):
        return math.nan
    dot = 0.0
    for k in range(i, i + m):
        dot += s[k] * z[k]
    g = math.sqrt(2.0 + 2.0 * dot / (a * b))
    w[i] = (s[i] / a + z[i] / b) / g
    for k in range(i + 1, i + m):
        w[k] = (s[k] / a - z[k] / b) / g
    return math.sqrt(a / b)


@part
def scale(w, eta, i, m, x, j, out, o):
    """V x into out, for w from row i, x from row j, out from row o."""
    dot = 0.0
    for k in range(1, m):
        dot += w[i + k] * x[j + k]
    top = w[i] * x[j] + dot
    along = x[j] + dot / (1.0 + w[i])
    for k in range(1, m):
        out[o + k] = eta * (x[j + k] + along * w[i + k])
    out[o] = eta * top


@part
def unscale(w, eta, i, m, x, j, out, o):
    """V⁻¹ x into out, for w from row i, x from row j, out from row o."""
    dot = 0.0
    for k in range(1, m):
        dot += w[i + k] * x[j + k]
    top = w[i] * x[j] - dot
    along = dot / (1.0 + w[i]) - x[j]
    for k in range(1, m):
        out[o + k] = (x[j + k] + along * w[i + k]) / eta
    out[o] = top / eta


@part
def inverse_square(w, eta, i, r, s):
    """Entry (r, s) of V⁻² = (2 (J w)(J w)ᵀ − J) / η², for w from row i."""
    a = w[i] if r == 0 else -w[i + r]
    b = w[i] if s == 0 else -w[i + s]
    value = 2.0 * a * b
    if r == s:
        value += -1.0 if r == 0 else 1.0
    return value / (eta * eta)


@part
def divide(x, i, y, j, m, out, o):
    """The v with x ∘ v = y into out, for x from row i, y from row j, out from row o."""
    tail = length_of_tail(x, i, m)
    dot = 0.0
    for k in range(1, m):
        dot += x[i + k] * y[j + k]
    top = (x[i] * y[j] - dot) / ((x[i] - tail) * (x[i] + tail))
    for k in range(1, m):
        out[o + k] = (y[j + k] - top * x[i + k]) / x[i]
    out[o] = top


@part
def room(x, dx, i, m):
    """The largest t with x + t dx in the cone of rows i …."""
    far = 1e30
    if dx[i] < 0.0:
        far = -x[i] / dx[i]
    if m == 1:
        return far
    tail = length_of_tail(x, i, m)
    a, b, c = dx[i] * dx[i], x[i] * dx[i], (x[i] - tail) * (x[i] + tail)
    for k in range(i + 1, i + m):
        a -= dx[k] * dx[k]
        b -= x[k] * dx[k]
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
