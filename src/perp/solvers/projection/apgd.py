"""Accelerated projected gradients (APGD) and Barzilai–Borwein steps for convex problems over sets.

min ½ λᵀ W λ + qᵀ λ over K is what the relaxed contact problem, an LCP and a boxed LCP with symmetric positive
semidefinite matrices say. A step goes down the gradient and is projected; Nesterov's momentum is restarted
whenever it points uphill, and the step length follows a backtracking estimate of ‖W‖. The Barzilai–Borwein
variant takes spectral steps without momentum, safeguarded by a nonmonotone test. One or two products with W
an iteration, so very large problems are within reach.

Reference: Mazhar, Heyn, Negrut and Tasora, Using Nesterov's method to accelerate multibody dynamics with
friction and contact (2015); Dai and Fletcher, Projected Barzilai–Borwein methods for large-scale
box-constrained quadratic programming (2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from perp.formulations.boxed_as_contact import as_contact
from perp.problems import LCP, BoxedLCP, ContactProblem, ProblemError
from perp.problems.sets import BOX, COULOMB
from perp.problems.validation import Vector, freeze, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import refuses_nonsymmetric
from perp.solvers.registry import register

ITERATIONS = 100_000
MEMORY = 10


@dataclass(frozen=True)
class ApgdOptions:
    """Options of apgd.

    Attributes:
        steps: "nesterov" for momentum with restarts, "barzilai-borwein" for spectral steps.
    """

    steps: Literal["nesterov", "barzilai-borwein"] = "nesterov"

    def __post_init__(self) -> None:
        if self.steps not in ("nesterov", "barzilai-borwein"):
            raise ProblemError(f"steps = {self.steps!r}: 'nesterov' or 'barzilai-borwein' is needed")


def refuses(problem: LCP | BoxedLCP | ContactProblem) -> str | None:
    """Why a problem is not the minimum of a convex function, or None."""
    if isinstance(problem, ContactProblem):
        coefficients = problem.sets.parameters[problem.sets.kind >= COULOMB, :5]
        if not problem.relaxed and coefficients.any():
            return "exact friction is not a minimum; relax it with problem.as_relaxed()"
        return None
    return refuses_nonsymmetric(problem)


@register(
    "apgd",
    takes=(LCP, BoxedLCP, ContactProblem),
    options=ApgdOptions,
    refuses=refuses,
    summary="accelerated projected gradients; relaxed contact and symmetric positive matrices, very large",
)
def apgd(problem: LCP | BoxedLCP | ContactProblem, control: Control, options: ApgdOptions) -> Attempt:
    """Minimise the quadratic of a relaxed contact problem or a symmetric (boxed) LCP over its sets."""
    contact = as_contact(problem)
    if contact.size == 0:
        return Attempt(np.zeros(0), 0)
    descent = _Descent(contact, control.begin(contact.size), options.steps == "nesterov")
    return control.iterate(
        descent.advance, descent.impulse(descent.x), default_limit=ITERATIONS, work=4.0 * descent.nonzeros
    )


class _Descent:
    """The state between chunks, in coordinates x with λ = x / s whose W has a unit-sized diagonal."""

    def __init__(self, problem: ContactProblem, start: Vector, nesterov: bool) -> None:
        self.problem = problem
        d = np.repeat(problem.column_scale, problem.sets.dimension)
        self.s = np.sqrt(d) / problem.row_scale
        self.nonzeros = problem.W.nnz if is_sparse(problem.W) else problem.size**2
        self.q = problem.q / self.s
        sets = problem.sets
        root = np.sqrt(problem.column_scale)
        boxes, parameters = sets.kind == BOX, np.array(problem.unit_parameters)
        parameters[boxes] *= root[boxes, None]
        self.parameters = freeze(parameters)
        self.x = self._project(start * self.s)
        self.g = self._gradient(self.x)
        self.nesterov = nesterov
        self.y, self.theta, self.L = self.x.copy(), 1.0, 1.0
        self.values: list[float] = []
        self.step = 1.0

    def impulse(self, x: Vector) -> Vector:
        return x / self.s

    def _gradient(self, x: Vector) -> Vector:
        return (self.problem.W @ (x / self.s)) / self.s + self.q

    def _project(self, x: Vector) -> Vector:
        from perp.problems.set_kernels import project_all

        sets = self.problem.sets
        out = np.empty(x.size)
        project_all(sets.kind, sets.start, self.parameters, x, out)
        return out

    @np.errstate(all="ignore")
    def advance(self, z: Vector, count: int) -> None:
        """`count` steps; z receives the impulses. Without a minimum they overflow, which is seen later."""
        for _ in range(count):
            if self.nesterov:
                self._accelerated()
            else:
                self._spectral()
        z[:] = self.impulse(self.x)

    def _accelerated(self) -> None:
        g = self._gradient(self.y)
        while True:
            new = self._project(self.y - g / self.L)
            move = new - self.y
            change = self._gradient(new) - g
            # along the step the quadratic must stay below its bound: moveᵀ W move ≤ L ‖move‖²
            if move @ change <= self.L * (move @ move) * (1.0 + 1e-12) or not np.isfinite(self.L):
                break
            self.L *= 2.0
        if (self.y - new) @ (new - self.x) > 0.0:
            self.theta, self.y = 1.0, new.copy()
        else:
            theta = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.theta**2))
            self.y = new + ((self.theta - 1.0) / theta) * (new - self.x)
            self.theta = theta
        self.x = new
        self.L *= 0.97

    def _spectral(self) -> None:
        self.values = [*self.values, 0.5 * float(self.x @ (self.g + self.q))][-MEMORY:]
        direction = self._project(self.x - self.step * self.g) - self.x
        slope = float(direction @ self.g)
        product = self._gradient(direction) - self.q
        curvature = float(direction @ product)
        # exact line search on the quadratic, shortened only when the full step exceeds recent values
        value = self.values[-1]
        t = 1.0
        if value + slope + 0.5 * curvature > max(self.values) + 1e-4 * slope and curvature > 0.0:
            t = min(1.0, -slope / curvature)
        self.x = self.x + t * direction
        self.g = self.g + t * product
        length = float(direction @ direction)
        self.step = min(max(length / curvature, 1e-6), 1e6) if curvature > 1e-300 else 1.0
