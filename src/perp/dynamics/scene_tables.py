"""What compiled code knows of a scene, as one struct of arrays: it never changes while the scene runs.

Coordinates are one engine. The trees of "reduced" coordinates are mujoco's; of "maximal" ones every movable
body is a tree of six freedoms, the velocity of its centre of mass and its angular velocity in the world. What
is different is told by `cut`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.experimental import structref

from perp.compilation.kernel import kernel
from perp.dynamics.actuators import ACTUATOR_FIELDS, actuator_tables
from perp.dynamics.libmujoco import contact_layout
from perp.dynamics.rows import JointRows
from perp.dynamics.scalar_tables import SCALAR_FIELDS, has_passive, scalar_tables
from perp.kernels.structs import StructType, set_fields
from perp.scenes import Model
from perp.scenes.engine import engine
from perp.scenes.frames import to_matrices

I = types.int64[::1]  # noqa: E741 - short names keep the tables of fields readable
I2, F = types.int64[:, ::1], types.float64[::1]
F2, F3 = types.float64[:, ::1], types.float64[:, :, ::1]
_i, _f = types.int64, types.float64

FIELDS = [
    # address of mujoco's model; whether joints are cut
    ("model", _i),
    ("cut", _i),
    # mujoco's number of each movable body, and the line of each of mujoco's bodies among them or −1
    ("body_id", I),
    ("slot", I),
    # mujoco's bodies: parent, root, first freedom and number of freedoms
    ("body_parent", I),
    ("body_root", I),
    ("body_dof", I),
    ("body_dofs", I),
    # last freedom on the path of each movable body; parent of each freedom; line of its reference point
    ("last_dof", I),
    ("dof_parent", I),
    ("dof_reference", I),
    # 1 where a freedom is the first of three rates of a rotation
    ("triple", I),
    # 1 for hinges that move masses by turning: arms, not wheels
    ("turning", I),
    # movable bodies
    ("mass", F),
    ("inertia", F2),
    ("bound", F),
    ("principal", F2),
    ("gravity", F),
    ("size", _f),
    # rows of mujoco's M, lower triangles with the diagonal last
    ("M_begin", I),
    ("M_count", I),
    ("M_column", I),
    # mujoco's body of each freedom, masses of subtrees
    ("dof_body", I),
    ("subtree_mass", F),
    # dampers, springs and rotors of the freedoms
    ("damping", F),
    ("stiffness", F),
    ("armature", F),
    # cut scenes with laws of mujoco's coordinates: row that measures each of its freedoms; of its joints
    # kind, coordinate and first such row
    ("freedom_row", I),
    ("measured", I2),
    # whether mj_passive, tendons and mj_fwdActuation are needed
    ("passive", _i),
    ("tendons", _i),
    ("actuation", _i),
    # shapes: body or −1, restitution, radius where round, radius of a cylinder, accuracy of gaps (below 0 for
    # planes, whose contacts are all exact), whether they have faces that mujoco clips against each other (2),
    # or are clipped by those of others (1), friction axis
    ("geom_body", I),
    ("geom_restitution", F),
    ("geom_radius", F),
    ("geom_cylinder", F),
    ("geom_accuracy", F),
    ("geom_faces", I),
    # which axes of a shape are normals of faces: all of a box, the third of planes and cylinders
    ("face_axes", I2),
    ("geom_axis", F2),
    ("has_axes", _i),
    # where shapes of cut bodies sit: file frame in the principal frame, shapes and their poses in the file
    # frame
    ("origin", F2),
    ("frame", F3),
    ("movable_geom", I),
    ("geom_position", F2),
    ("geom_rotation", F3),
    # mujoco's margins, written before each collision
    ("body_margin", F),
    ("geom_margin", F),
    ("pair_margin", F),
    ("pair_geom", I2),
    # bytes of a contact and offsets of its fields
    ("layout", I),
    # joint rows between bodies, see `JointRows`
    ("links", I2),
    ("geometry", F2),
    ("law", I),
    # whether bilateral rows may depend on each other
    ("loops", _i),
    # whether contacts give way as the file says; inverse mass of each shape's body in its start [1/kg]
    ("soft", _i),
    ("geom_looseness", F),
    *SCALAR_FIELDS,
    *ACTUATOR_FIELDS,
]
SceneType = StructType(FIELDS)


@kernel
def pack_scene(x):
    """The struct of a tuple of the fields in their order."""
    s = structref.new(SceneType)  # pyright: ignore[reportCallIssue]
    set_fields(s, x)
    return s


def whole(x: Any) -> np.ndarray:
    """A fresh array of integers."""
    return np.array(x, dtype=np.int64)


def real(x: Any) -> np.ndarray:
    """A fresh array of numbers."""
    return np.array(x, dtype=np.float64, order="C")


# mujoco stops convex pairs at 1e-6 m; contact that is exact in everything else deserves better.
_CONVEX_TOLERANCE = 1e-12
_CONVEX_ITERATIONS = 200
# Normals of convex pairs come out to about 1e-8; times the size of the shape that is an error of the gap.
_CONVEX_ACCURACY = 1e-7
# Change of the mass matrix over its diagonals that is none: wheels of files are round to about that.
_MOVED = 0.01


def prepared_model(model: Model) -> Any:
    """A copy of the compiled scene for a world: exact collision, no springs that are rows here."""
    import copy

    m = copy.copy(model.shapes)
    m.opt.ccd_tolerance, m.opt.ccd_iterations = _CONVEX_TOLERANCE, _CONVEX_ITERATIONS
    m.geom_gap[:] = 0.0
    # shapes are where geom_pos says, also where someone has changed it after compiling
    m.geom_sameframe[:] = 0
    # likewise a surface that moves: mujoco looks at the velocities only where this flag is set
    m.flg_surfacevel = bool(m.geom_surfacevel.any())
    # the springs and dampers of tendons are rows
    m.tendon_stiffness[:] = 0.0
    m.tendon_damping[:] = 0.0
    return m


def scene_tables(model: Model, m: Any, rows: JointRows, *, cut: bool, loops: bool) -> dict[str, Any]:
    """The fields of the struct by name.

    `m` is the model of `prepared_model`, `loops` whether rows may depend.
    """
    n, movable = model.body_count, np.flatnonzero(m.body_weldid > 0)
    slot = np.full(m.nbody, -1)
    slot[movable] = np.arange(n)
    out: dict[str, Any] = {
        "model": int(m._address), "cut": int(cut), "body_id": whole(movable), "slot": whole(slot),
        "body_parent": whole(m.body_parentid), "body_root": whole(m.body_rootid),
        "body_dof": whole(m.body_dofadr), "body_dofs": whole(m.body_dofnum), "mass": real(model.mass),
        "inertia": real(model.inertia), "principal": real(m.body_iquat[movable]),
        "gravity": real(model.gravity), "size": float(model.size),
        "dof_body": whole(m.dof_bodyid), "subtree_mass": real(m.body_subtreemass),
        "geom_body": whole(model.geom_body), "geom_restitution": real(model.geom_restitution),
        "geom_axis": real(model.friction_axis), "has_axes": int(model.friction_axis.any()),
        "body_margin": m.body_margin, "geom_margin": m.geom_margin, "pair_margin": m.pair_margin,
        "pair_geom": whole(np.stack([m.pair_geom1, m.pair_geom2], axis=1)),
        "links": rows.links, "geometry": rows.geometry, "law": rows.law,
        "origin": real(model.origin), "frame": to_matrices(model.frame),
    }  # fmt: skip
    out["loops"], out["soft"] = int(loops), 0
    out["geom_looseness"] = real(m.body_invweight0[m.geom_bodyid, 0])
    layout = contact_layout()
    out["layout"] = whole([layout.stride, *layout.offsets])
    out |= _shapes(model, m)
    out |= _cut_freedoms(n) if cut else _tree_freedoms(m, movable)
    out |= scalar_tables(m, int(model.shapes.opt.disableflags), model.shapes, rows, cut=cut)
    out |= actuator_tables(m, model.motors if cut else (), rows.motor_row)
    out["freedom_row"] = rows.freedom_row if cut else whole(np.full(m.nv, -1))
    out["measured"] = whole(
        np.stack([m.jnt_type, m.jnt_qposadr, rows.freedom_row[m.jnt_dofadr]], axis=1)
        if rows.freedom_row.size
        else np.zeros((0, 3))
    )
    bits = engine().mjtDisableBit
    springs = not int(m.opt.disableflags) & int(bits.mjDSBL_SPRING)
    out["passive"] = int(has_passive(m) or (not cut and springs and m.jnt_stiffness.any()))
    out["tendons"] = int(m.ntendon > 0)
    return out


def _shapes(model: Model, m: Any) -> dict[str, Any]:
    kinds = engine().mjtGeom
    type_, size = m.geom_type, m.geom_size[:, 0]
    round_ = (type_ == int(kinds.mjGEOM_SPHERE)) | (type_ == int(kinds.mjGEOM_CAPSULE))
    formulas = ("PLANE", "SPHERE", "CAPSULE", "BOX")
    exact = np.isin(type_, [int(getattr(kinds, f"mjGEOM_{name}")) for name in formulas])
    clipping, clipped = (
        np.isin(type_, [int(getattr(kinds, f"mjGEOM_{name}")) for name in names])
        for names in (("CYLINDER", "MESH"), ("CAPSULE", "BOX"))
    )
    faces = np.tile((type_ == int(kinds.mjGEOM_BOX))[:, None], 3)
    faces[np.isin(type_, [int(kinds.mjGEOM_PLANE), int(kinds.mjGEOM_CYLINDER)]), 2] = True
    geoms = np.flatnonzero(model.geom_body >= 0)
    return {
        "geom_faces": whole(2 * clipping + clipped),
        "geom_radius": real(np.where(round_, size, 0.0)),
        "geom_cylinder": real(np.where(type_ == int(kinds.mjGEOM_CYLINDER), size, 0.0)),
        # contacts of planes are formulas whatever the other shape is
        "geom_accuracy": real(
            np.where(
                type_ == int(kinds.mjGEOM_PLANE), -1.0, np.where(exact, 0.0, _CONVEX_ACCURACY * m.geom_rbound)
            )
        ),
        "face_axes": whole(faces),
        "movable_geom": whole(geoms),
        "geom_position": real(m.geom_pos[geoms]),
        "geom_rotation": to_matrices(m.geom_quat[geoms]),
        "bound": real(reach_of_shapes(m, model)),
    }


def reach_of_shapes(m: Any, model: Model) -> np.ndarray:
    """Radius of each body's surface about its centre of mass, shape (bodies,) [m]."""
    out = np.zeros(model.body_count)
    for g in range(m.ngeom):
        b = int(model.geom_body[g])
        touches = m.geom_contype[g] or m.geom_conaffinity[g] or g in m.pair_geom1 or g in m.pair_geom2
        if b >= 0 and touches:
            # in the file's frame of the body that carries the shape, seen from the centre of mass
            offset = np.linalg.norm(m.geom_pos[g] - m.body_ipos[m.geom_bodyid[g]])
            out[b] = max(out[b], float(offset + m.geom_rbound[g]))
    return out


