"""Reading and setting single joints by name, in either kind of coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.dynamics.rows import JointRows
from perp.dynamics.state import State
from perp.scenes import Coordinate, Joint, JointKind, Model, SceneError
from perp.scenes.frames import conjugate, multiply, rotate
from perp.scenes.model import find
from perp.scenes.naming import joint_names, listed_joints

if TYPE_CHECKING:
    from perp.stepping.stepper import Stepper

# Numbers of positions and of velocities of mujoco's joints: free, ball, slide, hinge.
_SIZES = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}


class ReducedJoint:
    """A joint as a part of qpos and qvel."""

    def __init__(self, stepper: Stepper, name: str) -> None:
        m = stepper.mujoco_model
        j = find(name, joint_names(m), "joint", listed_joints(m))
        sizes = _SIZES[int(m.jnt_type[j])]
        self._stepper, self._name = stepper, name
        self._q = slice(int(m.jnt_qposadr[j]), int(m.jnt_qposadr[j]) + sizes[0])
        self._v = slice(int(m.jnt_dofadr[j]), int(m.jnt_dofadr[j]) + sizes[1])

    def position(self, state: Any) -> Any:
        """A number, or several."""
        found = state.qpos[self._q]
        return float(found[0]) if found.size == 1 else found.copy()

    def velocity(self, state: Any) -> Any:
        """A number, or several."""
        found = state.qvel[self._v]
        return float(found[0]) if found.size == 1 else found.copy()


class MaximalJoint:
    """A joint, or one of its coordinates, as the relative pose of two bodies."""

    def __init__(self, stepper: Stepper, name: str) -> None:
        joints = stepper.model.joints
        scalars = measured_joints(stepper.model)
        balls = [joint for joint in joints if joint.kind is JointKind.BALL]
        known = tuple(q.name for _, _, q in scalars) + tuple(joint.name for joint in balls)
        others = {joint.name: joint.kind.value for joint in joints if joint.name not in known}
        if name in others:
            raise SceneError(f"joint {name!r} is {others[name]}: it has no coordinate to read")
        m = stepper.mujoco_model
        words = dict(zip(joint_names(m), listed_joints(m), strict=True))
        k = find(name, known, "joint", tuple(words.get(other, other) for other in known))
        self._name, self._stepper, self._ball = name, stepper, None
        if k >= len(scalars):
            self._ball = balls[k - len(scalars)]
        else:
            self._scalar = scalars[k : k + 1]
            self._rows = JointRows.measuring([(joint, q) for _, joint, q in self._scalar])

    def _measured(self, state: State) -> tuple[float, float]:
        """Coordinate and its rate."""
        known = known_turns(self._stepper.table, self._scalar, state.coordinate)
        value, rate = measure(self._rows, known, state)
        return float(value[0]), float(rate[0])

    def position(self, state: State) -> Any:
        """Angle, displacement or quaternion."""
        if self._ball is None:
            return self._measured(state)[0]
        child, parent = _frames(self._ball, state)
        turned = multiply(conjugate(parent), child)
        return turned if turned[0] >= 0 else -turned

    def velocity(self, state: State) -> Any:
        """Rate of the position; of a ball, the relative spin in the child's joint frame."""
        if self._ball is None:
            return self._measured(state)[1]
        spin = [
            np.zeros(3) if b < 0 else state.velocity[b, 3:] for b in (self._ball.child, self._ball.parent)
        ]
        return rotate(conjugate(_frames(self._ball, state)[0]), spin[0] - spin[1])


Measured = tuple[int, Joint, Coordinate]


def measured_joints(model: Model) -> list[Measured]:
    """All coordinates of a model in maximal form: index of the joint, joint and coordinate."""
    return [(j, joint, q) for j, joint in enumerate(model.joints) for q in joint.named]


def known_turns(table: JointRows, coordinates: Sequence[Measured], values: np.ndarray) -> np.ndarray:
    """What the rows of a scene know of coordinates, shape (…, coordinates), from values (…, rows)."""
    known = [table.known_coordinate(j, joint, q, values) for j, joint, q in coordinates]
    return np.stack(known, axis=-1) if known else np.zeros((*values.shape[:-1], 0))


def measure(rows: JointRows, known: np.ndarray, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Values and rates of coordinates in a state.

    Args:
        rows: Those of `JointRows.measuring`.
        known: Their values as far as known, for whole turns, shape (rows,).
        state: The state.
    """
    value, jacobian = rows.evaluate(state.position, state.quaternion, state.rotation, known)
    rate = np.zeros(value.size)
    for side in range(2):
        body = rows.links[:, 1 + side]
        moving = np.where((body >= 0)[:, None], state.velocity[body], 0.0) if len(state.velocity) else 0.0
        rate += (jacobian[:, 6 * side : 6 * side + 6] * moving).sum(axis=1)
    return value, rate


def _frames(joint: Joint, state: State) -> list[np.ndarray]:
    """Joint frames of child and parent in the world."""
    return [
        frame if body < 0 else multiply(state.quaternion[body], frame)
        for body, frame in ((joint.child, joint.child_frame), (joint.parent, joint.parent_frame))
    ]
