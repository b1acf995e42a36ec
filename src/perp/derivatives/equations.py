"""The equations of one step between small changes, as one struct: filled by compiled code, kept for later.

    G_v dv̄ − Jᵀ dλ + G_θ dθ = 0,   du = U_v dv̄ + Σ dλ + U_θ dθ,   B dλ + C du + D dp = 0
    dq⁺ = P dq + h Q dv̄,           M⁺ dv⁺ = E_v dv̄ + E_q dq + E_p dq⁺ + …

Everything is a copy: the world may step on. Fields are documented here, once; kernels take the struct as `e`
and what never changes of a scene as `t`.
"""

from typing import Any

import numpy as np
from numba import types
from numba.experimental import structref

from perp.compilation.kernel import kernel, part
from perp.derivatives.laws import LOWER, OPEN, REST, UPPER, law
from perp.derivatives.spatial import motions_about_origin, turn_matrices
from perp.derivatives.tree_dynamics import twists
from perp.dynamics.libmujoco import collision_functions
from perp.dynamics.scene_tables import F2, F3, I2, F, I
from perp.dynamics.tree_kernels import factorise
from perp.kernels.structs import StructType
from perp.kernels.tree_islands import prepare
from perp.kernels.tree_problem import problem_view
from perp.kernels.tree_workspace import workspace_view
from perp.stepping.world import JOINTS


def of(kind: Any, names: str) -> list[tuple[str, Any]]:
    """Fields of one type."""
    return [(name, kind) for name in names.split()]


FIELDS = [
    ("h", types.float64),
    # motions of the freedoms about the origin at the start and the end, shape (nv, 6)
    *of(F2, "S E"),
    # velocities behind each freedom with a line of zeros for the world: moving velocity, and velocity of the
    # start, both at the start, shape (nv + 1, 6)
    *of(F2, "T T_old"),
    # momentum balance by q, q of the end, moving velocity, velocity of the start, activations, controls
    *of(F2, "Gq Gp Gv Go Ga Gu"),
    # velocities of the rows by the same
    *of(F2, "Uq Up Uv Uo Ua Uu"),
    # what is added to the diagonal of M, and activations of the end, by activations and controls
    *of(F2, "extra_a extra_u act_a act_u"),
    # the end: Lᵀ D L of M⁺ in the layout of mujoco's M, nothing where M⁺ is the identity; E_v, E_q, E_p; what
    # the velocity of the end has over the moving one
    *of(I, "end_begin end_count end_column"),
    ("end_factor", F),
    *of(F2, "end_v end_q end_p"),
    ("change", F),
    # kinematic map: the identity but for a block a rotation, whose first freedoms are triples
    *of(F3, "P Q"),
    ("triples", I),
    # Jacobian, compliance, impulses and velocities of the rows; rows, set, parameters and mode of each
    # constraint, how near it is to another mode and within what it counts as there, whether it is at a
    # switch, whether it has no part in the step, and whether its impulses can move; mobilities of its rows;
    # its law
    ("J", F2),
    *of(F, "compliance impulse velocity"),
    *of(I, "start kind"),
    ("parameter", F2),
    ("mode", I),
    *of(F, "margin near"),
    *of(I, "degenerate left_out moves"),
    ("mobility", F2),
    *of(F3, "B C D"),
    # asked parameters: columns of G, of U, of what M⁺ dv⁺ is, and of parameters of the sets
    *of(F2, "G U Z"),
    ("dp", F3),
    # impulses of rows that rest at a bound by the parameters
    ("bound", F2),
    # what is held or approximate at each contact, see `HELD`, and its shapes
    ("held", I),
    ("geom", I2),
    # island of each freedom and of each constraint, −1 for what stays open; how many there are
    *of(I, "island place"),
    ("islands", types.int64),
    # whether open contacts take part: they do in smoothed derivatives
    ("all_contacts", types.int64),
]
EquationsType = StructType(FIELDS)
# Words for the bits of `held`.
HELD = (
    "normal of {pair}",
    "normal of {pair}, found by iterations: differences to 1e-4",
    "turned normal of {pair}",
    "tangents of {pair}",
    "mean arms of {pair}",
    "scale of the restitution of {pair}",
)
NORMAL, CONVEX, TURNED, TANGENTS, ARMS, SCALE = (1 << k for k in range(6))
# Velocities below this share of the step's speed within which a mode counts as at a switch.
DEGENERATE = 1e-6


