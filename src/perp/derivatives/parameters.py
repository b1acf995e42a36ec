"""Parameters of a scene as columns of the equations of a step.

A parameter is "kind" or "kind:name". Columns are derivatives of the momentum balance G, of the velocities U
of the rows, of their laws, and of what M̃⁺ dv⁺ equals at the end (`step`).

    friction, torsion, rolling   coefficients of all contacts, or of those that a shape decides
    restitution                  of all contacts, or of those that a shape decides
    gravity                      three components
    mass, inertia, com           of a body: mass with its moments held, principal moments, centre of mass [m]
    damping, stiffness, armature, frictionloss    of a joint
    kp, kv                       gains of a servo
    size                         of a sphere or capsule (radius), of a box against planes (half lengths)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perp.derivatives.spatial import inertia_about_origin
from perp.problems.errors import ProblemError
from perp.problems.sets import COULOMB, ELLIPTIC

if TYPE_CHECKING:
    from perp.derivatives.step import _Solve

KINDS = (
    "friction", "torsion", "rolling", "restitution", "gravity", "mass", "inertia", "com", "damping",
    "stiffness", "armature", "frictionloss", "kp", "kv", "size",
)  # fmt: skip


@dataclass
class Column:
    """Columns of one parameter: of G, U, the laws, and the end, each with the size of the parameter."""

    name: str
    G: np.ndarray
    U: np.ndarray
    D: np.ndarray
    end: np.ndarray


def split(parameter: str) -> tuple[str, str]:
    """Kind and name; an error that lists the kinds there are."""
    kind, _, name = parameter.partition(":")
    if kind not in KINDS:
        raise ProblemError(f"there is no parameter {kind!r}; there are: {', '.join(KINDS)}")
    if not name and kind not in ("friction", "torsion", "rolling", "restitution", "gravity"):
        raise ProblemError(f"parameter {kind!r} needs a name: {kind}:name")
    return kind, name


def parameter_columns(solve: _Solve, parameters: Sequence[str]) -> list[Column]:
    """The columns of all asked parameters."""
    from perp.derivatives.contact_parameters import contact_column, size_column
    from perp.derivatives.joint_parameters import joint_column, servo_column

    out = []
    for parameter in parameters:
        kind, name = split(parameter)
        width = 3 if kind in ("gravity", "inertia", "com") else 1
        if kind == "size" and int(solve.owner.m.geom_type[_geom(solve, name)]) == 6:
            width = 3
        column = Column(
            parameter, np.zeros((solve.nv, width)), np.zeros((solve.rows, width)),
            np.zeros((solve.rows, width)), np.zeros((solve.nv, width)),
        )  # fmt: skip
        if kind in ("friction", "torsion", "rolling", "restitution"):
            contact_column(solve, kind, name, column)
        elif kind == "size":
            size_column(solve, _geom(solve, name), column)
        elif kind in ("kp", "kv"):
            servo_column(solve, kind, name, column)
        elif kind in ("damping", "stiffness", "armature", "frictionloss"):
            joint_column(solve, kind, name, column)
        elif kind == "gravity":
            _gravity(solve, column)
        else:
            _body(solve, kind, name, column)
        out.append(column)
    return out


def _geom(solve: _Solve, name: str) -> int:
    return solve.owner.stepper.model.geom_index(name)


def _gravity(solve: _Solve, column: Column) -> None:
    view, s, h = solve.view, solve.structure, solve.view.numbers["h"]
    end, mass, _ = s.bodies
    centres = view.start.x if s.cut else view.start.xipos
    for b in np.flatnonzero((mass > 0) & (end >= 0)):
        for k in range(3):
            e = np.eye(3)[k]
            W = np.concatenate([np.cross(centres[b], e), e])
            for j in s.path(int(end[b])):
                column.G[j, k] -= h * mass[b] * float(solve.ways.S[j] @ W)


def _body(solve: _Solve, kind: str, name: str, column: Column) -> None:
    """Mass, moments or centre of a body: what its inertia adds to the balance."""
    model = solve.owner.stepper.model
    slot = model.body_index(name)
    if solve.structure.cut:
        _cut_body(solve, kind, slot, column)
        return
    m, view = solve.owner.m, solve.view
    b = int(np.flatnonzero(m.body_weldid > 0)[slot])
    h, v = view.numbers["h"], np.array(view.problem.velocity)
    gravity = h * np.array(view.scene.gravity)
    motions = (
        (solve.ways.S, view.start, v - view.world.v, gravity, column.G, 1.0),
        (solve.ways.E, view.end, view.world.v_end - v, np.zeros(3), column.end, -1.0),
    )
    for S, place, a, g, out, sign in motions:
        V, A = _velocities(solve, S, np.sqrt(0.5 * h) * v, a, g, b)
        frame, centre = place.ximat[b], place.xipos[b]
        carrier = place.xmat[b].reshape(3, 3)
        for k in range(column.G.shape[1]):
            change = _inertia_change(
                kind, k, (float(m.body_mass[b]), m.body_inertia[b]), frame, centre, carrier
            )
            F = change @ A + _cross_force(V, change @ V)
            for j in solve.structure.path(int(solve.structure.bodies[0][b])):
                out[j, k] += sign * float(S[j] @ F)


def _inertia_change(
    kind: str, k: int, body: tuple[float, np.ndarray], frame: np.ndarray, centre: np.ndarray,
    carrier: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Derivative of a spatial inertia by mass, a moment, or the centre along an axis of the file's frame."""
    out = np.empty((6, 6))
    frame = np.ascontiguousarray(frame)
    if kind == "mass":
        inertia_about_origin(1.0, np.zeros(3), frame, np.array(centre), out)
        return out
    if kind == "inertia":
        inertia_about_origin(0.0, np.eye(3)[k], frame, np.array(centre), out)
        return out
    step, sides = 1e-4, []
    for sign in (1.0, -1.0):
        inertia_about_origin(body[0], body[1], frame, centre + sign * step * carrier[:, k], out)
        sides.append(out.copy())
    # quadratic in the centre: the difference is exact
    return (sides[0] - sides[1]) / (2 * step)


