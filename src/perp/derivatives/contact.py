"""Derivatives of contact problems: the implicit function of the law of every constraint in its mode.

With B dx + C du + D dp = 0 of `laws` and du = W dx + r, where r is what the data change of u at fixed
impulses,

    (B + C W) dx = −C r − D dp

Redundant contacts make the matrix singular: impulses are then not unique while velocities may be. The change
of least norm is taken, `unique` is False, and `velocity_unique` tells whether every such change has the same
velocities. A vertex of the impulses would call contacts open that carry the body: where some are at a switch,
impulses in the relative interior of all answers with the same velocities decide the modes (`interior`).

Gradients solve the transposed system. At a true switch of modes there are one-sided derivatives only: the one
whose contacts stay open, whose discs stick and whose scalar rows rest at their bounds is taken.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from perp.derivatives.boxed import pseudo_inverse
from perp.derivatives.errors import DerivativeError
from perp.problems import ContactProblem
from perp.problems.errors import ProblemError
from perp.problems.sets import BOX, COULOMB, ELLIPTIC, ROLLING, Sets
from perp.problems.validation import Vector, is_sparse, vector

# Velocities below this share of what is at work at a constraint, within which a mode counts as at a switch.
DEGENERATE = 1e-6
LARGEST_DENSE = 1500
# What a change of the data may contradict redundant constraints by, relative to it.
CONTRADICTION = 1e-7


@dataclass(frozen=True)
class ContactTangent:
    """A directional derivative."""

    impulse: Vector  # of λ, shape (rows,)
    velocity: Vector  # of u, shape (rows,)
    body_velocity: Vector | None  # of v in dynamics form, shape (n,), else None
    # whether redundant constraints can follow the change without a switch of modes; if not, the nearest
    # change is given, which is not the derivative of the solution
    consistent: bool


@dataclass(frozen=True)
class ContactGradient:
    """A gradient of a scalar by the data of a contact problem."""

    velocity: Vector  # by what is added to u: q, or the bias in dynamics form, shape (rows,)
    parameters: np.ndarray  # by the parameters of the sets, shape (count, 6)
    momentum: Vector | None  # by the momentum in dynamics form, shape (n,), else None
    impulse_at: Vector  # the impulses, shape (rows,), which the gradient by matrices needs
    body_velocity_at: Vector | None  # the velocities of the bodies in dynamics form, else None
    sets: Sets  # of the problem

    @property
    def q(self) -> Vector:
        """By q, shape (rows,)."""
        return self.velocity

    @property
    def bias(self) -> Vector:
        """By the bias of the dynamics form, shape (rows,)."""
        return self.velocity

    @property
    def W(self) -> np.ndarray:
        """By W, shape (rows, rows)."""
        return np.outer(self.velocity, self.impulse_at)

    @property
    def compliance(self) -> Vector:
        """By the diagonal of the compliance, shape (rows,)."""
        return self.velocity * self.impulse_at

    @property
    def jacobian(self) -> np.ndarray:
        """By the Jacobian of the dynamics form, shape (rows, n)."""
        return np.outer(self.velocity, self._of_bodies[1]) + np.outer(self.impulse_at, self._of_bodies[0])

    @property
    def mass(self) -> np.ndarray:
        """By the mass of the dynamics form as one matrix, shape (n, n)."""
        return -np.outer(*self._of_bodies)

    @property
    def mu(self) -> Vector:
        """By the friction coefficient of Coulomb sets, or the first one of others, shape (count,)."""
        return np.where(self.sets.kind >= COULOMB, self.parameters[:, 0], 0.0)

    @property
    def lower(self) -> Vector:
        """By the lower bounds of boxes, shape (count,)."""
        return np.where(self.sets.kind == BOX, self.parameters[:, 0], 0.0)

    @property
    def upper(self) -> Vector:
        """By the upper bounds of boxes, shape (count,)."""
        return np.where(self.sets.kind == BOX, self.parameters[:, 1], 0.0)

    @property
    def cohesion(self) -> Vector:
        """By the cohesion, shape (count,)."""
        return self.parameters[:, 5]

    @property
    def _of_bodies(self) -> tuple[Vector, Vector]:
        if self.momentum is None or self.body_velocity_at is None:
            raise ProblemError("the problem is not in dynamics form: it has no mass and no Jacobian")
        return self.momentum, self.body_velocity_at


class ContactDerivative:
    """Derivatives of one answer of a contact problem.

    Attributes:
        mode: Of each constraint: "free", "closed", "open", "lower", "upper", "stick", "slide", "roll" or
            "slide and roll".
        degenerate: Whether a constraint is at a switch of modes, shape (count,).
        one_sided: Which derivative is taken at a switch.
        impulse: The impulses at which modes are told: those of the solution, or some in the relative
            interior; for a smoothed derivative those of the central path.
        smoothing: κ of a smoothed derivative, zero for the derivative itself.
    """

    one_sided = "the contact stays open, friction sticks, the row rests at its bound"

    def __init__(self, problem: ContactProblem, impulse: Vector, smoothing: float = 0.0) -> None:
        from perp.derivatives.interior import inner_impulse

        self.problem, self.smoothing = problem, smoothing
        self.impulse = np.array(impulse)
        self._size = np.array(problem.data_size)
        self._look(self.impulse)
        if smoothing:
            self._smooth()
        elif self.degenerate.any():
            inner = inner_impulse(problem, self.impulse, self._velocity, self._code, self.degenerate)
            if inner is not None:
                self.impulse = inner
                self._look(inner)

    def _look(self, impulse: Vector) -> None:
        """Modes and equations at these impulses."""
        from perp.derivatives.laws import MODE_NAMES, laws

        problem, sets = self.problem, self.problem.sets
        count = sets.count
        length = np.array(problem.rolling_length)
        own = np.array(problem.mobility)
        own[own == 0.0] = 1.0
        self._mobility = np.stack([own, own, own / length**2], axis=1)
        self._velocity = np.array(problem.evaluate(impulse))
        self._code, margin = np.zeros(count, np.int64), np.zeros(count)
        self._B, self._C, self._D = (np.zeros((count, 6, 6)) for _ in range(3))
        own_sets = np.array(sets.kind), np.array(sets.start), np.array(sets.parameters)
        out = self._code, margin, self._B, self._C, self._D
        near = DEGENERATE * self._size
        laws(own_sets, self._mobility, impulse, self._velocity, problem.relaxed, near, out)
        self.degenerate = margin <= DEGENERATE * self._size
        self.mode = np.array(MODE_NAMES)[self._code]

    def _smooth(self) -> None:
        """The point of the central path in place of the answer, with its laws."""
        from perp.derivatives.smoothing import path_law, path_point

        problem, sets = self.problem, self.problem.sets
        if problem.relaxed or (sets.kind == ROLLING).any():
            raise ProblemError("smoothing is for exact laws without Rolling sets")
        W: Any = problem.W
        dense = np.array(W.toarray() if is_sparse(W) else W, dtype=np.float64, order="C")
        kind, start, parameters = (np.array(a) for a in (sets.kind, sets.start, sets.parameters))
        tau = self.smoothing * float(self._size.max(initial=0.0)) ** 2 / self._mobility[:, 0]
        x, u = np.zeros(problem.size), np.zeros(problem.size)
        if not path_point(kind, start, parameters, dense, np.array(problem.q), tau, x, u):
            raise DerivativeError(f"smoothing = {self.smoothing}: the central path was not found")
        for c in range(sets.count):
            part = slice(int(start[c]), int(start[c + 1]))
            slopes = self._B[c], self._C[c], self._D[c]
            path_law(kind[c], parameters[c], x[part], u[part], tau[c], slopes)
        self.impulse, self._velocity = x, u
        self.degenerate = np.zeros(sets.count, bool)

    @cached_property
    def _blocks(self) -> tuple[Any, Any, Any]:
        """B, C (rows, rows) and D (rows, 6 count) as sparse matrices."""
        from scipy.sparse import csr_array

        sets, n = self.problem.sets, self.problem.size
        line = np.arange(n) - np.repeat(sets.start[:-1], sets.dimension)
        owner = np.repeat(np.arange(sets.count), sets.dimension)
        rows, places = np.repeat(np.arange(n), 6), np.tile(np.arange(6), n)
        inside = places < np.repeat(sets.dimension[owner], 6)
        columns = np.repeat(sets.start[owner], 6) + places

        def square(blocks: np.ndarray) -> Any:
            data = blocks[owner, line].ravel()
            return csr_array((data[inside], (rows[inside], columns[inside])), shape=(n, n))

        D = csr_array(
            (self._D[owner, line].ravel(), (rows, np.repeat(6 * owner, 6) + places)),
            shape=(n, 6 * sets.count),
        )
        return square(self._B), square(self._C), D

    @cached_property
    def _solver(self) -> tuple[Any, Any, Any]:
        """Solves with B + C W and its transpose; changes of impulses that it cannot see, as columns."""
        from scipy.sparse import diags_array

        B, C, _ = self._blocks
        W, n = self.problem.W, self.problem.size
        sets = self.problem.sets
        owner = np.repeat(np.arange(sets.count), sets.dimension)
        line = np.arange(n) - np.repeat(sets.start[:-1], sets.dimension)
        scale = 1.0 / self._mobility[owner, np.where(line == 0, 0, np.where(line >= 3, 2, 1))]
        A: Any = B + C @ W if is_sparse(W) else B.toarray() + C @ np.asarray(W)
        A = A @ diags_array(scale) if is_sparse(A) else A * scale
        largest: Any = abs(A).max(axis=1) if n else np.zeros(0)
        weight = 1.0 / np.maximum(largest.toarray().ravel() if is_sparse(largest) else largest, 1e-300)
        weighed = diags_array(weight) @ A if is_sparse(A) else weight[:, None] * A
        solve, back, hidden = pseudo_inverse(weighed, LARGEST_DENSE)
        return (
            lambda b: scale * solve(weight * b), lambda b: weight * back(scale * b),
            None if hidden is None else scale[:, None] * hidden,
        )  # fmt: skip

    @property
    def unique(self) -> bool:
        """Whether the impulses are the only ones nearby."""
        return self._solver[2] is not None and self._solver[2].shape[1] == 0

    @cached_property
    def velocity_unique(self) -> bool:
        """Whether all changes of the impulses that the laws allow have the same velocities."""
        hidden = self._solver[2]
        if hidden is None:
            return False
        problem = self.problem
        if hidden.shape[1] == 0:
            return True
        moved = np.asarray(problem.W @ hidden)
        allowed = 1e-7 * np.abs(np.asarray(abs(problem.W) @ np.abs(hidden))).max(initial=0.0)
        return bool(np.abs(moved).max(initial=0.0) <= allowed)

    def jvp(self, **changes: Any) -> ContactTangent:
        """The change of impulses and velocities along a change of the data.

        Args:
            changes: By name. Of the sets: `dmu` (friction coefficients: one per constraint, which moves that
                of a Coulomb set and the first of others, or shape (count, k)), `dlower`, `dupper` (bounds of
                boxes), `dcohesion`, or `dparameters`, shape (count, 6). Of the problem: `dW`, `dq`; in
                dynamics form `dmass`, `djacobian`, `dmomentum`, `dbias`, `dcompliance`.
        """
        problem, n = self.problem, self.problem.size
        dp = self._parameters(changes)
        push, drive = np.zeros(n), None
        dynamics = problem.dynamics
        for name in list(changes):
            if name in ("dq", "dbias"):
                push = push + vector(name, changes.pop(name), n)
        if "dW" in changes:
            push = push + np.asarray(changes.pop("dW") @ self.impulse)
        if dynamics is not None:
            push, drive = self._dynamics_changes(changes, push)
        if changes:
            raise ProblemError(
                f"{next(iter(changes))!r} is no data of this problem: see ContactDerivative.jvp"
            )
        _, C, D = self._blocks
        right = -(C @ push + D @ dp.ravel())
        dx = self._solver[0](right)
        du = np.asarray(problem.W @ dx) + push
        # right sides that redundant rows contradict leave something missing
        missing = self._blocks[0] @ dx + C @ du + D @ dp.ravel()
        scale = np.abs(right).max(initial=0.0)
        consistent = self.unique or bool(np.abs(missing).max(initial=0.0) <= CONTRADICTION * scale)
        dv = None
        if dynamics is not None:
            dv = dynamics.mass_solver.solve(dynamics.jacobian.T @ dx + (0.0 if drive is None else drive))
        return ContactTangent(dx, du, dv, consistent)

    def _parameters(self, changes: dict[str, Any]) -> np.ndarray:
        sets = self.problem.sets
        dp = np.zeros((sets.count, 6))
        if "dparameters" in changes:
            given = np.asarray(changes.pop("dparameters"), float)
            if given.shape != dp.shape:
                raise ProblemError(f"dparameters has shape {given.shape}: {dp.shape} is needed")
            dp += given
        if "dmu" in changes:
            given = np.asarray(changes.pop("dmu"), float)
            friction = sets.kind >= COULOMB
            if given.ndim < 2:
                dp[:, 0] += np.where(friction, np.broadcast_to(given, (sets.count,)), 0.0)
            else:
                dp[:, : given.shape[1]] += np.where(friction[:, None], given, 0.0)
        for name, column, kinds in (
            ("dlower", 0, (BOX,)), ("dupper", 1, (BOX,)), ("dcohesion", 5, (COULOMB, ELLIPTIC, ROLLING)),
        ):  # fmt: skip
            if name in changes:
                given = np.broadcast_to(np.asarray(changes.pop(name), float), (sets.count,))
                dp[:, column] += np.where(np.isin(sets.kind, kinds), given, 0.0)
        return dp

    def _dynamics_changes(self, changes: dict[str, Any], push: Vector) -> tuple[Vector, Vector]:
        """What the data of the dynamics form change of u and of the momentum at fixed impulses."""
        dynamics: Any = self.problem.dynamics
        v = dynamics.body_velocity(self.impulse)
        drive = np.zeros(v.size)
        if "dmomentum" in changes:
            drive = drive + vector("dmomentum", changes.pop("dmomentum"), v.size)
        if "dmass" in changes:
            dmass = changes.pop("dmass")
            if not is_sparse(dmass) and np.ndim(dmass) == 3:
                k = np.shape(dmass)[1]
                drive = drive - np.einsum("bij,bj->bi", dmass, v.reshape(-1, k)).ravel()
            else:
                drive = drive - np.asarray(dmass @ v)
        if "djacobian" in changes:
            dJ = changes.pop("djacobian")
            push = push + np.asarray(dJ @ v)
            drive = drive + np.asarray(dJ.T @ self.impulse)
        if "dcompliance" in changes:
            push = push + np.asarray(changes.pop("dcompliance")) * self.impulse
        return push + np.asarray(dynamics.jacobian @ dynamics.mass_solver.solve(drive)), drive

    def vjp(self, impulse: Any = None, velocity: Any = None, body_velocity: Any = None) -> ContactGradient:
        """The gradient by the data of a scalar, from its gradients by λ, u and v."""
        problem, n, dynamics = self.problem, self.problem.size, self.problem.dynamics
        by_x = np.zeros(n) if impulse is None else vector("impulse", impulse, n)
        by_u = np.zeros(n) if velocity is None else vector("velocity", velocity, n)
        _, C, D = self._blocks
        total, v, by_v = by_x + np.asarray(problem.W.T @ by_u), None, None
        if dynamics is not None:
            v = dynamics.body_velocity(self.impulse)
            by_v = np.zeros(v.size)
            if body_velocity is not None:
                by_v = vector("body_velocity", body_velocity, v.size)
                total = total + np.asarray(dynamics.jacobian @ dynamics.mass_solver.solve(by_v))
        elif body_velocity is not None:
            raise ProblemError("the problem is not in dynamics form: it has no velocities of bodies")
        y = self._solver[1](total)
        rho = by_u - C.T @ y
        momentum = None
        if dynamics is not None:
            momentum = dynamics.mass_solver.solve(by_v + dynamics.jacobian.T @ rho)
        parameters = -np.asarray(D.T @ y).reshape(-1, 6)
        return ContactGradient(rho, parameters, momentum, self.impulse, v, problem.sets)
