"""How far down the shapes of a scene reach."""

from typing import Any

import numpy as np

from perp.scenes.engine import engine


def lowest_point(m: Any, qpos: np.ndarray) -> float | None:
    """Height of the lowest point of what moves and can touch at qpos [m]; None where nothing does."""
    mujoco = engine()
    data = mujoco.MjData(m)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(m, data)
    moves = m.body_weldid[m.geom_bodyid] > 0
    touches = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    return min((_bottom(m, data, int(g)) for g in np.flatnonzero(moves & touches)), default=None)


def _bottom(m: Any, data: Any, g: int) -> float:
    """Height of the lowest point of one shape: its support in the direction of −z."""
    kinds = engine().mjtGeom
    kind, size = int(m.geom_type[g]), m.geom_size[g]
    height, down = float(data.geom_xpos[g, 2]), data.geom_xmat[g].reshape(3, 3)[2]
    if kind == int(kinds.mjGEOM_MESH):
        mesh = int(m.geom_dataid[g])
        first = int(m.mesh_vertadr[mesh])
        points = m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])]
        return height + float((points @ down).min())
    across = float(np.hypot(down[0], down[1]))
    below = {
        int(kinds.mjGEOM_SPHERE): size[0],
        int(kinds.mjGEOM_CAPSULE): size[0] + abs(down[2]) * size[1],
        int(kinds.mjGEOM_CYLINDER): across * size[0] + abs(down[2]) * size[1],
        int(kinds.mjGEOM_BOX): float(np.abs(down) @ size),
        int(kinds.mjGEOM_ELLIPSOID): float(np.linalg.norm(down * size)),
    }
    return height - float(below.get(kind, m.geom_rbound[g]))
