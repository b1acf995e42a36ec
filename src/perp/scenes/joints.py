"""Joints as data: which bodies, where, along which axis, with which limits and losses.

A joint has one frame in each body. Its axis is the z axis of the parent's joint frame; a universal joint
turns about the parent's z and the child's x. At zero coordinates both frames coincide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems.validation import freeze

if TYPE_CHECKING:
    from perp.scenes.model import Model


class JointKind(StrEnum):
    """The joints there are; the value is the name."""

    FIXED = "fixed"
    HINGE = "hinge"
    SLIDER = "slider"
    BALL = "ball"
    UNIVERSAL = "universal"
    CYLINDRICAL = "cylindrical"
    PLANAR = "planar"
    DISTANCE = "distance"


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two bodies; quantities of its coordinate are in [m, N] or [rad, N m].

    Attributes:
        name: For messages and lookups.
        kind: Which joint.
        child, parent: Bodies; the parent may be WORLD.
        child_anchor, parent_anchor: Where it sits, in each body's principal frame, shape (3,) [m].
        child_frame, parent_frame: Orientation of the joint frame in each body, quaternion.
        length: Of a distance joint [m].
        reference: Value of the coordinate where both frames coincide.
        lower, upper: Limits of the coordinate; infinite for none.
        stiffness, rest: A spring on the coordinate.
        damping: Viscous, on the coordinate (on all three axes of a ball joint).
        friction: Largest dry friction force on the coordinate.
        compliance: Σ of the bilateral rows, displacement per force [m/N, rad/(N m)].
        armature: Inertia of a rotor geared to the coordinate [kg, kg m²].
    """

    name: str
    kind: JointKind
    child: int
    parent: int
    child_anchor: np.ndarray
    parent_anchor: np.ndarray
    child_frame: np.ndarray
    parent_frame: np.ndarray
    length: float = 0.0
    reference: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf
    stiffness: float = 0.0
    rest: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    compliance: float = 0.0
    armature: float = 0.0


def attach(
    model: Model,
    kind: JointKind | str,
    child: str,
    parent: str | None = None,
    *,
    anchor: Any,
    axis: Any = (0.0, 0.0, 1.0),
    other_anchor: Any = None,
    second_axis: Any = None,
    name: str = "",
    **options: Any,
) -> Model:
    """The model with one more joint, placed in the world frame at the model's starting pose.

    Args:
        model: The model to extend.
        kind: Which joint.
        child: Name of a body.
        parent: Name of a body; None for the world.
        anchor: Where the joint sits, shape (3,) [m].
        axis: Its axis, shape (3,).
        other_anchor: The parent's end of a distance joint, shape (3,) [m].
        second_axis: The child's axis of a universal joint, perpendicular to `axis`.
        name: The joint's name; made from kind and child by default.
        options: Further fields of `Joint`: lower, upper, stiffness, rest, damping, friction, compliance,
            armature.
    """
    from perp.scenes.frames import frame_along, into_body, relative_frame

    kind = JointKind(kind)
    a = model.body_index(child)
    b = -1 if parent is None else model.body_index(parent)
    here = np.asarray(anchor, dtype=np.float64)
    there = here if other_anchor is None else np.asarray(other_anchor, dtype=np.float64)
    world_frame = frame_along(axis, second_axis)
    joint = Joint(
        name=name or f"{kind.value} {child}",
        kind=kind,
        child=a,
        parent=b,
        child_anchor=freeze(into_body(model, a, here)),
        parent_anchor=freeze(into_body(model, b, there)),
        child_frame=freeze(relative_frame(model, a, world_frame)),
        parent_frame=freeze(relative_frame(model, b, world_frame)),
        length=float(np.linalg.norm(here - there)),
        **options,
    )
    return replace(model, joints=(*model.joints, joint))
