"""Semismooth Newton for mixed complementarity problems (`MCP`): f may be nonlinear, bounds may be missing.

Each condition becomes one equation by the Fischer–Burmeister function φ(a, b) = a + b − √(a² + b²), whose zeros are
0 ≤ a ⊥ b ≥ 0. Newton steps of least norm (Jacobians may be singular: redundant contacts) with a line search, then
Levenberg–Marquardt steps, and when neither goes down, a path search (`path_search`). One dense factorisation a step,
O(n³).

References: De Luca, Facchinei and Kanzow (1996); Billups, Algorithms for complementarity problems (1995); Munson and
others, The semismooth algorithm for large scale complementarity problems (2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.problems import MCP, Status
from perp.problems.column_scale import column_scale
from perp.problems.validation import Vector, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.newton.path_search import path_search
from perp.solvers.registry import register

ITERATIONS = 500
# Singular values below this fraction of the largest count as zero: the step of least norm ignores them.
RANK_TOLERANCE = 1e-12
# Armijo constant, and halvings of a step before another kind of step is tried.
ENOUGH, HALVINGS = 1e-4, 12
# A step may be as bad as the worst of so many merits: a narrow curved valley is crossed instead of followed.
MEMORY = 4
# Iterations in which the merit does not fall to this fraction of its best: time for a path search.
SLOW, PATIENCE = 0.8, 10
# ‖Φ‖² relative to the scale of the unknowns at which only round-off is left.
CONVERGED = 1e-30
DAMPINGS = (1e-6, 1e-4, 1e-2, 1.0, 1e2)


@dataclass(frozen=True)
class McpNewtonOptions:
    """Options of `mcp-newton`."""

    path_search: bool = True  # off shows what the line search does alone


@register(
    "mcp-newton",
    takes=MCP,
    options=McpNewtonOptions,
    summary="semismooth Newton with line search and path search for any MCP",
)
@np.errstate(all="ignore")
def mcp_newton(problem: MCP, control: Control, options: McpNewtonOptions) -> Attempt:
    """Solve an MCP from its start, or from the box's point nearest 0."""
    z = np.clip(control.start, problem.lo, problem.hi) if control.start is not None else problem.first_point
    z = np.array(z, dtype=np.float64)
    equations = _Equations(problem, z)
    limit = control.limit(ITERATIONS)
    value = equations.value(z)
    merits = [float(value @ value)]
    searches = done = slow = 0
    best = np.inf
    while not control.check(done, np.clip(z, problem.lo, problem.hi)):
        if merits[-1] <= CONVERGED * float(equations.d @ equations.d):
            # solved as an MCP: if the problem that it came from is not, its formulation is a relaxation
            return Attempt(np.clip(z, problem.lo, problem.hi), done, info={"path_searches": searches})
        if done >= limit:
            control.reason = Status.ITERATION_LIMIT
            break
        slow = 0 if merits[-1] < SLOW * best else slow + 1
        best = min(best, merits[-1])
        step = None
        if slow < PATIENCE or not options.path_search:
            step = _descend(equations, z, value, equations.derivative(z), max(merits[-MEMORY:]))
        if step is None and options.path_search:
            clipped = np.clip(z, problem.lo, problem.hi)
            step = path_search(problem, clipped, equations.derivative(clipped), equations.d, control.out_of_time)
            searches += step is not None
            slow = 0
            if step is None:
                step = _descend(equations, z, value, equations.derivative(z), max(merits[-MEMORY:]))
        if step is None or np.array_equal(step, z):
            control.reason = Status.STALLED
            break
        z = step
        value = equations.value(z)
        merits.append(float(value @ value))
        done += 1
    return control.attempt(np.clip(z, problem.lo, problem.hi), done, path_searches=searches)


