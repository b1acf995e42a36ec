"""MuJoCo's actuators as motors: motor, position, velocity and general affine ones on joints, and adhesion."""

import math
from dataclasses import replace
from typing import Any

from perp.scenes.engine import enabled, engine
from perp.scenes.joints import Freedom
from perp.scenes.motors import Motor, MotorKind


def read_motors(
    shapes: Any, joint_index: dict[int, tuple[int, Freedom]], ignored: list[tuple[str, str]]
) -> list[Motor]:
    """One motor per supported actuator, in order; the rest is reported."""
    mujoco = engine()

    motors: list[Motor] = []
    for i in range(shapes.nu):
        name = shapes.actuator(i).name or f"actuator{i}"
        joint = int(shapes.actuator_trnid[i, 0])
        on_joint = int(shapes.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_JOINT)
        plain = (
            int(shapes.actuator_gaintype[i]) == int(mujoco.mjtGain.mjGAIN_FIXED)
            and int(shapes.actuator_biastype[i]) <= int(mujoco.mjtBias.mjBIAS_AFFINE)
            and int(shapes.actuator_dyntype[i]) == int(mujoco.mjtDyn.mjDYN_NONE)
        )
        if plain and int(shapes.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_BODY):
            first = int(shapes.body_geomadr[joint])
            last = first + int(shapes.body_geomnum[joint])
            motors.append(replace(_motor(shapes, i, name, -1, ignored), shapes=(first, last)))
            continue
        if not on_joint or joint not in joint_index or not plain:
            why = "motors but stateless affine ones on hinges and sliders need reduced coordinates"
            ignored.append((f"actuator {name!r}", why))
            continue
        index, freedom = joint_index[joint]
        motors.append(replace(_motor(shapes, i, name, index, ignored), freedom=freedom))
    return motors


def _motor(shapes: Any, i: int, name: str, joint: int, ignored: list[tuple[str, str]]) -> Motor:
    """F = gain · control + b₀ + b₁ length + (b₂ − damping) speed, with length = gear · coordinate."""
    gear, gain = float(shapes.actuator_gear[i, 0]), float(shapes.actuator_gainprm[i, 0])
    biased = int(shapes.actuator_biastype[i]) == int(engine().mjtBias.mjBIAS_AFFINE)
    b0, b1, b2 = (float(value) if biased else 0.0 for value in shapes.actuator_biasprm[i, :3])
    b2 -= float(shapes.actuator_damping[i])
    if b1 > 0 or b2 > 0:
        ignored.append(
            (f"actuator {name!r} biasprm", "forces that grow with motion need reduced coordinates")
        )
    limit = math.inf
    if shapes.actuator_forcelimited[i]:
        low, high = (float(value) for value in shapes.actuator_forcerange[i])
        limit = max(-low, high)
        if low != -high:
            ignored.append((f"actuator {name!r} forcerange", "the larger of the two sides is used for both"))
    limit = limit * abs(gear) if enabled(shapes, "ACTUATION") else 0.0
    clamped = bool(shapes.actuator_ctrllimited[i]) and enabled(shapes, "CLAMPCTRL")
    least, most = (float(x) for x in shapes.actuator_ctrlrange[i]) if clamped else (-math.inf, math.inf)
    kind, stiffness, damping, scale, offset = MotorKind.FORCE, 0.0, 0.0, gear * gain, gear * b0
    if b1 < 0:
        kind, stiffness, damping = MotorKind.POSITION, -b1 * gear**2, max(-b2, 0.0) * gear**2
        scale, offset = gain / -b1 / gear, b0 / -b1 / gear
    elif b2 < 0:
        kind, damping = MotorKind.VELOCITY, -b2 * gear**2
        scale, offset = gain / -b2 / gear, b0 / -b2 / gear
    return Motor(
        name, joint, kind, stiffness, damping, limit, scale, offset, control_low=least, control_high=most
    )
