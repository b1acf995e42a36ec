"""Coordinates of hinges and sliders over many states at once, as recordings hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.recording_columns import product, turn
from perp.scenes import JointKind
from perp.scenes.joints import Joint
from perp.stepping import ReducedStepper

if TYPE_CHECKING:
    from perp.stepping import Stepper

# mujoco's numbers of joints with one coordinate: slide and hinge.
_SCALAR = (2, 3)


def scalar_joints(stepper: Stepper) -> tuple[str, ...]:
    """Names of the hinges and sliders of a scene, in the order of the columns."""
    if isinstance(stepper, ReducedStepper):
        m = stepper.tree.mujoco_model
        return tuple(m.joint(int(j)).name or f"joint{j}" for j in _of_tree(m))
    return tuple(joint.name for _, joint in _of_bodies(stepper))


def joint_columns(stepper: Stepper, states: Sequence[Any]) -> dict[str, np.ndarray]:
    """Positions [rad or m] and velocities of the hinges and sliders, shapes (states, joints)."""
    if isinstance(stepper, ReducedStepper):
        m = stepper.tree.mujoco_model
        j = _of_tree(m)
        qpos, qvel = (np.array([getattr(state, name) for state in states]) for name in ("qpos", "qvel"))
        return {"joint_positions": qpos[:, m.jnt_qposadr[j]], "joint_velocities": qvel[:, m.jnt_dofadr[j]]}
    names = ("position", "quaternion", "velocity", "coordinate")
    arrays = {name: np.array([getattr(state, name) for state in states]) for name in names}
    found = [_coordinate(stepper, index, joint, arrays) for index, joint in _of_bodies(stepper)]
    empty = np.zeros((len(states), 0))
    return {
        name: np.stack([pair[k] for pair in found], axis=1) if found else empty
        for k, name in enumerate(("joint_positions", "joint_velocities"))
    }


def _of_tree(m: Any) -> np.ndarray:
    return np.flatnonzero(np.isin(m.jnt_type, _SCALAR))


def _of_bodies(stepper: Stepper) -> list[tuple[int, Joint]]:
    kinds = (JointKind.HINGE, JointKind.SLIDER)
    return [(j, joint) for j, joint in enumerate(stepper.model.joints) if joint.kind in kinds]


def _coordinate(
    stepper: Stepper, index: int, joint: Joint, arrays: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity of one joint, shapes (states,) each, as `MaximalJoint` has them for one state."""
    count = len(arrays["position"])
    frames, anchors, spins, speeds = [], [], [], []
    for body, frame, anchor in (
        (joint.child, joint.child_frame, joint.child_anchor),
        (joint.parent, joint.parent_frame, joint.parent_anchor),
    ):
        if body < 0:
            frames.append(np.broadcast_to(frame, (count, 4)))
            anchors.append(np.broadcast_to(anchor, (count, 3)))
            spins.append(np.zeros((count, 3)))
            speeds.append(np.zeros((count, 3)))
        else:
            turned, u = arrays["quaternion"][:, body], arrays["velocity"][:, body]
            frames.append(product(turned, frame))
            anchors.append(arrays["position"][:, body] + turn(turned, anchor))
            spins.append(u[:, 3:])
            # of the point of each body where the child's anchor is
            arm = anchors[0] - arrays["position"][:, body]
            speeds.append(u[:, :3] + np.cross(u[:, 3:], arm))
    axis = turn(frames[1], np.array([0.0, 0.0, 1.0]))
    if joint.kind is JointKind.SLIDER:
        along = np.einsum("nk,nk->n", axis, anchors[0] - anchors[1]) + joint.reference
        return along, np.einsum("nk,nk->n", axis, speeds[0] - speeds[1])
    between = product(frames[1] * np.array([1.0, -1.0, -1.0, -1.0]), frames[0])
    angle = 2.0 * np.arctan2(between[:, 3], between[:, 0]) + joint.reference
    known = stepper.table.known_coordinate(stepper.model, index, arrays["coordinate"])
    guess = joint.reference if known is None else known
    angle += 2.0 * np.pi * np.round((guess - angle) / (2.0 * np.pi))
    return angle, np.einsum("nk,nk->n", axis, spins[0] - spins[1])
