"""Joints that are rows of a step: all where joints are cut, or those that close loops of the trees."""

import numpy as np

from perp.scenes.engine import engine
from perp.scenes.joints import Joint
from perp.scenes.mjcf_joints import read_equalities
from perp.scenes.model import WORLD, Model


def loop_joints(model: Model, *, reduced: bool) -> tuple[Joint, ...]:
    """The joints of a model that need rows.

    In reduced coordinates those are `connect` and `weld` of the file, and joints that were attached in
    Python.
    """
    if not reduced:
        return model.joints
    mujoco, m = engine(), model.shapes
    data = mujoco.MjData(m)
    mujoco.mj_kinematics(m, data)
    index = np.full(m.nbody, WORLD)
    movable = np.flatnonzero(m.body_weldid > 0)
    index[movable] = np.arange(movable.size)
    attached = model.joints[model.joints_of_file :]
    return (*read_equalities(m, data, model, index), *attached)


def closes_loops(joints: tuple[Joint, ...], bodies: int) -> bool:
    """Whether joints connect bodies that are connected already: their rows may depend on each other."""
    root = list(range(bodies + 1))

    def top(b: int) -> int:
        while root[b] != b:
            b = root[b]
        return b

    for joint in joints:
        a, b = top(joint.child), top(joint.parent if joint.parent >= 0 else bodies)
        if a == b:
            return True
        root[a] = b
    return False
