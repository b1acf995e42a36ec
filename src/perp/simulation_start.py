"""How a simulation begins: which coordinates carry the scene, and keyframes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from perp.dynamics.generalised import Tree
from perp.dynamics.state import State
from perp.scenes import Model, SceneError, load_scene
from perp.scenes.mjcf import Lines
from perp.scenes.staging import keyframe_index
from perp.simulation_arguments import Coordinates, choice
from perp.stepping import ReducedStepper, Stepper


def load_for(
    scene: Any, coordinates: Any, restitution: float | Mapping[str, float], lines: Lines
) -> tuple[Model, Coordinates]:
    """The model of a scene, and the coordinates to step it in.

    Without a choice these are maximal ones, unless they cannot carry something that reduced ones can, or a
    joint has rotor inertia: that is a robot, for which reduced ones are the better choice. `lines` are known
    to be ignored already.
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
    if rotors or set(maximal.report.ignored) - set(reduced.report.ignored):
        return reduced, Coordinates.REDUCED
    return maximal, Coordinates.MAXIMAL


def go_to_keyframe(stepper: Stepper, keyframe: Any) -> tuple[State, np.ndarray]:
    """The state of a keyframe, and its control values, shape (motors,).

    Raises:
        SceneError: There is no such keyframe; the message lists those there are.
    """
    m = stepper.model.shapes
    k = keyframe_index(m, keyframe)
    qpos, qvel, time = m.key_qpos[k].copy(), m.key_qvel[k].copy(), float(m.key_time[k])
    if isinstance(stepper, ReducedStepper):
        stepper.tree.normalise(qpos)
        return stepper.state_of(qpos, qvel, m.key_act[k].copy(), time), m.key_ctrl[k].copy()
    tree = Tree(stepper.model)
    tree.normalise(qpos)
    tree.evaluate_end(qpos, jacobian=True)
    position, _ = tree.poses(tree.end)
    u = tree.body_velocities(tree.end, qvel)
    # angles are taken within half a turn of the reference
    state = State(time, position, tree.quaternions(tree.end), u, stepper.table.at_reference)
    state.coordinate = stepper.table.evaluate(
        state.position, state.quaternion, state.rotation, state.coordinate
    )[0]
    given = dict(zip(tree.motor_names, m.key_ctrl[k], strict=True))
    return state, np.array([given[name] for name in stepper.motor_names], dtype=np.float64)
