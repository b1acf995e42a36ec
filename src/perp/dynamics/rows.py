"""The joints and motors of a model as one table of scalar rows, each with a law.

    HOLD    c + Σ f = 0                                    bilateral: the joint itself
    LIMIT   c ≥ 0 ⊥ f ≥ 0                                  a limit of the coordinate
    DRIVE   f = −kp (c⁺ − target) − kd (ċ⁺ − rate), clipped at ± limit
            spring, damper, dry friction (kd = ∞, rate = 0), velocity and position servo; a rotor's inertia
            (`stepping/rotors.py`)
    FORCE   f given

A drive is implicit and needs no stability limit: with K = h² kp + h kd its impulse λ obeys
J u⁺ + [h kp (c − target) − h kd rate] / K + λ / K = 0, so damping damps and never turns into a stiffness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.dynamics.row_kernels import (
    ANGLE,
    DISTANCE,
    GEOMETRY_COLUMNS,
    LATERAL,
    ORIENTATION,
    PERPENDICULAR,
    POINT,
    evaluate_rows,
)
from perp.scenes import Joint, JointKind, Model, Motor, MotorKind
from perp.scenes.frames import rotate

HOLD, LIMIT, DRIVE, FORCE = 0, 1, 2, 3
STIFFNESS, DAMPING, TARGET, RATE, FORCE_LIMIT, COMPLIANCE, ARMATURE = range(7)
_AXES = np.eye(3)


@dataclass(slots=True)
class JointRows:
    """One line per row; constraint rows first, given forces last.

    Attributes:
        links: kind, child, parent, component, shape (rows, 4).
        geometry: See `row_kernels`, shape (rows, 25).
        law: HOLD, LIMIT, DRIVE or FORCE, shape (rows,).
        parameters: stiffness, damping, target, rate, force limit, compliance, armature, shape (rows, 7).
        constraint_count: Rows that are constraints: those before the given forces.
        joint: The joint of each row, shape (rows,).
        motor_row: Row of each motor, shape (motors,).
        rotors, springs: Rows that are rotors, and springs of joints.
    """

    links: np.ndarray
    geometry: np.ndarray
    law: np.ndarray
    parameters: np.ndarray
    constraint_count: int
    joint: np.ndarray
    motor_row: np.ndarray
    rotors: np.ndarray
    springs: np.ndarray

    @classmethod
    def of(cls, model: Model) -> JointRows:
        """The table of a model's joints and motors."""
        table = _Table()
        for j, joint in enumerate(model.joints):
            table.joint(j, joint)
        for m, motor in enumerate(model.motors):
            table.motor(m, motor, model.joints[motor.joint])
        return table.finish(len(model.motors))

    def evaluate(
        self, position: np.ndarray, quaternion: np.ndarray, rotation: np.ndarray, last: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values (rows,) and Jacobians (rows, 12) at a pose."""
        value, jacobian = np.empty(self.law.size), np.empty((self.law.size, 12))
        evaluate_rows(self.links, self.geometry, position, quaternion, rotation, last, value, jacobian)
        return value, jacobian

    def redundant(self, jacobian: np.ndarray, body_count: int) -> bool:
        """Whether bilateral rows depend on each other, from their Jacobian at a pose, shape (rows, 12)."""
        held = np.flatnonzero(self.law == HOLD)
        if not held.size:
            return False
        dense = np.zeros((held.size, body_count, 6))
        for side in range(2):
            body = self.links[held, 1 + side]
            on = body >= 0
            dense[np.flatnonzero(on), body[on]] += jacobian[held[on], 6 * side : 6 * side + 6]
        flat = dense.reshape(held.size, -1)
        return bool(np.linalg.matrix_rank(flat, tol=1e-9 * np.abs(flat).max()) < held.size)

    def set_control(self, model: Model, control: np.ndarray) -> None:
        """Give every motor its control value, shape (motors,)."""
        for m in range(len(model.motors)):
            self.set_motor(model, m, float(control[m]))

    def set_motor(self, model: Model, m: int, control: float) -> None:
        """Give one motor its control value."""
        motor = model.motors[m]
        column = RATE if motor.kind is MotorKind.VELOCITY else TARGET
        self.parameters[self.motor_row[m], column] = motor.asked(control)

    @property
    def at_reference(self) -> np.ndarray:
        """Values of the rows where both frames of every joint coincide, shape (rows,): angles begin there."""
        return -self.geometry[:, 24] * self.geometry[:, 23]

    def known_coordinate(self, model: Model, joint: int, values: np.ndarray) -> Any:
        """A joint's coordinate with its whole turns, from any of its rows that carries it; None without.

        Args:
            model: The scene.
            joint: Which of its joints.
            values: Of all rows, shape (…, rows).
        """
        lines = np.flatnonzero((self.joint == joint) & (self.law != HOLD))
        if not lines.size:
            return None
        line, g = lines[0], self.geometry[lines[0]]
        shift = g[23] + model.joints[joint].reference
        return g[24] * values[..., line] + shift


class _Table:
    """Collects rows while a model is read."""

    def __init__(self) -> None:
        self.rows: list[tuple[tuple[int, int, int, int], np.ndarray, int, list[float], int, int]] = []

    def add(
        self,
        index: int,
        joint: Joint,
        kind: int,
        law: int,
        *,
        component: int = 0,
        offset: float = 0.0,
        sign: float = 1.0,
        vectors: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
        motor: int = -1,
        **parameters: float,
    ) -> None:
        g = np.zeros(GEOMETRY_COLUMNS)
        g[0:3], g[3:6] = joint.child_anchor, joint.parent_anchor
        if vectors is not None:
            g[6:9], g[9:12], g[12:15] = vectors
        g[15:19], g[19:23] = joint.child_frame, joint.parent_frame
        g[23], g[24] = offset, sign
        values = {"limit": math.inf, **parameters}
        names = ("stiffness", "damping", "target", "rate", "limit", "compliance", "armature")
        line = [float(values.get(name, 0.0)) for name in names]
        self.rows.append(((kind, joint.child, joint.parent, component), g, law, line, index, motor))

    def joint(self, j: int, joint: Joint) -> None:
        for kind, component, offset, vectors in _bilateral(joint):
            self.add(
                j, joint, kind, HOLD,
                component=component, offset=offset, vectors=vectors, compliance=joint.compliance,
            )  # fmt: skip
        if joint.kind in (JointKind.BALL, JointKind.PLANAR):
            self._losses_of_many_axes(j, joint)
            return
        if joint.lower > -math.inf:
            self._coordinate(j, joint, LIMIT, shift=joint.lower)
        if joint.upper < math.inf:
            self._coordinate(j, joint, LIMIT, shift=joint.upper, sign=-1.0)
        if joint.stiffness > 0 or joint.damping > 0:
            self._coordinate(
                j, joint, DRIVE, stiffness=joint.stiffness, damping=joint.damping, target=joint.rest
            )
        if joint.friction > 0:
            self._coordinate(j, joint, DRIVE, damping=math.inf, limit=joint.friction)
        if joint.armature > 0:
            self._coordinate(j, joint, DRIVE, armature=joint.armature)

    def motor(self, m: int, motor: Motor, joint: Joint) -> None:
        value = motor.asked(motor.control)
        if motor.kind is MotorKind.FORCE:
            self._coordinate(motor.joint, joint, FORCE, motor=m, target=value)
            return
        which = "target" if motor.kind is MotorKind.POSITION else "rate"
        self._coordinate(
            motor.joint, joint, DRIVE, motor=m, stiffness=motor.stiffness, damping=motor.damping,
            limit=motor.force_limit, **{which: value},
        )  # fmt: skip

    def _coordinate(
        self, j: int, joint: Joint, law: int, *, shift: float = 0.0, sign: float = 1.0, **parameters: Any
    ) -> None:
        """A row on the joint's coordinate, q = geometric value + reference, as sign · (q − shift)."""
        offset = shift - joint.reference
        x, y, z = (rotate(joint.parent_frame, axis) for axis in _AXES)
        motor = int(parameters.pop("motor", -1))
        if joint.kind in (JointKind.SLIDER, JointKind.CYLINDRICAL):
            kind, vectors = LATERAL, (np.zeros(3), z, np.zeros(3))
        elif joint.kind in (JointKind.HINGE, JointKind.UNIVERSAL):
            kind, vectors = ANGLE, (rotate(joint.child_frame, _AXES[0]), x, y)
        elif joint.kind is JointKind.DISTANCE:
            kind, vectors = DISTANCE, None
        else:
            raise ValueError(f"joint {joint.name!r} is {joint.kind.value}: it has no single coordinate")
        self.add(j, joint, kind, law, offset=offset, sign=sign, vectors=vectors, motor=motor, **parameters)

    def _losses_of_many_axes(self, j: int, joint: Joint) -> None:
        """Damping and dry friction of joints that turn about any axis, one row per axis."""
        axes = range(3) if joint.kind is JointKind.BALL else (2,)
        for k in axes:
            if joint.damping > 0:
                self.add(j, joint, ORIENTATION, DRIVE, component=k, damping=joint.damping)
            if joint.friction > 0:
                self.add(j, joint, ORIENTATION, DRIVE, component=k, damping=math.inf, limit=joint.friction)

    def finish(self, motor_count: int) -> JointRows:
        order = sorted(range(len(self.rows)), key=lambda i: (self.rows[i][2] == FORCE, i))
        rows = [self.rows[i] for i in order]
        motor_row = np.zeros(motor_count, dtype=np.int64)
        for r, row in enumerate(rows):
            if row[5] >= 0:
                motor_row[row[5]] = r
        law = np.array([row[2] for row in rows], dtype=np.int64)
        parameters = np.array([row[3] for row in rows], dtype=np.float64).reshape(-1, 7)
        spring = (law == DRIVE) & (parameters[:, STIFFNESS] > 0)
        spring[motor_row] = False
        return JointRows(
            links=np.array([row[0] for row in rows], dtype=np.int64).reshape(-1, 4),
            geometry=np.array([row[1] for row in rows]).reshape(-1, GEOMETRY_COLUMNS),
            law=law,
            parameters=parameters,
            constraint_count=int((law != FORCE).sum()),
            joint=np.array([row[4] for row in rows], dtype=np.int64),
            motor_row=motor_row,
            rotors=np.flatnonzero(parameters[:, ARMATURE] > 0),
            springs=np.flatnonzero(spring),
        )


Bilateral = tuple[int, int, float, tuple[np.ndarray, np.ndarray, np.ndarray] | None]


def _bilateral(joint: Joint) -> list[Bilateral]:
    """The rows that make the joint: what it does to translation, then what it does to rotation."""
    none = np.zeros(3)
    x, y, z = (rotate(joint.parent_frame, axis) for axis in _AXES)
    child_x, child_z = rotate(joint.child_frame, _AXES[0]), rotate(joint.child_frame, _AXES[2])
    kind = joint.kind
    rows: list[Bilateral] = []
    if kind in (JointKind.FIXED, JointKind.HINGE, JointKind.BALL, JointKind.UNIVERSAL):
        rows += [(POINT, 0, 0.0, (none, axis, none)) for axis in _AXES]
    elif kind in (JointKind.SLIDER, JointKind.CYLINDRICAL):
        rows += [(LATERAL, 0, 0.0, (none, axis, none)) for axis in (x, y)]
    elif kind is JointKind.PLANAR:
        rows.append((LATERAL, 0, 0.0, (none, z, none)))
    else:
        rows.append((DISTANCE, 0, joint.length, None))
    if kind in (JointKind.FIXED, JointKind.SLIDER):
        rows += [(ORIENTATION, k, 0.0, None) for k in range(3)]
    elif kind in (JointKind.HINGE, JointKind.CYLINDRICAL, JointKind.PLANAR):
        rows += [(PERPENDICULAR, 0, 0.0, (child_z, axis, none)) for axis in (x, y)]
    elif kind is JointKind.UNIVERSAL:
        rows.append((PERPENDICULAR, 0, 0.0, (child_x, z, none)))
    return rows
