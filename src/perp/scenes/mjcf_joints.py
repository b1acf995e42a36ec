"""MuJoCo's joints and equalities as joints between principal frames."""

import math
from typing import Any

import numpy as np

from perp.scenes.engine import enabled, engine
from perp.scenes.frames import IDENTITY, frame_along, multiply
from perp.scenes.joints import Coordinate, Freedom, Joint, JointKind, joint_between
from perp.scenes.model import Model, SceneError
from perp.scenes.naming import joint_names

# Lines and axes nearer than this are taken for one [m, rad].
_SAME = 1e-9
# Where a weld keeps the weight of its torques.
_TORQUESCALE = 10


def read_joints(shapes: Any, data: Any, model: Model, movable: np.ndarray, index: np.ndarray) -> list[Joint]:
    """Joints of the body tree."""
    mujoco = engine()

    joints: list[Joint] = []
    kinds, names = mujoco.mjtJoint, joint_names(shapes)
    for b in movable:
        parent = int(index[shapes.body_parentid[b]])
        ids = range(shapes.body_jntadr[b], shapes.body_jntadr[b] + shapes.body_jntnum[b])
        types = [int(shapes.jnt_type[j]) for j in ids]
        if types == [int(kinds.mjJNT_FREE)]:
            continue
        child = int(index[b])
        if not types:
            name, place = f"weld {model.body_names[child]}", (data.xipos[b],) * 2
            pair = child, parent
            joints.append(joint_between(model, name, JointKind.FIXED, pair, place, (IDENTITY,) * 2))
            continue
        kind, frame, anchor, free = _kind(data, list(ids), types, kinds, model.body_names[child], b)
        first = ids[0]
        options: dict[str, Any]
        if kind is JointKind.BALL:
            options = _ball(shapes, first)
        elif len(free) == 1:
            options = _coordinate(shapes, first)
        else:
            options = {
                "coordinates": tuple(
                    Coordinate(freedom, names[j], sign, **_coordinate(shapes, j))
                    for j, (freedom, sign) in zip(ids, free, strict=True)
                )
            }
        pair = child, parent
        joints.append(joint_between(model, names[first], kind, pair, (anchor,) * 2, (frame,) * 2, **options))
    return joints


Free = tuple[tuple[Freedom, float], ...]


def _kind(
    data: Any, ids: list[int], types: list[int], kinds: Any, body: str, number: int
) -> tuple[JointKind, np.ndarray, np.ndarray, Free]:
    """Which joint a body's list of mujoco joints makes, its frame and anchor in the world.

    And the freedom and sign of each mujoco joint.
    """
    hinge, slide, ball = int(kinds.mjJNT_HINGE), int(kinds.mjJNT_SLIDE), int(kinds.mjJNT_BALL)
    axes, anchors = [data.xaxis[j].copy() for j in ids], [data.xanchor[j].copy() for j in ids]
    if types == [ball]:
        return JointKind.BALL, data.xquat[number].copy(), anchors[0], ()
    if types == [hinge]:
        return JointKind.HINGE, frame_along(axes[0]), anchors[0], ((Freedom.TURN_Z, 1.0),)
    if types == [slide]:
        return JointKind.SLIDER, frame_along(axes[0]), anchors[0], ((Freedom.SLIDE_Z, 1.0),)
    if sorted(types) == sorted([slide, hinge]) and np.linalg.norm(np.cross(*axes)) < _SAME:
        along = axes[types.index(slide)]
        free = tuple(
            (Freedom.SLIDE_Z, 1.0) if kind == slide else (Freedom.TURN_Z, math.copysign(1.0, axis @ along))
            for kind, axis in zip(types, axes, strict=True)
        )
        # a slider has no place of its own: the axis is the hinge's
        return JointKind.CYLINDRICAL, frame_along(along), anchors[types.index(hinge)], free
    if types == [hinge, hinge] and abs(axes[0] @ axes[1]) < _SAME:
        between = anchors[1] - anchors[0]
        if abs(between @ np.cross(*axes)) < _SAME:
            free = ((Freedom.TURN_Z, 1.0), (Freedom.TURN_CHILD_X, 1.0))
            cross = anchors[0] + (between @ axes[0]) * axes[0]
            return JointKind.UNIVERSAL, frame_along(axes[0], axes[1]), cross, free
    if types == [slide, slide, hinge] and np.linalg.norm(np.cross(axes[0], axes[1]) - axes[2]) < _SAME:
        free = ((Freedom.SLIDE_X, 1.0), (Freedom.SLIDE_Y, 1.0), (Freedom.TURN_Z, 1.0))
        return JointKind.PLANAR, frame_along(axes[2], axes[0]), anchors[2], free
    raise SceneError(
        f"body {body!r} has a combination of {len(types)} joints that maximal coordinates lack: use "
        'coordinates="reduced"'
    )


