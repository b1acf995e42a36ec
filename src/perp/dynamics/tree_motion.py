"""Compiled kinematics of trees at trial positions: moved coordinates, poses, motions of the joints.

The conventions are mujoco's: a free or ball joint turns with rates in its own frame, q⁺ = q ⊗ exp(h ω).
Reference: MuJoCo's documentation, chapter Computation, for the coordinates.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from perp.dynamics.motion import turn_coefficients

FREE, BALL, SLIDE, HINGE = 0, 1, 2, 3


class Links(NamedTuple):
    """Bodies and joints of a scene, in mujoco's order.

    Attributes:
        parent, root: Parent and root of each body.
        moves: Whether it moves; those that do not keep their pose.
        position, quaternion: Pose in the parent's frame.
        centre: Centre of mass in its own frame.
        first_joint, joint_count: Its joints.
        kind, at, dof: Kind of each joint, its first coordinate and its first degree of freedom.
        anchor, axis: In the body's frame.
        reference: Coordinates that belong to the poses above.
        triple: Which degrees of freedom are the first of the three rates of a free or ball joint.
        path: Whether each degree of freedom moves each body, shape (bodies, nv).
        movable: Numbers of the bodies that move.
    """

    parent: np.ndarray
    root: np.ndarray
    moves: np.ndarray
    position: np.ndarray
    quaternion: np.ndarray
    centre: np.ndarray
    first_joint: np.ndarray
    joint_count: np.ndarray
    kind: np.ndarray
    at: np.ndarray
    dof: np.ndarray
    anchor: np.ndarray
    axis: np.ndarray
    reference: np.ndarray
    triple: np.ndarray
    path: np.ndarray
    movable: np.ndarray


def links_of(m: Any) -> Links:
    """The tables of a mujoco model."""

    def whole(x: Any) -> np.ndarray:
        return np.array(x, dtype=np.int64)

    path = np.zeros((m.nbody, m.nv), dtype=np.bool_)
    for b in range(1, m.nbody):
        path[b] = path[m.body_parentid[b]]
        path[b, m.body_dofadr[b] : m.body_dofadr[b] + m.body_dofnum[b]] = True
    triple = np.zeros(m.nv, dtype=np.bool_)
    triple[m.jnt_dofadr[m.jnt_type == FREE] + 3] = True
    triple[m.jnt_dofadr[m.jnt_type == BALL]] = True

    return Links(
        whole(m.body_parentid), whole(m.body_rootid), np.asarray(path.any(axis=1)), np.array(m.body_pos),
        np.array(m.body_quat), np.array(m.body_ipos), whole(m.body_jntadr), whole(m.body_jntnum),
        whole(m.jnt_type), whole(m.jnt_qposadr), whole(m.jnt_dofadr), np.array(m.jnt_pos),
        np.array(m.jnt_axis), np.array(m.qpos0), triple, path, np.flatnonzero(m.body_weldid > 0),
    )  # fmt: skip


@njit(cache=True)
def _times(p, q, out):
    """Quaternion product p ⊗ q of four numbers each, normalised."""
    a, b, c, d = p[0], p[1], p[2], p[3]
    w, x, y, z = q[0], q[1], q[2], q[3]
    e, f = a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y
    g, h = a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w
    scale = 1.0 / math.sqrt(e * e + f * f + g * g + h * h)
    out[0], out[1], out[2], out[3] = scale * e, scale * f, scale * g, scale * h


@njit(cache=True)
def _rotated(q, x, y, z):
    """A vector turned by a unit quaternion."""
    w, a, b, c = q[0], q[1], q[2], q[3]
    tx, ty, tz = 2.0 * (b * z - c * y), 2.0 * (c * x - a * z), 2.0 * (a * y - b * x)
    return x + w * tx + b * tz - c * ty, y + w * ty + c * tx - a * tz, z + w * tz + a * ty - b * tx


@njit(cache=True)
def _rotation(x, y, z, out):
    """The quaternion of a rotation vector."""
    half = 0.5 * math.sqrt(x * x + y * y + z * z)
    s = 0.5 * (1.0 - half * half / 6.0 if half < 1e-4 else math.sin(half) / half)
    out[0], out[1], out[2], out[3] = math.cos(half), s * x, s * y, s * z


@njit(cache=True)
def moved(links, q, v, h, out):
    """The coordinates after moving with v for h."""
    out[:] = q
    step = np.empty(4)
    for j in range(links.kind.size):
        a, d = links.at[j], links.dof[j]
        if links.kind[j] >= SLIDE:
            out[a] += h * v[d]
            continue
        if links.kind[j] == FREE:
            for k in range(3):
                out[a + k] += h * v[d + k]
            a, d = a + 3, d + 3
        _rotation(h * v[d], h * v[d + 1], h * v[d + 2], step)
        _times(q[a : a + 4], step, out[a : a + 4])


@njit(cache=True)
def place(links, q, x, quat, motion):
    """Poses of all bodies at coordinates q, and the motion of each degree of freedom there.

    Args:
        links: The scene.
        q: Coordinates, shape (nq,).
        x: Origins of the bodies' frames, shape (bodies, 3); those that do not move are given.
        quat: Their orientations, shape (bodies, 4).
        motion: Out: angular velocity and velocity of the root's origin, shape (nv, 6).
    """
    step = np.empty(4)
    for b in range(1, links.parent.size):
        if not links.moves[b]:
            continue
        p, n, j = links.parent[b], links.joint_count[b], links.first_joint[b]
        if n and links.kind[j] == FREE:
            a = links.at[j]
            for k in range(3):
                x[b, k] = q[a + k]
            # normalised against round-off, as mujoco does
            step[0], step[1], step[2], step[3] = 1.0, 0.0, 0.0, 0.0
            _times(q[a + 3 : a + 7], step, quat[b])
            continue
        s, t, r = _rotated(quat[p], links.position[b, 0], links.position[b, 1], links.position[b, 2])
        x[b, 0], x[b, 1], x[b, 2] = x[p, 0] + s, x[p, 1] + t, x[p, 2] + r
        _times(quat[p], links.quaternion[b], quat[b])
        for i in range(j, j + n):
            a, d = links.at[i], links.dof[i]
            ux, uy, uz = _rotated(quat[b], links.axis[i, 0], links.axis[i, 1], links.axis[i, 2])
            if links.kind[i] == SLIDE:
                change = q[a] - links.reference[a]
                x[b, 0] += change * ux
                x[b, 1] += change * uy
                x[b, 2] += change * uz
                motion[d, 0], motion[d, 1], motion[d, 2] = 0.0, 0.0, 0.0
                motion[d, 3], motion[d, 4], motion[d, 5] = ux, uy, uz
                continue
            s, t, r = _rotated(quat[b], links.anchor[i, 0], links.anchor[i, 1], links.anchor[i, 2])
            cx, cy, cz = x[b, 0] + s, x[b, 1] + t, x[b, 2] + r
            if links.kind[i] == HINGE:
                change = q[a] - links.reference[a]
                _rotation(
                    change * links.axis[i, 0], change * links.axis[i, 1], change * links.axis[i, 2], step
                )
                _times(quat[b], step, quat[b])
                motion[d, 0], motion[d, 1], motion[d, 2] = ux, uy, uz
            else:
                _times(quat[b], q[a : a + 4], quat[b])
            s, t, r = _rotated(quat[b], links.anchor[i, 0], links.anchor[i, 1], links.anchor[i, 2])
            x[b, 0], x[b, 1], x[b, 2] = cx - s, cy - t, cz - r
            # where the axes pass is kept until the pose of the root is known
            for k in range(3 if links.kind[i] == BALL else 1):
                motion[d + k, 3], motion[d + k, 4], motion[d + k, 5] = cx, cy, cz
    _motions(links, x, quat, motion)


@njit(cache=True)
def _motions(links, x, quat, motion):
    """Motions of turning joints about the origins of their roots."""
    for b in range(1, links.parent.size):
        o = links.root[b]
        for i in range(links.first_joint[b], links.first_joint[b] + links.joint_count[b]):
            kind, d = links.kind[i], links.dof[i]
            if kind == SLIDE:
                continue
            if kind == HINGE:
                _about(motion[d], x[o])
                continue
            if kind == FREE:
                for k in range(3):
                    motion[d + k] = 0.0
                    motion[d + k, 3 + k] = 1.0
                d += 3
            for k in range(3):
                w = motion[d + k]
                if kind == FREE:
                    w[3], w[4], w[5] = x[b, 0], x[b, 1], x[b, 2]
                e = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
                w[0], w[1], w[2] = _rotated(quat[b], e[0], e[1], e[2])
                _about(w, x[o])


@njit(cache=True)
def _about(w, origin):
    """Velocity of `origin` under a rotation about an axis through the point in w[3:6], in its place."""
    sx, sy, sz = origin[0] - w[3], origin[1] - w[4], origin[2] - w[5]
    w[3], w[4], w[5] = w[1] * sz - w[2] * sy, w[2] * sx - w[0] * sz, w[0] * sy - w[1] * sx


@njit(cache=True)
def turn_entries(triple, v, h, column, row):
    """Entries of a row at the end of a step, in place: from rates there to the rates v of the whole step.

    The rates of a free or ball joint turn its own frame and count through the right Jacobian of the rotation
    h ω. `triple` marks the first of such three rates, `column` says which degrees of freedom the row has.
    """
    for t in range(column.size):
        d = column[t]
        if not triple[d]:
            continue
        wx, wy, wz = h * v[d], h * v[d + 1], h * v[d + 2]
        first, second = turn_coefficients(wx, wy, wz)
        rx, ry, rz = row[t], row[t + 1], row[t + 2]
        # rᵀ (1 − first [w]× + second [w]×²), and rᵀ [w]× = (r × w)ᵀ
        cx, cy, cz = ry * wz - rz * wy, rz * wx - rx * wz, rx * wy - ry * wx
        row[t] = rx - first * cx + second * (cy * wz - cz * wy)
        row[t + 1] = ry - first * cy + second * (cz * wx - cx * wz)
        row[t + 2] = rz - first * cz + second * (cx * wy - cy * wx)
