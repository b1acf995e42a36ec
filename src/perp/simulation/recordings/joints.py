"""Coordinates of joints over many states at once, as recordings hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.dynamics.rows import JointRows
from perp.scenes.naming import joint_names
from perp.stepping.joint_access import known_turns, measure, measured_joints

if TYPE_CHECKING:
    from perp.stepping import Stepper

# mujoco's numbers of joints with one coordinate: slide and hinge.
_SCALAR = (2, 3)


def scalar_joints(stepper: Stepper) -> tuple[str, ...]:
    """Names of the coordinates of a scene, in the order of the columns."""
    if stepper.reduced:
        names = joint_names(stepper.mujoco_model)
        return tuple(names[j] for j in _of_tree(stepper.mujoco_model))
    return tuple(q.name for _, _, q in measured_joints(stepper.model))


def joint_columns(stepper: Stepper, states: Sequence[Any]) -> dict[str, np.ndarray]:
    """Positions [rad or m] and velocities of the coordinates, shapes (states, joints)."""
    if stepper.reduced:
        m = stepper.mujoco_model
        j = _of_tree(m)
        qpos, qvel = (np.array([getattr(state, name) for state in states]) for name in ("qpos", "qvel"))
        return {"joint_positions": qpos[:, m.jnt_qposadr[j]], "joint_velocities": qvel[:, m.jnt_dofadr[j]]}
    scalars = measured_joints(stepper.model)
    rows = JointRows.measuring([(joint, q) for _, joint, q in scalars])
    if not states:
        return {name: np.zeros((0, len(scalars))) for name in ("joint_positions", "joint_velocities")}
    known = known_turns(stepper.table, scalars, np.array([state.coordinate for state in states]))
    found = np.array([measure(rows, turns, state) for turns, state in zip(known, states, strict=True)])
    found = found.reshape(len(states), 2, len(scalars))
    return {"joint_positions": found[:, 0], "joint_velocities": found[:, 1]}


def _of_tree(m: Any) -> np.ndarray:
    return np.flatnonzero(np.isin(m.jnt_type, _SCALAR))
