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
from perp.problems.validation import freeze
from perp.stepping.laws import contact_terms
from perp.stepping.reduced_assembly import assemble, chain_rows, free_tree, room_needed, tree_residuals
from perp.stepping.reduced_newton import IMMOBILE
from perp.stepping.reduced_rows import RowSet, TreeRows, joint_bias
from perp.stepping.scales import scales
from perp.stepping.settings import StepSettings

# Limits are angles as a rule, and no body hops when they are restored: ten times the speed of contacts.
LIMIT_RECOVERY = 10.0
# Rows of one tree fill W: up to this many, dense algebra is the faster.
_DENSE_ROWS = 300
QUARTER = 0.5 * np.pi


class ReducedSystem:
    """One step of length h from `state`; `force` is the external one, `bound` the radius of each body.

    Attributes:
        predicted: Velocity without constraints, shape (nv,).
        body_predicted: The same as velocities of the bodies, shape (n, 6).
        joint_rows: Number of joint rows; contact rows follow them.
        first: First row of each contact.
        start: Row offsets of the constraints.
        arrays: The rows.
        joint: The joint rows.
        gained: Speed of a fall of one step [m/s].
        reach: How far the surface of each body may travel in the step, shape (n,) [m].
    """

    def __init__(
        self,
        tree: Tree,
        table: TreeRows,
        state: GeneralisedState,
        h: float,
        force: np.ndarray,
        settings: StepSettings,
        bound: np.ndarray,
    ) -> None:
        self.tree, self.table, self.state, self.h, self.settings = tree, table, state, h, settings
        self.model = tree.model
        d, nv = tree.start, tree.nv
        self.extra = table.implicit_diagonal(h)
        self.joint: RowSet = table.collect(h, state.qvel, force, self.extra)
        self.factor, self.predicted = np.empty(d.M.size), np.empty(nv)
        n = tree.movable.size
        self.body_predicted, self.reach = np.empty((n, 6)), np.empty(n)
        self.position, self.rotation = np.empty((n, 3)), np.empty((n, 3, 3))
        free_tree(
            *tree.rows, d.M, self.extra, state.qvel, force, d.qfrc_spring, d.qfrc_gravcomp, d.qfrc_fluid,
            d.qfrc_bias, h, *tree.chain, tree.slot, d.cdof, d.subtree_com, d.xipos, d.ximat, state.velocity,
            bound, self.factor, self.predicted, self.body_predicted, self.position, self.rotation, self.reach,
        )  # fmt: skip
        self.next_activation = table.actuators.next_activation(d, h) if state.act.size else state.act
        self.joint_rows = self.joint.law.size
        self.joint_identity = self.joint.identity
        self.before = state.qvel
        # speed of a fall of one step
        self.gained = h * math.sqrt(float(self.model.gravity @ self.model.gravity))

    def _solved(self, x: np.ndarray) -> np.ndarray:
        out = x.copy()
        kernels.solve(*self.tree.rows, self.factor, out)
        return out

    def add_contacts(self, contacts: Contacts) -> None:
        """Complete the rows with the contacts of the step's start."""
        self.contacts = contacts
        tree, joint, m, d = self.tree, self.joint, self.joint_rows, self.tree.start
        self.rows = m + int(contacts.rows.sum())
        size = m, contacts.count, self.rows, tree.nv, tree.width
        integers, numbers = room_needed(*size)
        self.arrays = rows = chain_rows.py_func(*size, np.empty(integers, np.int64), np.empty(numbers))
        assemble(
            joint.law, joint.dof, joint.sign, joint.source, joint.dense, joint.gain, joint.low, joint.high,
            contacts.body, contacts.point, contacts.frame, contacts.rows, contacts.friction, contacts.gap,
            contacts.roundness, self.h, tree.parent, tree.last_dof, tree.dof_root, *tree.rows, self.factor,
            self.predicted, self.state.qvel, d.cdof, d.subtree_com, tree.movable, d.xpos, d.xmat, rows,
        )  # fmt: skip
        self.start, self.first = rows.start, rows.first
        self.compliance, self.free_velocity = rows.compliance, rows.free_velocity
        self.speed_scale, self.length_scale = scales(
            self.model, self.settings, self.h, self.position, self.body_predicted, self.free_velocity
        )

    @cached_property
    def overlaps(self) -> bool:
        """Whether any shapes or limits overlap at the start."""
        joint = self.joint
        return bool((self.contacts.gap < 0.0).any() or (joint.value[joint.law == LIMIT] < 0.0).any())

    @property
    def set_arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Kind, row offsets and parameters of the sets."""
        rows = self.arrays
        return freeze(rows.kind), freeze(rows.start), freeze(rows.a), freeze(rows.b)

    def _end_jacobian(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows in compressed form at `end`, with contact points there: where they begin, and their values."""
        tree, found, joint, m, d = self.tree, self.contacts, self.joint, self.joint_rows, self.tree.end
        dense = joint.dense
        if d.nefc:
            dense = dense.copy()
            dense[joint.source[joint.law == HOLD]] = d.efc_J[: d.nefc * tree.nv].reshape(-1, tree.nv)
        begin = np.zeros(self.rows + 1, dtype=np.int64)
        column, value = np.empty(self.arrays.column.size, dtype=np.int64), np.empty(self.arrays.value.size)
        begin[m] = kernels.given_rows(
            joint.dof, joint.sign, joint.source, dense, tree.parent, begin[: m + 1], column, value
        )
        kernels.contact_rows(
            found.body, points, found.frame, found.rows, tree.last_dof, tree.dof_root, tree.parent, d.cdof,
            d.subtree_com, begin[m:], column, value,
        )  # fmt: skip
        return begin, value

    def row_velocity(self, v: np.ndarray) -> np.ndarray:
        """J v, shape (rows,)."""
        out = np.empty(self.rows)
        kernels.row_products(*self._jacobian, v, out)
        return out

    def body_velocity(self, impulse: np.ndarray) -> np.ndarray:
        """The generalised velocity ṽ + M̃⁻¹ Jᵀ λ, shape (nv,)."""
        pushed = np.empty(self.tree.nv)
        kernels.transposed_product(*self._jacobian, impulse, pushed)
        return self.predicted + self._solved(pushed)

    @property
    def _jacobian(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = self.arrays
        return rows.begin, rows.column, rows.value

    @property
    def has_inequalities(self) -> bool:
        """Whether any constraint is not bilateral."""
        return bool(self.contacts.count or self.arrays.kind.any())

    @cached_property
    def sets(self) -> Sets:
        """The sets of all constraints."""
        kind, start, a, b = self.set_arrays
        return Sets.from_arrays(kind, np.stack([a, b], 1), np.diff(start))

    @property
    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocity per impulse and rolling length of each constraint, as for `StepSystem`."""
        return freeze(self.arrays.scale), freeze(self.arrays.length)

    @cached_property
    def delassus(self) -> Any:
        """W = J M̃⁻¹ Jᵀ + Σ: dense when small, CSR otherwise."""
        return self._product(self.arrays.weighed)

    def derivative(self, v: np.ndarray) -> Any:
        """Derivative of the row velocities with respect to λ, rows at the end of the step."""
        self.tree.evaluate_end(self.tree.moved(self.state.qpos, v, self.h), jacobian=True)
        begin, value = self._end_jacobian(self._points_after())
        rows = self.arrays
        if not np.array_equal(begin, rows.begin):
            return self.delassus
        # tangents keep the rows of the start: only gaps are taken at the end of the step
        kept = rows.value.copy()
        turned = np.concatenate([np.flatnonzero(self.joint.law == HOLD), self.first])
        for i in turned:
            kept[begin[i] : begin[i + 1]] = value[begin[i] : begin[i + 1]]
        weighed = np.empty_like(kept)
        kernels.weigh(*self.tree.rows, self.factor, rows.begin, rows.column, kept, weighed)
        return self._product(weighed)

    def _points_after(self) -> np.ndarray:
        """The carried points at the positions of `tree.end`, shape (contacts, 2, 3)."""
        d, out = self.tree.end, np.empty_like(self.arrays.local)
        kernels.place_points(self.contacts.body, self.arrays.local, self.tree.movable, d.xpos, d.xmat, out)
        return out

    def _product(self, left: np.ndarray) -> Any:
        rows = self.arrays
        used = int(rows.begin[-1])
        column, left, weighed = rows.column[:used], left[:used], rows.weighed[:used]
        if self.rows <= max(self.settings.dense_rows, _DENSE_ROWS, self.tree.nv):
            W = np.empty((self.rows, self.rows))
            kernels.dense_products(rows.begin, column, left, weighed, self.compliance, W)
            return W
        from scipy.sparse import csr_array, diags_array

        shape = (self.rows, self.tree.nv)
        A = csr_array((left, column, rows.begin), shape=shape)
        B = csr_array((weighed, column, rows.begin), shape=shape)
        return csr_array(A @ B.T + diags_array(self.compliance))

    def joint_error(self, v: np.ndarray) -> float:
        """Largest error of an equality after the step [m or rad]."""
        held = self.joint.law == HOLD
        if not held.any():
            return 0.0
        return float(np.abs(self._joint_values(v)[held]).max())

    def residuals(self, impulse: np.ndarray, v: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """Largest natural map of joint rows, normal rows and other rows, and |v − ṽ − M̃⁻¹ Jᵀ λ| [m/s]."""
        return tree_residuals(self.arrays, *self.tree.rows, self.factor, self.predicted, impulse, v, bias)

    def same_turn(self, v: np.ndarray) -> bool:
        """Whether impulses turn no joint further than a quarter beyond what moves already.

        Overlapping shapes may also be apart some turns later.
        """
        turned = np.abs(v - self.predicted)[self.tree.turning]
        return bool(self.h * turned.max(initial=0.0) <= self._furthest_turn)

    @cached_property
    def _furthest_turn(self) -> float:
        moving = max(np.abs(self.predicted).max(initial=0.0), np.abs(self.before).max(initial=0.0))
        return QUARTER + self.h * float(moving)

    def _joint_values(self, v: np.ndarray) -> np.ndarray:
        moved = self.row_velocity(v)[: self.joint_rows]
        if self.table.curved:
            self._go_to_end(v)
            return self.table.values_after(self.joint, moved, self.h)
        return self.joint.value + self.h * moved

    def _go_to_end(self, v: np.ndarray) -> None:
        """Poses and constraint values after the step with velocities v, unless they are there already."""
        if self.tree.visitor is not v:
            self.tree.evaluate_end(self.tree.moved(self.state.qpos, v, self.h))
            self.tree.visitor = v

    def gaps_after(self, v: np.ndarray) -> np.ndarray:
        """Gaps of all contacts after the step with velocities v, shape (contacts,)."""
        found = self.contacts
        change = np.zeros(found.count)
        if found.count:
            self._go_to_end(v)
            kernels.gap_change(found.frame, self.arrays.carried, self._points_after(), change)
        return found.gap + change

    def joint_bias(self, v: np.ndarray | None) -> np.ndarray:
        """What the laws add to the velocities of the joint rows, linearised at v, shape (joint rows,)."""
        rows, settings, out = self.joint, self.settings, np.empty(self.joint_rows)
        if not out.size:
            return out
        if v is None or not self.table.curved:
            linear = rows.value
        else:
            linear = self._joint_values(v) - self.h * self.row_velocity(v)[: self.joint_rows]
        correction = settings.correction if v is None else 1.0
        recovery = LIMIT_RECOVERY * settings.recovery_speed
        joint_bias(rows.law, rows.value, linear, rows.force, rows.gain, correction, recovery, self.h, out)
        return out

    @property
    def rest_speed(self) -> float:
        """Slower contacts do not bounce [m/s]."""
        return 2.0 * self.gained

    def bias(self, v: np.ndarray | None) -> np.ndarray:
        """What the laws add to the row velocities, linearised at v (None: at the start of the step)."""
        h, settings, rows = self.h, self.settings, self.arrays
        if v is None:
            gap, correction = self.contacts.gap, settings.correction
        else:
            gap = self.gaps_after(v) - h * self.row_velocity(v)[self.first]
            correction = 1.0
        out = np.zeros(self.rows)
        out[: self.joint_rows] = self.joint_bias(v)
        contact_terms(
            self.first, self.contacts.gap, gap, self.contacts.accuracy, self.contacts.restitution,
            rows.approach, self.free_velocity[self.first], correction, settings.recovery_speed,
            self.rest_speed, h, out,
        )  # fmt: skip
        # nothing can move shapes that overlap about an axis of their joint
        still = rows.square[self.first] <= IMMOBILE * rows.square.max(initial=0.0)
        out[self.first[still]] = 0.0
        return out

    def problem(self, bias: np.ndarray) -> ContactProblem:
        """The contact problem with this bias, in reduced form (W, q)."""
        return ContactProblem(self.delassus, freeze(self.free_velocity + bias), self.sets, copy=False)
