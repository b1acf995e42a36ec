"""Joint rows in generalised coordinates: equalities, limits, dry friction, tendons and motors of one step.

    HOLD    c(q⁺) = 0                  equalities of the scene, as mujoco evaluates them
    LIMIT   c(q⁺) ≥ 0 ⊥ λ ≥ 0          limits of joints and tendons, those within reach of the step
    DRIVE   λ = h F₀ − K (J v⁺), clipped to h [low, high]; K = ∞ for dry friction

Springs and dampers of joints, and motors without a force limit on one degree of freedom, are not rows: their
gains are added to the diagonal of M.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from perp.dynamics.actuators import NO_ROW, SEVERAL_DOFS, Actuators
from perp.dynamics.generalised import Tree
from perp.dynamics.rows import DRIVE, HOLD, LIMIT
from perp.scenes.engine import engine

# Limits this near [rad or m], or within a few steps of travel, are rows.
_NEAR, _STEPS = 0.1, 4.0


@njit(cache=True)
def joint_bias(law, value, linear, force, gain, correction, recovery, h, bias):
    """What the laws add to the row velocities.

    Args:
        law: HOLD, LIMIT or DRIVE.
        value: c at the start of the step.
        linear: The constant part of c over the step.
        force: F₀ of drives.
        gain: K of drives.
        correction: Baumgarte's Υ, 1 at position level.
        recovery: A limit that is exceeded at the start is approached no faster than this.
        h: Step [s].
        bias: Out, over the joint rows.
    """
    for i in range(law.size):
        if law[i] == DRIVE:
            bias[i] = -h * force[i] / gain[i] if gain[i] < 1e300 else 0.0
        elif law[i] == HOLD:
            bias[i] = correction * linear[i] / h
        else:
            allowed = min(0.0, value[i] + h * recovery)
            if value[i] < 0.0:
                allowed += (1.0 - correction) * (value[i] - allowed)
            bias[i] = (linear[i] - allowed) / h


@dataclass(slots=True)
class RowSet:
    """The joint rows of one step.

    Attributes:
        identity: Which row of the model each one is: impulses are remembered by it.
        law: HOLD, LIMIT or DRIVE.
        dof, sign, source: As in `tree_kernels.given_rows`.
        dense: Rows over several degrees of freedom, shape (any, nv).
        value: c at the start of the step.
        force, gain: F₀ and K of drives.
        low, high: Bounds of a drive's force.
    """

    identity: np.ndarray
    law: np.ndarray
    dof: np.ndarray
    sign: np.ndarray
    source: np.ndarray
    dense: np.ndarray
    value: np.ndarray
    force: np.ndarray
    gain: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, whole: np.ndarray, real: np.ndarray, dense: np.ndarray) -> RowSet:
        """From the tables of `scalar_rows`."""
        identity, law, dof, source = whole
        sign, value, force, gain, low, high = real
        return cls(identity, law, dof, sign, source, dense, value, force, gain, low, high)


@njit(cache=True)
def _add(whole, real, i, identity, law, dof, source, sign, value, force, gain, low, high):
    """Fill line i of the two tables of `scalar_rows`."""
    whole[0, i], whole[1, i], whole[2, i], whole[3, i] = identity, law, dof, source
    real[0, i], real[1, i], real[2, i], real[3, i], real[4, i], real[5, i] = (
        sign,
        value,
        force,
        gain,
        low,
        high,
    )


@njit(cache=True)
def scalar_rows(
    qpos, v, h, joint, at, dof, joint_low, joint_high, lower, upper, rubbing, loss, rubs, motor, place,
    motor_dof, motor_sign, force, gain, low, high, whole, real,
):  # fmt: skip
    """Limits of hinges and sliders within reach, dry friction of joints, motors; returns how many rows.

    Args:
        qpos: Coordinates.
        v: Speeds to expect.
        h: Step [s].
        joint: Hinges and sliders with a limit, as the next four.
        at: Coordinate.
        dof: Degree of freedom.
        joint_low: Range.
        joint_high: Range.
        lower: First identity of lower limits.
        upper: First identity of upper limits.
        rubbing: Degrees of freedom with dry friction.
        loss: Its force.
        rubs: First identity of dry friction.
        motor: Identities of the motors, as the next seven; see `sort_motors`.
        place: Which motors are rows.
        motor_dof: Degree of freedom.
        motor_sign: Moment.
        force: F₀.
        gain: K.
        low: Least force.
        high: Largest force.
        whole: Out: identity, law, dof, source, shape (4, any).
        real: Out: sign, value, force, gain, low, high, shape (6, any).
    """
    n, inf = 0, np.inf
    for k in range(joint.size):
        reach = _NEAR + _STEPS * h * abs(v[dof[k]])
        below, above = qpos[at[k]] - joint_low[k], joint_high[k] - qpos[at[k]]
        if below < reach:
            _add(whole, real, n, lower + joint[k], LIMIT, dof[k], -1, 1.0, below, 0.0, inf, -inf, inf)
            n += 1
        if above < reach:
            _add(whole, real, n, upper + joint[k], LIMIT, dof[k], -1, -1.0, above, 0.0, inf, -inf, inf)
            n += 1
    for k in range(rubbing.size):
        _add(whole, real, n, rubs + rubbing[k], DRIVE, rubbing[k], -1, 1.0, 0.0, 0.0, inf, -loss[k], loss[k])
        n += 1
    for k in range(motor.size):
        if place[k] != NO_ROW:
            source = k if place[k] == SEVERAL_DOFS else -1
            _add(
                whole, real, n, motor[k], DRIVE, motor_dof[k], source, motor_sign[k], 0.0, force[k], gain[k],
                low[k], high[k],
            )  # fmt: skip
            n += 1
    return n


class _Collector:
    """Adds rows over several degrees of freedom to those of `scalar_rows`, n so far."""

    def __init__(self, whole: np.ndarray, real: np.ndarray, n: int, dense: np.ndarray) -> None:
        self.whole, self.real, self.n = whole, real, n
        self.dense, self.dense_count = [dense], dense.shape[0]

    def add(
        self,
        identity: np.ndarray,
        law: int,
        rows: np.ndarray,
        *,
        value: Any = 0.0,
        force: Any = 0.0,
        gain: Any = np.inf,
        low: Any = -np.inf,
        high: Any = np.inf,
    ) -> None:
        k = identity.size
        if not k:
            return
        if self.n + k > self.whole.shape[1]:
            more = ((0, 0), (0, self.n + k))
            self.whole, self.real = np.pad(self.whole, more), np.pad(self.real, more)
        at = slice(self.n, self.n + k)
        whole, real = self.whole[:, at], self.real[:, at]
        whole[0], whole[1], whole[2] = identity, law, -1
        whole[3] = np.arange(self.dense_count, self.dense_count + k)
        real[0], real[1], real[2], real[3], real[4], real[5] = 1.0, value, force, gain, low, high
        self.dense.append(rows)
        self.n, self.dense_count = self.n + k, self.dense_count + k

    def finish(self) -> RowSet:
        return RowSet.of(self.whole[:, : self.n], self.real[:, : self.n], np.concatenate(self.dense))


class TreeRows:
    """Finds the joint rows of a step, and what of the motors and springs goes elsewhere.

    Args:
        tree: The scene in generalised coordinates.
        actuators: Its actuators.
        flags: What the scene file disables.

    Attributes:
        identities: How many different rows there can be.
        curved: Whether some c is not linear in the velocities of a step.
    """

    def __init__(self, tree: Tree, actuators: Actuators, flags: int) -> None:
        mujoco = engine()
        m, bits = tree.mujoco_model, mujoco.mjtDisableBit
        self._tree, self.actuators, self._m = tree, actuators, m

        def on(bit: Any) -> bool:
            return not flags & (int(bit) | int(bits.mjDSBL_CONSTRAINT))

        kinds = mujoco.mjtJoint
        scalar = (m.jnt_type == int(kinds.mjJNT_HINGE)) | (m.jnt_type == int(kinds.mjJNT_SLIDE))
        limited = (m.jnt_limited != 0) & on(bits.mjDSBL_LIMIT)
        self._limited = np.flatnonzero(limited & scalar)
        self._balls = np.flatnonzero(limited & (m.jnt_type == int(kinds.mjJNT_BALL)))
        self._tendons = np.flatnonzero((m.tendon_limited != 0) & on(bits.mjDSBL_LIMIT))
        rubs = on(bits.mjDSBL_FRICTIONLOSS)
        self._rubbing = np.flatnonzero((m.dof_frictionloss > 0) & rubs)
        self._rubbing_tendons = np.flatnonzero((m.tendon_frictionloss > 0) & rubs)
        springs = not flags & int(bits.mjDSBL_SPRING)
        dampers = not flags & int(bits.mjDSBL_DAMPER)
        self._tendon_stiffness = m.tendon_stiffness * springs
        self._tendon_damping = m.tendon_damping * dampers
        self._elastic = np.flatnonzero((self._tendon_stiffness > 0) | (self._tendon_damping > 0))
        self._dof_damping = m.dof_damping * dampers
        self._dof_stiffness = m.jnt_stiffness[m.dof_jntid] * springs if m.nv else np.zeros(0)
        # a tendon over joints alone has a length that is linear in their coordinates
        straight = np.array([_over_joints(m, int(t)) for t in self._tendons], dtype=bool)
        self.curved = bool(m.neq or self._balls.size or not straight.all())
        self._implicit = 0.0, self._dof_damping
        self._all_scalar = not (m.neq or m.ntendon or self._balls.size)
        self._number()

    def _number(self) -> None:
        """Identities of all rows there can be, group by group."""
        m, at = self._m, 0
        self._base: dict[str, int] = {}
        sizes = {
            "lower": m.njnt, "upper": m.njnt, "ball": m.njnt, "tendon lower": m.ntendon,
            "tendon upper": m.ntendon, "friction": m.nv, "tendon friction": m.ntendon,
            "elastic": m.ntendon, "motor": m.nactuator, "equality": 6 * m.neq,
        }  # fmt: skip
        for name, size in sizes.items():
            self._base[name] = at
            at += int(size)
        self.identities = at
        j, i = self._limited, self._rubbing
        self._limit_table = (
            j, m.jnt_qposadr[j].astype(np.int64), m.jnt_dofadr[j].astype(np.int64),
            np.array(m.jnt_range[j, 0]), np.array(m.jnt_range[j, 1]), self._base["lower"],
            self._base["upper"],
        )  # fmt: skip
        self._friction_table = i, np.array(m.dof_frictionloss[i]), self._base["friction"]
        self._motor_identity = self._base["motor"] + self.actuators.affine
        special = 6 * m.neq + self._balls.size + 4 * m.ntendon
        self._most = 2 * j.size + i.size + self._motor_identity.size + special

    def implicit_diagonal(self, h: float) -> np.ndarray:
        """h D + h² K of the joints' dampers and springs, shape (nv,)."""
        if self._implicit[0] != h:
            self._implicit = h, h * self._dof_damping + h * h * self._dof_stiffness
        return self._implicit[1].copy()

    def collect(self, h: float, v: np.ndarray, force: np.ndarray, extra: np.ndarray) -> RowSet:
        """The rows of a step that starts at the tree's `start`.

        Args:
            h: Step [s].
            v: Speeds to expect, shape (nv,): decides which limits are near.
            force: Generalised force, shape (nv,): given forces of motors are added.
            extra: Diagonal added to M, shape (nv,): gains of unlimited motors are added.
        """
        d, motors = self._tree.start, self.actuators
        whole, real = np.empty((4, self._most), np.int64), np.empty((6, self._most))
        dense = np.zeros((self._motor_identity.size, self._tree.nv))
        place, dof, sign, F, K, low, high = motors.sort(d, h, force, extra, dense)
        n = scalar_rows(
            d.qpos, v, h, *self._limit_table, *self._friction_table, self._motor_identity, place, dof,
            sign, F, K, low, high,
            whole, real,
        )  # fmt: skip
        if self._all_scalar:
            return RowSet.of(whole[:, :n], real[:, :n], dense)
        out = _Collector(whole, real, n, dense)
        self._equalities(out, d)
        self._ball_limits(out, d)
        if self._m.ntendon:
            self._tendon_rows(out, d, h, v)
        return out.finish()

    def _equalities(self, out: _Collector, d: Any) -> None:
        n = d.nefc
        if n:
            identity = self._base["equality"] + np.arange(n)
            out.add(
                identity, HOLD, rows=d.efc_J[: n * self._tree.nv].reshape(n, -1).copy(), value=d.efc_pos[:n]
            )

    def _ball_limits(self, out: _Collector, d: Any) -> None:
        m = self._m
        for b in self._balls:
            axis, angle = axis_angle(d.qpos[m.jnt_qposadr[b] : m.jnt_qposadr[b] + 4])
            row = np.zeros((1, self._tree.nv))
            row[0, m.jnt_dofadr[b] : m.jnt_dofadr[b] + 3] = -axis
            value = max(m.jnt_range[b]) - angle
            out.add(self._base["ball"] + np.array([b]), LIMIT, rows=row, value=value)

    def _tendon_rows(self, out: _Collector, d: Any, h: float, v: np.ndarray) -> None:
        m, base, J, length = self._m, self._base, tendon_rows(self._m, d), d.ten_length
        reach = _NEAR + _STEPS * h * np.abs(J @ v)
        for group, sign, value in (
            ("tendon lower", 1.0, length - m.tendon_range[:, 0]),
            ("tendon upper", -1.0, m.tendon_range[:, 1] - length),
        ):
            t = self._tendons[(value < reach)[self._tendons]]
            out.add(base[group] + t, LIMIT, rows=sign * J[t], value=value[t])
        t = self._rubbing_tendons
        loss = m.tendon_frictionloss[t]
        out.add(base["tendon friction"] + t, DRIVE, rows=J[t], low=-loss, high=loss)
        t = self._elastic
        stretch = length[t] - np.clip(length[t], m.tendon_lengthspring[t, 0], m.tendon_lengthspring[t, 1])
        stiffness = self._tendon_stiffness[t]
        gain = h * h * np.where(stretch != 0, stiffness, 0.0) + h * self._tendon_damping[t]
        on = gain > 0
        out.add(
            base["elastic"] + t[on], DRIVE, rows=J[t][on], force=-(stiffness * stretch)[on], gain=gain[on]
        )

    def values_after(self, rows: RowSet, moved: np.ndarray, h: float) -> np.ndarray:
        """c of every row at the tree's `end`, given J v of the rows."""
        out = rows.value + h * moved
        m, d, base = self._m, self._tree.end, self._base
        identity = rows.identity
        held = rows.law == HOLD
        if held.any() and d.nefc == int(held.sum()):
            out[held] = d.efc_pos[: d.nefc]
        for group, sign, edge in (("tendon lower", 1.0, 0), ("tendon upper", -1.0, 1)):
            t = identity - base[group]
            mine = (t >= 0) & (t < m.ntendon)
            out[mine] = sign * (d.ten_length[t[mine]] - m.tendon_range[t[mine], edge])
        if self._balls.size:
            b = identity - base["ball"]
            for line in np.flatnonzero((b >= 0) & (b < m.njnt)):
                at = m.jnt_qposadr[b[line]]
                out[line] = max(m.jnt_range[b[line]]) - axis_angle(d.qpos[at : at + 4])[1]
        return out