class _Equations:
    """Φ(z) = 0 in place of the MCP; every bound weighs as much as the function it is complementary to."""

    def __init__(self, problem: MCP, z: Vector) -> None:
        self.problem = problem
        self.d = column_scale(self.derivative(z))
        self.has_lo, self.has_hi = np.isfinite(problem.lo), np.isfinite(problem.hi)
        self.lo = np.where(self.has_lo, problem.lo, 0.0)
        self.hi = np.where(self.has_hi, problem.hi, 0.0)

    def derivative(self, z: Vector) -> np.ndarray:
        """Jacobian of f, dense."""
        matrix = self.problem.derivative(z)
        return matrix.toarray() if is_sparse(matrix) else np.array(matrix)

    def value(self, z: Vector) -> Vector:
        """Φ(z)."""
        return self._evaluate(z)[0]

    def jacobian(self, z: Vector, matrix: np.ndarray) -> np.ndarray:
        """An element of the generalised Jacobian of Φ."""
        _, by_z, by_f = self._evaluate(z)
        return np.diag(by_z) + by_f[:, None] * matrix

    def _evaluate(self, z: Vector) -> tuple[Vector, Vector, Vector]:
        """Φ with its derivatives by z and by f: free rows f, bounds folded in one after the other."""
        f = self.problem.evaluate(z)
        value, by_z, by_f = f.copy(), np.zeros(z.size), np.ones(z.size)
        upper = self.has_hi
        a, b = self.d * (self.hi - z), -f
        phi, by_a, by_b = _fischer_burmeister(a, b)
        value[upper], by_z[upper], by_f[upper] = -phi[upper], (by_a * self.d)[upper], by_b[upper]
        lower = self.has_lo
        phi, by_a, by_b = _fischer_burmeister(self.d * (z - self.lo), value)
        value = np.where(lower, phi, value)
        by_z = np.where(lower, by_a * self.d + by_b * by_z, by_z)
        by_f = np.where(lower, by_b * by_f, by_f)
        return value, by_z, by_f


def _fischer_burmeister(a: Vector, b: Vector) -> tuple[Vector, Vector, Vector]:
    """φ(a, b) and its derivatives; at the origin those of the direction (1, 1)."""
    r = np.hypot(a, b)
    total = a + b
    # a + b − r loses digits when both are positive: 2ab / (a + b + r) does not
    phi = np.where(total > 0, 2.0 * a * b / np.where(total > 0, total + r, 1.0), total - r)
    unit = np.where(r > 0, r, 1.0)
    cosine, sine = np.where(r > 0, a / unit, np.sqrt(0.5)), np.where(r > 0, b / unit, np.sqrt(0.5))
    return phi, 1.0 - cosine, 1.0 - sine


def _descend(
    equations: _Equations, z: Vector, value: Vector, matrix: np.ndarray, worst: float
) -> Vector | None:
    """A Newton step of least norm, or a damped one, that makes ‖Φ‖² small enough; None when there is none."""
    from scipy.linalg import lstsq

    H = equations.jacobian(z, matrix)
    if not np.isfinite(H).all():
        return None
    newton = lstsq(H, -value, cond=RANK_TOLERANCE, lapack_driver="gelsy", check_finite=False)[0]
    found = _line_search(equations, z, newton, value, H, worst)
    if found is not None:
        return found
    normal, gradient = H.T @ H, H.T @ value
    size = float(normal.diagonal().max(initial=0.0)) or 1.0
    for damping in DAMPINGS:
        step = lstsq(normal + damping * size * np.eye(z.size), -gradient, lapack_driver="gelsy", check_finite=False)[0]
        found = _line_search(equations, z, step, value, H, float(value @ value))
        if found is not None:
            return found
    return None


def _line_search(
    equations: _Equations, z: Vector, step: Vector, value: Vector, H: np.ndarray, worst: float
) -> Vector | None:
    """z + t · step with ‖Φ‖² ≤ worst + 2 · ENOUGH · t · slope, t = 1, ½, ¼, …"""
    if not np.isfinite(step).all():
        return None
    slope = float(value @ (H @ step))
    if slope >= 0:
        return None
    t = 1.0
    for _ in range(HALVINGS):
        candidate = z + t * step
        new = equations.value(candidate)
        if np.isfinite(new).all() and float(new @ new) <= worst + 2.0 * ENOUGH * t * slope:
            return candidate
        t *= 0.5
    return None
