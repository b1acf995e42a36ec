"""How a simulation begins: which coordinates carry the scene, and keyframes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.dynamics.scalar_tables import has_laws
from perp.dynamics.state import State
from perp.problems import ProblemError
from perp.scenes import Model, SceneError, load_scene
from perp.scenes.engine import engine
from perp.scenes.mjcf import Lines
from perp.scenes.naming import body_name
from perp.scenes.staging import START, keyframe_index
from perp.simulation.arguments import Coordinates, choice
from perp.simulation.generalised import coordinates, cut_state
from perp.stepping import Stepper
from perp.stepping.explaining import length
from perp.stepping.settings import Integrator

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation

# Length of a second first step over the first one, and by how much their accelerations differ where something
# is hit in one of them. Below the last share of the speed changes are round-off.
_SHORT, _IMPACT, _STILL = 0.1, 0.5, 1e-9
# Pairs of bodies that a message names; overlaps below this [m] are touch.
_NAMED, _TOUCHING = 3, 1e-6


def load_for(
    scene: Any, coordinates: Any, restitution: float | Mapping[str, float], lines: Lines, integrator: Any
) -> tuple[Model, Coordinates]:
    """The model of a scene, and the coordinates to step it in.

    Without a choice these are maximal ones, unless they cannot carry something that reduced ones can, or the
    scene is a robot, for which reduced ones take a third of the time: its joints have motors, tendons,
    equalities or rotor inertia. `lines` are known to be ignored already. Steps of fourth order need reduced
    ones.
    """
    rk4 = integrator == Integrator.RK4
    if coordinates is not None or rk4:
        chosen = choice("coordinates", coordinates or Coordinates.REDUCED, Coordinates)
        reduced = chosen is Coordinates.REDUCED
        if rk4 and not reduced:
            raise ProblemError("integrator='RK4' needs coordinates='reduced'")
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
    m = maximal.shapes
    # motors that stick are of shapes, not of joints
    sticky = m.nu > 0 and (m.actuator_trntype == int(engine().mjtTrn.mjTRN_BODY)).all()
    robot = has_laws(m) and not (sticky and m.nv == 6 * m.njnt)
    if rotors or robot or set(maximal.report.ignored) - set(reduced.report.ignored):
        return reduced, Coordinates.REDUCED
    return maximal, Coordinates.MAXIMAL


def go_to_keyframe(stepper: Stepper, keyframe: Any) -> tuple[State, np.ndarray]:
    """The state of a keyframe, whose mocap bodies are moved, and its control values, shape (motors,)."""
    m, mujoco = stepper.mujoco_model, engine()
    k = keyframe_index(m, keyframe)
    data = stepper.aside()
    mujoco.mj_resetDataKeyframe(m, data, k)
    stepper.set_mocap(data.mocap_pos.copy(), data.mocap_quat.copy())
    mujoco.mj_normalizeQuat(m, data.qpos)
    if stepper.reduced:
        act = data.act.copy()
        return stepper.state_of(data.qpos.copy(), data.qvel.copy(), act, float(data.time)), data.ctrl.copy()
    state = cut_state(stepper, data)
    return state, np.concatenate([data.ctrl, stepper.initial_control()[m.nu :]])


def stagger(simulation: Simulation) -> None:
    """Velocities half a step back; see `Simulation.stagger`."""
    if simulation.stepper.fourth:
        raise ProblemError("stagger: with integrator='RK4' velocities belong to the time of the positions")
    before, changes = simulation.qvel, []
    for share in (1.0, _SHORT):
        trial = simulation.copy()
        trial.step_size *= share
        trial.step()
        changes.append((trial.qvel - before) / share)
    whole, other = (float(np.linalg.norm(x)) for x in (changes[0], changes[1] - changes[0]))
    fall = simulation.step_size * float(np.linalg.norm(simulation.stepper.mujoco_model.opt.gravity))
    if other > _IMPACT * whole + _STILL * (fall + float(np.linalg.norm(before))):
        raise ProblemError("stagger: something hits something in the first step; velocities were not changed")
    simulation.qvel = before - 0.5 * changes[0]


def mocap_of_file(m: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions and quaternions of the mocap bodies in the file, shapes (mocap bodies, 3) and (…, 4)."""
    bodies = np.flatnonzero(m.body_mocapid >= 0)
    bodies = bodies[np.argsort(m.body_mocapid[bodies])]
    return m.body_pos[bodies].copy(), m.body_quat[bodies].copy()


def words_about_start(stepper: Stepper, state: State) -> str:
    """Which bodies overlap at a start, and the keyframes to start from instead."""
    m = stepper.mujoco_model
    keys = [m.key(k).name or str(k) for k in range(m.nkey)]
    offered = [name for name in keys if name != START]
    found = _named_overlaps(stepper, state)
    words = [f"starts overlapping: {found}"] if found else []
    return "; ".join([*words, *([f"keyframes: {', '.join(offered)}"] if offered else [])])


def words_about_fixed_overlaps(stepper: Stepper, state: State) -> str:
    """Which bodies overlap that no joint can separate: steps leave these contacts out."""
    found = _named_overlaps(stepper, state)
    return f"left out, as no joint separates them: overlaps of {found}" if found else ""


def _named_overlaps(stepper: Stepper, state: State) -> str:
    """The deepest overlaps and the number of others, in words; empty for none."""
    found = overlaps(stepper, state)
    pairs = ", ".join(f"{pair} by {length(depth)}" for pair, depth in found[:_NAMED])
    return pairs + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")


def overlaps(stepper: Stepper, state: State) -> list[tuple[str, float]]:
    """Pairs of bodies whose shapes overlap, in words, and how deep [m], the deepest first."""
    m, mujoco = stepper.mujoco_model, engine()
    data = stepper.aside()
    data.qpos[:] = coordinates(stepper, state)[0]
    mujoco.mj_kinematics(m, data)
    mujoco.mj_comPos(m, data)
    mujoco.mj_collision(m, data)
    deepest: dict[str, float] = {}
    for contact in data.contact:
        if contact.dist < -_TOUCHING:
            names = [body_name(m, int(m.geom_bodyid[g])) for g in contact.geom]
            pair = " and ".join(names)
            deepest[pair] = max(deepest.get(pair, 0.0), -float(contact.dist))
    return sorted(deepest.items(), key=lambda item: -item[1])
