"""The discrete system of one step, assembled at its start: rows, Jacobian, Delassus matrix, laws.

    M̃ (u − ũ) = Jᵀ λ,   row velocities J u + bias(u) + Σ λ  in the normal cone of the sets at −λ

J, M̃ and the contact normals belong to the start of the step; the positions inside `bias` to its end. Both
levels and both routes work on this object: at velocity level the bias is evaluated once, at u = 0.
"""

from __future__ import annotations

import math
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from perp.collision import Contacts
from perp.dynamics.motion import free_bodies, move, rotation_matrices
from perp.dynamics.row_kernels import ANGLE, ORIENTATION, PERPENDICULAR
from perp.dynamics.rows import DRIVE, FORCE_LIMIT, HOLD, TARGET, JointRows
from perp.dynamics.state import State
from perp.problems import ContactProblem, Sets
from perp.problems.validation import freeze
from perp.scenes import Model
from perp.stepping.assembly import assemble
from perp.stepping.contact_rows import carried_points, gaps, mean_points, normal_rows
from perp.stepping.evaluation import Frame, bias_at
from perp.stepping.laws import joint_terms
from perp.stepping.rotors import RotorRates, with_rotors
from perp.stepping.row_products import (
    apply_inverse,
    body_impulse,
    dense_delassus,
    neighbours,
    row_velocity,
    sparse_delassus,
    turn_rows,
    weigh_rows,
)
from perp.stepping.scales import scales
from perp.stepping.settings import Level, StepSettings

LARGEST_TURN = 1.5  # [rad]


