"""A slider-crank whose slider runs in a guide, in the plane: joints, a motor and contacts in one problem."""

import math

import numpy as np

from perp.models.rigid import GRAVITY, ContactModel
from perp.problems import Box, ContactProblem, Coulomb, Free, Sets
from perp.problems.validation import Vector

CRANK, ROD = 0.1, 0.3
MASSES = {"crank": 0.5, "rod": 1.0, "slider": 2.0}
TORQUE = 2.0
"""What the motor can do [N·m]."""


def slider_crank(
    *, angle: float = 60.0, mu: float = 0.3, speed: float = 10.0, step: float = 1e-3
) -> ContactModel:
    """Crank 0.1 m, rod 0.3 m, slider 2 kg on a guide; a motor of at most 2 N·m turns the crank at `speed`.

    Unknown velocities are (x, y, rotation) of crank, rod and slider. Three pins are free rows, the motor is a
    box, and the slider's two lower corners touch the guide with friction. The mechanism starts at `speed`
    [rad/s] too; `angle` is that of the crank.
    """
    turn = math.radians(angle)
    pin = CRANK * np.array([math.cos(turn), math.sin(turn)])
    lean = -math.asin(pin[1] / ROD)
    end = pin + ROD * np.array([math.cos(lean), math.sin(lean)])
    centres = [pin / 2, (pin + end) / 2, end]
    lengths = [CRANK, ROD]
    inertias = [mass * length**2 / 12 for mass, length in zip(MASSES.values(), lengths, strict=False)]
    inertias.append(MASSES["slider"] * (0.1**2 + 0.06**2) / 12)
    mass = np.diag(
        [m for pair in zip(MASSES.values(), inertias, strict=True) for m in (pair[0], pair[0], pair[1])]
    )

    rows = [
        *_point_rows(0, np.zeros(2), centres),
        *(_point_rows(0, pin, centres) - _point_rows(1, pin, centres)),
        *(_point_rows(1, end, centres) - _point_rows(2, end, centres)),
    ]
    motor = np.zeros(9)
    motor[2] = 1.0
    corners = [end + np.array([x, -0.03]) for x in (-0.05, 0.05)]
    contacts = [row for corner in corners for row in _point_rows(2, corner, centres)[::-1]]
    jacobian = np.array([*rows, motor, *contacts])
    bias = np.zeros(len(jacobian))
    bias[6] = -speed
    velocity = _moving(np.array(rows), np.array(contacts[0::2]), motor, speed)
    weight = np.concatenate([[0.0, -GRAVITY * m, 0.0] for m in MASSES.values()])
    sets = Sets([*[Free()] * 6, Box(-TORQUE * step, TORQUE * step), Coulomb(mu, 2), Coulomb(mu, 2)])
    problem = ContactProblem.from_dynamics(mass, jacobian, mass @ velocity + step * weight, bias, sets)
    return ContactModel("slider-crank", problem, step)


def _point_rows(body: int, point: Vector, centres: list[Vector]) -> np.ndarray:
    """Velocity of a body's point along x and y, shape (2, 9)."""
    arm = point - centres[body]
    rows = np.zeros((2, 9))
    rows[:, 3 * body : 3 * body + 3] = [[1.0, 0.0, -arm[1]], [0.0, 1.0, arm[0]]]
    return rows


def _moving(joints: np.ndarray, normals: np.ndarray, motor: Vector, speed: float) -> Vector:
    """The velocities of the mechanism when its crank turns at `speed` and its slider stays on the guide."""
    rows = np.vstack([joints, normals, motor])
    right = np.zeros(len(rows))
    right[-1] = speed
    return np.linalg.lstsq(rows, right, rcond=None)[0]
