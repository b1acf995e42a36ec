"""The discrete system of one step in generalised coordinates, with the face of `StepSystem`.

    (M + h D + h² K) v⁺ = M v + h (forces − bias) + Jᵀ λ,   row velocities J v⁺ + bias(v⁺) + Σ λ

M, the forces and J belong to the start of the step; gaps and equalities inside `bias` to its end, evaluated
at q⁺ = q ⊕ h v⁺. The routes of both levels work on this object as they do in maximal coordinates.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from perp.collision import Contacts
from perp.dynamics import tree_kernels as kernels
from perp.dynamics.generalised import GeneralisedState, Tree
from perp.dynamics.rows import HOLD, LIMIT
from perp.problems import ContactProblem, Sets
from perp.problems.sets import BOX, COULOMB, ELLIPTIC, NONNEGATIVE, ROLLING
from perp.problems.validation import freeze
from perp.stepping.evaluation import tree_residuals
from perp.stepping.laws import contact_terms
from perp.stepping.reduced_rows import RowSet, TreeRows, joint_bias
from perp.stepping.scales import scales
from perp.stepping.settings import StepSettings

# Limits are angles as a rule, and no body hops when they are restored: ten times the speed of contacts.
_LIMIT_RECOVERY = 10.0
# Rows whose diagonal of W is this share of the largest do not move.
_IMMOBILE = 1e-20
# Rows of one tree fill W: up to this many, dense algebra is the faster.
_DENSE_ROWS = 300
_QUARTER = 0.5 * np.pi


class ReducedSystem:
    """One step of length h from `state`.

    Attributes:
        predicted: Velocity without constraints, shape (nv,).
        body_predicted: The same as velocities of the bodies, shape (n, 6).
        joint_rows: Number of joint rows; contact rows follow them.
        first: First row of each contact.
        start: Row offsets of the constraints.
        set_arrays: Kind, row offsets and parameters of their sets, as in `perp.problems.Sets`.
    """

    def __init__(
        self,
        tree: Tree,
        table: TreeRows,
        state: GeneralisedState,
        h: float,
        force: np.ndarray,
        settings: StepSettings,
    ) -> None:
        self.tree, self.table, self.state, self.h, self.settings = tree, table, state, h, settings
        self.model = tree.model
        d, nv = tree.start, tree.nv
        self.position, self.rotation = tree.poses(d)
        extra = table.implicit_diagonal(h)
        total = force + d.qfrc_spring + d.qfrc_gravcomp + d.qfrc_fluid - d.qfrc_bias
        self._joint: RowSet = table.collect(h, state.qvel, total, extra)
        self._factor = np.empty(d.M.size)
        kernels.factorise(*tree.rows, d.M, extra, self._factor)
        momentum = np.empty(nv)
        kernels.multiply(*tree.rows, d.M, state.qvel, momentum)
        self.momentum = momentum + h * total
        self.predicted = self._solved(self.momentum)
        self.next_activation = table.actuators.next_activation(d, h)
        self.body_predicted = tree.body_velocities(d, self.predicted)
        self.joint_rows = self._joint.law.size
        self.joint_identity = self._joint.identity
        self.before = state.qvel
        self._gained = h * math.hypot(*self.model.gravity)  # speed of a fall of one step

    def _solved(self, x: np.ndarray) -> np.ndarray:
        out = x.copy()
        kernels.solve(*self.tree.rows, self._factor, out)
        return out

    def add_contacts(self, contacts: Contacts) -> None:
        """Complete the rows with the contacts of the step's start."""
        self.contacts = contacts
        m, rows, joint = self.joint_rows, contacts.rows, self._joint
        dimension = np.concatenate([np.ones(m, dtype=np.int64), rows])
        self.start = np.concatenate([[0], np.cumsum(dimension)])
        self.first = self.start[m:-1].copy()
        self.rows = int(self.start[-1])
        self._begin, self._column, self._value = self._jacobian(None)
        self._weighed = self._weigh(self._value)
        self.free_velocity = self.row_velocity(self.predicted)
        self.speed_scale, self.length_scale = scales(
            self.model, self.settings, self.h, self.position, self.body_predicted, self.free_velocity
        )
        self._approach = self.row_velocity(self.state.qvel)[self.first]
        kind, a, b = contact_sets(contacts)
        self.compliance = np.concatenate([joint.compliance, np.zeros(self.rows - m)])
        joint_kind = joint.set_kind
        boxed = joint_kind == BOX
        self.set_arrays = (
            freeze(np.concatenate([joint_kind, kind])),
            freeze(self.start.copy()),
            freeze(np.concatenate([np.where(boxed, self.h * joint.low, 0.0), a])),
            freeze(np.concatenate([np.where(boxed, self.h * joint.high, 0.0), b])),
        )
        found = contacts
        self.overlaps = bool((found.gap < 0.0).any() or (joint.value[joint.law == LIMIT] < 0.0).any())
        self._local, self._carried = (np.empty((found.count, 2, 3)) for _ in range(2))
        kernels.carried_points(
            found.body, found.point, found.frame, found.gap, found.roundness, self.position, self.rotation,
            self._local,
        )  # fmt: skip
        kernels.place_points(found.body, self._local, self.position, self.rotation, self._carried)

    def _jacobian(self, points: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows in compressed form: at the start of the step, or at `end` with contact points there."""
        tree, found, joint, m = self.tree, self.contacts, self._joint, self.joint_rows
        d = tree.start if points is None else tree.end
        dense = joint.dense
        if points is None:
            points = np.repeat(found.point[:, None], 2, axis=1)
        elif d.nefc:
            dense = dense.copy()
            dense[joint.source[joint.law == HOLD]] = d.efc_J[: d.nefc * tree.nv].reshape(-1, tree.nv)
        # a contact row has at most the paths of its two bodies
        width = min(tree.nv, 2 * tree.depth)
        room = m * tree.nv + (self.rows - m) * width
        first = np.zeros(self.rows + 1, dtype=np.int64)
        column, value = np.empty(room, dtype=np.int64), np.empty(room)
        used = kernels.given_rows(
            joint.dof, joint.sign, joint.source, dense, tree.parent, first[: m + 1], column, value
        )
        first[m] = used
        kernels.contact_rows(
            found.body, points, found.frame, found.rows, tree.last_dof, tree.dof_root, tree.parent, d.cdof,
            d.subtree_com, first[m:], column, value,
        )  # fmt: skip
        used = int(first[-1])
        return first, column[:used].copy(), value[:used].copy()

    def _weigh(self, value: np.ndarray) -> np.ndarray:
        out = np.empty_like(value)
        kernels.weigh(*self.tree.rows, self._factor, self._begin, self._column, value, out)
        return out

    def row_velocity(self, v: np.ndarray) -> np.ndarray:
        """J v, shape (rows,)."""
        out = np.empty(self.rows)
        kernels.row_products(self._begin, self._column, self._value, v, out)
        return out

    def body_velocity(self, impulse: np.ndarray) -> np.ndarray:
        """The generalised velocity ṽ + M̃⁻¹ Jᵀ λ, shape (nv,)."""
        pushed = np.empty(self.tree.nv)
        kernels.transposed_product(self._begin, self._column, self._value, impulse, pushed)
        return self.predicted + self._solved(pushed)

    @cached_property
    def scale_of_rows(self) -> np.ndarray:
        """Diagonal of W, shape (rows,)."""
        out = np.empty(self.rows)
        kernels.row_squares(self._begin, self._weighed, self.compliance, out)
        return out

    @property
    def has_inequalities(self) -> bool:
        """Whether any constraint is not bilateral."""
        return bool(self.set_arrays[0].any())

    @cached_property
    def sets(self) -> Sets:
        """The sets of all constraints."""
        kind, start, a, b = self.set_arrays
        return Sets.from_arrays(kind, a, b, np.diff(start))

    @cached_property
    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocity per impulse and rolling length of each constraint, as for `StepSystem`."""
        scale, length = np.empty(self.start.size - 1), np.empty(self.start.size - 1)
        kernels.constraint_scale(self.scale_of_rows, self.start, scale, length)
        return freeze(scale), freeze(length)

    @cached_property
    def delassus(self) -> Any:
        """W = J M̃⁻¹ Jᵀ + Σ: dense when small, CSR otherwise."""
        return self._product(self._weighed)

    def derivative(self, v: np.ndarray) -> Any:
        """Derivative of the row velocities with respect to λ, rows at the end of the step."""
        self.tree.evaluate_end(self.tree.moved(self.state.qpos, v, self.h), jacobian=True)
        points = np.empty_like(self._local)
        kernels.place_points(self.contacts.body, self._local, *self.tree.poses(self.tree.end), points)
        begin, _, value = self._jacobian(points)
        if not np.array_equal(begin, self._begin):
            return self.delassus
        # tangents keep the rows of the start: only gaps are taken at the end of the step
        kept = self._value.copy()
        turned = np.concatenate([np.flatnonzero(self._joint.law == HOLD), self.first])
        for i in turned:
            kept[begin[i] : begin[i + 1]] = value[begin[i] : begin[i + 1]]
        return self._product(self._weigh(kept))

    def _product(self, left: np.ndarray) -> Any:
        if self.rows <= max(self.settings.dense_rows, _DENSE_ROWS, self.tree.nv):
            W = np.empty((self.rows, self.rows))
            kernels.dense_products(self._begin, self._column, left, self._weighed, self.compliance, W)
            return W
        from scipy.sparse import csr_array, diags_array

        shape = (self.rows, self.tree.nv)
        A = csr_array((left, self._column, self._begin), shape=shape)
        B = csr_array((self._weighed, self._column, self._begin), shape=shape)
        return csr_array(A @ B.T + diags_array(self.compliance))

    def joint_error(self, v: np.ndarray) -> float:
        """Largest error of an equality after the step [m or rad]."""
        held = self._joint.law == HOLD
        if not held.any():
            return 0.0
        return float(np.abs(self._joint_values(v)[held]).max())

    def residuals(self, impulse: np.ndarray, v: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """Largest natural map of joint rows, normal rows and other rows, and |v − ṽ − M̃⁻¹ Jᵀ λ| [m/s]."""
        kind, start, a, b = self.set_arrays
        scale, rolling = self.scale
        return tree_residuals(
            self._begin, self._column, self._value, self.compliance, scale, rolling, kind, start, a, b,
            self.joint_rows, impulse, v, self.body_velocity(impulse), bias,
        )  # fmt: skip

    def same_turn(self, v: np.ndarray) -> bool:
        """Whether impulses turn no joint further than a quarter beyond what moves already.

        Overlapping shapes may also be apart some turns later.
        """
        turned = np.abs(v - self.predicted)[self.tree.turning]
        return bool(self.h * turned.max(initial=0.0) <= self._furthest_turn)

    @cached_property
    def _furthest_turn(self) -> float:
        moving = max(np.abs(self.predicted).max(initial=0.0), np.abs(self.before).max(initial=0.0))
        return _QUARTER + self.h * float(moving)

    def _joint_values(self, v: np.ndarray) -> np.ndarray:
        moved = self.row_velocity(v)[: self.joint_rows]
        if self.table.curved:
            self._go_to_end(v)
            return self.table.values_after(self._joint, moved, self.h)
        return self._joint.value + self.h * moved

    def _go_to_end(self, v: np.ndarray) -> None:
        """Poses and constraint values after the step with velocities v, unless they are there already."""
        if self.tree.visitor is not v:
            self.tree.evaluate_end(self.tree.moved(self.state.qpos, v, self.h))
            self.tree.visitor = v

    def gaps_after(self, v: np.ndarray) -> np.ndarray:
        """Gaps of all contacts after the step with velocities v, shape (contacts,)."""
        found = self.contacts
        change, after = np.empty(found.count), np.empty_like(self._local)
        if found.count:
            self._go_to_end(v)
            kernels.place_points(found.body, self._local, *self.tree.poses(self.tree.end), after)
            kernels.gap_change(found.frame, self._carried, after, change)
        return found.gap + change

    def bias(self, v: np.ndarray | None) -> np.ndarray:
        """What the laws add to the row velocities, linearised at v (None: at the start of the step)."""
        m, h, settings = self.joint_rows, self.h, self.settings
        if v is None:
            joint, gap, correction = self._joint.value, self.contacts.gap, settings.correction
        else:
            moved = h * self.row_velocity(v)
            joint = self._joint_values(v) - moved[:m]
            gap = self.gaps_after(v) - moved[self.first]
            correction = 1.0
        out = np.zeros(self.rows)
        rows = self._joint
        recovery = _LIMIT_RECOVERY * settings.recovery_speed
        joint_bias(rows.law, rows.value, joint, rows.force, rows.gain, correction, recovery, h, out[:m])
        rest_speed = 2.0 * self._gained
        contact_terms(
            self.first, self.contacts.gap, gap, self.contacts.accuracy, self.contacts.restitution,
            self._approach, self.free_velocity[self.first], correction, settings.recovery_speed,
            rest_speed, h, out,
        )  # fmt: skip
        out[self._immobile] = 0.0
        return out

    @cached_property
    def _immobile(self) -> np.ndarray:
        """Normal rows that nothing can move: shapes that overlap about an axis of their joint."""
        square = self.scale_of_rows[self.first]
        return self.first[square <= _IMMOBILE * self.scale_of_rows.max(initial=0.0)]

    def problem(self, bias: np.ndarray) -> ContactProblem:
        """The contact problem with this bias, in reduced form (W, q)."""
        return ContactProblem(self.delassus, freeze(self.free_velocity + bias), self.sets, copy=False)


def contact_sets(contacts: Contacts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kind and parameters of the friction set of each contact."""
    rows, friction = contacts.rows, contacts.friction
    kind = np.where(rows == 1, NONNEGATIVE, np.where(rows == 5, ROLLING, COULOMB))
    b = np.where(rows == 5, friction[:, 2], 0.0)
    elliptic = (kind == COULOMB) & (friction[:, 0] != friction[:, 1])
    kind = np.where(elliptic, ELLIPTIC, kind)
    b = np.where(elliptic, friction[:, 1], b)
    return kind, np.where(rows == 1, 0.0, friction[:, 0]), b