class StepSystem:
    """One step of length h from `state`.

    Attributes:
        predicted: ũ, the velocity without constraints, shape (n, 6).
        spin: Angular momentum after the torques of the step, shape (n, 3).
        joint_rows: Number of joint rows; contact rows follow them.
        first: First row of each contact.
        found: The contacts of the step's start.
        off: How far the rows with turned normals were off in the last look, shape (found,) [m].
        before_turning: Where the impulses act at the start, shape (contacts, 2, 3).
        carried: The points of each contact that its bodies carry, at the start, shape (contacts, 2, 3).
        bodies, jacobian: Rows in the layout of `row_products`.
        start: Row offsets of the constraints, shape (constraints + 1,).
        speed_scale, length_scale: What velocities [m/s] and positions [m] of the step are held against.
    """

    def __init__(
        self,
        model: Model,
        table: JointRows,
        state: State,
        h: float,
        wrench: np.ndarray,
        settings: StepSettings,
        rotors: RotorRates | None = None,
    ) -> None:
        self.model, self.table, self.state, self.h, self.settings = model, table, state, h, settings
        self.rotation = state.rotation
        self.joint_value, self._joint_jacobian = table.evaluate(
            state.position, state.quaternion, self.rotation, state.coordinate
        )
        self.joint_rows = table.constraint_count
        self.parameters = with_rotors(table, self._joint_jacobian, state.velocity, h, rotors)
        n = model.body_count
        self.spin, self.predicted = np.empty((n, 3)), np.empty((n, 6))
        wrench = self._with_given_forces(wrench)
        self.inverse, self.mass = np.empty((n, 6, 6)), np.empty((n, 36))
        free_bodies(
            model.mass, model.inertia, self.rotation, state.velocity, wrench, h, self.spin, self.predicted,
            self.inverse, self.mass,
        )  # fmt: skip
        self._gravity = math.sqrt(float(model.gravity @ model.gravity))

    def _with_given_forces(self, wrench: np.ndarray) -> np.ndarray:
        """External wrench plus the motors that give a force."""
        m = self.joint_rows
        if m == self.table.law.size:
            return wrench
        out = np.empty_like(wrench)
        links = np.ascontiguousarray(self.table.links[m:, 1:3])
        body_impulse(links, self._joint_jacobian[m:], self.table.parameters[m:, TARGET].copy(), out)
        return wrench + out

    def add_contacts(self, contacts: Contacts) -> None:
        """Complete the rows with the contacts of the step's start."""
        carried, at = np.empty((contacts.count, 2, 3)), np.empty((contacts.count, 2, 3))
        carried_points(contacts.point, contacts.frame, contacts.gap, contacts.roundness, carried)
        at[:] = contacts.point[:, None]
        self._add(contacts, carried, at)
        self.found, self.before_turning, self.off = contacts, at, np.zeros(contacts.count)

    def _add(self, contacts: Contacts, carried: np.ndarray, at: np.ndarray) -> None:
        self.contacts, self.carried, self.at = contacts, carried, at
        table = self.table
        self.arrays = rows = assemble(
            self.joint_rows, table.law, self.parameters, self.joint_value, self.h, table.links,
            self._joint_jacobian, contacts.body, at, contacts.frame, contacts.rows, contacts.friction,
            self.state.position, self.inverse, self.state.velocity, self.predicted,
        )  # fmt: skip
        self.start, self.first = rows.start, rows.first
        self.bodies, self.jacobian, self.weighed = rows.bodies, rows.jacobian, rows.weighed
        self.compliance, self.free_velocity = rows.compliance, rows.free_velocity
        self.rows = rows.free_velocity.size
        self.speed_scale, self.length_scale = scales(
            self.model, self.settings, self.h, self.state.position, self.predicted, rows.free_velocity,
            0.0 if self._gravity else self._driven,
        )  # fmt: skip
        self._frame: Frame | None = None

    def again(self, u: np.ndarray, contacts: Contacts, carried: np.ndarray, at: np.ndarray) -> StepSystem:
        """The same step after velocities u came out of it.

        Args:
            u: Their turning tells where the impulses act on average.
            contacts: Those it has and more, perhaps with other normals.
            carried: Points of the contacts that their bodies carry, at the start.
            at: Where impulses act at the start, shape (contacts, 2, 3).
        """
        other = copy(self)
        for name in ("sets", "scale", "delassus", "_neighbours"):
            other.__dict__.pop(name, None)
        mean = np.empty_like(at)
        mean_points(contacts.body, carried, at, self.state.position, u, self.h, mean)
        other._add(contacts, carried, mean)
        other.before_turning = at
        return other

    def directed(self, jacobian: np.ndarray) -> StepSystem:
        """The same step with other directions of its impulses, shape (rows, 12)."""
        other, rows = copy(self), self.arrays
        for name in ("sets", "scale", "delassus", "_neighbours"):
            other.__dict__.pop(name, None)
        weighed, free = np.empty_like(jacobian), np.empty(self.rows)
        weigh_rows(rows.bodies, jacobian, self.inverse, weighed)
        row_velocity(rows.bodies, jacobian, self.predicted, free)
        other.arrays = rows._replace(jacobian=jacobian, weighed=weighed, free_velocity=free)
        other.jacobian, other.weighed, other.free_velocity = jacobian, weighed, free
        return other

    @property
    def frame(self) -> Frame:
        """What the positions at the end depend on, under the current settings."""
        if self._frame is None or self._frame.recovery != self.settings.recovery_speed:
            self._frame = self._new_frame(self.contacts)
        return self._frame

    def _new_frame(self, contacts: Contacts) -> Frame:
        settings, table, state = self.settings, self.table, self.state
        return Frame(
            self.h, settings.level is Level.POSITION, float(settings.correction),
            float(settings.recovery_speed), 2.0 * self.h * self._gravity, state.position, state.quaternion,
            self.predicted, table.links, table.geometry, table.law, self.parameters, self.joint_value,
            contacts.body, self.carried, contacts.frame, contacts.gap, contacts.restitution,
            np.maximum(contacts.accuracy, settings.tolerance * self.length_scale),
        )  # fmt: skip

    @property
    def kinetic_energy(self) -> float:
        """Of the velocities without constraints [J]."""
        return 0.5 * float(
            np.einsum("ni,nij,nj", self.predicted, self.mass.reshape(-1, 6, 6), self.predicted)
        )

    @property
    def overlaps(self) -> bool:
        """Whether any shapes overlap at the start."""
        return bool((self.contacts.gap < 0.0).any())

    @property
    def has_inequalities(self) -> bool:
        """Whether any constraint is not bilateral."""
        return bool(self.contacts.count or self.arrays.kind.any())

    @property
    def set_arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Kind, row offsets and parameters of the sets."""
        sets = self.sets
        return sets.kind, sets.start, sets.a, sets.b

    @cached_property
    def sets(self) -> Sets:
        """The sets of all constraints."""
        rows = self.arrays
        return Sets.from_arrays(rows.kind, np.stack([rows.a, rows.b], 1), np.diff(rows.start))

    @cached_property
    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocity per impulse and rolling length of each constraint, shapes (constraints,)."""
        return freeze(self.arrays.scale), freeze(self.arrays.length)

    def row_velocity(self, u: np.ndarray) -> np.ndarray:
        """J u, shape (rows,)."""
        out = np.empty(self.rows)
        row_velocity(self.bodies, self.jacobian, u, out)
        return out

    def rotor_rates(self, u: np.ndarray) -> np.ndarray:
        """Rates of the coordinates with a rotor over the step, shape (rotors,)."""
        rotors = self.table.rotors
        return self.row_velocity(u)[rotors] if rotors.size else np.zeros(0)

    def body_velocity(self, impulse: np.ndarray) -> np.ndarray:
        """u = ũ + M⁻¹ Jᵀ λ, shape (n, 6)."""
        pushed, out = np.empty_like(self.predicted), np.empty_like(self.predicted)
        body_impulse(self.bodies, self.jacobian, impulse, pushed)
        apply_inverse(self.inverse, pushed, out)
        return out + self.predicted

    @property
    def _driven(self) -> float:
        """What springs and motors alone add to the velocity of their coordinates in the step [m/s]."""
        rows, table, m, size = self.arrays, self.table, self.joint_rows, self.model.size
        drive = np.flatnonzero(table.law[:m] == DRIVE)
        if not drive.size:
            return 0.0
        bias, *others = np.empty((4, m))
        joint_terms(table.law, self.parameters, self.joint_value, 1.0, self.h, bias, *others)
        impulse = bias[drive] / rows.scale[drive]
        limit = self.h * self.parameters[drive, FORCE_LIMIT]
        speed = np.minimum(np.abs(impulse), limit) * (rows.scale[drive] - rows.compliance[drive])
        return float((np.where(table.links[drive, 0] >= ANGLE, size, 1.0) * speed).max(initial=0.0))

    @cached_property
    def delassus(self) -> Any:
        """W = J M⁻¹ Jᵀ + Σ: dense when small, CSR otherwise."""
        return self._product(self.jacobian)

    def derivative(self, u: np.ndarray) -> Any:
        """The exact derivative of the row velocities with respect to λ at u.

        Not symmetric once bodies turn.
        """
        m, found, rows = self.joint_rows, self.contacts, self.jacobian.copy()
        x, quat = self.pose_after(u)
        R = np.empty_like(self.rotation)
        rotation_matrices(quat, R)
        # drives on rates keep their row: only positions are taken at the end of the step
        held = self.table.law[:m] != DRIVE
        rows[:m][held] = self.table.evaluate(x, quat, R, self.joint_value)[1][:m][held]
        normal_rows(found.body, self.carried, found.frame, self.first, self.state.position, u, self.h, rows)
        turned = np.concatenate([np.flatnonzero(held), self.first])
        part = rows[turned]
        turn_rows(self.bodies[turned], part, u, self.h)
        rows[turned] = part
        return self._product(rows)

    def _product(self, left: np.ndarray) -> Any:
        if self.rows <= self.settings.dense_rows:
            W = np.empty((self.rows, self.rows))
            dense_delassus(self.bodies, left, self.weighed, self.compliance, W)
            return W
        from scipy.sparse import csr_array

        parts = sparse_delassus(
            self.bodies, left, self.weighed, self.compliance, self.start, *self._neighbours
        )
        return csr_array(parts, shape=(self.rows, self.rows), copy=False)

    @cached_property
    def _neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        return neighbours(self.bodies, self.start, self.model.body_count)

    def pose_after(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and quaternions after the step with velocities u."""
        x, quat = np.empty_like(self.state.position), np.empty_like(self.state.quaternion)
        move(self.state.position, self.state.quaternion, u, self.h, x, quat)
        return x, quat

    def joint_values_after(self, u: np.ndarray) -> np.ndarray:
        """Values of all joint rows after the step with velocities u, shape (joint rows and forces,)."""
        if not self.table.law.size:
            return self.joint_value
        x, quat = self.pose_after(u)
        R = np.empty_like(self.rotation)
        rotation_matrices(quat, R)
        return self.table.evaluate(x, quat, R, self.joint_value)[0]

    def joint_error(self, u: np.ndarray) -> float:
        """Largest error of a bilateral joint row after the step with velocities u [m or rad]."""
        if not self.joint_rows:
            return 0.0
        held = self.table.law[: self.joint_rows] == HOLD
        return float(np.abs(self.joint_values_after(u)[: self.joint_rows][held]).max(initial=0.0))

    def same_turn(self, moving: np.ndarray) -> bool:
        """Whether no joint was met by turning a body once more about an axis that the joint holds.

        A full turn satisfies orientation rows as well as none. Along such rows a body moves by half the
        square of the rotation in a step at most; about the axis that a joint leaves free it may turn as far
        as it likes.
        """
        links, law = self.table.links[: self.joint_rows], self.table.law[: self.joint_rows]
        held = (law == HOLD) & ((links[:, 0] == PERPENDICULAR) | (links[:, 0] == ORIENTATION))
        turned = self.h * moving[: self.joint_rows][held]
        return bool(np.abs(turned).max(initial=0.0) < LARGEST_TURN)

    @property
    def before(self) -> np.ndarray:
        """Velocities at the start of the step, shape (n, 6)."""
        return self.state.velocity

    @property
    def joint_identity(self) -> slice:
        """Which joint rows of the model these are: all of them."""
        return slice(None)

    def gaps_after(self, u: np.ndarray) -> np.ndarray:
        """Gaps of all contacts after the step with velocities u, shape (contacts,)."""
        found, out = self.contacts, np.empty(self.contacts.count)
        gaps(found.body, self.carried, found.frame, found.gap, self.state.position, u, self.h, out)
        return out

    def bias(self, u: np.ndarray | None) -> np.ndarray:
        """What the laws add to the row velocities, linearised at u (None: at the start of the step)."""
        frame = self.frame if u is not None else self.frame._replace(at_end=False)
        moving = np.zeros(self.rows) if u is None else self.row_velocity(u)
        out = np.empty(self.rows)
        bias_at(frame, self.arrays, self.predicted if u is None else u, moving, out)
        return out

    def problem(self, bias: np.ndarray) -> ContactProblem:
        """The contact problem with this bias, in reduced form (W, q)."""
        return ContactProblem(self.delassus, freeze(self.free_velocity + bias), self.sets, copy=False)

    def dynamics_problem(self, bias: np.ndarray) -> ContactProblem:
        """The same problem in dynamics form (mass, Jacobian, momentum, bias)."""
        from scipy.sparse import csr_array

        mass = np.linalg.inv(self.inverse)
        columns = self.bodies[:, :, None] * 6 + np.arange(6)
        present = np.broadcast_to(self.bodies[:, :, None] >= 0, columns.shape)
        lines = np.broadcast_to(np.arange(self.rows)[:, None, None], columns.shape)
        entries = self.jacobian.reshape(self.rows, 2, 6)
        jacobian = csr_array(
            (entries[present], (lines[present], columns[present])), shape=(self.rows, self.predicted.size)
        )
        momentum = np.einsum("nij,nj->ni", mass, self.predicted).ravel()
        mass = 0.5 * (mass + mass.swapaxes(1, 2))
        return ContactProblem.from_dynamics(
            mass, jacobian, momentum, bias, self.sets, compliance=self.compliance
        )
