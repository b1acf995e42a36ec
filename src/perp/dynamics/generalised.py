"""A scene in MuJoCo's generalised coordinates: kinematics, M(q), forces and constraint values.

Two copies of mujoco's data are kept: one for the start of a step, where everything is evaluated, and one for
trial positions at its end, where only poses and constraint values are needed.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from perp.dynamics import tree_kernels as tree
from perp.dynamics.actuators import control_names
from perp.dynamics.state import State
from perp.dynamics.tree_motion import links_of
from perp.scenes import Model
from perp.scenes.engine import engine


@dataclass(slots=True)
class GeneralisedState(State):
    """A state that also holds generalised coordinates; the bodies' poses and velocities follow from them.

    Attributes:
        qpos: Positions in mujoco's order, shape (nq,).
        qvel: Velocities, shape (nv,).
        act: Activations of actuators that have them, shape (na,).
    """

    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray

    def copy(self) -> GeneralisedState:
        """An independent copy."""
        return GeneralisedState(
            self.time, self.position.copy(), self.quaternion.copy(), self.velocity.copy(),
            self.coordinate.copy(), self.qpos.copy(), self.qvel.copy(), self.act.copy(),
        )  # fmt: skip


class Tree:
    """The kinematic trees of a model.

    Attributes:
        mujoco_model: A copy in which mujoco's own constraints are equalities only.
        start, end: mujoco's data at the start of a step and at trial positions of its end.
        nv: Number of degrees of freedom.
        movable: mujoco's numbers of the bodies that move.
        parent: Of each degree of freedom.
        last_dof: Last degree of freedom on the path of each movable body.
        width: Entries of a contact row at most.
        chain, slot: Parents, degrees of freedom and roots of mujoco's bodies; their lines among the movable.
        links: Bodies and joints, for kinematics.
        turning: Which degrees of freedom are angles.
        visitor: The velocity that led to the positions of `end`; who moves them says so.
    """

    def __init__(self, model: Model) -> None:
        mujoco = engine()
        m = copy.copy(model.shapes)
        bits = mujoco.mjtDisableBit
        for bit in (bits.mjDSBL_CONTACT, bits.mjDSBL_LIMIT, bits.mjDSBL_FRICTIONLOSS):
            m.opt.disableflags |= int(bit)
        m.opt.jacobian = int(mujoco.mjtJacobian.mjJAC_DENSE)
        self._mujoco, self.model, self.mujoco_model = mujoco, model, m
        self.start, self.end = mujoco.MjData(m), mujoco.MjData(m)
        self.nv = int(m.nv)
        self.parent = m.dof_parentid.astype(np.int64)
        self.rows: tuple[np.ndarray, np.ndarray, np.ndarray] = (
            m.M_rowadr.astype(np.int64), m.M_rownnz.astype(np.int64), m.M_colind.astype(np.int64),
        )  # fmt: skip
        self.movable = np.flatnonzero(m.body_weldid > 0)
        slot = np.full(m.nbody, -1, dtype=np.int64)
        slot[self.movable] = np.arange(self.movable.size)
        self.chain: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] = (
            m.body_parentid.astype(np.int64), m.body_dofadr.astype(np.int64),
            m.body_dofnum.astype(np.int64), m.body_rootid.astype(np.int64),
        )  # fmt: skip
        self.slot, self._twist = slot, np.zeros((m.nbody, 6))
        self.dof_root = m.body_rootid[m.dof_bodyid].astype(np.int64)
        last = np.full(m.nbody, -1, dtype=np.int64)
        for b in range(1, m.nbody):
            dofs = int(m.body_dofnum[b])
            last[b] = m.body_dofadr[b] + dofs - 1 if dofs else last[m.body_parentid[b]]
        self.last_dof = last[self.movable]
        depth = np.zeros(self.nv, dtype=np.int64)
        for j in range(self.nv):
            depth[j] = 1 + (depth[self.parent[j]] if self.parent[j] >= 0 else 0)
        # the paths of two bodies
        self.width = min(self.nv, 2 * int(depth.max(initial=0)))
        kind, first = m.jnt_type[m.dof_jntid], m.jnt_dofadr[m.dof_jntid]
        free, slide = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_SLIDE)
        self.turning = (kind != slide) & ((kind != free) | (np.arange(self.nv) - first >= 3))
        self.visitor: np.ndarray | None = None
        self.links = links_of(m)

    def evaluate_start(
        self, state: GeneralisedState, control: np.ndarray, mean: np.ndarray | None = None
    ) -> None:
        """Poses, inertia, forces and constraint rows at a state, into `start`.

        Args:
            state: The state.
            control: Of the motors.
            mean: The velocity that Coriolis and centrifugal forces belong to, if not that of the state.
        """
        m, d, mj = self.mujoco_model, self.start, self._mujoco
        d.time = state.time
        d.qpos[:], d.qvel[:] = state.qpos, state.qvel if mean is None else mean
        if m.na:
            d.act[:] = state.act
        d.ctrl[:] = control
        mj.mj_kinematics(m, d)
        mj.mj_comPos(m, d)
        mj.mj_tendon(m, d)
        mj.mj_makeM(m, d)
        mj.mj_transmission(m, d)
        if m.neq:
            mj.mj_makeConstraint(m, d)
        mj.mj_fwdVelocity(m, d)

    def bias_change(self, v: np.ndarray) -> float:
        """How far v would change the bias forces at `start`, as a share of the largest; they become v's."""
        d = self.start
        before = d.qfrc_bias.copy()
        d.qvel[:] = v
        self._mujoco.mj_fwdVelocity(self.mujoco_model, d)
        return largest_change(before, d.qfrc_bias)

    def evaluate_end(self, qpos: np.ndarray, *, jacobian: bool = False) -> None:
        """Poses and constraint values at a position, into `end`; Jacobians as well when asked for."""
        m, d, mj = self.mujoco_model, self.end, self._mujoco
        self.visitor = None
        d.qpos[:] = qpos
        mj.mj_kinematics(m, d)
        if m.neq or m.ntendon or jacobian:
            mj.mj_comPos(m, d)
        if m.ntendon:
            mj.mj_tendon(m, d)
        if m.neq:
            mj.mj_makeConstraint(m, d)

    def normalise(self, qpos: np.ndarray) -> None:
        """Make the quaternions of a position unit ones, in place."""
        self._mujoco.mj_normalizeQuat(self.mujoco_model, qpos)

    @property
    def motor_names(self) -> tuple[str, ...]:
        """One name per control value of the scene file."""
        return control_names(self.mujoco_model)

    def moved(self, qpos: np.ndarray, v: np.ndarray, h: float) -> np.ndarray:
        """The position after moving with v for h, shape (nq,)."""
        out = qpos.copy()
        self._mujoco.mj_integratePos(self.mujoco_model, out, v, h)
        return out

    def poses(self, data: Any) -> tuple[np.ndarray, np.ndarray]:
        """Centres of mass (n, 3) and principal frames (n, 3, 3) of the movable bodies."""
        return data.xipos[self.movable], data.ximat[self.movable].reshape(-1, 3, 3)

    def quaternions(self, data: Any) -> np.ndarray:
        """Principal frames as quaternions, shape (n, 4)."""
        out = np.empty((self.movable.size, 4))
        tree.compose(data.xquat[self.movable], self.mujoco_model.body_iquat[self.movable], out)
        return out

    def body_velocities(self, data: Any, v: np.ndarray) -> np.ndarray:
        """Velocities of the movable bodies in the world, shape (n, 6), at the positions of `data`."""
        out = np.zeros((self.movable.size, 6))
        tree.body_velocities(
            *self.chain, self.slot, data.cdof, data.subtree_com, data.xipos, v, self._twist, out
        )
        return out

    def generalised_force(self, wrench: np.ndarray) -> np.ndarray:
        """Force in generalised coordinates of wrenches on the centres of mass, shape (nv,)."""
        out = np.zeros(self.nv)
        d = self.start
        if not wrench.any():
            return out
        for i in np.flatnonzero(wrench.any(axis=1)):
            body = int(self.movable[i])
            self._mujoco.mj_applyFT(
                self.mujoco_model, d, wrench[i, :3].copy(), wrench[i, 3:].copy(), d.xipos[body], body, out
            )
        return out


@njit(cache=True)
def largest_change(before, after):
    """The largest difference over the largest entry."""
    change = size = 0.0
    for k in range(before.size):
        change = max(change, abs(after[k] - before[k]))
        size = max(size, max(abs(after[k]), abs(before[k])))
    return change / size if size > 0.0 else 0.0
