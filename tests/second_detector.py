"""How far the shapes of a scene overlap, asked of the collision library directly: not what a step says of itself."""

from __future__ import annotations

import perp
from perp.scenes.engine import engine


class SecondDetector:
    """Overlap of free bodies, from their poses alone.

    Args:
        text: The scene as MJCF; every body named and on a free joint.
    """

    def __init__(self, text: str) -> None:
        mujoco = engine()
        self._mujoco, self._model = mujoco, mujoco.MjModel.from_xml_string(text)
        # convex pairs to much less than what is asserted, 1e-6 m by default
        self._model.opt.ccd_tolerance, self._model.opt.ccd_iterations = 1e-10, 200
        self._data = mujoco.MjData(self._model)

    def overlap(self, sim: perp.Simulation) -> float:
        """Largest overlap in the present state, 0 for none [m]."""
        m, d = self._model, self._data
        for b in range(1, m.nbody):
            body, first = sim.body(m.body(b).name), m.jnt_qposadr[m.body_jntadr[b]]
            d.qpos[first : first + 3], d.qpos[first + 3 : first + 7] = body.position, body.quaternion
        self._mujoco.mj_kinematics(m, d)
        self._mujoco.mj_collision(m, d)
        return max((-float(distance) for distance in d.contact.dist), default=0.0)
