"""Robots are put on a stage: the base freed, ground below it, joints at a pose and held there.

A file of a robot rarely says what it stands on, and a URDF neither whether its root may move nor what drives
its joints. Each of these is an edit of the MjSpec, so that the scene that runs is an ordinary one. It starts
from a keyframe `START`, which the edits add; keyframes of the file are kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from perp.problems import ProblemError
from perp.scenes.engine import engine
from perp.scenes.lowest import lowest_point
from perp.scenes.mjcf import Lines, compile_spec, parse_scene
from perp.scenes.model import SceneError, find
from perp.scenes.urdf import LEAST_GYRATION, LEAST_MASS

START = "start"
# A hinge that carries the whole weight at a lever of 0.3 m gives way by 6 mrad, a slider by 1 mm; the servo
# closes in with a time constant of 0.1 s. Its force belongs to the end of the step: no gain is too high.
_HINGE_STIFFNESS, _SLIDE_STIFFNESS, _TIME_CONSTANT = 50.0, 1000.0, 0.1


@dataclass(frozen=True)
class Staging:
    """What to add to a scene."""

    free_base: bool = False  # let the roots that the file fixes to the world move
    # a level plane. A freed robot is put onto it, at z = 0; else it goes through the lowest point.
    ground: bool = False
    # "servos" drives every hinge and slider without a motor to where it starts, with no more than its effort;
    # "locked" fixes them there
    hold: str | None = None
    # where joints start, by name [rad or m]. The others start where the keyframe or the file puts them, and
    # within their limits if they are held.
    pose: Mapping[str, float] | None = None
    # "force" or "velocity" gives every hinge and slider without a motor one that is named after it
    motors: str | None = None

    def __bool__(self) -> bool:
        wanted = (self.hold, self.motors)
        return self.free_base or self.ground or bool(self.pose) or any(x is not None for x in wanted)


@dataclass
class _Pose:
    """A keyframe: positions by joint, and the rest of it as mujoco has it."""

    name: str
    qpos: dict[str, np.ndarray]
    qvel: dict[str, np.ndarray]
    ctrl: np.ndarray
    others: dict[str, Any]


def stage(scene: Any, wanted: Staging, keyframe: str | int | None) -> tuple[Any, Lines]:
    """The scene on its stage, an MjSpec with a keyframe `START`, and lines for the import report.

    The pose begins at a keyframe of the scene, at the reference position when None; an MjSpec is left alone.
    """
    mujoco = engine()
    if wanted.hold not in (None, "servos", "locked"):
        raise ProblemError(f"hold = {wanted.hold!r}: one of 'servos', 'locked' is needed")
    if wanted.motors not in (None, "force", "velocity"):
        raise ProblemError(
            f"motors = {wanted.motors!r}: one of 'force', 'velocity' is needed (hold='servos' for positions)"
        )
    if wanted.motors is not None and wanted.hold is not None:
        raise ProblemError(f"motors and hold = {wanted.hold!r}: choose one of them")
    if isinstance(scene, mujoco.MjModel):
        raise SceneError("a compiled MjModel cannot be edited: pass the file, the XML text or the MjSpec")
    spec, lines = (scene.copy(), []) if isinstance(scene, mujoco.MjSpec) else parse_scene(scene)
    _name_joints(spec)
    before = compile_spec(spec.copy())
    poses = [_start(before, wanted.pose or {}, keyframe), *(_of_key(before, k) for k in range(before.nkey))]
    for key in list(spec.keys):
        spec.delete(key)
    freed, weighed = _free(spec) if wanted.free_base else ([], [])
    lines = [*lines, *weighed]
    held = _add_motors(spec, before, "position") if wanted.hold == "servos" else []
    moved = _add_motors(spec, before, wanted.motors) if wanted.motors is not None else []
    if wanted.hold == "locked":
        _lock(spec, before, poses[0])
    after = compile_spec(spec.copy())
    places = [_positions(after, pose, clamp=wanted.hold is not None) for pose in poses]
    if wanted.ground:
        lines = [*lines, *_add_ground(spec, after, places, freed)]
    for pose, qpos in zip(poses, places, strict=True):
        qvel = np.zeros(after.nv)
        for name, values in pose.qvel.items():
            at = int(after.joint(name).dofadr[0])
            qvel[at : at + values.size] = values
        targets = [qpos[int(after.joint(name).qposadr[0])] for name in held]
        ctrl = np.concatenate([pose.ctrl, targets, np.zeros(len(moved))])
        spec.add_key(name=pose.name, qpos=qpos, qvel=qvel, ctrl=ctrl, **pose.others)
    return spec, lines


def _name_joints(spec: Any) -> None:
    """Give joints without a name one that the file gives to no other."""
    taken = {joint.name for joint in spec.joints}
    for i, joint in enumerate(spec.joints):
        if not joint.name:
            joint.name = next(name for k in count() if (name := f"joint{i}" + "'" * k) not in taken)


def _of_key(m: Any, k: int) -> _Pose:
    others = {"time": float(m.key_time[k]), "act": m.key_act[k].copy()}
    if m.nmocap:
        others |= {"mpos": m.key_mpos[k].copy(), "mquat": m.key_mquat[k].copy()}
    # START is ours
    name = m.key(k).name or str(k)
    name = f"{name} of the file" if name == START else name
    return _Pose(name, *_by_joint(m, m.key_qpos[k], m.key_qvel[k]), m.key_ctrl[k].copy(), others)


def _by_joint(
    m: Any, qpos: np.ndarray, qvel: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    positions, speeds = {}, {}
    ends = [*m.jnt_qposadr[1:], m.nq], [*m.jnt_dofadr[1:], m.nv]
    for j in range(m.njnt):
        name = m.joint(j).name
        positions[name] = qpos[m.jnt_qposadr[j] : ends[0][j]].copy()
        speeds[name] = qvel[m.jnt_dofadr[j] : ends[1][j]].copy()
    return positions, speeds


def _start(m: Any, pose: Mapping[str, float], keyframe: str | int | None) -> _Pose:
    """Where the scene starts: a keyframe or the reference position, changed by the user's pose."""
    if keyframe is None:
        out = _Pose(START, *_by_joint(m, m.qpos0, np.zeros(m.nv)), np.zeros(m.nu), {})
    else:
        out = _of_key(m, keyframe_index(m, keyframe))
        out.name = START
    names = tuple(m.joint(j).name for j in range(m.njnt))
    for name, value in pose.items():
        j = find(name, names, "joint")
        if out.qpos[name].size != 1:
            raise SceneError(f"pose[{name!r}]: a hinge or a slider is needed")
        if not np.isfinite(value):
            raise ProblemError(f"pose[{name!r}] = {value!r}: a finite number is needed")
        low, high = m.jnt_range[j]
        if m.jnt_limited[j] and not low <= value <= high:
            raise SceneError(
                f"pose[{name!r}] = {value!r} is outside of the joint's limits {low:g} and {high:g}"
            )
        out.qpos[name] = np.array([float(value)])
    return out


