"""Forces that mujoco computes and that have no formula here, by differences of its smooth functions.

These are springs of rotations, the air, gravity compensation, muscles and motors that are not affine, and the
rates of activations.
"""

from typing import Any

import numpy as np

from perp.scenes.engine import engine

_STEP = 1e-6


def others_act(m: Any) -> bool:
    """Whether a scene has such forces."""
    kinds = engine()
    springs = not int(m.opt.disableflags) & int(kinds.mjtDisableBit.mjDSBL_SPRING)
    turning = (m.jnt_type <= 1) & (m.jnt_stiffness > 0)
    affine = (m.actuator_gaintype <= int(kinds.mjtGain.mjGAIN_AFFINE)) & (
        m.actuator_biastype <= int(kinds.mjtBias.mjBIAS_AFFINE)
    )
    others = (~affine | (m.actuator_dyntype > int(kinds.mjtDyn.mjDYN_FILTEREXACT))).any()
    return bool(
        m.body_gravcomp.any() or m.opt.density or m.opt.viscosity or (turning.any() and springs) or m.na
        or others
    )  # fmt: skip


def curved_transmissions(m: Any) -> tuple[str, ...]:
    """Tendons and motors whose lever changes with the coordinates, which derivatives hold: in words."""
    mujoco = engine()
    out = []
    for i in range(m.ntendon):
        wraps = m.wrap_type[m.tendon_adr[i] : m.tendon_adr[i] + m.tendon_num[i]]
        if (wraps != int(mujoco.mjtWrap.mjWRAP_JOINT)).any():
            out.append(f"lever of tendon {m.tendon(i).name or i}")
    straight = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_TENDON))
    bent = [i for i in range(m.nactuator) if int(m.actuator_trntype[i]) not in straight]
    return (*out, *(f"lever of motor {m.actuator(i).name or i}" for i in bent))


def differences(m: Any, data: Any, state: tuple[np.ndarray, ...], h: float) -> tuple[np.ndarray, ...]:
    """Differences of these forces and of the rates of activations at a state, for a step of length h.

    The state has coordinates, velocities, activations, controls, activations of the end. Returns the momentum
    balance by coordinates, velocities, activations, controls; activations of the end by activations and
    controls.
    """
    mujoco = engine()
    q, v, act, u, act_end = state
    known = (m.actuator_gaintype <= 1) & (m.actuator_biastype <= 1) & (m.actuator_dyntype <= 3)
    # springs of hinges and sliders have a formula
    turning = m.jnt_type[m.dof_jntid] < 2

    def forces(q: np.ndarray, v: np.ndarray, act: np.ndarray, u: np.ndarray) -> np.ndarray:
        data.qpos[:], data.qvel[:], data.act[:], data.ctrl[:] = q, v, act, u
        for function in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_transmission):
            function(m, data)
        mujoco.mj_fwdVelocity(m, data)
        mujoco.mj_fwdActuation(m, data)
        total = np.where(turning, data.qfrc_spring, 0.0) + data.qfrc_gravcomp + data.qfrc_fluid
        for i in np.flatnonzero(~known):
            for line in range(m.actuator_outadr[i], m.actuator_outadr[i] + m.actuator_outnum[i]):
                a, n = int(data.moment_rowadr[line]), int(data.moment_rownnz[line])
                dofs = data.moment_colind[a : a + n]
                total[dofs] += data.actuator_moment[a : a + n] * data.actuator_force[line]
        return np.concatenate([total, data.act_dot])

    nv, blocks = m.nv, []
    for which, size in enumerate((nv, nv, act.size, u.size)):
        columns = np.zeros((nv + act.size, size))
        for k in range(size):
            sides, e = [], np.eye(1, size, k)[0]
            for step in (_STEP, -_STEP):
                moved = [q.copy(), v, act, u]
                if which == 0:
                    mujoco.mj_integratePos(m, moved[0], e, step)
                else:
                    moved[which] = moved[which] + step * e
                sides.append(forces(*moved))
            columns[:, k] = (sides[0] - sides[1]) / (2 * _STEP)
        blocks.append(columns)
    by_act, by_control = _activations(m, act_end, h, blocks[2][nv:], blocks[3][nv:])
    return (*(np.ascontiguousarray(-h * block[:nv]) for block in blocks), by_act, by_control)


def _activations(
    m: Any, end: np.ndarray, h: float, by_act: np.ndarray, by_control: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Activations of the end, from derivatives of their rates."""
    mujoco, n = engine(), end.size
    span, inside = np.full(n, h), np.ones(n)
    for i in np.flatnonzero(m.actuator_actadr >= 0):
        part = slice(int(m.actuator_actadr[i]), int(m.actuator_actadr[i] + m.actuator_actnum[i]))
        if m.actuator_dyntype[i] == int(mujoco.mjtDyn.mjDYN_FILTEREXACT):
            tau = max(float(m.actuator_dynprm[i, 0]), 1e-15)
            span[part] = -tau * np.expm1(-h / tau)
        if m.actuator_actlimited[i]:
            low, high = m.actuator_actrange[i]
            inside[part] = (end[part] > low) & (end[part] < high)
    return inside[:, None] * (np.eye(n) + span[:, None] * by_act), (inside * span)[:, None] * by_control
