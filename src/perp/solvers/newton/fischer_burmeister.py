"""Newton's method on the Fischer–Burmeister function, plain and penalised, for LCPs and boxed LCPs.

φ(a, b) = a + b − √(a² + b²) vanishes exactly where a ≥ 0, b ≥ 0, ab = 0, and its square is smooth, so that a
gradient step is always at hand when a Newton step fails. A box nests it: φ(z − lo, −φ(hi − z, −w)). The
penalised variant λφ + (1 − λ) a⁺b⁺ has bounded level sets where the plain one is flat. A step costs one
factorisation of D_a + D_b M, regularised where M is rank-deficient. Contact problems with friction go to
`friction_compliance`.

References: De Luca, Facchinei and Kanzow, A semismooth equation approach to the solution of nonlinear
complementarity problems, Math. Program. 75 (1996); Chen, Chen and Kanzow, A penalized Fischer–Burmeister
NCP-function, Math. Program. 88 (2000); Billups, Dirkse and Ferris (1997) for the box.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from perp.problems import ContactProblem, Status
from perp.problems.validation import Vector, freeze, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import RowProblem, Rows, refuses_following, register_rows, rows_of_problem
from perp.solvers.line_search import backtrack
from perp.solvers.linear import diagonal_scale, factorise, solve_regularised
from perp.solvers.newton.friction_compliance import solve_by_compliance
from perp.solvers.newton.mcp_equations import equations_of_rows

STEPS = 500
# Steps in a row in which the merit may fail to halve: on matrices that are neither monotone nor P the
# gradient steps that remain creep.
PATIENCE = 100
# A direction counts as one of descent when its slope is at least this fraction of −‖direction‖^2.1.
DESCENT = 1e-10


@dataclass(frozen=True)
class FischerBurmeisterOptions:
    """Options of fischer-burmeister.

    Attributes:
        penalty: λ in (0, 1]: 1 is the plain function, less adds (1 − λ) a⁺ b⁺; 0.95 is the literature's
            choice.
        linear_solver: Of contact problems with friction: sparse or dense factors, or the preconditioned
            conjugate residual method, which needs products with W only.
    """

    penalty: float = 1.0
    linear_solver: Literal["factors", "conjugate-residual"] = "factors"

    def __post_init__(self) -> None:
        if self.linear_solver not in ("factors", "conjugate-residual"):
            raise ValueError(f"linear_solver = {self.linear_solver!r}: factors or conjugate-residual")
        if not 0.0 < self.penalty <= 1.0:
            raise ValueError(f"penalty = {self.penalty}: a number in (0, 1] is needed")


class _BoxFunction:
    """Φ(z) in units of the largest |q|, and its Jacobian D_a + D_b M."""

    def __init__(self, rows: Rows, penalty: float) -> None:
        self.rows, self.weight = rows, 1.0 - penalty
        size = float(np.max(np.abs(rows.q), initial=0.0)) or 1.0
        self.d, self.row = rows.column_scale / size, np.full(rows.size, 1.0 / size)

    def parts(self, z: Vector) -> tuple[Vector, Vector, Vector]:
        """Φ and its derivatives by z and by w, shape (n,) each."""
        rows, w = self.rows, self.rows.slack(z, np.empty(z.size))
        return equations_of_rows(freeze(z), freeze(w), rows.lo, rows.hi, self.d, self.row, self.weight)

    def merit(self, z: Vector) -> float:
        value = self.parts(z)[0]
        return 0.5 * float(value @ value)

    def jacobian(self, by_z: Vector, by_w: Vector) -> Any:
        if is_sparse(self.rows.M):
            from scipy.sparse import diags_array

            return (diags_array(by_z) + diags_array(by_w) @ self.rows.M).tocsr()
        J = by_w[:, None] * self.rows.M
        J[np.diag_indices_from(J)] += by_z
        return J


def _directions(J: Any, value: Vector) -> Any:
    """Newton's direction, then Levenberg–Marquardt's, then the steepest descent."""
    yield solve_regularised(J, -value, symmetric=False)
    gradient = J.T @ value
    normal = J.T @ J
    solve = factorise(normal, symmetric=True, shift=1e-8 * diagonal_scale(normal))
    yield None if solve is None else solve(-gradient)
    image = J @ gradient
    yield -gradient * (float(gradient @ gradient) / (float(image @ image) or 1.0))


def _refuses(problem: RowProblem) -> str | None:
    """Bounds that follow another row are refused; friction of contacts is not, except relaxed."""
    if not isinstance(problem, ContactProblem):
        return refuses_following(problem)
    cones = bool((problem.sets.dimension > 1).any())
    return "it is a relaxation, and friction here is Coulomb's" if cones and problem.relaxed else None


@register_rows(
    "fischer-burmeister",
    refuses=_refuses,
    options=FischerBurmeisterOptions,
    summary="semismooth Newton on the Fischer–Burmeister function; friction by a compliance that follows",
)
def fischer_burmeister(problem: RowProblem, control: Control, options: FischerBurmeisterOptions) -> Attempt:
    """Solve a boxed problem by a damped Newton method on the Fischer–Burmeister function."""
    if isinstance(problem, ContactProblem) and (problem.sets.dimension > 1).any():
        return solve_by_compliance(problem, control, options.linear_solver)
    rows = rows_of_problem(problem)
    function = _BoxFunction(rows, options.penalty)
    z = rows.clip(control.begin(rows.size))
    done, mark, since = 0, np.inf, 0
    while not control.check(done, rows.clip(z)):
        if done >= control.limit(STEPS):
            control.reason = Status.ITERATION_LIMIT
            break
        value, by_z, by_w = function.parts(z)
        J = function.jacobian(by_z, by_w)
        merit, gradient = 0.5 * float(value @ value), J.T @ value
        mark, since = (merit, done) if merit < 0.5 * mark else (mark, since)
        if done - since > PATIENCE:
            control.reason = Status.STALLED
            break
        found = None
        for direction in _directions(J, value):
            if direction is None or not np.isfinite(direction).all():
                continue
            slope = float(gradient @ direction)
            if slope < -DESCENT * merit:
                found = backtrack(function.merit, z, direction, merit, slope=slope, halvings=25)
            if found is not None:
                break
        if found is None or np.array_equal(found[0], z):
            control.reason = Status.STALLED
            break
        z = found[0]
        done += 1
    return control.attempt(rows.clip(z), done)
