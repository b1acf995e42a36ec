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
from numba import types

from perp.compilation.kernel import part
from perp.scenes import Motor
from perp.scenes.engine import engine

_I, _F, _I2, _F2 = types.int64[::1], types.float64[::1], types.int64[:, ::1], types.float64[:, ::1]

ACTUATOR_FIELDS = [
    # affine actuators: line of their moments, or −1 − the row of the table that measures their coordinate;
    # control value, its range, activation or −1, whether that of the end counts, g₀ g₁ g₂, b₀ b₁ b₂,
    # range of the force, damping
    ("motor_output", _I),
    ("motor_control", _I),
    ("motor_low", _F),
    ("motor_high", _F),
    ("motor_held", _I),
    ("motor_early", _I),
    ("motor_gain", _F2),
    ("motor_bias", _F2),
    ("motor_least", _F),
    ("motor_most", _F),
    ("motor_damping", _F),
    # lines of moments of all other actuators
    ("other_output", _I),
    # adhesion: number of the motor; first and last shape (not included) of the body that sticks
    ("adhesion", _I2),
    # activations: first one, how many, time constant of an exact filter or infinity, range
    ("act_at", _I),
    ("act_count", _I),
    ("act_tau", _F),
    ("act_range", _F2),
]


def actuator_tables(m: Any, motors: tuple[Motor, ...], rows: np.ndarray) -> dict[str, Any]:
    """The tables of mujoco's actuators, and behind them motors that were added in Python on measured rows."""
    tables, own = _of_file(m), _added(motors, rows, int(m.nu))
    return tables | {name: np.concatenate([tables[name], own[name]]) for name in own}


def _added(motors: tuple[Motor, ...], rows: np.ndarray, first: int) -> dict[str, Any]:
    """Motors on measured coordinates as affine actuators: F = g₀ c + b₀ + b₁ q + b₂ q̇."""
    laws = np.array([motor.affine for motor in motors]).reshape(-1, 4)
    gain, bias = np.zeros((len(motors), 3)), laws[:, 1:].copy()
    gain[:, 0] = laws[:, 0]
    limit = np.array([motor.force_limit for motor in motors])
    return {
        "motor_output": -1 - rows, "motor_control": first + np.arange(len(motors)),
        "motor_low": np.array([motor.control_low for motor in motors]),
        "motor_high": np.array([motor.control_high for motor in motors]),
        "motor_held": np.full(len(motors), -1), "motor_early": np.zeros(len(motors), np.int64),
        "motor_gain": gain, "motor_bias": bias, "motor_least": -limit, "motor_most": limit,
        "motor_damping": np.zeros(len(motors)),
    }  # fmt: skip


def _of_file(m: Any) -> dict[str, Any]:
    mujoco = engine()

    def whole(x: Any) -> np.ndarray:
        return np.array(x, dtype=np.int64)

    gain, bias, dyn = m.actuator_gaintype, m.actuator_biastype, m.actuator_dyntype
    single = (m.actuator_ctrlnum == 1) & (m.actuator_outnum == 1) & (m.actuator_history[:, 0] == 0)
    affine = (gain <= int(mujoco.mjtGain.mjGAIN_AFFINE)) & (bias <= int(mujoco.mjtBias.mjBIAS_AFFINE))
    known = single & affine & (dyn <= int(mujoco.mjtDyn.mjDYN_FILTEREXACT))
    flags, bits = int(m.opt.disableflags), mujoco.mjtDisableBit
    on = not flags & int(bits.mjDSBL_ACTUATION)
    i, other = np.flatnonzero(known & on), np.flatnonzero(~known & on)
    clamp = not flags & int(bits.mjDSBL_CLAMPCTRL)
    limited = (m.actuator_ctrllimited[i] != 0) & clamp
    held = np.where(m.actuator_actadr[i] >= 0, m.actuator_actadr[i] + m.actuator_actnum[i] - 1, -1)
    varies, biased = m.actuator_gaintype[i, None] == 1, m.actuator_biastype[i, None] == 1
    slope = m.actuator_gainprm[i, :3].copy()
    slope[:, 1:] = np.where(varies, slope[:, 1:], 0.0)
    least, most = _force_range(m, mujoco)
    outputs = [
        k for a in other for k in range(m.actuator_outadr[a], m.actuator_outadr[a] + m.actuator_outnum[a])
    ]
    sticks = np.flatnonzero(m.actuator_trntype[i] == int(mujoco.mjtTrn.mjTRN_BODY))
    stateful = np.flatnonzero((m.actuator_actadr >= 0) & on)
    exact = m.actuator_dyntype[stateful] == int(mujoco.mjtDyn.mjDYN_FILTEREXACT)
    ranges = np.where(
        (m.actuator_actlimited[stateful] != 0)[:, None], m.actuator_actrange[stateful], (-np.inf, np.inf)
    )
    return {
        "motor_output": whole(m.actuator_outadr[i]), "motor_control": whole(m.actuator_ctrladr[i]),
        "motor_low": np.where(limited, m.actuator_ctrlrange[i, 0], -np.inf),
        "motor_high": np.where(limited, m.actuator_ctrlrange[i, 1], np.inf), "motor_held": whole(held),
        "motor_early": whole(m.actuator_actearly[i] != 0), "motor_gain": slope,
        "motor_bias": np.where(biased, m.actuator_biasprm[i, :3], 0.0),
        "motor_least": np.array(least[i]), "motor_most": np.array(most[i]),
        "motor_damping": np.array(m.actuator_damping[i], dtype=np.float64),
        "other_output": whole(outputs),
        "adhesion": whole([_sticky(m, int(k), i[k]) for k in sticks]).reshape(-1, 3),
        "act_at": whole(m.actuator_actadr[stateful]), "act_count": whole(m.actuator_actnum[stateful]),
        "act_tau": np.where(exact, np.maximum(m.actuator_dynprm[stateful, 0], 1e-15), np.inf),
        "act_range": np.ascontiguousarray(ranges).reshape(-1, 2),
        "actuation": int(on and bool(m.na or other.size)),
    }  # fmt: skip


def _sticky(m: Any, motor: int, actuator: int) -> tuple[int, int, int]:
    body = int(m.actuator_trnid[actuator, 0])
    first = int(m.body_geomadr[body])
    return motor, first, first + int(m.body_geomnum[body])


@part
def advance(at, count, tau, limits, rate, h, act):
    """Activations after a step, in place.

    Args:
        at: First activation of each actuator that has some, shape (actuators,).
        count: How many activations each has, shape (actuators,).
        tau: Time constant of an exact filter, infinite without one [s], shape (actuators,).
        limits: Range of the activations, shape (actuators, 2).
        rate: mujoco's rates of all activations.
        h: Step [s].
        act: Activations.
    """
    for i in range(at.size):
        span = h if tau[i] == np.inf else -tau[i] * math.expm1(-h / tau[i])
        for k in range(at[i], at[i] + count[i]):
            act[k] = min(max(act[k] + span * rate[k], limits[i, 0]), limits[i, 1])


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
