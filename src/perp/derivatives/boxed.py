"""Derivatives of LCPs, boxed LCPs and MCPs: the implicit function of the rows that are free.

A row is free where w_i = 0 and z_i lies between its bounds, and rests at a bound elsewhere. With J = ∂w/∂z
and the derivative ẇ of w by a parameter at fixed z,

    J_FF ż_F = −ẇ_F − J_FR ż_R,        ż_R = the derivative of the bounds,

and a row whose bounds follow another row, z_i = c z_j, moves with it. Gradients solve the transposed system.
Where z_i is at a bound and w_i = 0 too, the solution has one-sided derivatives only: the one with the row
resting at its bound is taken, and `degenerate` says so. Where J_FF is singular the solution is not unique;
the derivative of least norm is taken then, and `unique` is False.

Reference: Facchinei and Pang, Finite-Dimensional Variational Inequalities (2003), section 5.4.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from perp.problems import LCP, MCP, BoxedLCP
from perp.problems.mcp_residual import relative_parts
from perp.problems.validation import Vector, is_sparse, vector

FREE, LOWER, UPPER, FOLLOWS = "free", "lower", "upper", "follows"
# Relative sizes of distance and slack below which both count as zero: a switch of modes.
DEGENERATE = 1e-6
# Singular values below this fraction of the largest are those of a solution that is not unique.
RANK = 1e-10
LARGEST_DENSE = 1000


def pseudo_inverse(A: Any, largest: int) -> tuple[Any, Any, Any]:
    """Solves with A and with its transpose, of least norm where A is singular.

    Returns:
        Both, and what A cannot see, as columns; None where A is sparse, above `largest` and singular.
    """
    if is_sparse(A) and A.shape[0] > largest:
        from scipy.sparse.linalg import lsqr, splu

        try:
            factor = splu(A.tocsc())
            return factor.solve, lambda b: factor.solve(b, trans="T"), np.zeros((A.shape[0], 0))
        except RuntimeError:  # exactly singular
            return (
                lambda b: lsqr(A, b, atol=1e-14, btol=1e-14)[0],
                lambda b: lsqr(A.T, b, atol=1e-14, btol=1e-14)[0], None,
            )  # fmt: skip
    u, s, vt = np.linalg.svd(A.toarray() if is_sparse(A) else A)
    kept = s > RANK * s.max(initial=0.0)
    inverse = (vt[kept].T / s[kept]) @ u[:, kept].T
    return (lambda b: inverse @ b), (lambda b: inverse.T @ b), vt[~kept].T


@dataclass(frozen=True)
class Tangent:
    """A directional derivative: of z and of w, shape (n,) each."""

    z: Vector
    w: Vector


@dataclass(frozen=True)
class Gradient:
    """A gradient of a scalar by the data of the problem."""

    f: Vector  # by the functions (q of an LCP: what is added to each row), shape (n,)
    # by the bounds, shape (n,); zero where a row does not rest there
    lower: Vector
    upper: Vector
    z: Vector  # the answer, which the gradient by M needs

    @property
    def q(self) -> Vector:
        """By q of an LCP or boxed LCP, shape (n,)."""
        return self.f

    @property
    def M(self) -> np.ndarray:
        """By the matrix, ∂/∂M_ij = f_i z_j, shape (n, n)."""
        return np.outer(self.f, self.z)


class BoxedDerivative:
    """Derivatives of one answer.

    Attributes:
        mode: "free", "lower", "upper" or "follows" (a moving bound) of each row.
        degenerate: Whether a row is at a switch of modes, shape (n,).
        one_sided: Which derivative is taken at a switch.
        unique: Whether the free rows determine the derivative.
    """

    one_sided = "the row rests at its bound"

    def __init__(self, problem: LCP | BoxedLCP | MCP, z: Vector) -> None:
        n = problem.size
        self.problem, self.z = problem, np.array(z)
        boxed = (
            problem if isinstance(problem, MCP) else MCP.affine(problem.M, problem.q, *_bounds(problem, z))
        )
        w = boxed.evaluate(self.z)
        self.jacobian: Any = boxed.derivative(self.z)
        index = np.full(n, -1)
        if isinstance(problem, BoxedLCP) and problem.friction_index is not None:
            index = problem.friction_index
        below, above, slack = _relative(boxed, self.z, w)
        upper = above < below
        near = np.minimum(below, above)
        rests = (near <= slack) | (near < DEGENERATE)
        rests |= boxed.lo == boxed.hi
        self.degenerate = (near < DEGENERATE) & (slack < DEGENERATE) & (boxed.lo < boxed.hi)
        self._follows = rests & (index >= 0)
        self._index, self._upper = index, upper
        self.free = ~rests
        self.mode = np.where(self.free, FREE, np.where(self._follows, FOLLOWS, np.where(upper, UPPER, LOWER)))

    @cached_property
    def _basis(self) -> Any:
        """E with ż = E y + what the bounds give: unit columns of free rows and of what follows them."""
        from scipy.sparse import csr_array

        n, free = self.z.size, np.flatnonzero(self.free)
        place = np.full(n, -1)
        place[free] = np.arange(free.size)
        rows, columns, values = free.tolist(), list(range(free.size)), [1.0] * free.size
        for i in np.flatnonzero(self._follows):
            j = int(self._index[i])
            if place[j] >= 0:
                rows.append(int(i))
                columns.append(int(place[j]))
                values.append(float(self._factor(int(i))))
        return csr_array((values, (rows, columns)), shape=(n, free.size))

    def _factor(self, i: int) -> float:
        """What bounds of row i grow by with its limiting row."""
        problem: Any = self.problem
        limit = float(self.z[self._index[i]])
        sign = np.sign(limit) if problem.negative_limit == "magnitude" else float(limit > 0.0)
        return float(sign) * (problem.hi[i] if self._upper[i] else problem.lo[i])

    def _limits(self, at: np.ndarray) -> Vector:
        """What bounds of rows that follow others are multiples of."""
        limit, problem = self.z[self._index[at]], self.problem
        magnitude = isinstance(problem, BoxedLCP) and problem.negative_limit == "magnitude"
        return np.abs(limit) if magnitude else np.maximum(limit, 0.0)

    @cached_property
    def _system(self) -> Any:
        A = (self.jacobian @ self._basis)[self.free]
        return A if is_sparse(A) else np.asarray(A)

    @cached_property
    def _solver(self) -> tuple[Any, Any, Any]:
        """Of the matrix of the free rows."""
        return pseudo_inverse(self._system, LARGEST_DENSE)

    @property
    def unique(self) -> bool:
        """Whether the free rows determine the derivative."""
        hidden = self._solver[2] if self.free.any() else np.zeros((0, 0))
        return hidden is not None and hidden.shape[1] == 0

    def jvp(
        self, *, df: Any = None, dM: Any = None, dq: Any = None, dlower: Any = None, dupper: Any = None
    ) -> Tangent:
        """The change of z and w along a change of the data.

        Args:
            df: Change of the functions at fixed z, shape (n,): (∂f/∂θ) θ̇ of an MCP.
            dM: Change of the matrix of an LCP or boxed LCP (or affine MCP).
            dq: Change of their vector.
            dlower: Change of the lower bounds (of their factors where they follow another row).
            dupper: Change of the upper bounds.
        """
        n = self.z.size
        change = np.zeros(n)
        for name, part in (("df", df), ("dq", dq)):
            if part is not None:
                change = change + vector(name, part, n)
        if dM is not None:
            change = change + np.asarray(dM @ self.z)
        bounds = np.where(self._upper, _given("dupper", dupper, n), _given("dlower", dlower, n))
        fixed = np.where(self.free, 0.0, bounds)
        at = self._follows
        fixed[at] = bounds[at] * self._limits(at)
        dz = fixed
        if self.free.any():
            right = -(change + self.jacobian @ fixed)[self.free]
            dz = fixed + self._basis @ self._solver[0](right)
        return Tangent(dz, np.asarray(self.jacobian @ dz) + change)

    def vjp(self, dz: Any) -> Gradient:
        """The gradient by the data of a scalar whose gradient by z is dz, shape (n,)."""
        n = self.z.size
        by_z = vector("dz", dz, n)
        adjoint = np.zeros(n)
        if self.free.any():
            adjoint[self.free] = -self._solver[1](self._basis.T @ by_z)
        at_bound = np.where(self.free, 0.0, by_z + np.asarray(self.jacobian.T @ adjoint))
        at = self._follows
        at_bound[at] *= self._limits(at)
        return Gradient(
            adjoint, np.where(self._upper, 0.0, at_bound), np.where(self._upper, at_bound, 0.0), self.z
        )


def _given(name: str, x: Any, n: int) -> Vector:
    return np.zeros(n) if x is None else vector(name, np.broadcast_to(np.asarray(x, float), (n,)), n)


def _bounds(problem: LCP | BoxedLCP, z: Vector) -> tuple[Vector, Vector]:
    return problem.bounds(z) if isinstance(problem, BoxedLCP) else (problem.lo, problem.hi)


def _relative(boxed: MCP, z: Vector, w: Vector) -> tuple[Vector, Vector, Vector]:
    """Distances from both bounds and the slack, in each row's own size (see `mcp_residual`)."""
    below, above, slack = relative_parts(boxed, z, w)
    return np.abs(below), np.abs(above), np.abs(slack)
