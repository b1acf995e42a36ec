"""Reading and setting single joints by name, in either kind of coordinates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.dynamics.state import State
from perp.problems.validation import vector
from perp.scenes import JointKind, SceneError
from perp.scenes.frames import conjugate, multiply, rotate
from perp.scenes.model import find

if TYPE_CHECKING:
    from perp.stepping.reduced_stepper import ReducedStepper
    from perp.stepping.stepper import Stepper

_Z = np.array([0.0, 0.0, 1.0])
# Numbers of positions and of velocities of mujoco's joints: free, ball, slide, hinge.
_SIZES = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}


class ReducedJoint:
    """A joint as a part of qpos and qvel."""

    def __init__(self, stepper: ReducedStepper, name: str) -> None:
        m = stepper.tree.mujoco_model
        names = tuple(m.joint(j).name or f"joint{j}" for j in range(m.njnt))
        j = find(name, names, "joint")
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

    def set_position(self, state: Any, value: Any) -> None:
        """Into the state, with the bodies that follow."""
        n = self._q.stop - self._q.start
        state.qpos[self._q] = vector(f"position of {self._name!r}", np.atleast_1d(value), n)
        self._stepper.tree.normalise(state.qpos)
        self._stepper.refresh(state)

    def set_velocity(self, state: Any, value: Any) -> None:
        """Into the state, with the bodies that follow."""
        n = self._v.stop - self._v.start
        state.qvel[self._v] = vector(f"velocity of {self._name!r}", np.atleast_1d(value), n)
        self._stepper.refresh(state)


class MaximalJoint:
    """A joint as the relative pose of its two bodies."""

    def __init__(self, stepper: Stepper, name: str) -> None:
        joints = stepper.model.joints
        self._index = find(name, tuple(joint.name for joint in joints), "joint")
        self._joint, self._stepper = joints[self._index], stepper
        if self._joint.kind not in (JointKind.HINGE, JointKind.SLIDER, JointKind.BALL):
            raise SceneError(
                f"joint {name!r} is {self._joint.kind.value}: it has no single coordinate to read"
            )

    def _ends(self, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Frames and anchors of child and parent in the world."""
        joint = self._joint
        frames, anchors = [], []
        for body, frame, anchor in (
            (joint.child, joint.child_frame, joint.child_anchor),
            (joint.parent, joint.parent_frame, joint.parent_anchor),
        ):
            still = body < 0
            frames.append(frame if still else multiply(state.quaternion[body], frame))
            there = anchor if still else state.position[body] + rotate(state.quaternion[body], anchor)
            anchors.append(there)
        return frames[0], frames[1], anchors[0], anchors[1]

    def position(self, state: State) -> Any:
        """Angle, displacement or quaternion."""
        child, parent, p, q = self._ends(state)
        if self._joint.kind is JointKind.SLIDER:
            return float(rotate(parent, _Z) @ (p - q)) + self._joint.reference
        turned = multiply(conjugate(parent), child)
        if self._joint.kind is JointKind.BALL:
            return turned if turned[0] >= 0 else -turned
        angle = 2.0 * math.atan2(turned[3], turned[0]) + self._joint.reference
        # whole turns are known to the rows of the joint, if it has any
        known = self._stepper.table.known_coordinate(self._stepper.model, self._index, state.coordinate)
        guess = self._joint.reference if known is None else known
        return angle + 2.0 * math.pi * round((guess - angle) / (2.0 * math.pi))

    def velocity(self, state: State) -> Any:
        """Rate of the position; of a ball, the relative spin in the child's joint frame."""
        child, parent, p, _ = self._ends(state)
        u = [np.zeros(6) if b < 0 else state.velocity[b] for b in (self._joint.child, self._joint.parent)]
        spin = u[0][3:] - u[1][3:]
        if self._joint.kind is JointKind.HINGE:
            return float(rotate(parent, _Z) @ spin)
        if self._joint.kind is JointKind.BALL:
            return rotate(conjugate(child), spin)
        speeds = [
            x[:3] + np.cross(x[3:], p - state.position[b]) if b >= 0 else np.zeros(3)
            for x, b in zip(u, (self._joint.child, self._joint.parent), strict=True)
        ]
        return float(rotate(parent, _Z) @ (speeds[0] - speeds[1]))

    def set_position(self, _: State, __: Any) -> None:
        """Not possible: the bodies would have to follow."""
        raise SceneError(f'joint {self._joint.name!r} can be set with coordinates="reduced" only')

    set_velocity = set_position
