"""Fischer–Burmeister's function for normals, a compliance for friction: Newton on the whole system.

Normals are roots of φ(u_N, r λ_N). Friction is a row with a compliance that its own answer sets,

    u_T + C r λ_T = 0,     C = (‖u_T‖ − ψ) / (r ‖λ_T‖ + ψ),     ψ = φ(‖u_T‖, r (μ λ_N − ‖λ_T‖)),

which holds at the fixed point exactly when ψ = 0: sticking has C = 0, slipping C r = ‖u_T‖ / (μ λ_N). C is
frozen in each Newton step, so that the system (W + D) Δλ = −F stays symmetric once every row is divided by
its derivative by u; the price is linear convergence of the friction part, as in the sources. r carries the
unit: the diagonal of W. The system is solved by factors, or by the preconditioned conjugate residual method
(`linear_solver`), which needs products with W alone.

Reference: Macklin, Erleben, Müller, Chentanez, Jeschke and Makoviychuk, Non-smooth Newton methods for
deformable multi-body dynamics, ACM Trans. Graph. 38 (2019), where compliance and fixed point are from.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from perp.problems import ContactProblem, Status
from perp.problems.sets import BOX, ELLIPTIC, FREE, ROLLING
from perp.problems.validation import Vector, freeze, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.linear import solve_regularised
from perp.solvers.newton.mcp_equations import equations_of_rows

STEPS = 500
# Derivatives by u below this count as this: an open contact's row then says λ = 0 to twelve digits.
LEAST = 1e-12
# Redundant contacts that stick make W + D singular, and round-off in F would become steps of any size. So
# much of r stands in for a smaller D: the rows F are without it, and so is their root.
HELD = 1e-8
# A step is halved when so many in a row have not made the residual smaller: the fixed point over C swings.
PATIENCE, SHORTEST = 8, 1 / 16
# Conjugate residual steps per row, and the relative residual at which they end.
KRYLOV_STEPS, KRYLOV_TOLERANCE = 3, 1e-12


class _System:
    """Rows F(λ) and the diagonal D, all divided by the derivatives by u."""

    def __init__(self, problem: ContactProblem) -> None:
        self.problem, self.W, self.q = problem, problem.W, problem.q
        diagonal = np.asarray(self.W.diagonal()).copy()
        self.r = np.where(diagonal > 0.0, diagonal, diagonal.max(initial=0.0) or 1.0)
        sets = problem.sets
        first, kind = sets.start[:-1], sets.kind
        self.free = first[kind == FREE]
        self.plain = first[kind != FREE]
        boxes = kind[kind != FREE] == BOX
        self.lo = freeze(np.where(boxes, sets.a[kind != FREE], 0.0))
        self.hi = freeze(np.where(boxes, sets.b[kind != FREE], np.inf))
        self.discs = list(_discs(problem))

    def rows(self, impulse: Vector) -> tuple[Vector, Vector]:
        """F and D at λ, shape (n,) each."""
        u = self.W @ impulse + self.q
        F, D = np.zeros(u.size), np.zeros(u.size)
        F[self.free] = u[self.free]
        n = self.plain
        value, by_x, by_u = equations_of_rows(
            freeze(impulse[n]), freeze(u[n]), self.lo, self.hi, self.r[n], np.ones(n.size), 0.0
        )
        by_u = np.maximum(by_u, LEAST)
        F[n], D[n] = value / by_u, by_x / by_u
        for rows, normal, mu in self.discs:
            self._friction(rows, normal, mu, u, impulse, F, D)
        return F, D

    def _friction(
        self, rows: np.ndarray, normal: int, mu: Vector, u: Vector, impulse: Vector, F: Vector, D: Vector
    ) -> None:
        """The rows of one disc; with μ_i ≠ μ_j in the coordinates in which it is round."""
        r = float((mu**2 * self.r[rows]).mean())
        speed, force = mu * u[rows], impulse[rows] / mu
        v, f = float(np.linalg.norm(speed)), float(np.linalg.norm(force))
        room = r * (impulse[normal] - f)
        total, length = v + room, math.hypot(v, room)
        psi = 2.0 * v * room / (total + length) if total > 0.0 else total - length
        below = r * f + psi
        compliance = (v - psi) / below if below > LEAST * max(v, r * f) else (1.0 / LEAST if v > 0.0 else 0.0)
        weight = max(compliance, 0.0) * r / mu**2
        F[rows], D[rows] = u[rows] + weight * impulse[rows], weight


def _discs(problem: ContactProblem) -> Any:
    """Rows, normal row and coefficients of every disc of friction; a rolling contact has two."""
    sets = problem.sets
    for c in np.flatnonzero(sets.dimension > 1):
        start, size = int(sets.start[c]), int(sets.dimension[c])
        if sets.kind[c] == ROLLING:
            groups = [(1, 3, sets.parameters[c, :1]), (3, 5, sets.parameters[c, 1:2])]
        elif sets.kind[c] == ELLIPTIC:
            groups = [(1, size, sets.parameters[c, : size - 1])]
        else:
            groups = [(1, size, sets.parameters[c, :1])]
        for begin, end, mu in groups:
            # a coefficient of 0 is a tangent without friction: so small a one has the same answer
            coefficients = np.maximum(np.broadcast_to(mu, end - begin), 1e-12)
            yield np.arange(start + begin, start + end), start, coefficients


def solve_by_compliance(problem: ContactProblem, control: Control, linear_solver: str) -> Attempt:
    """Solve a contact problem with friction, exact law, from the control's start."""
    system = _System(problem)
    impulse = control.begin(problem.size)
    done, length, best, since = 0, 1.0, np.inf, 0
    while not control.check(done, impulse):
        if done >= control.limit(STEPS):
            control.reason = Status.ITERATION_LIMIT
            break
        if done:  # a warm start that nearly meets the tolerance is no measure of the steps from it
            since = 0 if control.last < best else since + 1
            best = min(best, control.last)
        if since >= PATIENCE:
            if length <= SHORTEST:
                control.reason = Status.STALLED
                break
            length, since = 0.5 * length, 0
        F, D = system.rows(impulse)
        step = _solve(system.W, np.maximum(D, HELD * system.r), -F, linear_solver)
        if step is None or not np.isfinite(step).all():
            control.reason = Status.STALLED
            break
        impulse = impulse + length * step
        done += 1
    return control.attempt(impulse, done)


