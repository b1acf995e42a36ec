"""Rotor inertia of joint coordinates in maximal coordinates, and what rotors and springs store.

A rotor of inertia I geared to a coordinate q resists its change: λ = −I (q̇⁺ − q̇⁻). As a row that is the
drive of damping I / h about the rate q̇⁻, J u⁺ − q̇⁻ + λ / I = 0, so no law is added to the step. q̇⁻ is the
rate J u⁺ of the last step, not that of the bodies' new velocities: then the rotor's momentum telescopes and
changes by forces only, also where the bodies' spin is read off their momentum at the end of a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perp.dynamics.rows import ARMATURE, DAMPING, RATE, STIFFNESS, TARGET, JointRows
from perp.stepping.row_products import row_velocity


class RotorRates(NamedTuple):
    """What the last step left: it counts while the bodies move as it said.

    Attributes:
        rate: J u⁺ of every rotor, shape (rotors,) [m/s or rad/s].
        velocity: Of the bodies after the step, shape (n, 6).
    """

    rate: np.ndarray
    velocity: np.ndarray


def rotor_rates(
    table: JointRows, jacobian: np.ndarray, velocity: np.ndarray, last: RotorRates | None
) -> np.ndarray:
    """q̇⁻ of every rotor at the start of a step, shape (rotors,)."""
    rows = table.rotors
    if not rows.size:
        return np.zeros(0)
    bodies, out = np.ascontiguousarray(table.links[rows, 1:3]), np.empty(rows.size)
    row_velocity(bodies, jacobian[rows], velocity, out)
    if last is None:
        return out
    # the world, body −1, never changes
    kept = np.append((last.velocity == velocity).all(axis=1), True)
    return np.where(kept[bodies].all(axis=1), last.rate, out)


def with_rotors(
    table: JointRows, jacobian: np.ndarray, velocity: np.ndarray, h: float, last: RotorRates | None
) -> np.ndarray:
    """The parameters of all rows for one step of length h, those of the rotors as drives."""
    rows = table.rotors
    if not rows.size:
        return table.parameters
    out = table.parameters.copy()
    out[rows, DAMPING] = out[rows, ARMATURE] / h
    out[rows, RATE] = rotor_rates(table, jacobian, velocity, last)
    return out


def stored_energy(table: JointRows, coordinate: np.ndarray, rate: np.ndarray) -> tuple[float, float]:
    """Kinetic energy of the rotors at these rates and energy of the joints' springs [J].

    A position servo is no spring: it is fed from outside.
    """
    springs = table.springs
    if not springs.size and not rate.size:
        return 0.0, 0.0
    inertia = table.parameters[table.rotors, ARMATURE]
    stretch = coordinate[springs] - table.parameters[springs, TARGET]
    return float(0.5 * inertia @ rate**2), float(0.5 * table.parameters[springs, STIFFNESS] @ stretch**2)
