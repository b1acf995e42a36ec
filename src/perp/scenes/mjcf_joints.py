"""MuJoCo's joints and equalities as joints between principal frames."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from perp.problems.validation import freeze
from perp.scenes.engine import enabled, engine
from perp.scenes.frames import IDENTITY, conjugate, frame_along, into_body, multiply, relative_frame
from perp.scenes.joints import Coordinate, Freedom, Joint, JointKind
from perp.scenes.model import Model, SceneError
from perp.scenes.naming import joint_names

Ignored = list[tuple[str, str]]
# Lines and axes nearer than this are taken for one [m, rad].
_SAME = 1e-9
# Where a weld keeps the weight of its torques.
_TORQUESCALE = 10


def read_joints(
    shapes: Any, data: Any, model: Model, movable: np.ndarray, index: np.ndarray
) -> tuple[list[Joint], dict[int, tuple[int, Freedom]]]:
    """Joints of the body tree, and which of their coordinates each hinge and slider of mujoco's became."""
    mujoco = engine()

    joints: list[Joint] = []
    where: dict[int, tuple[int, Freedom]] = {}
    kinds, names = mujoco.mjtJoint, joint_names(shapes)
    for b in movable:
        parent = int(index[shapes.body_parentid[b]])
        ids = range(shapes.body_jntadr[b], shapes.body_jntadr[b] + shapes.body_jntnum[b])
        types = [int(shapes.jnt_type[j]) for j in ids]
        if types == [int(kinds.mjJNT_FREE)]:
            continue
        child = int(index[b])
        if not types:
            joints.append(
                _joint(
                    model,
                    f"weld {model.body_names[child]}",
                    JointKind.FIXED,
                    child,
                    parent,
                    data.xipos[b],
                    IDENTITY,
                )
            )
            continue
        kind, frame, anchor, free = _kind(data, list(ids), types, kinds, model.body_names[child], b)
        first = ids[0]
        where |= {j: (len(joints), freedom) for j, (freedom, _) in zip(ids, free, strict=False)}
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
        name = names[first]
        joints.append(_joint(model, name, kind, child, parent, anchor, frame, **options))
    return joints, where


Free = tuple[tuple[Freedom, float], ...]


def _kind(
    data: Any, ids: list[int], types: list[int], kinds: Any, body: str, number: int
) -> tuple[JointKind, np.ndarray, np.ndarray, Free]:
    """Which joint a body's list of mujoco joints makes.

    Returns:
        Kind, frame and anchor in the world, and the freedom and sign of each mujoco joint.
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


def _joint(
    model: Model,
    name: str,
    kind: JointKind,
    child: int,
    parent: int,
    anchor: np.ndarray,
    frame: np.ndarray,
    **options: Any,
) -> Joint:
    """A joint whose two frames coincide at the model's starting pose."""
    return Joint(
        name=name,
        kind=kind,
        child=child,
        parent=parent,
        child_anchor=freeze(into_body(model, child, anchor)),
        parent_anchor=freeze(into_body(model, parent, anchor)),
        child_frame=freeze(relative_frame(model, child, frame)),
        parent_frame=freeze(relative_frame(model, parent, frame)),
        **options,
    )


def read_equalities(shapes: Any, data: Any, model: Model, index: np.ndarray, ignored: Ignored) -> list[Joint]:
    """`connect` as ball joints and `weld` as fixed ones; others are reported."""
    mujoco = engine()

    joints: list[Joint] = []
    for e in range(shapes.neq if enabled(shapes, "EQUALITY", "CONSTRAINT") else 0):
        name = shapes.eq(e).name or f"equality{e}"
        kind, by_site = int(shapes.eq_type[e]), int(shapes.eq_objtype[e]) == int(mujoco.mjtObj.mjOBJ_SITE)
        values = shapes.eq_data[e]
        known = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
        if kind not in known or not shapes.eq_active0[e]:
            ignored.append((f"equality {name!r}", "only active connect and weld are simulated"))
            continue
        # without torques a weld holds a point
        fixed = kind == known[1] and values[_TORQUESCALE] > 0
        first, second = int(shapes.eq_obj1id[e]), int(shapes.eq_obj2id[e])
        if by_site:
            joint = _between_sites(shapes, data, model, index, name, fixed, (first, second))
            joints += [] if joint is None else [joint]
            continue
        a, b = int(index[first]), int(index[second])
        # of a weld the first point is the anchor in the second body, the other where it is in the first one
        here, there = (values[0:3], values[3:6]) if kind == known[0] else (values[3:6], values[0:3])
        points = [_in_principal(data, model, i, k, p) for i, k, p in ((first, a, here), (second, b, there))]
        frames = [_frame_in_principal(data, model, i, k) for i, k in ((first, a), (second, b))]
        if kind == known[1]:
            frames[0] = multiply(frames[0], values[6:10])
        if a < 0:
            a, b, points, frames = b, a, points[::-1], frames[::-1]
        if a < 0:
            continue
        joint_kind = JointKind.FIXED if fixed else JointKind.BALL
        joints.append(
            Joint(
                name,
                joint_kind,
                a,
                b,
                freeze(points[0]),
                freeze(points[1]),
                freeze(frames[0]),
                freeze(frames[1]),
            )
        )
    return joints


def _between_sites(
    shapes: Any, data: Any, model: Model, index: np.ndarray, name: str, weld: bool, sites: tuple[int, int]
) -> Joint | None:
    """`connect` or `weld` of two sites; None between things that do not move."""
    bodies = [int(shapes.site_bodyid[site]) for site in sites]
    ends = [int(index[body]) for body in bodies]
    points = [
        _in_principal(data, model, body, k, shapes.site_pos[site])
        for body, k, site in zip(bodies, ends, sites, strict=True)
    ]
    frames = [
        multiply(_frame_in_principal(data, model, body, k), shapes.site_quat[site])
        for body, k, site in zip(bodies, ends, sites, strict=True)
    ]
    if ends[0] < 0:
        ends, points, frames = ends[::-1], points[::-1], frames[::-1]
    if ends[0] < 0:
        return None
    kind = JointKind.FIXED if weld else JointKind.BALL
    return Joint(
        name,
        kind,
        ends[0],
        ends[1],
        freeze(points[0]),
        freeze(points[1]),
        freeze(frames[0]),
        freeze(frames[1]),
    )


def _in_principal(data: Any, model: Model, body: int, k: int, point: np.ndarray) -> np.ndarray:
    """A point of a mujoco body frame in the principal frame, or in the world for what does not move."""
    world = data.xpos[body] + data.xmat[body].reshape(3, 3) @ point
    return into_body(model, k, world)


def _frame_in_principal(data: Any, model: Model, body: int, k: int) -> np.ndarray:
    world = data.xquat[body].copy()
    return world if k < 0 else multiply(conjugate(model.quaternion[k]), world)
