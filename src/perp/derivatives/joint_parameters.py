"""Columns of joints and servos."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perp.derivatives.parameters import Column
from perp.dynamics.rows import ARMATURE, DAMPING, DRIVE, FORCE_LIMIT, STIFFNESS, TARGET
from perp.dynamics.scalar_tables import MOTOR, RUB
from perp.problems.errors import ProblemError
from perp.scenes.model import find

if TYPE_CHECKING:
    from perp.derivatives.step import _Solve


def _names(m: Any, what: str, count: int) -> tuple[str, ...]:
    return tuple(getattr(m, what)(i).name for i in range(count))


def _joint(m: Any, name: str) -> int:
    j = find(name, _names(m, "joint", m.njnt), "joint")
    if int(m.jnt_type[j]) < 2:
        raise ProblemError(f"joint {name!r} is no hinge or slider: its parameters have no derivatives here")
    return j


def joint_column(solve: _Solve, kind: str, name: str, column: Column) -> None:
    """Damping, stiffness, armature or dry friction of a hinge or slider."""
    m, view = solve.owner.m, solve.view
    w, p, h = view.world, view.problem, view.numbers["h"]
    j = _joint(m, name)
    if solve.structure.cut:
        _cut_joint(solve, kind, name, column)
        return
    dof, at = int(m.jnt_dofadr[j]), int(m.jnt_qposadr[j])
    v, change = float(p.velocity[dof]), float(w.v_end[dof] - p.velocity[dof])
    if kind == "frictionloss":
        for k in range(int(w.count[0])):
            if w.group[k] == RUB and int(solve.owner.tables["rub_dof"][w.index[k]]) == dof:
                column.D[k, 0] += h * (solve.D[k, 1] - solve.D[k, 0])
                return
        raise ProblemError(f"joint {name!r} has no dry friction: its derivative is at a switch")
    if kind == "damping":
        column.G[dof, 0], column.end[dof, 0] = h * v, -h * change
    elif kind == "stiffness":
        stretch = float(w.q[at] - m.qpos_spring[at])
        column.G[dof, 0], column.end[dof, 0] = h * h * v + h * stretch, -h * h * change
    else:
        column.G[dof, 0], column.end[dof, 0] = v - float(w.v[dof]), -change


def _cut_joint(solve: _Solve, kind: str, name: str, column: Column) -> None:
    """The same as rows between bodies."""
    view, stepper = solve.view, solve.owner.stepper
    w, s, p, h = view.world, view.scene, view.problem, view.numbers["h"]
    names = tuple(joint.name for joint in stepper.model.joints)
    joint = find(name, names, "joint")
    motors = set(stepper.table.motor_row.tolist())
    for k in range(int(w.count[0])):
        line = int(w.index[k])
        if w.group[k] != 0 or stepper.table.joint[line] != joint or s.law[line] != DRIVE or line in motors:
            continue
        par, gain = s.parameters[line], float(w.gain[k])
        if kind == "frictionloss" and gain >= 1e300 and np.isfinite(par[FORCE_LIMIT]):
            column.D[k, 0] += h * (solve.D[k, 1] - solve.D[k, 0])
            return
        slack = (h * float(w.drive[k]) - float(p.impulse[k])) / gain**2
        if kind == "armature" and par[ARMATURE] > 0.0:
            column.U[k, 0] -= float(p.impulse[k]) / gain**2
            return
        if kind == "damping" and par[DAMPING] > 0.0 and gain < 1e300:
            column.U[k, 0] += slack * h
            return
        if kind == "stiffness" and par[STIFFNESS] > 0.0:
            column.U[k, 0] += slack * h * h + h * (float(w.linear[k]) - par[TARGET]) / gain
            return
    raise ProblemError(f"joint {name!r} has no {kind} in the file: in maximal coordinates it is no row")


def servo_column(solve: _Solve, kind: str, name: str, column: Column) -> None:
    """A gain of a servo: kp (c − ℓ), or kv on its speed (c − ℓ̇ for a velocity servo)."""
    view, stepper = solve.view, solve.owner.stepper
    w, p, h = view.world, view.problem, view.numbers["h"]
    i = find(name, stepper.motor_names, "motor")
    if solve.structure.cut:
        line = int(stepper.table.motor_row[i])
        par = view.scene.parameters[line]
        k = next(k for k in range(int(w.count[0])) if w.group[k] == 0 and w.index[k] == line)
        gain = float(w.gain[k])
        slack = (h * float(w.drive[k]) - float(p.impulse[k])) / gain**2
        if kind == "kp":
            column.U[k, 0] += slack * h * h + h * (float(w.linear[k]) - par[TARGET]) / gain
        else:
            column.U[k, 0] += slack * h - h * float(par[3]) / gain
        return
    t, start = solve.owner.tables, view.start
    line = int(t["motor_output"][i])
    a, n = int(start.moment_begin[line]), int(start.moment_count[line])
    dofs, moment = np.array(start.moment_column[a : a + n]), np.array(start.moment[a : a + n])
    c = min(max(float(w.control[int(t["motor_control"][i])]), t["motor_low"][i]), t["motor_high"][i])
    gain, bias = t["motor_gain"][i], t["motor_bias"][i]
    if kind == "kp":
        dF, dK = c - float(start.motor_length[line]), h * h
    else:
        velocity_servo = bias[1] == 0.0 and gain[0] == -bias[2] and gain[0] != 0.0
        dF, dK = (c if velocity_servo else 0.0), h
    row = next((k for k in range(int(w.count[0])) if w.group[k] == MOTOR and w.index[k] == i), None)
    if row is not None:
        K = float(w.gain[row])
        column.U[row, 0] += -h * dF / K + (h * float(w.drive[row]) - float(p.impulse[row])) / K**2 * dK
        return
    v, change = np.array(p.velocity[dofs]), np.array(w.v_end[dofs] - p.velocity[dofs])
    column.G[dofs, 0] += -h * moment * dF + moment**2 * dK * v
    column.end[dofs, 0] -= moment**2 * dK * change
