"""Poses and velocities of bodies from the coordinates of their joints, over all steps of a recording at once.

In reduced coordinates qpos and qvel are the state, and the bodies follow from them: a file that keeps only
those two is a third of one with all bodies. What the way from one to the other needs is kept beside them as
plain arrays, so that a recording is read without mujoco, whatever version wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perp.scenes.frames import multiply, rotate

if TYPE_CHECKING:
    from perp.stepping import Stepper

Arrays = Mapping[str, np.ndarray]
# mujoco's numbers of joints
_FREE, _BALL, _SLIDE, _HINGE = range(4)


def tree_of(stepper: Stepper) -> dict[str, np.ndarray]:
    """The bodies of a scene as arrays; empty where qpos does not tell where they are.

    Those are cut bodies (maximal coordinates), and robots that stand on a mocap body.

        body_parent, body_position, body_quaternion: Of every body of the file, the world first.
        joint_body, joint_kind, joint_axis, joint_anchor, joint_zero: Of every joint, in the order of qpos;
            the zero is the coordinate at which it is where the file shows it.
        movable: The bodies of a recording.
    """
    m = stepper.mujoco_model
    movable = np.flatnonzero(m.body_weldid > 0)
    if not stepper.reduced or (m.body_mocapid[m.body_rootid[movable]] >= 0).any():
        return {}
    scalar = np.isin(m.jnt_type, (_SLIDE, _HINGE))
    return {
        "body_parent": m.body_parentid.copy(),
        "body_position": m.body_pos.copy(),
        "body_quaternion": m.body_quat.copy(),
        "joint_body": m.jnt_bodyid.copy(),
        "joint_kind": m.jnt_type.copy(),
        "joint_axis": m.jnt_axis.copy(),
        "joint_anchor": m.jnt_pos.copy(),
        "joint_zero": np.where(scalar, m.qpos0[m.jnt_qposadr], 0.0),
        "movable": movable,
    }


def bodies_along(tree: Arrays, centres: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> Arrays:
    """Columns `positions`, `quaternions`, `velocities`, `joint_positions` and `joint_velocities` of a tree.

    `centres` are the centres of mass in the frames of the bodies, shape (bodies, 3) [m].
    """
    count, steps = tree["body_parent"].size, qpos.shape[0]
    x, v, w = (np.zeros((count, steps, 3)) for _ in range(3))
    turn = np.zeros((count, steps, 4))
    turn[0, :, 0] = 1.0
    joints: list[list[tuple[int, int, int]]] = [[] for _ in range(count)]
    scalars: list[tuple[int, int]] = []
    q = d = 0
    for j, kind in enumerate(tree["joint_kind"].tolist()):
        joints[int(tree["joint_body"][j])].append((j, q, d))
        if kind in (_SLIDE, _HINGE):
            scalars.append((q, d))
        q, d = q + (7, 4, 1, 1)[kind], d + (6, 3, 1, 1)[kind]
    if (q, d) != (qpos.shape[1], qvel.shape[1]):
        raise ValueError(
            f"qpos and qvel have {qpos.shape[1]} and {qvel.shape[1]} columns in place of {q} and {d}"
        )
    for b in range(1, count):
        p = int(tree["body_parent"][b])
        place = x[p] + rotate(turn[p], tree["body_position"][b])
        pose = multiply(turn[p], np.broadcast_to(tree["body_quaternion"][b], turn[p].shape))
        spin, slide = w[p], np.zeros_like(place)
        about: list[tuple[np.ndarray, np.ndarray]] = []  # anchors, and angular velocities about them
        for j, q, d in joints[b]:
            kind, local = int(tree["joint_kind"][j]), tree["joint_anchor"][j]
            if kind == _FREE:
                place, pose = qpos[:, q : q + 3], _unit(qpos[:, q + 3 : q + 7])
                spin, slide = rotate(pose, qvel[:, d + 3 : d + 6]), qvel[:, d : d + 3]
                continue
            axis = rotate(pose, tree["joint_axis"][j])
            if kind == _SLIDE:
                place = place + axis * (qpos[:, q, None] - tree["joint_zero"][j])
                slide = slide + axis * qvel[:, d, None]
                continue
            anchor = place + rotate(pose, local)
            if kind == _HINGE:
                half = 0.5 * (qpos[:, q, None] - tree["joint_zero"][j])
                pose = multiply(pose, np.hstack([np.cos(half), np.sin(half) * tree["joint_axis"][j]]))
                rate = axis * qvel[:, d, None]
            else:
                pose = multiply(pose, _unit(qpos[:, q : q + 4]))
                rate = rotate(pose, qvel[:, d : d + 3])
            place, spin = anchor - rotate(pose, local), spin + rate
            about.append((anchor, rate))
        free = any(tree["joint_kind"][j] == _FREE for j, _, _ in joints[b])
        carried = 0.0 if free else v[p] + np.cross(w[p], place - x[p])
        v[b] = carried + slide + sum(np.cross(rate, place - anchor) for anchor, rate in about)
        x[b], turn[b], w[b] = place, _unit(pose), spin
    kept = tree["movable"]
    arms = rotate(turn[kept], centres[:, None])
    at, rates = (np.array([pair[k] for pair in scalars], dtype=np.int64) for k in range(2))
    return {
        "positions": np.ascontiguousarray(x[kept].swapaxes(0, 1)),
        "quaternions": np.ascontiguousarray(turn[kept].swapaxes(0, 1)),
        "velocities": np.concatenate([v[kept] + np.cross(w[kept], arms), w[kept]], axis=-1)
        .swapaxes(0, 1)
        .copy(),
        "joint_positions": qpos[:, at],
        "joint_velocities": qvel[:, rates],
    }


def _unit(q: np.ndarray) -> np.ndarray:
    return q / np.linalg.norm(q, axis=-1, keepdims=True)
