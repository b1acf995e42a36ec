"""A contact problem with every unknown of size about 1: what the three formulations share.

Impulses of a small step are near 1e-3 while solvers stop at absolute tolerances near 1e-6, so every
formulation solves for x with λ = κ C x and velocities û = u / ω, where

    ω = max |q|            the largest free velocity
    κ = ω / max diag(C W C)   the impulse that stops it
    C = diag(1 on normal rows, μ on tangential rows)

In these coordinates every friction set is a ball: Coulomb is ‖x_T‖ ≤ x_N, elliptic friction the same with its
two coefficients in C, and rolling friction two balls that share x_N. A coefficient of 0 needs no special
case.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from perp.problems import ContactProblem
from perp.problems.discs import discs
from perp.problems.sets import COULOMB
from perp.problems.validation import Vector, is_sparse

# Eigenvalues of W below this fraction of the largest are round-off of a rank-deficient W.
RANK_TOLERANCE = 1e-14


@dataclass(frozen=True)
class Ball:
    """‖x[rows]‖ ≤ x[normal]: one friction condition."""

    normal: int
    rows: np.ndarray


class ScaledContact:
    """The data of a contact problem in scaled coordinates.

    Args:
        problem: The contact problem.
        units: "scaled" as above; "impulse" leaves impulses and velocities in the problem's own units.

    Attributes:
        coefficient: Diagonal of C, shape (rows,).
        velocity_unit: ω [m/s].
        impulse_unit: κ [N·s].
        balls: The friction conditions.
    """

    def __init__(self, problem: ContactProblem, *, units: str = "scaled") -> None:
        self.problem = problem
        self.balls, self.coefficient = _balls(problem)
        largest = float(np.abs(problem.q).max(initial=0.0))
        diagonal = problem.W.diagonal() * self.coefficient**2
        strongest = float(diagonal.max(initial=0.0))
        if units == "impulse":
            largest, strongest = 1.0, 1.0
        self.velocity_unit = largest if largest > 0 else 1.0
        self.mobility = strongest if strongest > 0 else 1.0
        self.impulse_unit = self.velocity_unit / self.mobility

    @property
    def q(self) -> Vector:
        """Free velocity in scaled coordinates, C q / ω."""
        return self.coefficient * self.problem.q / self.velocity_unit

    @property
    def W(self) -> Any:
        """Delassus matrix in scaled coordinates, C W C κ / ω, scipy.sparse.csc_array."""
        from scipy.sparse import csc_array, diags_array

        C = diags_array(self.coefficient)
        return csc_array((C @ csc_array(self.problem.W) @ C) / self.mobility)

    @cached_property
    def bodies(self) -> tuple[np.ndarray, np.ndarray, Vector, Vector]:
        """M̂, Ĵ, p̂, b̂ with M̂ v̂ = p̂ + Ĵᵀ x and C u / ω = Ĵ v̂ + b̂, dense.

        Compliance becomes one more body of mass 1 a compliant row. A problem given as W and q gets bodies of
        mass 1 from a factor of W.
        """
        mass, jacobian, momentum, bias = _bodies(self.problem)
        root = np.sqrt(mass.diagonal())
        C = self.coefficient
        J = C[:, None] * jacobian / root / np.sqrt(self.mobility)
        p = momentum / root * np.sqrt(self.mobility) / self.velocity_unit
        return mass / root[:, None] / root, J, p, C * bias / self.velocity_unit

    @cached_property
    def free_body_velocity(self) -> Vector:
        """v̂ = M̂⁻¹ p̂: where the bodies go without contact."""
        mass, _, momentum, _ = self.bodies
        return np.linalg.solve(mass, momentum)

    def impulse(self, x: Vector) -> Vector:
        """λ = κ C x [N·s]."""
        return self.impulse_unit * self.coefficient * x

    def unknown(self, impulse: Vector) -> Vector:
        """The x of an impulse; 0 where the coefficient is."""
        C = self.coefficient
        return np.divide(impulse, C * self.impulse_unit, out=np.zeros_like(C), where=C > 0)

    def sliding_shift(self, velocity: Vector) -> Vector:
        """Γ per row from scaled velocities C u / ω: on normal rows the sum of ‖·‖ over the balls."""
        shift = np.zeros(velocity.size)
        for ball in self.balls:
            shift[ball.normal] += np.linalg.norm(velocity[ball.rows])
        return shift


def refuses_asymmetric(problem: ContactProblem) -> str | None:
    """Programs exist only for symmetric W."""
    if problem.dynamics is not None:
        return None
    W = problem.W
    difference = abs(W - W.T)
    if problem.size and difference.max() > 1e-9 * abs(W).max():
        return "W is not symmetric, so that its impulses minimise nothing"
    return None


def _balls(problem: ContactProblem) -> tuple[list[Ball], Vector]:
    sets = problem.sets
    coefficient = np.ones(problem.size)
    balls = []
    for c in np.flatnonzero(sets.kind >= COULOMB):
        for rows, mu in discs(sets, int(c)):
            coefficient[rows] = mu
            balls.append(Ball(int(sets.start[c]), rows))
    return balls, coefficient


def _bodies(problem: ContactProblem) -> tuple[np.ndarray, np.ndarray, Vector, Vector]:
    dynamics = problem.dynamics
    mass: Any
    jacobian: Any
    if dynamics is None:
        W = problem.W.toarray() if is_sparse(problem.W) else problem.W
        values, vectors = np.linalg.eigh((W + W.T) / 2)
        kept = values > RANK_TOLERANCE * values.max(initial=0.0)
        jacobian = vectors[:, kept] * np.sqrt(values[kept])
        return np.eye(int(kept.sum())), jacobian, np.zeros(int(kept.sum())), problem.q
    mass = dynamics.mass
    if mass.ndim == 3:
        from scipy.linalg import block_diag

        mass = block_diag(*mass)
    elif is_sparse(mass):
        mass = mass.toarray()
    jacobian = dynamics.jacobian.toarray() if is_sparse(dynamics.jacobian) else dynamics.jacobian
    momentum = dynamics.momentum
    soft = np.flatnonzero(dynamics.compliance > 0)
    if soft.size:
        n = momentum.size
        extended = np.eye(n + soft.size)
        extended[:n, :n] = mass
        springs = np.zeros((problem.size, soft.size))
        springs[soft, np.arange(soft.size)] = np.sqrt(dynamics.compliance[soft])
        mass, jacobian = extended, np.hstack([jacobian, springs])
        momentum = np.concatenate([momentum, np.zeros(soft.size)])
    return (mass + mass.T) / 2, jacobian, momentum, dynamics.bias
