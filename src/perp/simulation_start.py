"""How a simulation begins: which coordinates carry the scene, and keyframes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from perp.dynamics.actuators import control_names
from perp.dynamics.state import State
from perp.scenes import Model, SceneError, load_scene
from perp.scenes.engine import engine
from perp.scenes.mjcf import Lines
from perp.scenes.staging import keyframe_index
from perp.simulation_arguments import Coordinates, choice
from perp.stepping import Stepper

# Joints with motors and so many freedoms are an arm or legs.
_ROBOT_FREEDOMS = 6


def load_for(
    scene: Any, coordinates: Any, restitution: float | Mapping[str, float], lines: Lines
) -> tuple[Model, Coordinates]:
    """The model of a scene, and the coordinates to step it in.

    Without a choice these are maximal ones, unless they cannot carry something that reduced ones can, or the
    scene is a robot, for which reduced ones are the better choice: its joints have motors and many freedoms,
    or rotor inertia. `lines` are known to be ignored already.
    """
    if coordinates is not None:
        chosen = choice("coordinates", coordinates, Coordinates)
        reduced = chosen is Coordinates.REDUCED
        return load_scene(scene, restitution=restitution, reduced=reduced, lines=lines), chosen
    if isinstance(scene, Model):
        return scene, Coordinates.MAXIMAL
    try:
        maximal = load_scene(scene, restitution=restitution, lines=lines)
    except SceneError:
        reduced = load_scene(scene, restitution=restitution, reduced=True, lines=lines)
        return reduced, Coordinates.REDUCED
    reduced = load_scene(
        maximal.shapes, restitution=restitution, reduced=True, lines=list(maximal.report.of_file)
    )
    rotors = any(part.armature > 0 for joint in maximal.joints for part in (joint, *joint.coordinates))
    if rotors or _has_robot(maximal) or set(maximal.report.ignored) - set(reduced.report.ignored):
        return reduced, Coordinates.REDUCED
    return maximal, Coordinates.MAXIMAL


def _has_robot(model: Model) -> bool:
    """Whether motors drive joints of many freedoms."""
    m = model.shapes
    free = int((np.asarray(m.jnt_type) == int(engine().mjtJoint.mjJNT_FREE)).sum())
    return m.nu > 0 and m.nv - 6 * free >= _ROBOT_FREEDOMS


def go_to_keyframe(stepper: Stepper, keyframe: Any) -> tuple[State, np.ndarray]:
    """The state of a keyframe, and its control values, shape (motors,).

    Raises:
        SceneError: There is no such keyframe; the message lists those there are.
    """
    m, mujoco = stepper.mujoco_model, engine()
    k = keyframe_index(m, keyframe)
    data = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, data, k)
    mujoco.mj_normalizeQuat(m, data.qpos)
    if stepper.reduced:
        act = data.act.copy()
        return stepper.state_of(data.qpos.copy(), data.qvel.copy(), act, float(data.time)), data.ctrl.copy()
    state = cut_state(stepper, data)
    given = dict(zip(control_names(m), data.ctrl, strict=True))
    return state, np.array([given[name] for name in stepper.motor_names], dtype=np.float64)


def cut_state(stepper: Stepper, data: Any) -> State:
    """Poses and velocities of the bodies at mujoco's coordinates, as a state of cut bodies."""
    m, mujoco = stepper.mujoco_model, engine()
    mujoco.mj_kinematics(m, data)
    mujoco.mj_comPos(m, data)
    mujoco.mj_comVel(m, data)
    movable = np.flatnonzero(m.body_weldid > 0)
    lines, velocity, quat = np.empty((movable.size, 7)), np.empty((movable.size, 6)), np.empty(4)
    for i, b in enumerate(movable):
        mujoco.mju_mulQuat(quat, data.xquat[b], m.body_iquat[b])
        lines[i, :3], lines[i, 3:] = data.xipos[b], quat
        angular, linear = data.cvel[b, :3], data.cvel[b, 3:]
        velocity[i, :3] = linear + np.cross(angular, data.xipos[b] - data.subtree_com[m.body_rootid[b]])
        velocity[i, 3:] = angular
    return stepper.state_of(lines.ravel(), velocity.ravel(), np.zeros(0), float(data.time))
