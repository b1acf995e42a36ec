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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from perp.dynamics.joint_geometry import AXES, Vectors, bilateral_rows, freedom_row
from perp.dynamics.row_kernels import GEOMETRY_COLUMNS, LOGARITHM, POINT, SPIN, TURN, evaluate_rows
from perp.scenes import Coordinate, Joint, JointKind, Model, Motor, MotorKind
from perp.scenes.frames import conjugate, multiply, rotate

HOLD, LIMIT, DRIVE, FORCE = 0, 1, 2, 3
STIFFNESS, DAMPING, TARGET, RATE, FORCE_LIMIT, COMPLIANCE, ARMATURE = range(7)


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
        return cls.of_joints(model.joints, model.motors)

    @classmethod
    def of_joints(cls, joints: Sequence[Joint], motors: Sequence[Motor]) -> JointRows:
        """The table of some joints and the motors on them."""
        table = _Table()
        for j, joint in enumerate(joints):
            table.joint(j, joint)
        for m, motor in enumerate(motors):
            if motor.joint < 0:
                table.glue(m, motor)
            else:
                table.motor(m, motor, joints[motor.joint])
        return table.finish(len(motors))

    def evaluate(
        self, position: np.ndarray, quaternion: np.ndarray, rotation: np.ndarray, last: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values (rows,) and Jacobians (rows, 12) at a pose."""
        value, jacobian = np.empty(self.law.size), np.empty((self.law.size, 12))
        evaluate_rows(self.links, self.geometry, position, quaternion, rotation, last, value, jacobian)
        return value, jacobian

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

    def known_coordinate(self, joint: int, measured: Joint, q: Coordinate, values: np.ndarray) -> np.ndarray:
        """A coordinate with its whole turns, from any row that carries it; its reference without one.

        Args:
            joint: Index of the joint.
            measured: The joint.
            q: Which of its coordinates.
            values: Of all rows, shape (…, rows).
        """
        kind, component, vectors = freedom_row(measured, q.freedom)
        there = (self.joint == joint) & (self.law != HOLD)
        there &= (self.links[:, 0] == kind) & (self.links[:, 3] == component)
        if vectors is not None:
            there &= (self.geometry[:, 6:15] == np.concatenate(vectors)).all(axis=1)
        if not there.any():
            return np.full(values.shape[:-1], q.reference)
        line = int(np.argmax(there))
        g = self.geometry[line]
        return q.sign * (g[24] * values[..., line] + g[23]) + q.reference

    @classmethod
    def measuring(cls, coordinates: Sequence[tuple[Joint, Coordinate]]) -> JointRows:
        """A table whose rows are the values of coordinates."""
        table = _Table()
        for joint, q in coordinates:
            table.measure(joint, q)
        return table.finish(0)


def put_mocap(model: Model, table: JointRows, position: np.ndarray, quaternion: np.ndarray) -> None:
    """Move what holds cut mocap bodies, in place: their joints to the world, at these poses of the bodies."""
    m = model.shapes
    movable = np.flatnonzero(m.body_weldid > 0)
    for j, joint in enumerate(model.joints):
        k = int(m.body_mocapid[movable[joint.child]])
        if k < 0 or joint.parent >= 0 or joint.kind is not JointKind.FIXED:
            continue
        principal = multiply(quaternion[k], conjugate(model.frame[joint.child]))
        rows = table.joint == j
        table.geometry[rows, 3:6] = position[k] - rotate(principal, model.origin[joint.child])
        table.geometry[rows, 19:23] = multiply(principal, joint.child_frame)


class _Measure(NamedTuple):
    """What a row measures of its joint, as in `row_kernels`: sign · (c − offset)."""

    kind: int
    component: int = 0
    offset: float = 0.0
    vectors: Vectors | None = None
    sign: float = 1.0


class _Table:
    """Collects rows while a model is read."""

    def __init__(self) -> None:
        self.rows: list[tuple[tuple[int, int, int, int], np.ndarray, int, list[float], int, int]] = []

    def add(
        self, index: int, joint: Joint, law: int, row: _Measure, *, motor: int = -1, **parameters: float
    ) -> None:
        g = np.zeros(GEOMETRY_COLUMNS)
        g[0:3], g[3:6] = joint.child_anchor, joint.parent_anchor
        if row.vectors is not None:
            g[6:9], g[9:12], g[12:15] = row.vectors
        g[15:19], g[19:23] = joint.child_frame, joint.parent_frame
        g[23], g[24] = row.offset, row.sign
        values = {"limit": math.inf, **parameters}
        names = ("stiffness", "damping", "target", "rate", "limit", "compliance", "armature")
        line = [float(values.get(name, 0.0)) for name in names]
        self.rows.append(((row.kind, joint.child, joint.parent, row.component), g, law, line, index, motor))

    def joint(self, j: int, joint: Joint) -> None:
        for row in bilateral_rows(joint):
            self.add(j, joint, HOLD, _Measure(*row), compliance=joint.compliance)
        if joint.kind is JointKind.BALL:
            self._ball(j, joint)
        for coordinate in (joint.own, *joint.coordinates):
            if coordinate is not None:
                self._laws(j, joint, coordinate)

    def _laws(self, j: int, joint: Joint, q: Coordinate) -> None:
        """Limits, spring, losses and rotor of one coordinate."""
        if q.lower > -math.inf:
            self._coordinate(j, joint, q, LIMIT, shift=q.lower)
        if q.upper < math.inf:
            self._coordinate(j, joint, q, LIMIT, shift=q.upper, sign=-1.0)
        if q.stiffness > 0 or q.damping > 0:
            self._coordinate(
                j, joint, q, DRIVE, stiffness=q.stiffness, damping=q.damping, target=q.spring_reference
            )
        if q.friction > 0:
            self._coordinate(j, joint, q, DRIVE, damping=math.inf, limit=q.friction)
        if q.armature > 0:
            self._coordinate(j, joint, q, DRIVE, armature=q.armature)

    def measure(self, joint: Joint, q: Coordinate) -> None:
        self._coordinate(0, joint, q, FORCE)

    def _ball(self, j: int, joint: Joint) -> None:
        """A limit of the angle, a spring on the rotation vector, losses and rotor about the child's axes."""
        if joint.upper < math.inf:
            self.add(j, joint, LIMIT, _Measure(TURN, offset=joint.upper, sign=-1.0))
        laws: list[tuple[int, dict[str, Any]]] = []
        if joint.stiffness > 0:
            laws.append((LOGARITHM, {"stiffness": joint.stiffness}))
        if joint.damping > 0:
            laws.append((SPIN, {"damping": joint.damping}))
        if joint.friction > 0:
            laws.append((SPIN, {"damping": math.inf, "limit": joint.friction}))
        if joint.armature > 0:
            laws.append((SPIN, {"armature": joint.armature}))
        for kind, parameters in laws:
            for k, axis in enumerate(AXES):
                vectors = rotate(joint.child_frame, axis), np.zeros(3), np.zeros(3)
                self.add(j, joint, DRIVE, _Measure(kind, k, vectors=vectors), **parameters)

    def motor(self, m: int, motor: Motor, joint: Joint) -> None:
        value, q = motor.asked(motor.control), joint.coordinate(motor.freedom)
        if motor.kind is MotorKind.FORCE:
            self._coordinate(motor.joint, joint, q, FORCE, motor=m, target=value)
            return
        which = "target" if motor.kind is MotorKind.POSITION else "rate"
        self._coordinate(
            motor.joint, joint, q, DRIVE, motor=m, stiffness=motor.stiffness, damping=motor.damping,
            limit=motor.force_limit, **{which: value},
        )  # fmt: skip

    def glue(self, m: int, motor: Motor) -> None:
        """A force between no bodies, which contacts read: see `stepping.contact_rows`."""
        line = [0.0, 0.0, motor.asked(motor.control), 0.0, math.inf, 0.0, 0.0]
        self.rows.append(((POINT, -1, -1, 0), np.zeros(GEOMETRY_COLUMNS), FORCE, line, -1, m))

    def _coordinate(
        self,
        j: int,
        joint: Joint,
        q: Coordinate,
        law: int,
        *,
        shift: float = 0.0,
        sign: float = 1.0,
        **parameters: Any,
    ) -> None:
        """A row on a coordinate of the joint, as sign · (q − shift)."""
        kind, component, vectors = freedom_row(joint, q.freedom)
        offset = q.sign * (shift - q.reference)
        self.add(j, joint, law, _Measure(kind, component, offset, vectors, sign * q.sign), **parameters)

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
