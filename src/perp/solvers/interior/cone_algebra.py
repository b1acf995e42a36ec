"""Jordan algebra of zero, nonnegative and second-order cones: products, Nesterov–Todd scaling, step lengths.

Notation: s slacks, y multipliers, W the symmetric scaling with W y = W⁻¹ s = the scaled point, ∘ the Jordan
product, which on a second-order cone is (aᵀ b, a₀ b̄ + b₀ ā). Rows of the zero cone are equations: s = 0, y
free, W = 0.

Reference: Vandenberghe, The CVXOPT linear and quadratic cone program solvers (2010), section 5.
"""

from __future__ import annotations

import itertools

import numpy as np

from perp.problems.cone_program import ConeProgram
from perp.problems.validation import Vector

# Smallest determinant of a scaling, relative: keeps points on the boundary from dividing by zero.
SMALLEST = 1e-300


class Scaling:
    """Nesterov–Todd scaling at a pair s, y, as dense blocks."""

    def __init__(self, matrix: np.ndarray, inverse: np.ndarray, point: Vector) -> None:
        self.matrix, self.inverse, self.point = matrix, inverse, point
        self.squared = matrix @ matrix

    def scale(self, a: Vector) -> Vector:
        """W a."""
        return self.matrix @ a

    def unscale(self, a: Vector) -> Vector:
        """W⁻¹ a, 0 on equations."""
        return self.inverse @ a


class Cones:
    """The product of cones of a program."""

    def __init__(self, program: ConeProgram) -> None:
        self.zero, self.count = program.zero, program.row_count
        self.first_cone = program.zero + program.nonnegative
        starts = program.cone_starts
        self.second_order = [slice(int(a), int(b)) for a, b in itertools.pairwise(starts)]
        self.linear = slice(self.zero, self.first_cone)
        self.is_equation = np.arange(self.count) < self.zero
        self.identity = np.zeros(self.count)
        self.identity[self.linear] = 1.0
        for cone in self.second_order:
            self.identity[cone.start] = 1.0
        self.degree = program.nonnegative + len(self.second_order)

    def dot(self, s: Vector, y: Vector) -> float:
        """sᵀ y without the equations."""
        return float(s[self.zero :] @ y[self.zero :])

    def product(self, a: Vector, b: Vector) -> Vector:
        """a ∘ b, 0 on equations."""
        out = np.zeros(self.count)
        out[self.linear] = a[self.linear] * b[self.linear]
        for cone in self.second_order:
            p, r = a[cone], b[cone]
            out[cone] = p[0] * r + r[0] * p
            out[cone.start] = p @ r
        return out

    def divide(self, a: Vector, b: Vector) -> Vector:
        """The x with a ∘ x = b, 0 on equations."""
        out = np.zeros(self.count)
        out[self.linear] = b[self.linear] / a[self.linear]
        for cone in self.second_order:
            p, r = a[cone], b[cone]
            determinant = max(_determinant(p), SMALLEST)
            across = p[1:] @ r[1:]
            out[cone.start] = (p[0] * r[0] - across) / determinant
            out[cone.start + 1 : cone.stop] = ((across - p[0] * r[0]) * p[1:] / determinant + r[1:]) / p[0]
        return out

    def inside(self, a: Vector, *, equations: Vector | None = None) -> Vector:
        """a moved along the identity until it is inside the cones; equations keep their value or are 0."""
        out = a.copy()
        lowest = np.inf
        if self.linear.stop > self.linear.start:
            lowest = float(a[self.linear].min())
        for cone in self.second_order:
            lowest = min(lowest, float(a[cone.start] - np.linalg.norm(a[cone.start + 1 : cone.stop])))
        if lowest < 1e-3 * (1.0 + float(np.linalg.norm(a[self.zero :]))):
            out = out + (1.0 + max(-lowest, 0.0)) * self.identity
        out[self.is_equation] = 0.0 if equations is None else equations[self.is_equation]
        return out

    def scaling(self, s: Vector, y: Vector) -> Scaling:
        """Nesterov–Todd scaling of an interior pair."""
        W, inverse = np.zeros((self.count, self.count)), np.zeros((self.count, self.count))
        point = np.zeros(self.count)
        rows = np.arange(self.linear.start, self.linear.stop)
        W[rows, rows] = np.sqrt(s[self.linear] / y[self.linear])
        inverse[rows, rows] = 1.0 / W[rows, rows]
        point[self.linear] = np.sqrt(s[self.linear] * y[self.linear])
        for cone in self.second_order:
            block, block_inverse = _second_order_scaling(s[cone], y[cone])
            W[cone, cone], inverse[cone, cone] = block, block_inverse
            point[cone] = block @ y[cone]
        return Scaling(W, inverse, point)

    def step_length(self, scaling: Scaling, step: tuple[Vector, Vector, Vector]) -> float:
        """The largest step in (0, 1] that keeps s and y in their cones, from their scaled directions."""
        _, ds, dy = step
        longest = 1.0
        for direction in (scaling.unscale(ds), scaling.scale(dy)):
            falling = direction[self.linear] / scaling.point[self.linear]
            if falling.size and falling.min() < 0:
                longest = min(longest, -1.0 / float(falling.min()))
            for cone in self.second_order:
                longest = min(longest, _distance(scaling.point[cone], direction[cone]))
        return longest


def _determinant(a: Vector) -> float:
    tail = float(np.linalg.norm(a[1:]))
    return float((a[0] - tail) * (a[0] + tail))


def _second_order_scaling(s: Vector, y: Vector) -> tuple[np.ndarray, np.ndarray]:
    """W = η (2 v vᵀ − J) with v the scaling point, and its inverse (2 J v vᵀ J − J) / η."""
    s_size, y_size = np.sqrt(max(_determinant(s), SMALLEST)), np.sqrt(max(_determinant(y), SMALLEST))
    s_unit, y_unit = s / s_size, y / y_size
    reflected = y_unit.copy()
    reflected[1:] *= -1.0
    half = np.sqrt((1.0 + s_unit @ y_unit) / 2.0)
    w = (s_unit + reflected) / (2.0 * half)
    v = w.copy()
    v[0] += 1.0
    v /= np.sqrt(2.0 * v[0])
    J = -np.eye(s.size)
    J[0, 0] = 1.0
    eta = np.sqrt(s_size / y_size)
    Jv = J @ v
    return eta * (2.0 * np.outer(v, v) - J), (2.0 * np.outer(Jv, Jv) - J) / eta


def _distance(point: Vector, direction: Vector) -> float:
    """The largest t in (0, 1] with point + t · direction in the second-order cone."""
    size = np.sqrt(max(_determinant(point), SMALLEST))
    p, d = point / size, direction / size
    along = p[0] * d[0] - p[1:] @ d[1:]
    factor = (along + d[0]) / (p[0] + 1.0)
    tail = d[1:] - factor * p[1:]
    excess = float(np.linalg.norm(tail)) - along
    return 1.0 if excess <= 1.0 else 1.0 / excess
