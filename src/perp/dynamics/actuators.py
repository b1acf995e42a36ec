"""Actuators of generalised coordinates: F = gain · control + bias, both affine in length and speed.

    F = (g₀ + g₁ ℓ + g₂ ℓ̇) c + b₀ + b₁ ℓ + b₂ ℓ̇,   clipped to its range,   generalised force mᵀ F

The part that grows with ℓ and ℓ̇ is implicit: with K = −h² ∂F/∂ℓ − h ∂F/∂ℓ̇ > 0 and F₀ the force at the start
with ℓ̇ = 0, the impulse of a step is λ = h F₀ − K (m · v⁺). Forces of any other actuator (muscles, user
functions, motors with several inputs) are mujoco's own at the start of the step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from perp.scenes.engine import engine

NO_ROW, ONE_DOF, SEVERAL_DOFS = 0, 1, 2


class Actuators:
    """The actuators of a mujoco model.

    Attributes:
        count: Number of control values.
        names: One per control value.
        control: Current values, shape (count,).
    """

    def __init__(self, m: Any) -> None:
        mujoco = engine()
        self._m, self._mujoco = m, mujoco
        self.count = int(m.nu)
        self.names = control_names(m)
        self.control = np.zeros(self.count)
        gain, bias, dyn = m.actuator_gaintype, m.actuator_biastype, m.actuator_dyntype
        single = (m.actuator_ctrlnum == 1) & (m.actuator_outnum == 1) & (m.actuator_history[:, 0] == 0)
        affine = (gain <= int(mujoco.mjtGain.mjGAIN_AFFINE)) & (bias <= int(mujoco.mjtBias.mjBIAS_AFFINE))
        known = dyn <= int(mujoco.mjtDyn.mjDYN_FILTEREXACT)
        self._off = (
            bool(int(m.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)) or not m.nactuator
        )
        self.affine = np.flatnonzero(single & affine & known)
        self.other = np.flatnonzero(~(single & affine & known))
        clamp = not int(m.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
        limited = (m.actuator_ctrllimited != 0) & clamp if m.nactuator else np.zeros(0, dtype=bool)
        self._low = np.where(limited, m.actuator_ctrlrange[:, 0], -np.inf)
        self._high = np.where(limited, m.actuator_ctrlrange[:, 1], np.inf)
        low, high = _force_range(m, mujoco)
        i = self.affine
        self._bounds = low[i], high[i]
        stateful = np.flatnonzero(m.actuator_actadr >= 0)
        exact = m.actuator_dyntype[stateful] == int(mujoco.mjtDyn.mjDYN_FILTEREXACT)
        limits = np.where(
            (m.actuator_actlimited[stateful] != 0)[:, None], m.actuator_actrange[stateful], (-np.inf, np.inf)
        )
        self._activation_table = (
            m.actuator_actadr[stateful].astype(np.int64), m.actuator_actnum[stateful].astype(np.int64),
            np.where(exact, np.maximum(m.actuator_dynprm[stateful, 0], 1e-15), np.inf), limits,
        )  # fmt: skip
        self._outputs = m.actuator_outadr[i].astype(np.int64)
        held = np.where(m.actuator_actadr[i] >= 0, m.actuator_actadr[i] + m.actuator_actnum[i] - 1, -1)
        varies, biased = m.actuator_gaintype[i, None] == 1, m.actuator_biastype[i, None] == 1
        gain, bias = m.actuator_gainprm[i, :3].copy(), np.where(biased, m.actuator_biasprm[i, :3], 0.0)
        gain[:, 1:] = np.where(varies, gain[:, 1:], 0.0)
        self._law_table = (
            i, m.actuator_ctrladr[i].astype(np.int64), self._low[i], self._high[i], held.astype(np.int64),
            m.actuator_actearly[i] != 0, gain, bias,
        )  # fmt: skip

    def sort(
        self, d: Any, h: float, force: np.ndarray, extra: np.ndarray, dense: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """What the actuators do in a step: forces and gains where they can be added, rows otherwise.

        Args:
            d: mujoco's data at the start of the step.
            h: Step [s].
            force: Given forces are added, shape (nv,).
            extra: Gains of unlimited motors on one degree of freedom are added, shape (nv,).
            dense: Rows over several degrees of freedom, zero before, shape (affine, nv).

        Returns:
            Place (see `sort_motors`), degree of freedom, sign, F₀, K, least and largest force of each affine
            actuator.
        """
        n = self.affine.size
        place, dof = np.zeros(n, np.int64), np.empty(n, np.int64)
        sign, F, K = np.empty(n), np.zeros(n), np.zeros(n)
        if not self._off and n:
            later = self.next_activation(d, h) if self._m.na else d.act
            motor_laws(
                d.ctrl, d.act, later, d.actuator_length, d.actuator_velocity, h, *self._law_table, F, K
            )
            sort_motors(
                self._outputs, d.moment_rowadr, d.moment_rownnz, d.moment_colind, d.actuator_moment, F, K,
                *self._bounds, force, extra, place, dof, sign, dense,
            )  # fmt: skip
        if self.other.size and not self._off:
            force += self._other_forces(d)
        return place, dof, sign, F, K, *self._bounds

    def next_activation(self, d: Any, h: float) -> np.ndarray:
        """Activations after a step, shape (na,)."""
        m = self._m
        out = d.act.copy()
        if not m.na:
            return out
        self._mujoco.mj_fwdActuation(m, d)
        advance(*self._activation_table, d.act_dot, h, out)
        return out

    def _other_forces(self, d: Any) -> np.ndarray:
        """Generalised force of the actuators that are not affine, shape (nv,)."""
        out = np.zeros(self._m.nv)
        self._mujoco.mj_fwdActuation(self._m, d)
        for i in self.other:
            at, n = int(self._m.actuator_outadr[i]), int(self._m.actuator_outnum[i])
            for k in range(at, at + n):
                columns, values = moment(d, k)
                out[columns] += values * d.actuator_force[k]
        return out


@njit(cache=True)
def advance(at, count, tau, limits, rate, h, act):
    """Activations after a step, in place.

    Args:
        at: First activation of each actuator that has some, as the next three.
        count: How many.
        tau: Time constant of an exact filter, infinite without one [s].
        limits: Range, shape (actuators, 2).
        rate: mujoco's rates of all activations.
        h: Step [s].
        act: Activations.
    """
    for i in range(at.size):
        span = h if tau[i] == np.inf else -tau[i] * math.expm1(-h / tau[i])
        for k in range(at[i], at[i] + count[i]):
            act[k] = min(max(act[k] + span * rate[k], limits[i, 0]), limits[i, 1])


@njit(cache=True)
def motor_laws(ctrl, act, later, length, speed, h, number, at, least, most, held, early, gain, bias, F, K):
    """F₀ and K of affine actuators at the start of a step.

    Args:
        ctrl: Control values.
        act: Activations at the start.
        later: Activations at the end.
        length: Of all actuators.
        speed: Of all actuators.
        h: Step [s].
        number: Which actuator each one is, as the next seven.
        at: Its control value.
        least: Range of the control.
        most: Range of the control.
        held: Its activation, or −1.
        early: Whether that of the end counts.
        gain: g₀, g₁, g₂.
        bias: b₀, b₁, b₂.
        F: Out.
        K: Out.
    """
    for k in range(number.size):
        c = min(max(ctrl[at[k]], least[k]), most[k])
        if held[k] >= 0:
            c = later[held[k]] if early[k] else act[held[k]]
        by_length, by_speed = gain[k, 1] * c + bias[k, 1], gain[k, 2] * c + bias[k, 2]
        F[k] = gain[k, 0] * c + bias[k, 0] + by_length * length[number[k]]
        K[k] = -h * h * by_length - h * by_speed
        if K[k] <= 0.0:
            F[k] += by_speed * speed[number[k]]
            K[k] = 0.0


@njit(cache=True)
def sort_motors(output, begin, count, column, moment, F, K, low, high, force, extra, place, dof, sign, dense):
    """Motors into forces, diagonal entries and rows.

    Args:
        output: Line of each motor's moments.
        begin: mujoco's compressed moments, as the next three.
        count: Entries of each line.
        column: Degrees of freedom.
        moment: Values.
        F: Force F₀ of each motor.
        K: Its gain.
        low: Least force.
        high: Largest force.
        force: Given forces are added, shape (nv,).
        extra: Gains of unlimited motors on one degree of freedom are added, shape (nv,).
        place: Out: NO_ROW, ONE_DOF or SEVERAL_DOFS.
        dof: Out for ONE_DOF.
        sign: Out for ONE_DOF: the moment.
        dense: Out for SEVERAL_DOFS, zero before, shape (motors, nv).
    """
    for k in range(output.size):
        a, n = begin[output[k]], count[output[k]]
        unlimited = low[k] == -np.inf and high[k] == np.inf
        place[k], dof[k], sign[k] = NO_ROW, -1, 1.0
        if K[k] == 0.0 or (n == 1 and unlimited):
            for t in range(a, a + n):
                force[column[t]] += moment[t] * min(max(F[k], low[k]), high[k])
                extra[column[t]] += K[k] * moment[t] ** 2
        elif n == 1:
            place[k], dof[k], sign[k] = ONE_DOF, column[a], moment[a]
        else:
            place[k] = SEVERAL_DOFS
            for t in range(a, a + n):
                dense[k, column[t]] = moment[t]


def moment(d: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of an actuator's row of moments."""
    at, n = int(d.moment_rowadr[k]), int(d.moment_rownnz[k])
    return d.moment_colind[at : at + n], d.actuator_moment[at : at + n]


