"""Joints as data: which bodies, where, along which axis, with which limits and losses.

A joint has one frame in each body. Its axis is the z axis of the parent's joint frame; a universal joint
turns about the parent's z and the child's x. At zero coordinates both frames coincide. What a joint leaves
free are its freedoms, each with a coordinate; a ball joint has an angle, that of its whole rotation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems.validation import freeze
from perp.scenes.frames import frame_along, into_body, relative_frame

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


class Freedom(StrEnum):
    """A direction in which a joint lets its child move; axes are those of the parent's frame unless said."""

    SLIDE_X = "slide x"
    SLIDE_Y = "slide y"
    SLIDE_Z = "slide z"
    TURN_Z = "turn z"
    TURN_CHILD_X = "turn child x"
    LENGTH = "length"


FREEDOMS: dict[JointKind, tuple[Freedom, ...]] = {
    JointKind.FIXED: (),
    JointKind.HINGE: (Freedom.TURN_Z,),
    JointKind.SLIDER: (Freedom.SLIDE_Z,),
    JointKind.BALL: (),
    JointKind.UNIVERSAL: (Freedom.TURN_Z, Freedom.TURN_CHILD_X),
    JointKind.CYLINDRICAL: (Freedom.SLIDE_Z, Freedom.TURN_Z),
    JointKind.PLANAR: (Freedom.TURN_Z, Freedom.SLIDE_X, Freedom.SLIDE_Y),
    JointKind.DISTANCE: (Freedom.LENGTH,),
}


@dataclass(frozen=True)
class Coordinate:
    """One coordinate of a joint, sign · (what its freedom measures) + reference, in [m, N] or [rad, N m]."""

    freedom: Freedom  # what it measures
    name: str = ""  # for lookups
    sign: float = 1.0  # 1, or −1 where it counts the other way
    reference: float = 0.0  # its value where both frames of the joint coincide
    # limits; infinite for none
    lower: float = -math.inf
    upper: float = math.inf
    stiffness: float = 0.0  # of a spring
    spring_reference: float = 0.0  # the coordinate at which it has no force
    damping: float = 0.0  # viscous
    friction: float = 0.0  # largest dry friction force
    armature: float = 0.0  # inertia of a rotor geared to it [kg, kg m²]


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two bodies; quantities of its coordinate are in [m, N] or [rad, N m].

    Limits, spring, losses and armature belong to the first of its freedoms (`FREEDOMS`), and to all axes of a
    ball joint, whose upper limit is that of its angle. Further coordinates are listed. A distance joint with
    any of them is a rope, a strut, a spring or a dashpot: it does not hold its length.
    """

    name: str  # for messages and lookups
    kind: JointKind
    # bodies; the parent may be WORLD
    child: int
    parent: int
    # where it sits, in each body's principal frame, shape (3,) [m]
    child_anchor: np.ndarray
    parent_anchor: np.ndarray
    # orientation of the joint frame in each body, quaternion
    child_frame: np.ndarray
    parent_frame: np.ndarray
    length: float = 0.0  # of a distance joint [m]
    reference: float = 0.0  # value of the coordinate where both frames coincide
    # limits of the coordinate; infinite for none
    lower: float = -math.inf
    upper: float = math.inf
    # a spring on the coordinate, and where it has no force
    stiffness: float = 0.0
    spring_reference: float = 0.0
    damping: float = 0.0  # viscous, on the coordinate
    friction: float = 0.0  # largest dry friction force on the coordinate
    compliance: float = 0.0  # Σ of the bilateral rows, displacement per force [m/N, rad/(N m)]
    armature: float = 0.0  # inertia of a rotor geared to the coordinate [kg, kg m²]
    coordinates: tuple[Coordinate, ...] = ()  # limits, springs, losses and armature of any of its freedoms

    def __post_init__(self) -> None:
        free = FREEDOMS[self.kind]
        for coordinate in self.coordinates:
            if coordinate.freedom not in free:
                has = ", ".join(freedom.value for freedom in free) or "none"
                raise ValueError(
                    f"joint {self.name!r} is {self.kind.value} and has no coordinate "
                    f"{coordinate.freedom.value!r}; its coordinates: {has}"
                )

    @property
    def own(self) -> Coordinate | None:
        """The coordinate that the joint's own fields describe; None without a freedom."""
        if not FREEDOMS[self.kind]:
            return None
        names = {field.name for field in fields(Coordinate)} - {"freedom", "sign"}
        return Coordinate(FREEDOMS[self.kind][0], **{name: getattr(self, name) for name in names})

    @property
    def named(self) -> tuple[Coordinate, ...]:
        """Its coordinates that have names of their own, or else the first one; none without a freedom."""
        own = self.own
        if own is None:
            return ()
        return tuple(q for q in self.coordinates if q.name) or (self.coordinate(own.freedom),)

    @property
    def loose(self) -> bool:
        """Whether a distance joint leaves its length to limits, spring and losses."""
        parts = (self, *self.coordinates)
        return self.kind is JointKind.DISTANCE and any(
            part.lower > -math.inf
            or part.upper < math.inf
            or max(part.stiffness, part.damping, part.friction, part.armature) > 0
            for part in parts
        )

    def coordinate(self, freedom: Freedom | None = None) -> Coordinate:
        """The coordinate of a freedom, by default of the first.

        Raises:
            ValueError: The joint has none.
        """
        own = self.own
        if own is None:
            raise ValueError(f"joint {self.name!r} is {self.kind.value}: it has no single coordinate")
        wanted = own.freedom if freedom is None else freedom
        listed = [c for c in self.coordinates if c.freedom is wanted]
        return listed[0] if listed else own if wanted is own.freedom else Coordinate(wanted)


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
        options: Further fields of `Joint`: lower, upper, stiffness, spring_reference, damping, friction,
            compliance, armature, coordinates.
    """
    kind = JointKind(kind)
    bodies = model.body_index(child), -1 if parent is None else model.body_index(parent)
    here = np.asarray(anchor, dtype=np.float64)
    there = here if other_anchor is None else np.asarray(other_anchor, dtype=np.float64)
    joint = joint_between(
        model, name or f"{kind.value} {child}", kind, bodies, (here, there),
        (frame_along(axis, second_axis),) * 2, length=float(np.linalg.norm(here - there)), **options,
    )  # fmt: skip
    return replace(model, joints=(*model.joints, joint))


def joint_between(
    model: Model, name: str, kind: JointKind, bodies: Any, points: Any, frames: Any, **options: Any
) -> Joint:
    """A joint of two bodies, child and parent, with anchors and frames in the world at the start."""
    anchors = [freeze(into_body(model, b, point)) for b, point in zip(bodies, points, strict=True)]
    turned = [freeze(relative_frame(model, b, frame)) for b, frame in zip(bodies, frames, strict=True)]
    return Joint(name, kind, *bodies, *anchors, *turned, **options)