def _solve(W: Any, D: Vector, right: Vector, linear_solver: str) -> Vector | None:
    """The system (W + D) x = right."""
    if linear_solver == "conjugate-residual":
        return _conjugate_residual(W, D, right)
    if is_sparse(W):
        from scipy.sparse import diags_array

        return solve_regularised((W + diags_array(D)).tocsc(), right, symmetric=True)
    A = np.array(W)
    A.reshape(-1)[:: D.size + 1] += D
    return solve_regularised(A, right, symmetric=True)


def _conjugate_residual(W: Any, D: Vector, right: Vector) -> Vector:
    """Preconditioned by the diagonal; the residual never grows (Saad 2003, section 6.8)."""
    inverse = 1.0 / np.maximum(np.asarray(W.diagonal()) + D, np.finfo(float).tiny)
    x, residual = np.zeros(right.size), right.copy()
    z = inverse * residual
    p, Az = z.copy(), W @ z + D * z
    Ap, old = Az.copy(), float(z @ Az)
    enough = KRYLOV_TOLERANCE * float(np.abs(right).max(initial=0.0))
    for _ in range(KRYLOV_STEPS * right.size + 10):
        image = inverse * Ap
        below = float(Ap @ image)
        if below <= 0.0 or float(np.abs(residual).max(initial=0.0)) <= enough:
            break
        alpha = old / below
        x += alpha * p
        residual -= alpha * Ap
        z -= alpha * image
        Az = W @ z + D * z
        new = float(z @ Az)
        if old == 0.0:
            break
        p, Ap, old = z + new / old * p, Az + new / old * Ap, new
    return x