def keyframe_index(m: Any, keyframe: Any) -> int:
    """The number of a keyframe by name or number."""
    if isinstance(keyframe, bool) or not isinstance(keyframe, int | str):
        raise ProblemError(f"keyframe = {keyframe!r}: a name or a number is needed")
    if isinstance(keyframe, int):
        if not 0 <= keyframe < m.nkey:
            raise SceneError(f"keyframe = {keyframe}: the scene has {m.nkey} of them")
        return keyframe
    return find(keyframe, tuple(m.key(k).name or str(k) for k in range(m.nkey)), "keyframe")


def _free(spec: Any) -> tuple[list[str], Lines]:
    """Give free joints to the fixed roots that carry joints, or else to those that have mass.

    Returns the names of the joints, and lines for the report.
    """
    roots = [body for body in spec.worldbody.bodies if not body.joints and not body.mocap]
    carrying = [body for body in roots if body.find_all("joint")]
    chosen = carrying or [body for body in roots if body.find_all("geom") or body.mass > 0]
    if not chosen:
        raise SceneError("free_base: the scene has no root that is fixed to the world")
    out, lines = [], []
    for body in chosen:
        lines += _weigh(body)
        joint = body.add_freejoint()
        joint.name = f"free {body.name or len(out)}"
        out.append(joint.name)
    return out, lines


def _weigh(body: Any) -> Lines:
    """Give a root that is to move a gram if it weighs nothing with all that is fixed to it, as frames do."""
    if _weighs(body):
        return []
    body.mass, body.explicitinertial = LEAST_MASS, 1
    body.inertia = np.full(3, LEAST_MASS * LEAST_GYRATION**2)
    return [(f"inertial of {body.name}", "the freed root weighs nothing: it gets a gram")]


def _weighs(body: Any) -> bool:
    shapes = [] if body.explicitinertial else body.geoms
    return (
        body.mass > 0
        or any(geom.mass > 0 or (np.isnan(geom.mass) and geom.density > 0) for geom in shapes)
        or any(_weighs(child) for child in body.bodies if not child.joints)
    )


