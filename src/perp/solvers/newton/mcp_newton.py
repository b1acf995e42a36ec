"""Semismooth Newton for mixed complementarity problems (`MCP`): f may be nonlinear, bounds may be missing.

Each condition becomes one equation by the Fischer–Burmeister function φ(a, b) = a + b − √(a² + b²), whose
zeros are 0 ≤ a ⊥ b ≥ 0. Newton steps of least norm (Jacobians may be singular: redundant contacts) with a
line search, then Levenberg–Marquardt steps, and when neither goes down fast enough, a path search
(`path_search`); after that, other starts. One dense factorisation a step, O(n³).

References: De Luca, Facchinei and Kanzow (1996); Billups, Algorithms for complementarity problems (1995);
Munson and others, The semismooth algorithm for large scale complementarity problems (2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.problems import MCP, Status
from perp.problems.validation import Vector, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.least_norm import least_norm
from perp.solvers.newton.path_search import path_search, path_step
from perp.solvers.registry import register

ITERATIONS = 500
# After so many another start is worth more than another step.
ITERATIONS_A_START = 120
# Singular values below this fraction of the largest count as zero: the step of least norm ignores them.
RANK_TOLERANCE = 1e-12
# Armijo constant, and halvings of a step before another kind of step is tried.
ENOUGH, HALVINGS = 1e-4, 12
# A step may be as bad as the worst of so many merits: a narrow curved valley is crossed instead of followed.
MEMORY = 4
# Iterations in which the merit does not fall to this fraction of its best: time for a path search.
SLOW, PATIENCE = 0.8, 10
# Whole path steps from a start: they converge within a dozen, or not at all.
WHOLE_STEPS = 25
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
    """Solve an MCP from its start; if that stalls, from other points of the box."""
    limit = control.limit(ITERATIONS)
    run = _Run(problem, control, options)
    for start in _starts(problem, control):
        if (
            run.descend(start, min(limit, run.done + ITERATIONS_A_START))
            or control.reason is Status.TIME_LIMIT
        ):
            break
        if run.done >= limit:
            control.reason = Status.ITERATION_LIMIT
            break
    if run.converged is not None:
        return Attempt(run.converged, run.done, info={"path_searches": run.searches})
    return control.attempt(problem.first_point, run.done, path_searches=run.searches)


def _starts(problem: MCP, control: Control) -> list[Vector]:
    """Where to begin: the start, then points of the box near 0, 1 and −1."""
    size = problem.size
    first = problem.first_point if control.start is None else control.start
    others = (np.zeros(size), np.ones(size), -np.ones(size))
    return [np.clip(start, problem.lo, problem.hi) for start in (first, *others)]


class _Run:
    """The iterations of one solve, over all its starts."""

    def __init__(self, problem: MCP, control: Control, options: McpNewtonOptions) -> None:
        self.problem, self.control, self.options = problem, control, options
        self.done = self.searches = 0
        # an answer of the MCP whose residual in the problem that it came from is large: that is a relaxation
        self.converged: Vector | None = None

    def descend(self, z: Vector, limit: int) -> bool:
        """Iterate from z until solved; False when stalled or at the limit."""
        problem, control = self.problem, self.control
        equations = _Equations(problem, z)
        value = equations.value(z)
        merits, best, slow = [float(value @ value)], np.inf, 0
        start, walked = z, False
        while True:
            clipped = np.clip(z, problem.lo, problem.hi)
            if control.check(self.done, clipped):
                return control.reason is None
            if merits[-1] <= CONVERGED * float(equations.d @ equations.d):
                self.converged = clipped
                return True
            if self.done >= limit:
                control.reason = Status.ITERATION_LIMIT
                return False
            slow = 0 if merits[-1] < SLOW * best else slow + 1
            best = min(best, merits[-1])
            step = _descend(equations, z, value, max(merits[-MEMORY:])) if slow < PATIENCE else None
            if step is None:
                best, slow = np.inf, 0
                step = self._walk(equations, start, float(np.linalg.norm(value))) if not walked else None
                walked = True
                if step is None:
                    step = self._search(equations, z)
                if step is None:
                    step = _descend(equations, z, value, max(merits[-MEMORY:]))
            if step is None or np.array_equal(step, z):
                control.reason = Status.STALLED
                return False
            z = step
            value = equations.value(z)
            merits.append(float(value @ value))
            self.done += 1

    def _walk(self, equations: _Equations, z: Vector, size: float) -> Vector | None:
        """Whole path steps from a start, uphill or not: the best point met, if below `size` there."""
        best = None
        for _ in range(WHOLE_STEPS if self.options.path_search else 0):
            derivative = equations.derivative(z)
            if not np.isfinite(derivative).all():
                break
            following, here = path_step(self.problem, z, derivative, equations.d, self.control.out_of_time)
            if here < size:
                best, size = z, here
            if not np.isfinite(following).all() or np.array_equal(following, z) or self.control.out_of_time():
                break
            z = following
            self.done += 1
        self.searches += best is not None
        return best

    def _search(self, equations: _Equations, z: Vector) -> Vector | None:
        if not self.options.path_search:
            return None
        derivative = equations.derivative(z)
        if not np.isfinite(derivative).all():
            return None
        step = path_search(self.problem, z, derivative, equations.d, self.control.out_of_time)
        self.searches += step is not None
        return step


class _Equations:
    """Φ(z) = 0 in place of the MCP; every bound weighs as much as the function it is complementary to."""

    def __init__(self, problem: MCP, z: Vector) -> None:
        self.problem = problem
        self.d = problem.column_scale_at(z)
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

    def jacobian(self, z: Vector) -> np.ndarray:
        """An element of the generalised Jacobian of Φ."""
        _, by_z, by_f = self._evaluate(z)
        return np.diag(by_z) + by_f[:, None] * self.derivative(z)

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


def _descend(equations: _Equations, z: Vector, value: Vector, worst: float) -> Vector | None:
    """A Newton step of least norm, or a damped one, that makes ‖Φ‖² small enough; None when there is none."""
    H = equations.jacobian(z)
    if not np.isfinite(H).all():
        return None
    newton = least_norm(H, -value, rank_tolerance=RANK_TOLERANCE)
    found = _line_search(equations, z, newton, value, H, worst)
    if found is not None:
        return found
    normal, gradient = H.T @ H, H.T @ value
    size = float(normal.diagonal().max(initial=0.0)) or 1.0
    for damping in DAMPINGS:
        step = np.linalg.solve(normal + damping * size * np.eye(z.size), -gradient)
        found = _line_search(equations, z, step, value, H, float(value @ value))
        if found is not None:
            return found
    return None


def _line_search(
    equations: _Equations, z: Vector, step: Vector, value: Vector, H: np.ndarray, worst: float
) -> Vector | None:
    """z + t · step with ‖Φ‖² ≤ worst + 2 · ENOUGH · t · slope, t = 1, ½, ¼, …."""
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
