"""Forces and joint rows of trees that are no constraints between bodies: motors, springs, limits, tendons.

Derivatives of motors are those of their affine law. Springs of rotations, the air, gravity compensation,
muscles and motors that act through sites come from differences of mujoco's own smooth functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.derivatives.structure import Structure
from perp.derivatives.world_view import WorldView
from perp.dynamics.scalar_tables import (
    BALL,
    COUPLE,
    ELASTIC,
    LOWER,
    MOTOR,
    TENDON_LOWER,
    TENDON_RUB,
    TENDON_UPPER,
    UPPER,
)
from perp.scenes.engine import engine

_STEP = 1e-6


@dataclass
class Slopes:
    """Derivatives of the momentum balance G and of the velocities U of the rows, by everything at the start.

    Attributes:
        Gq, Gp, Gv, Go, Ga, Gu: By q, q of the end, moving velocity, velocity of the start, activations,
            controls.
        Uq, Up, Uv, Uo, Ua, Uu: The same of the rows.
        extra_a, extra_u: Of what is added to the diagonal of M.
        act_a, act_u: Of the activations of the end.
        frozen: What was left out, in words.
    """

    Gq: np.ndarray
    Gp: np.ndarray
    Gv: np.ndarray
    Go: np.ndarray
    Ga: np.ndarray
    Gu: np.ndarray
    Uq: np.ndarray
    Up: np.ndarray
    Uv: np.ndarray
    Uo: np.ndarray
    Ua: np.ndarray
    Uu: np.ndarray
    extra_a: np.ndarray
    extra_u: np.ndarray
    act_a: np.ndarray
    act_u: np.ndarray
    frozen: list[str]

    @classmethod
    def empty(cls, nv: int, rows: int, na: int, nu: int) -> Slopes:
        """All zero."""
        by = dict(zip("qpvoau", (nv, nv, nv, nv, na, nu), strict=True))
        whole = {"G" + k: np.zeros((nv, n)) for k, n in by.items()}
        whole |= {"U" + k: np.zeros((rows, n)) for k, n in by.items()}
        return cls(
            **whole, extra_a=np.zeros((nv, na)), extra_u=np.zeros((nv, nu)), act_a=np.eye(na),
            act_u=np.zeros((na, nu)), frozen=[],
        )  # fmt: skip


def add_motors(view: WorldView, tables: dict[str, Any], slopes: Slopes) -> None:
    """Affine actuators, as forces or as rows; see `stepping.joint_rows`."""
    w, p, h = view.world, view.problem, view.numbers["h"]
    start, v = view.start, np.array(view.problem.velocity)
    joints = int(w.count[0])
    row_of = {int(w.index[k]): k for k in range(joints) if w.group[k] == MOTOR}
    for i in range(tables["motor_output"].size):
        line, channel = int(tables["motor_output"][i]), int(tables["motor_control"][i])
        a, n = int(start.moment_begin[line]), int(start.moment_count[line])
        dofs, moment = np.array(start.moment_column[a : a + n]), np.array(start.moment[a : a + n])
        held = int(tables["motor_held"][i])
        low, high = tables["motor_low"][i], tables["motor_high"][i]
        raw = float(w.control[channel])
        c = min(max(raw, low), high)
        by_c = 1.0 if low < raw < high else 0.0
        if held >= 0:
            early = bool(tables["motor_early"][i])
            c = float(w.act_end[held] if early else w.act[held])
        g, b = tables["motor_gain"][i], tables["motor_bias"][i]
        length = float(start.motor_length[line])
        by_length = g[1] * c + b[1]
        by_speed = g[2] * c + b[2] - tables["motor_damping"][i]
        F = g[0] * c + b[0] + by_length * length
        dF_c = g[0] + g[1] * length
        K, dK_c = -h * h * by_length - h * by_speed, -h * h * g[1] - h * g[2]
        explicit = K <= 0.0
        if explicit:
            rate = float(moment @ w.v[dofs])
            F, dF_c = F + by_speed * rate, dF_c + g[2] * rate
            K, dK_c = 0.0, 0.0
        least, most = tables["motor_least"][i], tables["motor_most"][i]
        free = n == 1 and least == -np.inf and most == np.inf
        k = row_of.get(i)
        if k is None and n == 0:
            continue
        if k is None:
            share = 1.0 if least < F < most else 0.0
            # G holds −h m F + m² K v̄
            by = -h * moment * dF_c * share + moment**2 * dK_c * v[dofs]
            _by_control(slopes.Ga, slopes.Gu, slopes, dofs, by, held, channel, by_c, tables, i)
            if free and dK_c:
                _by_control(
                    slopes.extra_a, slopes.extra_u, slopes, dofs, moment**2 * dK_c, held, channel, by_c,
                    tables, i,
                )  # fmt: skip
            slopes.Gq[np.ix_(dofs, dofs)] -= h * share * by_length * np.outer(moment, moment)
            if explicit:
                slopes.Go[np.ix_(dofs, dofs)] -= h * share * by_speed * np.outer(moment, moment)
            continue
        slopes.Uq[k, dofs] -= h * by_length * moment / K
        slack = (h * F - p.impulse[k]) / K**2
        by = np.array([-h * dF_c / K + slack * dK_c])
        _by_control(slopes.Ua, slopes.Uu, slopes, np.array([k]), by, held, channel, by_c, tables, i)


def _by_control(
    by_act: np.ndarray, by_control: np.ndarray, slopes: Slopes, rows: np.ndarray, by: np.ndarray, held: int,
    channel: int, by_c: float, tables: dict[str, Any], i: int,
) -> None:  # fmt: skip
    """A derivative by what a motor sees: its control, its activation, or that of the end."""
    if held < 0:
        by_control[rows, channel] += by * by_c
    elif not tables["motor_early"][i]:
        by_act[rows, held] += by
    else:
        by_act[rows] += np.outer(by, slopes.act_a[held])
        by_control[rows] += np.outer(by, slopes.act_u[held])


def add_scalar_rows(view: WorldView, tables: dict[str, Any], slopes: Slopes) -> None:
    """Limits, dry friction, tendons and couplings of coordinates."""
    w, p, h = view.world, view.problem, view.numbers["h"]
    at_end = bool(view.numbers["joints_at_end"])
    recovery = 10.0 * view.numbers["recovery"]
    for k in range(int(w.count[0])):
        group, i = int(w.group[k]), int(w.index[k])
        if group == 0:
            continue
        a, b = int(p.row_begin[k]), int(p.row_begin[k + 1])
        dofs, J = np.array(p.column[a:b]), np.array(p.value[a:b])
        value, correction = float(w.value[k]), view.correction(k)
        if group in (LOWER, UPPER, TENDON_LOWER, TENDON_UPPER, BALL):
            # u = (value at the end − allowed) / h
            by_value = _limit_slope(value, h, recovery, correction)
            curved = at_end and group != LOWER and group != UPPER
            end = _end_row(view, tables, group, i, dofs, J) if curved else J
            slopes.Uq[k, dofs] += by_value * J / h
            if curved:
                slopes.Uq[k, dofs] -= J / h
                slopes.Up[k, dofs] += end / h
            else:
                slopes.Uv[k, dofs] += J
            if group == BALL:
                _ball_force(view, tables, i, dofs, float(p.impulse[k]), slopes)
        elif group == COUPLE:
            _coupling(view, tables, k, i, dofs, J, (h, recovery, correction, at_end), slopes)
        else:
            slopes.Uv[k, dofs] += J
            if group == ELASTIC:
                slopes.Uq[k, dofs] += h * float(w.row_stiffness[k]) * J / float(w.gain[k])
            elif group not in (MOTOR, TENDON_RUB) and w.gain[k] < 1e300:
                slopes.frozen.append(f"row {k} of the joints")


def _limit_slope(value: float, h: float, recovery: float, correction: float) -> float:
    """d(value − allowed)/d(value) of a limit."""
    allowed = 1.0 if value + h * recovery < 0.0 else 0.0
    if value < 0.0:
        allowed += (1.0 - correction) * (1.0 - allowed)
    return 1.0 - allowed


def _end_row(
    view: WorldView, tables: dict[str, Any], group: int, i: int, dofs: np.ndarray, J: np.ndarray
) -> np.ndarray:
    """The row of a limit at the end of the step."""
    if group == BALL:
        return _ball_row(view.world.q_end, int(tables["ball_at"][i]))
    sign = 1.0 if group == TENDON_LOWER else -1.0
    a = int(tables["tendon_begin"][i])
    return sign * np.array(view.end.tendon_J[a : a + dofs.size])


def _ball_row(q: np.ndarray, at: int) -> np.ndarray:
    side = 1.0 if q[at] >= 0 else -1.0
    vec = side * q[at + 1 : at + 4]
    size = float(np.linalg.norm(vec))
    return -vec / size if size > 1e-12 else np.array([-1.0, 0.0, 0.0])


def _ball_force(
    view: WorldView, tables: dict[str, Any], i: int, dofs: np.ndarray, impulse: float, slopes: Slopes
) -> None:
    mujoco, at, q = engine(), int(tables["ball_at"][i]), np.array(view.world.q)
    for k in range(3):
        rows = []
        for step in (_STEP, -_STEP):
            quat, e = q[at : at + 4].copy(), np.zeros(3)
            e[k] = 1.0
            mujoco.mju_quatIntegrate(quat, e, step)
            moved = q.copy()
            moved[at : at + 4] = quat
            rows.append(_ball_row(moved, at))
        slopes.Gq[dofs, dofs[k]] -= impulse * (rows[0] - rows[1]) / (2 * _STEP)


def _coupling(
    view: WorldView, tables: dict[str, Any], k: int, i: int, dofs: np.ndarray, J: np.ndarray,
    options: tuple[float, float, float, bool], slopes: Slopes,
) -> None:  # fmt: skip
    h, recovery, correction, at_end = options
    value = float(view.world.value[k])
    inside = abs(value) < h * recovery
    keep = 0.0 if inside else 1.0
    tendons, _, one, two, other = (int(x) for x in tables["couple"][i])
    poly, q = tables["couple_poly"][i], view.world.q
    if at_end:
        slopes.Uq[k, dofs] -= keep * J / h
        if tendons or two < 0:
            slopes.Up[k, dofs] += J / h
        else:
            x = float(view.world.q_end[two]) - tables["couple_reference"][i, 1]
            slope = poly[1] + x * (2 * poly[2] + x * (3 * poly[3] + x * 4 * poly[4]))
            slopes.Up[k, one] += 1.0 / h
            slopes.Up[k, other] -= slope / h
    else:
        slopes.Uv[k, dofs] += J
        slopes.Uq[k, dofs] += correction * (1.0 - keep) * J / h
    if tendons or two < 0:
        return
    x = float(q[two]) - tables["couple_reference"][i, 1]
    bend = 2 * poly[2] + x * (6 * poly[3] + x * 12 * poly[4])
    slopes.Gq[other, other] += bend * float(view.problem.impulse[k])
    if not at_end:
        slopes.Uq[k, other] -= bend * float(view.problem.velocity[other])


def add_mujoco_forces(view: WorldView, structure: Structure, m: Any, data: Any, slopes: Slopes) -> None:
    """Springs of coordinates in closed form; everything else that mujoco adds by differences of it."""
    h, tables = view.numbers["h"], view
    mujoco = engine()
    bits = mujoco.mjtDisableBit
    flags = int(m.opt.disableflags)
    if structure.cut:
        return
    springs = not flags & int(bits.mjDSBL_SPRING)
    turning = (m.jnt_type <= 1) & (m.jnt_stiffness > 0)
    others = bool(
        m.body_gravcomp.any() or m.opt.density or m.opt.viscosity or (turning.any() and springs) or m.na
        or _other_actuators(m)
    )  # fmt: skip
    if not others:
        if springs and m.jnt_stiffness.any():
            slopes.Gq[np.diag_indices(m.nv)] += h * m.jnt_stiffness[m.dof_jntid]
        return
    _differences(tables, m, data, slopes)


def _other_actuators(m: Any) -> bool:
    kinds = engine()
    affine = (m.actuator_gaintype <= int(kinds.mjtGain.mjGAIN_AFFINE)) & (
        m.actuator_biastype <= int(kinds.mjtBias.mjBIAS_AFFINE)
    )
    return bool((~affine | (m.actuator_dyntype > int(kinds.mjtDyn.mjDYN_FILTEREXACT))).any())


def _differences(view: WorldView, m: Any, data: Any, slopes: Slopes) -> None:
    """Differences of passive forces, of forces of other actuators and of rates of activations."""
    mujoco, w, h = engine(), view.world, view.numbers["h"]
    known = (m.actuator_gaintype <= 1) & (m.actuator_biastype <= 1) & (m.actuator_dyntype <= 3)

    def forces(q: np.ndarray, v: np.ndarray, act: np.ndarray, u: np.ndarray) -> np.ndarray:
        data.qpos[:], data.qvel[:], data.act[:], data.ctrl[:] = q, v, act, u
        for function in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_transmission):
            function(m, data)
        mujoco.mj_fwdVelocity(m, data)
        mujoco.mj_fwdActuation(m, data)
        total = data.qfrc_spring + data.qfrc_gravcomp + data.qfrc_fluid
        for i in np.flatnonzero(~known):
            for line in range(m.actuator_outadr[i], m.actuator_outadr[i] + m.actuator_outnum[i]):
                a, n = int(data.moment_rowadr[line]), int(data.moment_rownnz[line])
                dofs = data.moment_colind[a : a + n]
                total[dofs] += data.actuator_moment[a : a + n] * data.actuator_force[line]
        return np.concatenate([total, data.act_dot])

    q, v, act, u = np.array(w.q), np.array(w.v), np.array(w.act), np.array(w.control)
    nv = m.nv
    blocks = []
    for which, size in enumerate((nv, nv, act.size, u.size)):
        columns = np.zeros((nv + act.size, size))
        for k in range(size):
            sides = []
            for step in (_STEP, -_STEP):
                e = np.zeros(size)
                e[k] = 1.0
                at = q.copy()
                if which == 0:
                    mujoco.mj_integratePos(m, at, e, step)
                sides.append(
                    forces(
                        at, v + step * e if which == 1 else v, act + step * e if which == 2 else act,
                        u + step * e if which == 3 else u,
                    )
                )  # fmt: skip
            columns[:, k] = (sides[0] - sides[1]) / (2 * _STEP)
        blocks.append(columns)
    slopes.Gq -= h * blocks[0][:nv]
    slopes.Go -= h * blocks[1][:nv]
    slopes.Ga -= h * blocks[2][:nv]
    slopes.Gu -= h * blocks[3][:nv]
    if act.size:
        span = np.full(act.size, h)
        for i in np.flatnonzero(m.actuator_dyntype == int(mujoco.mjtDyn.mjDYN_FILTEREXACT)):
            tau = max(float(m.actuator_dynprm[i, 0]), 1e-15)
            first, n = int(m.actuator_actadr[i]), int(m.actuator_actnum[i])
            span[first : first + n] = -tau * np.expm1(-h / tau)
        inside = np.ones(act.size)
        for i in np.flatnonzero(m.actuator_actadr >= 0):
            if m.actuator_actlimited[i]:
                first, n = int(m.actuator_actadr[i]), int(m.actuator_actnum[i])
                low, high = m.actuator_actrange[i]
                end = w.act_end[first : first + n]
                inside[first : first + n] = (end > low) & (end < high)
        slopes.act_a[:] = inside[:, None] * (np.eye(act.size) + span[:, None] * blocks[2][nv:])
        slopes.act_u[:] = inside[:, None] * span[:, None] * blocks[3][nv:]