def _loose(spec: Any, m: Any) -> list[Any]:
    """Hinges and sliders that no motor drives and that follow no other joint."""
    mujoco = engine()
    on_joint = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    driven = {
        int(m.actuator_trnid[i, 0]) for i in range(m.nactuator) if int(m.actuator_trntype[i]) in on_joint
    }
    following = m.eq_obj1id[m.eq_type == int(mujoco.mjtEq.mjEQ_JOINT)]
    taken = {m.joint(j).name for j in driven.union(int(j) for j in following)}
    kinds = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    return [joint for joint in spec.joints if joint.type in kinds and joint.name not in taken]


def _add_motors(spec: Any, m: Any, kind: str) -> list[str]:
    """Motors on the loose joints, driven by a position, a velocity or a force; the names of the joints."""
    mujoco = engine()
    weight = float(m.body_mass.sum()) * 9.81
    names = {actuator.name for actuator in spec.actuators}
    out = []
    for joint in _loose(spec, m):
        name = joint.name if joint.name not in names else f"servo {joint.name}"
        motor = spec.add_actuator(name=name, target=joint.name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        hinge = joint.type == mujoco.mjtJoint.mjJNT_HINGE
        stiffness = weight * (_HINGE_STIFFNESS if hinge else _SLIDE_STIFFNESS)
        if kind == "force":
            motor.set_to_motor()
        elif kind == "velocity":
            motor.set_to_velocity(kv=_TIME_CONSTANT * stiffness)
        else:
            motor.set_to_position(kp=stiffness, kv=_TIME_CONSTANT * stiffness)
        out.append(joint.name)
    return out


def _lock(spec: Any, m: Any, start: _Pose) -> None:
    """Equalities that fix the loose joints where they start."""
    mujoco = engine()
    clamped = _positions(m, start, clamp=True)
    for joint in _loose(spec, m):
        at = int(m.joint(joint.name).qposadr[0])
        lock = spec.add_equality(name=f"lock {joint.name}", type=mujoco.mjtEq.mjEQ_JOINT)
        lock.objtype, lock.name1 = mujoco.mjtObj.mjOBJ_JOINT, joint.name
        data = np.zeros(len(lock.data))
        data[0] = clamped[at] - m.qpos0[at]
        lock.data = data


def _positions(m: Any, pose: _Pose, *, clamp: bool) -> np.ndarray:
    """Coordinates of a pose, shape (nq,)."""
    qpos = m.qpos0.copy()
    for name, values in pose.qpos.items():
        at = int(m.joint(name).qposadr[0])
        qpos[at : at + values.size] = values
    if not clamp:
        return qpos
    mujoco = engine()
    scalar = np.isin(m.jnt_type, (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)))
    for j in np.flatnonzero(scalar & (m.jnt_limited != 0)):
        at = m.jnt_qposadr[j]
        qpos[at] = np.clip(qpos[at], *m.jnt_range[j])
    for e in np.flatnonzero(m.eq_type == int(mujoco.mjtEq.mjEQ_JOINT)):
        first, second = m.jnt_qposadr[m.eq_obj1id[e]], m.eq_obj2id[e]
        if second < 0:
            continue
        x = qpos[m.jnt_qposadr[second]] - m.qpos0[m.jnt_qposadr[second]]
        qpos[first] = m.qpos0[first] + np.polynomial.polynomial.polyval(x, m.eq_data[e, :5])
    return qpos


def _add_ground(spec: Any, m: Any, places: list[np.ndarray], freed: list[str]) -> Lines:
    """A plane at z = 0 onto which freed robots are put, or through the lowest point of the start.

    Returns lines for the report.
    """
    mujoco = engine()
    found = [lowest_point(m, qpos) for qpos in places]
    heights = [0.0 if height is None else height for height in found]
    for name in freed:
        at = int(m.joint(name).qposadr[0]) + 2
        for qpos, height in zip(places, heights, strict=True):
            qpos[at] -= height
    taken = any(geom.name == "ground" for geom in spec.geoms)
    ground = spec.worldbody.add_geom(
        name="staged ground" if taken else "ground",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[50, 50, 1],
        pos=[0, 0, 0.0 if freed else heights[0]],
    )
    every = int(np.bitwise_or.reduce(m.geom_contype | m.geom_conaffinity, initial=1))
    ground.contype = ground.conaffinity = every
    alone = found[0] is None
    return [("ground", "nothing that moves has a collision shape that could touch it")] if alone else []