def _velocities(
    solve: _Solve, S: np.ndarray, v: np.ndarray, a: np.ndarray, gravity: np.ndarray, b: int
) -> tuple[np.ndarray, np.ndarray]:
    """Velocity and acceleration of a body of a tree, about the origin."""
    s = solve.structure
    path = s.path(int(s.bodies[0][b]))[::-1]
    V, A = {-1: np.zeros(6)}, {-1: np.concatenate([np.zeros(3), -gravity])}
    for j in path:
        before, parent = int(s.before[j]), int(s.parent[j])
        V[j] = V[parent] + S[j] * v[j]
        A[j] = A[parent] + S[j] * a[j] + _cross_motion(V[before], S[j]) * v[j]
    last = path[-1] if path else -1
    return V[last], A[last]


def _cross_motion(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cross(a[:3], b[:3]), np.cross(a[:3], b[3:]) + np.cross(a[3:], b[:3])])


def _cross_force(a: np.ndarray, f: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cross(a[:3], f[:3]) + np.cross(a[3:], f[3:]), np.cross(a[:3], f[3:])])


def _cut_body(solve: _Solve, kind: str, b: int, column: Column) -> None:
    view, h = solve.view, solve.view.numbers["h"]
    v, old = np.array(view.problem.velocity), np.array(view.world.v)
    at, i = slice(6 * b, 6 * b + 3), slice(6 * b + 3, 6 * b + 6)
    if kind == "com":
        raise ProblemError("com needs reduced coordinates: maximal ones are those of the centres themselves")
    if kind == "mass":
        column.G[at, 0] = v[at] - old[at] - h * view.scene.gravity
        return
    R, Re, moments = view.start.R[b], view.end.R[b], np.array(view.scene.inertia[b])

    def both(inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from perp.derivatives.spatial import turn_matrices

        turn, left = np.empty((3, 3)), np.empty((3, 3))
        a = R.T @ v[i]
        turn_matrices(-h * a, turn, left)
        x = np.linalg.solve(np.eye(3) + (turn * inertia) / inertia[:, None], 2 * a)
        momentum = R @ (inertia * x)
        return momentum - R @ (inertia * (R.T @ old[i])), Re @ ((Re.T @ momentum) / inertia)

    for k in range(3):
        step = 1e-5 * moments[k]
        change = step * np.eye(3)[k]
        plus, minus = both(moments + change), both(moments - change)
        column.G[i, k] = (plus[0] - minus[0]) / (2 * step)
        column.end[i, k] = (plus[1] - minus[1]) / (2 * step)


def friction_columns(kind: str, set_kind: int) -> tuple[int, ...]:
    """Columns of a set's parameters that a coefficient has."""
    if kind == "friction":
        return (0,) if set_kind == COULOMB else (0, 1)
    if set_kind != ELLIPTIC:
        return ()
    return (2,) if kind == "torsion" else (3, 4)


def decides(solve: _Solve, c: int, name: str, values: np.ndarray) -> bool:
    """Whether a shape decides a contact's coefficient, which is the larger of two (mujoco's rule)."""
    if not name:
        return True
    con, m = solve.view.contacts, solve.owner.m
    g = _geom(solve, name)
    pair = [int(x) for x in con.geom[c]]
    if g not in pair:
        return False
    other = pair[0] if pair[1] == g else pair[1]
    if m.geom_priority[g] != m.geom_priority[other]:
        return bool(m.geom_priority[g] > m.geom_priority[other])
    return bool(values[g] >= values[other])
