"""The joints of a model as one table of scalar rows, and the laws of the coordinates that they leave free.

HOLD     c + Σ f = 0     bilateral: the joint itself
MEASURE  no force: a coordinate of a joint, of a motor or of mujoco's, which laws refer to

limit    q ≥ low, q ≤ high
friction |f| ≤ limit, against the motion
yield    f = −k (q⁺ − target) − d q̇⁺: a spring with its damper
rotor    f = −a (q̇⁺ − q̇) / h: an inertia that is geared to the coordinate
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from perp.dynamics.joint_geometry import AXES, Vectors, bilateral_rows, freedom_row
from perp.dynamics.row_kernels import GEOMETRY_COLUMNS, LOGARITHM, SPIN, TURN, evaluate_rows
from perp.scenes import Coordinate, Joint, JointKind, Model, Motor
from perp.scenes.frames import IDENTITY, conjugate, multiply, rotate
from perp.scenes.naming import joint_names

# Of rows of the table, and of those of a step: see `stepping.joint_rows`.
HOLD, LIMIT, DRIVE, MEASURE = range(4)
# Kinds of mujoco's joints.
_FREE, _BALL = 0, 1


@dataclass(slots=True)
class JointRows:
    """One line per row, those that hold first.

    Attributes:
        links: kind, child, parent, component, shape (rows, 4).
        geometry: See `row_kernels`, shape (rows, 25).
        law: HOLD or MEASURE, shape (rows,).
        compliance: Σ of rows that hold, shape (rows,).
        joint: The joint of each row, shape (rows,).
        limits: Measured row, lower and upper limit, shape (limits, 3).
        frictions: Measured row and force, shape (frictions, 2).
        yields: Measured row, stiffness, damping and target, shape (yields, 4).
        rotors: Measured row and inertia, shape (rotors, 2).
        sequence: Rows that hold and laws, joint by joint: (group as in `scalar_tables`, number there).
        motor_row: Row that measures the coordinate of each motor, shape (motors,).
        freedom_row: Row that measures each of mujoco's freedoms; empty where they are not measured.
    """

    links: np.ndarray
    geometry: np.ndarray
    law: np.ndarray
    compliance: np.ndarray
    joint: np.ndarray
    limits: np.ndarray
    frictions: np.ndarray
    yields: np.ndarray
    rotors: np.ndarray
    sequence: list[tuple[str, int]]
    motor_row: np.ndarray
    freedom_row: np.ndarray

    @classmethod
    def of(cls, model: Model) -> JointRows:
        """The table of a model's joints and motors."""
        return cls.of_joints(model.joints, model.motors)

    @classmethod
    def of_joints(
        cls, joints: Sequence[Joint], motors: Sequence[Motor], measured: Model | None = None
    ) -> JointRows:
        """The table of some joints and the motors on them, with measures of all freedoms of a model."""
        table = _Table()
        for j, joint in enumerate(joints):
            table.joint(j, joint)
        freedoms = [] if measured is None else table.freedoms(measured)
        driven = [
            table.coordinate(motor.joint, joints[motor.joint], joints[motor.joint].coordinate(motor.freedom))
            for motor in motors
        ]
        return table.finish(freedoms, driven)

    def evaluate(
        self, position: np.ndarray, quaternion: np.ndarray, rotation: np.ndarray, last: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values (rows,) and Jacobians (rows, 12) at a pose."""
        value, jacobian = np.empty(self.law.size), np.empty((self.law.size, 12))
        evaluate_rows(self.links, self.geometry, position, quaternion, rotation, last, value, jacobian)
        return value, jacobian

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
        for j, (joint, q) in enumerate(coordinates):
            table.coordinate(j, joint, q)
        return table.finish([], [])


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
    """Collects rows and laws while a model is read; laws refer to rows in the order in which these came."""

    def __init__(self) -> None:
        self.rows: list[tuple[tuple[int, int, int, int], np.ndarray, int, float, int]] = []
        self.known: dict[Any, int] = {}
        self.laws: dict[str, list[tuple[float, ...]]] = {"lower": [], "rub": [], "yield": [], "rotor": []}
        self.sequence: list[tuple[str, int]] = []

    def add(self, j: int, joint: Joint, law: int, row: _Measure, compliance: float = 0.0) -> int:
        """A new row; its number."""
        g = np.zeros(GEOMETRY_COLUMNS)
        g[0:3], g[3:6] = joint.child_anchor, joint.parent_anchor
        if row.vectors is not None:
            g[6:9], g[9:12], g[12:15] = row.vectors
        g[15:19], g[19:23] = joint.child_frame, joint.parent_frame
        g[23], g[24] = row.offset, row.sign
        self.rows.append(((row.kind, joint.child, joint.parent, row.component), g, law, compliance, j))
        return len(self.rows) - 1

    def law(self, group: str, row: int, *numbers: float) -> None:
        """A law of what a row measures."""
        self.sequence.append((group, len(self.laws[group])))
        self.laws[group].append((row, *numbers))

    def measure(self, key: Any, j: int, joint: Joint, row: _Measure) -> int:
        """The row that measures something, made when it is first asked for."""
        if key not in self.known:
            self.known[key] = self.add(j, joint, MEASURE, row)
        return self.known[key]

    def coordinate(self, j: int, joint: Joint, q: Coordinate) -> int:
        """The row that measures a coordinate."""
        kind, component, vectors = freedom_row(joint, q.freedom)
        row = _Measure(kind, component, -q.sign * q.reference, vectors, q.sign)
        return self.measure((j, q.freedom, q.sign, q.reference), j, joint, row)

    def spins(self, j: int, joint: Joint, kind: int = SPIN) -> list[int]:
        """Rows of the spin of a joint about the child's axes, or of its rotation vector."""
        vectors = [(rotate(joint.child_frame, axis), np.zeros(3), np.zeros(3)) for axis in AXES]
        return [
            self.measure((j, joint.name, kind, k), j, joint, _Measure(kind, k, vectors=vectors[k]))
            for k in range(3)
        ]

    def joint(self, j: int, joint: Joint) -> None:
        for row in bilateral_rows(joint):
            self.sequence.append(("table", self.add(j, joint, HOLD, _Measure(*row), joint.compliance)))
        if joint.kind is JointKind.BALL:
            self._ball(j, joint)
        for q in (joint.own, *joint.coordinates):
            if q is not None:
                self._laws(j, joint, q)

    def _laws(self, j: int, joint: Joint, q: Coordinate) -> None:
        """Limits, spring, losses and rotor of one coordinate."""
        if q.lower > -math.inf or q.upper < math.inf:
            self.law("lower", self.coordinate(j, joint, q), q.lower, q.upper)
        if q.stiffness > 0 or q.damping > 0:
            self.law("yield", self.coordinate(j, joint, q), q.stiffness, q.damping, q.spring_reference)
        if q.friction > 0:
            self.law("rub", self.coordinate(j, joint, q), q.friction)
        if q.armature > 0:
            self.law("rotor", self.coordinate(j, joint, q), q.armature)

    def _ball(self, j: int, joint: Joint) -> None:
        """A limit of the angle, a spring on the rotation vector, losses and rotor about the child's axes."""
        if joint.upper < math.inf:
            self.law("lower", self.measure((j, TURN), j, joint, _Measure(TURN)), -math.inf, joint.upper)
        laws = [
            ("yield", LOGARITHM, joint.stiffness, (joint.stiffness, 0.0, 0.0)),
            ("yield", SPIN, joint.damping, (0.0, joint.damping, 0.0)),
            ("rub", SPIN, joint.friction, (joint.friction,)),
            ("rotor", SPIN, joint.armature, (joint.armature,)),
        ]
        for group, kind, size, numbers in laws:
            for row in self.spins(j, joint, kind) if size > 0 else ():
                self.law(group, row, *numbers)

    def freedoms(self, model: Model) -> list[int]:
        """A row for each of mujoco's freedoms, with its coordinate as value where that is one number."""
        m, out = model.shapes, []
        lines = np.cumsum(m.body_weldid > 0) - 1
        joints = list(enumerate(model.joints[: model.joints_of_file]))[::-1]
        balls = {joint.name: (k, joint) for k, joint in joints if joint.kind is JointKind.BALL}
        scalars = {q.name: (k, joint, q) for k, joint in joints for q in joint.named}
        for j, name in enumerate(joint_names(m)):
            kind = int(m.jnt_type[j])
            if kind > _BALL:
                out.append(self.coordinate(*scalars[name]))
            elif kind == _BALL:
                out += self.spins(*balls[name])
            else:
                b = int(lines[m.jnt_bodyid[j]])
                place, turn = model.origin[b], model.frame[b]
                joint = Joint(name, JointKind.BALL, b, -1, place, np.zeros(3), turn, IDENTITY)
                out += [self.add(-1, joint, MEASURE, _Measure(*row)) for row in bilateral_rows(joint)]
                out += self.spins(-1, joint)
        return out

    def finish(self, freedoms: Sequence[int], driven: Sequence[int]) -> JointRows:
        """The table, rows that hold first."""
        order = sorted(range(len(self.rows)), key=lambda i: (self.rows[i][2], i))
        rows, place = [self.rows[i] for i in order], np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))

        def laws(group: str, width: int) -> np.ndarray:
            out = np.array(self.laws[group], dtype=np.float64).reshape(-1, width)
            out[:, 0] = place[out[:, 0].astype(np.int64)]
            return out

        return JointRows(
            links=np.array([row[0] for row in rows], dtype=np.int64).reshape(-1, 4),
            geometry=np.array([row[1] for row in rows]).reshape(-1, GEOMETRY_COLUMNS),
            law=np.array([row[2] for row in rows], dtype=np.int64),
            compliance=np.array([row[3] for row in rows], dtype=np.float64),
            joint=np.array([row[4] for row in rows], dtype=np.int64),
            limits=laws("lower", 3),
            frictions=laws("rub", 2),
            yields=laws("yield", 4),
            rotors=laws("rotor", 2),
            sequence=[(group, int(place[i]) if group == "table" else i) for group, i in self.sequence],
            motor_row=place[np.array(driven, dtype=np.int64)],
            freedom_row=place[np.array(freedoms, dtype=np.int64)],
        )