def _cut_freedoms(n: int) -> dict[str, Any]:
    nv, k = 6 * n, np.arange(6 * n)
    nothing = np.zeros(0, np.int64)
    return {
        "last_dof": whole(6 * np.arange(n) + 5),
        "dof_parent": whole(np.where(k % 6 == 0, -1, k - 1)),
        "dof_reference": whole(k // 6),
        "triple": whole(k % 6 == 3),
        "turning": whole(np.zeros(nv)),
        "M_begin": nothing, "M_count": nothing, "M_column": nothing,
        "damping": np.zeros(nv), "stiffness": np.zeros(nv), "armature": np.zeros(nv),
    }  # fmt: skip


def _tree_freedoms(m: Any, movable: np.ndarray) -> dict[str, Any]:
    mujoco = engine()
    last = np.full(m.nbody, -1, dtype=np.int64)
    for b in range(1, m.nbody):
        dofs = int(m.body_dofnum[b])
        last[b] = m.body_dofadr[b] + dofs - 1 if dofs else last[m.body_parentid[b]]
    kinds, bits = mujoco.mjtJoint, mujoco.mjtDisableBit
    kind, first = m.jnt_type[m.dof_jntid], m.jnt_dofadr[m.dof_jntid]
    within = np.arange(m.nv) - first
    free, ball = kind == int(kinds.mjJNT_FREE), kind == int(kinds.mjJNT_BALL)
    flags = int(m.opt.disableflags)
    springs, dampers = not flags & int(bits.mjDSBL_SPRING), not flags & int(bits.mjDSBL_DAMPER)
    return {
        "last_dof": last[movable],
        "dof_parent": whole(m.dof_parentid),
        "dof_reference": whole(m.body_rootid[m.dof_bodyid]),
        "triple": whole((free & (within == 3)) | (ball & (within == 0))),
        "turning": _moving_masses(m, np.flatnonzero(kind == int(kinds.mjJNT_HINGE))),
        "M_begin": whole(m.M_rowadr), "M_count": whole(m.M_rownnz), "M_column": whole(m.M_colind),
        "damping": real(m.dof_damping * dampers),
        "stiffness": real(m.jnt_stiffness[m.dof_jntid] * springs if m.nv else np.zeros(0)),
        "armature": real(m.dof_armature),
    }  # fmt: skip


def _moving_masses(m: Any, hinges: np.ndarray) -> np.ndarray:
    """1 for the hinges that change the mass matrix by turning, anywhere."""
    mujoco, out = engine(), np.zeros(m.nv, dtype=np.int64)
    data = mujoco.MjData(m)
    # not where links happen to be in line
    mujoco.mj_integratePos(m, data.qpos, np.random.default_rng(0).uniform(-1, 1, m.nv), 1.0)

    def mass() -> np.ndarray:
        mujoco.mj_kinematics(m, data)
        mujoco.mj_comPos(m, data)
        mujoco.mj_makeM(m, data)
        return data.M.copy()

    if not hinges.size:
        return out
    begin = mass()
    row = np.repeat(np.arange(m.nv), m.M_rownnz)
    diagonal = begin[m.M_rowadr + m.M_rownnz - 1]
    scale = np.sqrt(diagonal[row] * diagonal[m.M_colind])
    for j in hinges:
        at = m.jnt_qposadr[m.dof_jntid[j]]
        kept = data.qpos[at]
        data.qpos[at] = kept + 1.0
        out[j] = np.any(np.abs(mass() - begin) > _MOVED * scale)
        data.qpos[at] = kept
    return out


def make_scene(tables: dict[str, Any]) -> Any:
    """The struct of tables that hold every field."""
    return pack_scene(tuple(tables[name] for name, _ in FIELDS))