# What derivatives know of a scene; kernels take it as `t`.
TREE_FIELDS = [
    # freedom before each freedom, and before its joint, or −1; last freedom of its joint
    *of(I, "parent before last"),
    # whether a freedom carries the rates behind it: rates of a rotation in the world do not; whether rates of
    # a rotation turn their own axes
    ("carry", I),
    ("siblings", types.boolean),
    # first freedom of every rotation
    ("triples", I),
    # last freedom of each movable body or −1, with −1 for the world at the end
    ("body_last", I),
    # of mujoco's bodies, or of cut ones: last freedom, mass, principal moments; live, as coefficients are
    ("end", I),
    ("mass", F),
    ("inertia", F2),
    # stiffness of hinges and sliders by freedom
    ("spring", F),
    # whether every tree is one round body about its joint, which turns freely without forces of inertia
    ("round", types.boolean),
    # mujoco's type and size of each shape; coefficients and priority, which decide contacts
    ("geom_type", I),
    *of(F2, "geom_size geom_friction"),
    ("geom_priority", I),
    # addresses of mujoco's functions that find contacts of two shapes, by their types
    ("collide", I2),
]
TreeType = StructType(TREE_FIELDS)


@kernel
def pack_tree(x):
    """The struct of a tuple of the fields in their order; whoever keeps it keeps the arrays."""
    t = structref.new(TreeType)  # pyright: ignore[reportCallIssue]
    t.parent, t.before, t.last, t.carry, t.siblings, t.triples, t.body_last, t.end = x[:8]
    t.mass, t.inertia, t.spring, t.round = x[8:12]
    t.geom_type, t.geom_size, t.geom_friction, t.geom_priority, t.collide = x[12:]
    return t


def tree_of(world: Any, m: Any, *, cut: bool) -> tuple[Any, ...]:
    """The fields of a tree, of a world and its mujoco model."""
    parent, triple, body_last, mass, inertia, spring = _scene(world.struct)
    spring = spring.copy()
    before, last, carry = parent.copy(), np.arange(parent.size), np.ones(parent.size, np.int64)
    triples = np.flatnonzero(triple)
    for j in triples:
        before[j : j + 3], last[j : j + 3] = parent[j], j + 2
        carry[j : j + 3] = 0 if cut else 1
    end, plain = body_last, False
    if not cut:
        plain = bool(
            (m.body_dofnum[1:] == 6).all() and not m.body_ipos[1:].any()
            and (m.body_inertia[1:] == m.body_inertia[1:, :1]).all()
        )  # fmt: skip
        spring[m.jnt_type[m.dof_jntid] < 2] = 0.0
        end, mass, inertia = np.full(m.nbody, -1, dtype=np.int64), m.body_mass, m.body_inertia
        for b in range(1, m.nbody):
            n = int(m.body_dofnum[b])
            end[b] = m.body_dofadr[b] + n - 1 if n else end[m.body_parentid[b]]
    return (
        parent, before, last, carry, not cut, triples, np.append(body_last, -1), end,
        mass, inertia, spring, plain, np.array(m.geom_type, dtype=np.int64), m.geom_size, m.geom_friction,
        np.array(m.geom_priority, dtype=np.int64), collision_functions(),
    )  # fmt: skip


@kernel
def _scene(w):
    s = w.scene
    return s.dof_parent, s.triple, s.last_dof, s.mass, s.inertia, s.stiffness


