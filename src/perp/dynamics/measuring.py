"""Compiled: mujoco's coordinates of cut bodies.

Laws of coordinates (motors, tendons, equalities, forces of the air) are those of trees. Where joints are cut
a row of the table measures each of mujoco's freedoms: its value is the coordinate, its Jacobian r_d gives the
rate q̇_d = r_d · (velocities of child and parent), and a force on the freedom acts along it on both bodies.
"""

from perp.compilation.kernel import part
from perp.dynamics.libmujoco import mj_comPos, mj_kinematics, mj_tendon, mj_transmission
from perp.dynamics.row_kernels import relative

# Kinds of mujoco's joints; the others have one coordinate.
_FREE, _BALL = 0, 1


@part
def measure(s, p, value, room):
    """Mujoco's coordinates, lengths of tendons and of transmissions at a place of cut bodies.

    Args:
        s: The scene.
        p: The place.
        value: Values of the rows of the table there.
        room: Seven numbers.
    """
    for j in range(s.measured.shape[0]):
        kind, at, i = s.measured[j, 0], s.measured[j, 1], s.measured[j, 2]
        if kind > _BALL:
            p.qpos[at] = value[i]
            continue
        turn = room[4:7]
        cosine = relative(p.quat, s.links[i, 1], s.links[i, 2], s.geometry[i], room[:4], turn)
        if kind == _FREE:
            for k in range(3):
                p.qpos[at + k] = value[i + k]
            at += 3
        p.qpos[at] = cosine
        for k in range(3):
            p.qpos[at + 1 + k] = turn[k]
    mj_kinematics(s.model, p.data)
    mj_comPos(s.model, p.data)
    mj_tendon(s.model, p.data)
    mj_transmission(s.model, p.data)


@part
def measure_rates(s, p, row, v):
    """Mujoco's velocities of cut bodies with the velocities v, from the rows of the table at the place."""
    for d in range(s.freedom_row.size):
        i, rate = s.freedom_row[d], 0.0
        for side in range(2):
            b = s.links[i, 1 + side]
            if b >= 0:
                for k in range(6):
                    rate += row[i, 6 * side + k] * v[6 * b + k]
        p.qvel[d] = rate


@part
def row_of(s, d):
    """The row that measures freedom d of mujoco's, −1 where that is one of the scene.

    Behind mujoco's freedoms come all rows of the table by themselves.
    """
    return s.freedom_row[d] if d < s.freedom_row.size else d - s.freedom_row.size


@part
def push(s, row, d, force, out):
    """A force on a freedom (see `row_of`), added to those on the freedoms of the scene."""
    if not s.cut:
        out[d] += force
        return
    i = row_of(s, d)
    for side in range(2):
        b = s.links[i, 1 + side]
        if b >= 0:
            for k in range(6):
                out[6 * b + k] += force * row[i, 6 * side + k]