def _losses(shapes: Any, dof: int) -> dict[str, float]:
    return {
        "damping": float(shapes.dof_damping[dof]) * enabled(shapes, "DAMPER"),
        "friction": float(shapes.dof_frictionloss[dof]) * enabled(shapes, "FRICTIONLOSS", "CONSTRAINT"),
        "armature": float(shapes.dof_armature[dof]),
    }


def _ball(shapes: Any, j: int) -> dict[str, float]:
    """Limit of the angle, spring and losses of a ball joint."""
    limited = bool(shapes.jnt_limited[j]) and enabled(shapes, "LIMIT", "CONSTRAINT")
    return {
        **_losses(shapes, shapes.jnt_dofadr[j]),
        "stiffness": float(shapes.jnt_stiffness[j]) * enabled(shapes, "SPRING"),
        "upper": float(shapes.jnt_range[j].max()) if limited else math.inf,
    }


def _coordinate(shapes: Any, j: int) -> dict[str, float]:
    """Limits, spring and losses of one hinge or slider."""
    address = shapes.jnt_qposadr[j]
    limited = bool(shapes.jnt_limited[j]) and enabled(shapes, "LIMIT", "CONSTRAINT")
    return {
        **_losses(shapes, shapes.jnt_dofadr[j]),
        "reference": float(shapes.qpos0[address]),
        "spring_reference": float(shapes.qpos_spring[address]),
        "stiffness": float(shapes.jnt_stiffness[j]) * enabled(shapes, "SPRING"),
        "lower": float(shapes.jnt_range[j, 0]) if limited else -math.inf,
        "upper": float(shapes.jnt_range[j, 1]) if limited else math.inf,
    }


def read_equalities(shapes: Any, data: Any, model: Model, index: np.ndarray) -> list[Joint]:
    """`connect` as ball joints and `weld` as fixed ones."""
    mujoco = engine()

    joints: list[Joint] = []
    for e in range(shapes.neq if enabled(shapes, "EQUALITY", "CONSTRAINT") else 0):
        name = shapes.eq(e).name or f"equality{e}"
        kind, by_site = int(shapes.eq_type[e]), int(shapes.eq_objtype[e]) == int(mujoco.mjtObj.mjOBJ_SITE)
        known = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
        if kind not in known or not shapes.eq_active0[e]:
            continue
        pair, values = (int(shapes.eq_obj1id[e]), int(shapes.eq_obj2id[e])), shapes.eq_data[e]
        # places and orientations in the frames of the bodies
        turns = (IDENTITY, IDENTITY)
        if by_site:
            places, turns = (
                [shapes.site_pos[site] for site in pair],
                [shapes.site_quat[site] for site in pair],
            )
            pair = [int(shapes.site_bodyid[site]) for site in pair]
        elif kind == known[0]:
            places = (values[0:3], values[3:6])
        else:
            # of a weld the first point is the anchor in the second body, the other where it is in the first
            places = (values[3:6], values[0:3])
            turns = (values[6:10], IDENTITY)
        points = [data.xpos[b] + data.xmat[b].reshape(3, 3) @ x for b, x in zip(pair, places, strict=True)]
        frames = [multiply(data.xquat[b], turn) for b, turn in zip(pair, turns, strict=True)]
        ends = [int(index[b]) for b in pair]
        if ends[0] < 0:
            ends, points, frames = ends[::-1], points[::-1], frames[::-1]
        if ends[0] >= 0:
            # without torques a weld holds a point
            made = JointKind.FIXED if kind == known[1] and values[_TORQUESCALE] > 0 else JointKind.BALL
            joints.append(joint_between(model, name, made, ends, points, frames))
    return joints
