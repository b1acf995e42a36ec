"""A scene at one position: poses, motions of the freedoms, inertia, and the contacts there.

A world has two places, the start and the end of a step; after a step they change their roles. In reduced
coordinates most arrays are views of mujoco's data; of cut bodies they are our own, and mujoco only finds
contacts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.experimental import structref

from perp.compilation.kernel import kernel, part
from perp.dynamics.libmujoco import (
    address_of,
    contact_layout,
    first_contact,
    memory,
    mj_comPos,
    mj_kinematics,
    mj_makeM,
    mj_tendon,
    mj_transmission,
)
from perp.dynamics.motion import rotation_matrices
from perp.dynamics.scene_tables import F2, F3, I2, F, I
from perp.kernels.arrays import copy_into
from perp.kernels.structs import StructType
from perp.scenes.engine import engine

_W = types.int32[::1]

FIELDS = [
    # address of mujoco's data, and its arrays
    ("data", types.int64),
    ("qpos", F),
    ("qvel", F),
    ("act", F),
    ("ctrl", F),
    ("xpos", F2),
    ("xmat", F2),
    ("xquat", F2),
    ("xipos", F2),
    ("ximat", F2),
    ("subtree_com", F2),
    ("M", F),
    ("spring", F),
    ("lift", F),
    ("fluid", F),
    ("tendon_length", F),
    ("tendon_J", F),
    ("motor_length", F),
    ("moment", F),
    ("moment_begin", _W),
    ("moment_count", _W),
    ("moment_column", _W),
    ("act_dot", F),
    ("actuator_force", F),
    ("geom_xpos", F2),
    ("geom_xmat", F2),
    # memory of its contacts as numbers and as words, and their number
    ("found_real", F),
    ("found_word", _W),
    ("found_count", _W),
    # how often contacts have found no memory
    ("full", _W),
    # centres of mass, principal frames and quaternions of the movable bodies
    ("x", F2),
    ("R", F3),
    ("quat", F2),
    # motion of each freedom, angular then linear at its reference point; the reference points
    ("cdof", F2),
    ("reference", F2),
    # the contacts, as many as `count` says: shapes, bodies or −1, rows, the point midway, normal (first to
    # second) and tangents, gap, five coefficients, restitution, radius of each surface, accuracy of the gap,
    # cohesion [N], velocity of the surfaces along the tangents and about the normal
    ("count", I),
    ("geom", I2),
    ("body", I2),
    ("dim", I),
    ("point", F2),
    ("frame", F3),
    ("gap", F),
    ("friction", F2),
    ("restitution", F),
    ("round", F2),
    ("accuracy", F),
    ("cohesion", F),
    ("surface", F2),
    # compliance of the file [m/N], where it is asked for
    ("soft", F),
]
PlaceType = StructType(FIELDS)


@kernel
def pack_place(x):
    """The struct of a tuple of the fields in their order."""
    p = structref.new(PlaceType)  # pyright: ignore[reportCallIssue]
    (p.data, p.qpos, p.qvel, p.act, p.ctrl, p.xpos, p.xmat, p.xquat, p.xipos, p.ximat, p.subtree_com, p.M,
     p.spring, p.lift, p.fluid, p.tendon_length, p.tendon_J, p.motor_length, p.moment,
     p.moment_begin) = x[:20]  # fmt: skip
    (p.moment_count, p.moment_column, p.act_dot, p.actuator_force, p.geom_xpos, p.geom_xmat, p.found_real,
     p.found_word, p.found_count, p.full, p.x, p.R, p.quat, p.cdof, p.reference, p.count, p.geom, p.body,
     p.dim, p.point, p.frame) = x[20:41]  # fmt: skip
    (p.gap, p.friction, p.restitution, p.round, p.accuracy, p.cohesion, p.surface, p.soft) = x[41:]
    return p


_CONTACTS: dict[str, tuple[tuple[int, ...], Any]] = {
    "geom": ((2,), np.int64), "body": ((2,), np.int64), "dim": ((), np.int64), "point": ((3,), float),
    "frame": ((3, 3), float), "gap": ((), float), "friction": ((5,), float), "restitution": ((), float),
    "round": ((2,), float), "accuracy": ((), float), "cohesion": ((), float), "surface": ((3,), float),
    "soft": ((), float),
}  # fmt: skip


def make_place(m: Any, bodies: int, *, cut: bool, room: int = 64) -> tuple[Any, Any]:
    """The struct of a new place of a prepared model, and mujoco's data that must live as long as it."""
    d = engine().MjData(m)
    engine().mj_kinematics(m, d)
    engine().mj_comPos(m, d)
    layout = contact_layout()
    arena = int(d.narena)
    base = first_contact(d)
    full, k = d.warning.number, int(engine().mjtWarning.mjWARN_CONTACTFULL)
    values: dict[str, Any] = {
        "data": int(d._address), "qpos": d.qpos, "qvel": d.qvel, "act": d.act, "ctrl": d.ctrl, "xpos": d.xpos,
        "xmat": d.xmat, "xquat": d.xquat, "xipos": d.xipos, "ximat": d.ximat, "subtree_com": d.subtree_com,
        "M": d.M, "spring": d.qfrc_spring, "lift": d.qfrc_gravcomp, "fluid": d.qfrc_fluid,
        "tendon_length": d.ten_length, "tendon_J": d.ten_J, "motor_length": d.actuator_length,
        "moment": d.actuator_moment, "moment_begin": d.moment_rowadr, "moment_count": d.moment_rownnz,
        "moment_column": d.moment_colind, "act_dot": d.act_dot, "actuator_force": d.actuator_force,
        "geom_xpos": d.geom_xpos, "geom_xmat": d.geom_xmat,
        "found_real": memory(base, arena // 8, np.float64), "found_word": memory(base, arena // 4, np.int32),
        "found_count": memory(d._address + layout.counter, 1, np.int32),
        "full": memory(address_of(full) + k * full.strides[0], 1, np.int32),
        "x": np.zeros((bodies, 3)), "R": np.zeros((bodies, 3, 3)), "quat": np.zeros((bodies, 4)),
        "cdof": d.cdof, "reference": d.subtree_com, "count": np.zeros(1, np.int64),
    }  # fmt: skip
    if cut:
        values["reference"] = values["x"]
        values["cdof"] = np.tile(np.roll(np.eye(6), 3, axis=1), (bodies, 1)).reshape(6 * bodies, 6)
    for name, (shape, kind) in _CONTACTS.items():
        values[name] = np.zeros((room, *shape), kind)
    return pack_place(tuple(values[name] for name, _ in FIELDS)), d


@part
def place_bodies(s, p):
    """Poses of the movable bodies from mujoco's arrays."""
    for i in range(s.body_id.size):
        b = s.body_id[i]
        w, x, y, z = p.xquat[b, 0], p.xquat[b, 1], p.xquat[b, 2], p.xquat[b, 3]
        e, f, g, h = s.principal[i, 0], s.principal[i, 1], s.principal[i, 2], s.principal[i, 3]
        p.quat[i, 0], p.quat[i, 1] = w * e - x * f - y * g - z * h, w * f + x * e + y * h - z * g
        p.quat[i, 2], p.quat[i, 3] = w * g - x * h + y * e + z * f, w * h + x * g - y * f + z * e
        for r in range(3):
            p.x[i, r] = p.xipos[b, r]
            for k in range(3):
                p.R[i, r, k] = p.ximat[b, 3 * r + k]


@part
def go_to(s, p, q, motions):
    """Poses at the coordinates q; with `motions` also those of the freedoms."""
    if s.cut:
        for b in range(s.mass.size):
            for k in range(3):
                p.x[b, k] = q[7 * b + k]
            for k in range(4):
                p.quat[b, k] = q[7 * b + 3 + k]
        rotation_matrices(p.quat, p.R)
        return
    copy_into(p.qpos, q)
    mj_kinematics(s.model, p.data)
    if motions or s.tendons:
        mj_comPos(s.model, p.data)
    if s.tendons:
        mj_tendon(s.model, p.data)
    place_bodies(s, p)


@part
def is_at(p, q):
    """Whether a place of trees has the coordinates q."""
    same = True
    for k in range(q.size):
        same = same and p.qpos[k] == q[k]
    return same


@part
def find_motions(s, p):
    """Motions of the freedoms of trees at a place whose poses are there."""
    mj_comPos(s.model, p.data)


@part
def complete(s, p):
    """Inertia and moments at a place whose poses and motions are there."""
    if not s.cut:
        mj_makeM(s.model, p.data)
        if s.motor_output.size or s.actuation:
            mj_transmission(s.model, p.data)
