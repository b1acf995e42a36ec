"""Which rows make each joint, and which row measures each coordinate that it leaves free."""

from __future__ import annotations

import numpy as np

from perp.dynamics.row_kernels import ANGLE, DISTANCE, LATERAL, ORIENTATION, PERPENDICULAR, POINT
from perp.scenes import Freedom, Joint, JointKind
from perp.scenes.frames import rotate

AXES = np.eye(3)
Vectors = tuple[np.ndarray, np.ndarray, np.ndarray]
Bilateral = tuple[int, int, float, Vectors | None]
_NONE = np.zeros(3)


def bilateral_rows(joint: Joint) -> list[Bilateral]:
    """The rows that make the joint: what it does to translation, then what it does to rotation.

    Returns:
        Kind, component, offset and vectors of each row; see `row_kernels`.
    """
    x, y, z = (rotate(joint.parent_frame, axis) for axis in AXES)
    child_x, child_z = rotate(joint.child_frame, AXES[0]), rotate(joint.child_frame, AXES[2])
    kind = joint.kind
    rows: list[Bilateral] = []
    if kind in (JointKind.FIXED, JointKind.HINGE, JointKind.BALL, JointKind.UNIVERSAL):
        rows += [(POINT, 0, 0.0, (_NONE, axis, _NONE)) for axis in AXES]
    elif kind in (JointKind.SLIDER, JointKind.CYLINDRICAL):
        rows += [(LATERAL, 0, 0.0, (_NONE, axis, _NONE)) for axis in (x, y)]
    elif kind is JointKind.PLANAR:
        rows.append((LATERAL, 0, 0.0, (_NONE, z, _NONE)))
    elif not joint.loose:
        rows.append((DISTANCE, 0, joint.length, None))
    if kind in (JointKind.FIXED, JointKind.SLIDER):
        rows += [(ORIENTATION, k, 0.0, None) for k in range(3)]
    elif kind in (JointKind.HINGE, JointKind.CYLINDRICAL, JointKind.PLANAR):
        rows += [(PERPENDICULAR, 0, 0.0, (child_z, axis, _NONE)) for axis in (x, y)]
    elif kind is JointKind.UNIVERSAL:
        rows.append((PERPENDICULAR, 0, 0.0, (child_x, z, _NONE)))
    return rows


def freedom_row(joint: Joint, freedom: Freedom) -> tuple[int, int, Vectors | None]:
    """Kind, component and vectors of the row that measures a freedom of a joint."""
    x, y, z = (rotate(joint.parent_frame, axis) for axis in AXES)
    if freedom is Freedom.TURN_Z:
        return ANGLE, 0, (rotate(joint.child_frame, AXES[0]), x, y)
    if freedom is Freedom.TURN_CHILD_X:
        # the parent's z seen from the child: (0, sin q, cos q)
        return ANGLE, 1, (z, rotate(joint.child_frame, AXES[2]), rotate(joint.child_frame, AXES[1]))
    if freedom is Freedom.LENGTH:
        return DISTANCE, 0, None
    along = {Freedom.SLIDE_X: x, Freedom.SLIDE_Y: y, Freedom.SLIDE_Z: z}[freedom]
    return LATERAL, 0, (_NONE, along, _NONE)