def control_names(m: Any) -> tuple[str, ...]:
    """One name per control value: the actuator's, with an index where it has several."""
    names: list[str] = []
    for i in range(m.nactuator):
        name = m.actuator(i).name or f"actuator{i}"
        n = int(m.actuator_ctrlnum[i])
        names += [name] if n == 1 else [f"{name}[{k}]" for k in range(n)]
    return tuple(names)


def _force_range(m: Any, mujoco: Any) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of each actuator's force: its own, and those of the joint or tendon that it acts on."""
    limited = m.actuator_forcelimited != 0
    low = np.where(limited, m.actuator_forcerange[:, 0], -np.inf)
    high = np.where(limited, m.actuator_forcerange[:, 1], np.inf)
    joint, tendon = int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_TENDON)
    for i in range(m.nactuator):
        target, kind = int(m.actuator_trnid[i, 0]), int(m.actuator_trntype[i])
        gear = float(m.actuator_gear[i, 0])
        if kind == joint and m.jnt_actfrclimited[target]:
            bounds = m.jnt_actfrcrange[target]
        elif kind == tendon and m.tendon_actfrclimited[target]:
            bounds = m.tendon_actfrcrange[target]
        else:
            continue
        if gear:
            low[i] = max(low[i], min(bounds / gear))
            high[i] = min(high[i], max(bounds / gear))
    return low, high