def _over_joints(m: Any, tendon: int) -> bool:
    """Whether a tendon is a sum of coordinates of hinges and sliders."""
    at, n = int(m.tendon_adr[tendon]), int(m.tendon_num[tendon])
    return bool((m.wrap_type[at : at + n] == int(engine().mjtWrap.mjWRAP_JOINT)).all())


def axis_angle(quaternion: np.ndarray) -> tuple[np.ndarray, float]:
    """Axis and angle in [0, π] of a rotation; any axis for none."""
    q = quaternion if quaternion[0] >= 0 else -quaternion
    size = float(np.linalg.norm(q[1:]))
    axis = q[1:] / size if size > 1e-12 else np.array([1.0, 0.0, 0.0])
    return axis, 2.0 * float(np.arctan2(size, q[0]))


def tendon_rows(m: Any, d: Any) -> np.ndarray:
    """Jacobian of the tendon lengths, dense, shape (tendons, nv)."""
    out = np.zeros((m.ntendon, m.nv))
    _dense_rows(m.ten_J_rowadr, m.ten_J_rownnz, m.ten_J_colind, d.ten_J, out)
    return out


@njit(cache=True)
def _dense_rows(begin, count, column, value, out):
    """mujoco's compressed rows into zeros."""
    for t in range(begin.size):
        for k in range(begin[t], begin[t] + count[t]):
            out[t, column[k]] = value[k]
