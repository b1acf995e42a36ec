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
from perp.kernels.structs import StructType, set_fields, zeros
from perp.scenes.engine import engine

_W = types.int32[::1]

# Name, type, and of arrays mujoco's name in its data, or a shape in numbers of bodies and contacts.
FIELDS: list[tuple[Any, ...]] = [
    # address of mujoco's data, and its arrays
    ("data", types.int64),
    ("qpos", F, "qpos"),
    ("qvel", F, "qvel"),
    ("act", F, "act"),
    ("ctrl", F, "ctrl"),
    ("xpos", F2, "xpos"),
    ("xmat", F2, "xmat"),
    ("xquat", F2, "xquat"),
    ("xipos", F2, "xipos"),
    ("ximat", F2, "ximat"),
    ("subtree_com", F2, "subtree_com"),
    ("M", F, "M"),
    ("spring", F, "qfrc_spring"),
    ("lift", F, "qfrc_gravcomp"),
    ("fluid", F, "qfrc_fluid"),
    ("tendon_length", F, "ten_length"),
    ("tendon_J", F, "ten_J"),
    ("motor_length", F, "actuator_length"),
    ("moment", F, "actuator_moment"),
    ("moment_begin", _W, "moment_rowadr"),
    ("moment_count", _W, "moment_rownnz"),
    ("moment_column", _W, "moment_colind"),
    ("act_dot", F, "act_dot"),
    ("actuator_force", F, "actuator_force"),
    ("geom_xpos", F2, "geom_xpos"),
    ("geom_xmat", F2, "geom_xmat"),
    # memory of its contacts as numbers and as words, and their number
    ("found_real", F),
    ("found_word", _W),
    ("found_count", _W),
    # how often contacts have found no memory
    ("full", _W),
    # centres of mass, principal frames and quaternions of the movable bodies
    ("x", F2, ("bodies", 3)),
    ("R", F3, ("bodies", 3, 3)),
    ("quat", F2, ("bodies", 4)),
    # motion of each freedom, angular then linear at its reference point; the reference points
    ("cdof", F2, "cdof"),
    ("reference", F2, "subtree_com"),
    # the contacts, as many as `count` says: shapes, bodies or −1, rows, the point midway, normal (first to
    # second) and tangents, gap, five coefficients, restitution, radius of each surface, accuracy of the gap,
    # cohesion [N], velocity of the surfaces along the tangents and about the normal
    ("count", I, (1,)),
    ("geom", I2, ("contacts", 2)),
    ("body", I2, ("contacts", 2)),
    ("dim", I, ("contacts",)),
    ("point", F2, ("contacts", 3)),
    ("frame", F3, ("contacts", 3, 3)),
    ("gap", F, ("contacts",)),
    ("friction", F2, ("contacts", 5)),
    ("restitution", F, ("contacts",)),
    ("round", F2, ("contacts", 2)),
    ("accuracy", F, ("contacts",)),
    ("cohesion", F, ("contacts",)),
    ("surface", F2, ("contacts", 3)),
    # compliance of the file [m/N], where it is asked for
    ("soft", F, ("contacts",)),
]
PlaceType = StructType([field[:2] for field in FIELDS])


@kernel
def pack_place(x):
    """The struct of a tuple of the fields in their order."""
    p = structref.new(PlaceType)  # pyright: ignore[reportCallIssue]
    set_fields(p, x)
    return p


def make_place(m: Any, bodies: int, *, cut: bool, room: int = 64) -> tuple[Any, Any]:
    """The struct of a new place of a prepared model, and mujoco's data that must live as long as it."""
    d = engine().MjData(m)
    engine().mj_kinematics(m, d)
    engine().mj_comPos(m, d)
    layout, arena, base = contact_layout(), int(d.narena), first_contact(d)
    full, k = d.warning.number, int(engine().mjtWarning.mjWARN_CONTACTFULL)
    values: dict[str, Any] = {
        "data": int(d._address),
        "found_real": memory(base, arena // 8, np.float64), "found_word": memory(base, arena // 4, np.int32),
        "found_count": memory(d._address + layout.counter, 1, np.int32),
        "full": memory(address_of(full) + k * full.strides[0], 1, np.int32),
    }  # fmt: skip
    sizes = {"bodies": bodies, "contacts": room}
    values |= {name: getattr(d, of[0]) for name, _, *of in FIELDS if of and isinstance(of[0], str)}
    values |= {
        name: zeros(kind, of[0], sizes) for name, kind, *of in FIELDS if of and isinstance(of[0], tuple)
    }
    if cut:
        values["reference"] = values["x"]
        values["cdof"] = np.tile(np.roll(np.eye(6), 3, axis=1), (bodies, 1)).reshape(6 * bodies, 6)
    return pack_place(tuple(values[field[0]] for field in FIELDS)), d


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
