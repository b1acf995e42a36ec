"""An MCP as equations Φ(z) = 0, and Newton directions for them from sparse or dense factors.

Each row is Fischer–Burmeister's φ(a, b) = a + b − √(a² + b²) of a distance from a bound and the function, the
bounds folded in one after the other; `penalty` mixes in the product a⁺ b⁺ (Chen, Chen and Kanzow 2000), whose
level sets are bounded where those of φ are not. Rows are divided by the largest entry of the Jacobian at the
first point, distances multiplied by the largest of their column: no row and no variable counts by its unit.

A row whose variable rests at its bound is solved by itself; the others are factorised with the column order
of the first factorisation. A singular matrix gets a proximal term, ε times the scale of each variable.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.problems import MCP
from perp.problems.validation import Vector, freeze, is_sparse, row_blocks
from perp.solvers.large_dense import lu
from perp.solvers.least_norm import least_norm

# Singular values below this fraction of the largest count as zero: the step of least norm ignores them.
RANK_TOLERANCE = 1e-12
# Unknowns up to which a singular matrix is solved densely, in the sense of least norm.
LARGEST_DENSE = 400
# Proximal terms that are tried, relative to the scale of each variable.
PROXIMAL = (0.0, 1e-10, 1e-6, 1e-3)
# A direction must solve its equations to this fraction, or the matrix counts as singular.
ACCURATE = 1e-6


@part
def fischer_burmeister(a, b, penalty):
    """φ(a, b) and its derivatives; at the origin those of the direction (1, 1)."""
    r = math.hypot(a, b)
    total = a + b
    # a + b − r loses digits when both are positive: 2ab / (a + b + r) does not
    phi = 2.0 * a * b / (total + r) if total > 0.0 else total - r
    by_a = 1.0 - (a / r if r > 0.0 else math.sqrt(0.5))
    by_b = 1.0 - (b / r if r > 0.0 else math.sqrt(0.5))
    if penalty > 0.0:
        both = a > 0.0 and b > 0.0
        phi = (1.0 - penalty) * phi + (penalty * a * b if both else 0.0)
        by_a = (1.0 - penalty) * by_a + (penalty * b if both else 0.0)
        by_b = (1.0 - penalty) * by_b + (penalty * a if both else 0.0)
    return phi, by_a, by_b


@kernel
def equations_of_rows(z, f, lo, hi, d, row, penalty):
    """Φ with its derivatives by z and by f, shape (n,) each; d and row scale distances and functions."""
    value, by_z, by_f = np.empty(z.size), np.empty(z.size), np.empty(z.size)
    for i in range(z.size):
        v, slope_z, slope_f = row[i] * f[i], 0.0, 1.0
        if np.isfinite(hi[i]):
            phi, by_a, slope_f = fischer_burmeister(d[i] * (hi[i] - z[i]), -v, penalty)
            v, slope_z = -phi, by_a * d[i]
        if np.isfinite(lo[i]):
            v, by_a, by_b = fischer_burmeister(d[i] * (z[i] - lo[i]), v, penalty)
            slope_z = by_a * d[i] + by_b * slope_z
            slope_f *= by_b
        value[i], by_z[i], by_f[i] = v, slope_z, slope_f * row[i]
    return value, by_z, by_f


class Equations:
    """Φ(z) = 0 in place of an MCP.

    Args:
        problem: The problem.
        z: Where scales are taken.
        penalty: Weight of the product in φ, 0 for Fischer–Burmeister's function.
    """

    def __init__(self, problem: MCP, z: Vector, penalty: float = 0.0) -> None:
        self.problem, self.penalty = problem, penalty
        J = problem.derivative(z)
        largest = abs(J).max(axis=1).toarray().ravel() if is_sparse(J) else np.empty(z.size)
        for rows in () if is_sparse(J) else row_blocks(z.size):
            largest[rows] = np.abs(J[rows]).max(axis=1)
        self.row = np.where(
            np.isfinite(largest) & (largest > 0.0), 1.0 / np.where(largest > 0, largest, 1.0), 1.0
        )
        column = np.zeros(z.size)
        if is_sparse(J):
            column = _rows_times(self.row, abs(J)).max(axis=0).toarray().ravel()
        for rows in () if is_sparse(J) else row_blocks(z.size):
            np.maximum(column, (np.abs(J[rows]) * self.row[rows, None]).max(axis=0), out=column)
        self.d = np.where(np.isfinite(column) & (column > 1e-12), column, 1.0)
        self.has_lo, self.has_hi = np.isfinite(problem.lo), np.isfinite(problem.hi)
        self.lo = np.where(self.has_lo, problem.lo, 0.0)
        self.hi = np.where(self.has_hi, problem.hi, 0.0)
        self.order: Vector | None = None  # columns of the factorisation
        self.epsilon = 0.0
        self.latest: tuple[bytes, Vector] | None = None

    def value(self, z: Vector) -> Vector:
        """Φ(z), shape (n,)."""
        return self.linear(z)[0]

    def linear(self, z: Vector) -> tuple[Vector, Vector, Vector]:
        """Φ with its derivatives by z and by f, shape (n,) each."""
        bounds = (self.problem.lo, self.problem.hi)
        return equations_of_rows(freeze(z), freeze(self.function(z)), *bounds, self.d, self.row, self.penalty)

    def function(self, z: Vector) -> Vector:
        """f(z); line searches, crash steps and iterations ask for the same one in turn."""
        key = z.tobytes()
        if self.latest is None or self.latest[0] != key:
            self.latest = (key, self.problem.evaluate(z))
        return self.latest[1]

    def jacobian(self, z: Vector, by_z: Vector, by_f: Vector) -> Any:
        """An element of the generalised Jacobian of Φ, as sparse as that of f."""
        H = _rows_times(by_f, self.problem.derivative(z))
        if is_sparse(H):
            from scipy.sparse import diags_array

            return (H + diags_array(by_z)).tocsr()
        H.reshape(-1)[:: H.shape[0] + 1] += by_z
        return H

    def direction(self, H: Any, value: Vector, by_f: Vector) -> Vector | None:
        """Newton's step −H⁻¹ Φ, with a proximal term where H is singular; None where nothing helps."""
        step = np.zeros(value.size)
        free = by_f != 0.0
        diagonal = H.diagonal()
        resting = ~free
        if (diagonal[resting] == 0.0).any():
            return None
        step[resting] = -value[resting] / diagonal[resting]
        if not free.any():
            return step
        whole = bool(free.all())
        part = H if whole else H[np.ix_(free, free)]
        right = -value if whole else -value[free] - (H @ step)[free]
        weight = (by_f * self.d / self.row)[free] if not whole else by_f * self.d / self.row
        found = self._solve(part, right, weight, whole)
        if found is None:
            return None
        step[free] = found
        return step

    def _solve(self, A: Any, right: Vector, weight: Vector, whole: bool) -> Vector | None:
        size = float(np.abs(right).max(initial=0.0))
        for epsilon in PROXIMAL:
            self.epsilon = epsilon
            shifted = A if epsilon == 0.0 else _shifted(A, epsilon * weight)
            found = self._factorise_and_solve(shifted, right, whole)
            if found is not None and np.isfinite(found).all():
                error = float(np.abs(shifted @ found - right).max(initial=0.0))
                if error <= ACCURATE * size:
                    return found
            if epsilon == 0.0 and A.shape[0] <= LARGEST_DENSE:
                dense = A.toarray() if is_sparse(A) else A
                if np.isfinite(dense).all():
                    return least_norm(dense, right, rank_tolerance=RANK_TOLERANCE)
                return None
        return None

    def _factorise_and_solve(self, A: Any, right: Vector, whole: bool) -> Vector | None:
        if not is_sparse(A):
            lapack: Any = import_module("scipy.linalg").lapack
            factors, pivots, failure = lu(A)
            size = np.abs(A).sum(axis=0).max(initial=0.0)
            if failure or not np.isfinite(size):
                return None
            reciprocal, _ = lapack.dgecon(factors, size)
            return None if reciprocal < RANK_TOLERANCE else lapack.dgetrs(factors, pivots, right)[0]
        from scipy.sparse.linalg import splu

        matrix = A.tocsc()
        if not np.isfinite(matrix.data).all():
            return None
        try:
            if whole and self.order is not None and self.order.size == right.size:
                found = splu(matrix[:, self.order], permc_spec="NATURAL").solve(right)
                out = np.empty_like(found)
                out[self.order] = found
                return out
            factor = splu(matrix)
        except (RuntimeError, MemoryError):
            return None
        if whole:
            self.order = np.argsort(factor.perm_c)
        return factor.solve(right)


def _rows_times(weight: Vector, matrix: Any) -> Any:
    if is_sparse(matrix):
        from scipy.sparse import csr_array

        data = matrix.data * np.repeat(weight, np.diff(matrix.indptr))
        return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return weight[:, None] * matrix


def _shifted(A: Any, diagonal: Vector) -> Any:
    if is_sparse(A):
        from scipy.sparse import diags_array

        return A + diags_array(diagonal)
    return A + np.diag(diagonal)
