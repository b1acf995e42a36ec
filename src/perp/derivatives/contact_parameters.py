"""Columns of coefficients of contacts and of the sizes of shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perp.derivatives.parameters import Column, decides, friction_columns
from perp.problems.errors import ProblemError

if TYPE_CHECKING:
    from perp.derivatives.step import _Solve

_PLANE, _SPHERE, _CAPSULE, _BOX = 0, 2, 3, 6


def contact_column(solve: _Solve, kind: str, name: str, column: Column) -> None:
    """Friction and restitution of all contacts, or of those that one shape decides."""
    from perp.derivatives.rows_of_step import StepContacts

    view, m = solve.view, solve.owner.m
    w, p = view.world, view.problem
    joints, count = int(w.count[0]), int(w.count[1])
    model = solve.owner.stepper.model
    which = {"friction": 0, "torsion": 1, "rolling": 2}.get(kind, 0)
    values = model.geom_restitution if kind == "restitution" else m.geom_friction[:, which]
    rows = StepContacts(view, solve.structure, solve.ways, m, model.geom_body)
    for c in range(count):
        if w.left_out[c] or not decides(solve, c, name, values):
            continue
        a, b = int(p.start[joints + c]), int(p.start[joints + c + 1])
        if kind == "restitution":
            e = float(view.contacts.restitution[c])
            if e > 0.0 and rows.bounces(c, a):
                # the scale that keeps energy from growing is held
                scale = float(w.bounce[c]) / e
                column.U[a, 0] += scale * float(w.approach[c])
                if scale < 1.0:
                    solve.slopes.frozen.append(f"scale of the restitution of contact {c}")
            continue
        for k in friction_columns(kind, int(p.kind[joints + c])):
            column.D[a:b, 0] += solve.D[a:b, k]


def size_column(solve: _Solve, geom: int, column: Column) -> None:
    """Radius or half lengths of a shape, where the formula of its contacts is known."""
    view, m = solve.view, solve.owner.m
    w, con, p, h = view.world, view.contacts, view.problem, view.numbers["h"]
    kind = int(m.geom_type[geom])
    joints = int(w.count[0])
    for c in range(int(w.count[1])):
        pair = [int(g) for g in con.geom[c]]
        if geom not in pair or w.left_out[c]:
            continue
        side = pair.index(geom)
        other = int(m.geom_type[pair[1 - side]])
        known = (kind in (_SPHERE, _CAPSULE) and other in (_PLANE, _SPHERE, _CAPSULE)) or (
            kind == _BOX and other == _PLANE
        )
        if not known:
            raise ProblemError(
                f"size:{solve.owner.stepper.model.geom_names[geom]}: contacts of these shapes have no formula"
            )
        a, b = int(p.start[joints + c]), int(p.start[joints + c + 1])
        for k in range(column.G.shape[1]):
            _one(solve, c, side, k, (a, b), column)
    _ = h


def _one(solve: _Solve, c: int, side: int, k: int, rows: tuple[int, int], column: Column) -> None:
    """One contact: its point moves by dp, its gap by dgap at the start and dend at the end."""
    from perp.derivatives.contact_assembly import GAP
    from perp.derivatives.rows_of_step import StepContacts

    view, structure, ways = solve.view, solve.structure, solve.ways
    w, con, p, h = view.world, view.contacts, view.problem, view.numbers["h"]
    m, n = solve.owner.m, np.array(con.frame[c, 0])
    g = int(con.geom[c, side])
    sign = -1.0 if side == 0 else 1.0
    if int(m.geom_type[g]) == _BOX:
        R = view.start.geom_xmat[g].reshape(3, 3)
        corner = R.T @ (w.carried[c, side] - view.start.geom_xpos[g])
        shift = R[:, k] * np.sign(corner[k])
        b = int(con.body[c, side])
        turn = view.end.R[b] @ view.start.R[b].T if b >= 0 else np.eye(3)
        dgap, dend = float(sign * n @ shift), float(sign * n @ (turn @ shift))
        dp = shift - sign * 0.5 * dgap * n
    else:
        dgap = dend = -1.0
        dp = -0.5 * sign * n
    rows_of = StepContacts(view, structure, ways, m, solve.owner.stepper.model.geom_body)
    kind, bounce, share = rows_of.normal(c, float(con.gap[c]))
    frame, first = con.frame[c], rows[0]
    impulse = np.array(p.impulse[first : rows[1]])
    push = impulse[:3] @ frame[: min(3, impulse.size)]
    twist = [ways.T[structure.last_dof[int(b)]] for b in con.body[c]]
    for r in range(1, min(3, impulse.size)):
        column.U[first + r, k] += float(frame[r] @ np.cross(twist[1][:3] - twist[0][:3], dp))
    if kind == GAP:
        column.U[first, k] += (dend - (1.0 - share) * dgap) / h
    else:
        old = [ways.T_old[structure.last_dof[int(b)]] for b in con.body[c]]
        column.U[first, k] += share * dgap / h
        column.U[first, k] += float(n @ np.cross(twist[1][:3] - twist[0][:3], dp))
        column.U[first, k] += bounce * float(n @ np.cross(old[1][:3] - old[0][:3], dp))
    moment = np.cross(dp, push)
    for other in range(2):
        j = int(structure.last_dof[int(con.body[c, other])])
        while j >= 0:
            column.G[j, k] -= (-1.0 if other == 0 else 1.0) * float(ways.S[j, :3] @ moment)
            j = int(structure.parent[j])