@part
def new_equations(w, t, given, columns, all_contacts):
    """Room for the equations of world w after its step, with what is copied from it and its laws.

    `given` are derivatives of forces that mujoco computes (Gq, Go, Ga, Gu) and of activations (act_a, act_u),
    empty where it computes none; `columns` are how many the asked parameters have.
    """
    e = structref.new(EquationsType)  # pyright: ignore[reportCallIssue]
    p, nv, nu = w.problem, w.v.size, w.control.size
    constraints, rows = p.count[0], p.count[1]
    e.h, e.all_contacts = w.h, all_contacts
    # copies: a struct does not keep what belongs to Python alive
    by_q, by_old, by_act, by_control, act_a, act_u = given
    # one room for matrices of a shape: asking for each of them costs as much as filling it
    square, wide = np.zeros((7, nv, nv)), np.zeros((5, rows, nv))
    e.Gp, e.Gv, e.end_v, e.end_q, e.end_p = square[0], square[1], square[2], square[3], square[4]
    trees = 0 if w.scene.cut else nv
    e.end_begin, e.end_count = w.scene.M_begin[:trees].copy(), w.scene.M_count[:trees].copy()
    e.end_column = w.scene.M_column.copy()
    e.end_factor = np.empty(w.end.M.size if trees else 0)
    if trees:
        factorise(w.scene, w.end.M, w.extra, e.end_factor)
    if by_q.size:
        e.Gq, e.Go, e.Ga, e.Gu = by_q.copy(), by_old.copy(), by_act.copy(), by_control.copy()
    else:
        e.Gq, e.Go = square[5], square[6]
        e.Ga, e.Gu = np.zeros((nv, 0)), np.zeros((nv, nu))
    e.act_a, e.act_u = act_a.copy(), act_u.copy()
    na = e.Ga.shape[1]
    e.Uq, e.Up, e.Uv, e.Uo, e.J = wide[0], wide[1], wide[2], wide[3], wide[4]
    e.Ua, e.Uu = np.zeros((rows, na)), np.zeros((rows, nu))
    e.extra_a, e.extra_u = np.zeros((nv, na)), np.zeros((nv, nu))
    motions, speeds = np.empty((2, nv, 6)), np.zeros((2, nv + 1, 6))
    e.S, e.E, e.T, e.T_old = motions[0], motions[1], speeds[0], speeds[1]
    motions_about_origin(w.start.cdof, w.start.reference, w.scene.dof_reference, e.S)
    motions_about_origin(w.end.cdof, w.end.reference, w.scene.dof_reference, e.E)
    twists(e.S, t.parent, p.velocity, e.T)
    twists(e.S, t.parent, w.v, e.T_old)
    e.change = w.v_end - p.velocity
    e.P, e.Q = np.empty((t.triples.size, 3, 3)), np.empty((t.triples.size, 3, 3))
    e.triples = t.triples.copy()
    _kinematic_map(t.triples, p.velocity, w.h, w.scene.cut, e.P, e.Q)
    for i in range(rows):
        for k in range(p.row_begin[i], p.row_begin[i + 1]):
            e.J[i, p.column[k]] = p.value[k]
    e.compliance, e.impulse = p.compliance[:rows].copy(), p.impulse[:rows].copy()
    e.velocity, e.start = p.row_velocity[:rows].copy(), p.start[: constraints + 1].copy()
    e.kind, e.parameter = p.kind[:constraints].copy(), p.parameter[:constraints].copy()
    asked = np.zeros((2, nv, columns))
    e.G, e.Z = asked[0], asked[1]
    e.U, e.dp = np.zeros((rows, columns)), np.zeros((constraints, 6, columns))
    # contacts that were found after the last solve have no part in the step
    contacts = constraints - w.count[JOINTS]
    e.held, e.geom = np.zeros(contacts, np.int64), w.start.geom[:contacts].copy()
    _laws(w, e)
    return e


@part
def _laws(w, e):
    """Mode and law of every constraint at the answer."""
    count = e.kind.size
    prepare(problem_view(w.problem), workspace_view(w.workspace))
    e.mobility = w.workspace.mobility[:count].copy()
    whole, own = np.zeros((4, count), np.int64), np.zeros((3, count, 6, 6))
    e.mode, e.degenerate, e.left_out, e.moves = whole[0], whole[1], whole[2], whole[3]
    e.margin, e.near = np.zeros(count), np.full(count, DEGENERATE * w.speed)
    e.B, e.C, e.D = own[0], own[1], own[2]
    for c in range(count):
        a, b, contact = e.start[c], e.start[c + 1], c - w.count[JOINTS]
        e.left_out[c] = contact >= 0 and w.left_out[contact]
        e.mode[c], e.margin[c] = law(
            e.kind[c], e.parameter[c], e.mobility[c], e.impulse[a:b], e.velocity[a:b], False, e.near[c],
            (e.B[c], e.C[c], e.D[c]),
        )  # fmt: skip
        mode = e.mode[c]
        still = mode == REST or mode == LOWER or mode == UPPER or mode == OPEN
        e.moves[c] = not e.left_out[c] and (e.all_contacts or not still)


@part
def _kinematic_map(triples, v, h, world, P, Q):
    turn, left, w = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for n in range(triples.size):
        for k in range(3):
            w[k] = h * v[triples[n] + k]
        turn_matrices(w, turn, left)
        for a in range(3):
            for b in range(3):
                # rotations of trees are composed from the right, those of cut bodies from the left
                P[n, a, b] = turn[a, b] if world else turn[b, a]
                Q[n, a, b] = left[a, b] if world else left[b, a]


@part
def row_correction(w, k):
    """Υ of joint row k, 1 at position level."""
    if w.joints_at_end:
        return 1.0
    return w.corrected * w.row_correction[w.scene.identity_base[w.group[k]] + w.index[k]]
