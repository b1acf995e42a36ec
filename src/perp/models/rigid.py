"""What the models are made of: masses, contact rows in the sign u = J v, and the finished model."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.problems import ConstraintSet, ContactProblem, Coulomb, Free
from perp.problems.validation import Vector

GRAVITY = 9.81
"""Acceleration of free fall [m/s²]."""


@dataclass(frozen=True)
class ContactModel:
    """One step of a small mechanism as a contact problem."""

    name: str  # what `perp compare` calls it
    problem: ContactProblem  # in dynamics form
    step: float  # time step h [s]: forces are impulses / h


def mass_block(mass: float, inertia: Vector) -> np.ndarray:
    """Mass matrix of a body, diagonal, shape (6, 6): mass [kg], principal inertias [kg·m²]."""
    return np.diag([mass, mass, mass, *inertia])


def box_inertia(mass: float, half: Any) -> Vector:
    """Principal inertias of a solid box from its half extents, shape (3,)."""
    x, y, z = np.asarray(half, dtype=float) ** 2
    return mass / 3.0 * np.array([y + z, x + z, x + y])


def sphere_inertia(mass: float, radius: float) -> Vector:
    """Principal inertias of a solid ball, shape (3,)."""
    return np.full(3, 0.4 * mass * radius**2)


def frame(normal: Vector) -> np.ndarray:
    """Rows n, t₁, t₂ of an orthonormal frame, shape (3, 3); t₁ lies in the plane of n and x."""
    n = np.asarray(normal, dtype=float)
    n = n / np.linalg.norm(n)
    seed = np.array([1.0, 0.0, 0.0]) if abs(n[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = seed - (seed @ n) * n
    first /= np.linalg.norm(first)
    return np.array([n, first, np.cross(n, first)])


def slope_gravity(angle: float) -> Vector:
    """Free fall [m/s²] seen from a plane tilted by `angle` [degrees]: x downhill, z along its normal."""
    tilt = math.radians(angle)
    return GRAVITY * np.array([math.sin(tilt), 0.0, -math.cos(tilt)])


class Bodies:
    """Free rigid bodies, to which contacts and joints are added row by row, for a time step under gravity."""

    def __init__(self, gravity: Vector, step: float) -> None:
        self.gravity, self.step = np.asarray(gravity, dtype=float), step
        self.masses: list[np.ndarray] = []
        self.centres: list[Vector] = []
        self.velocities: list[Vector] = []
        self.rows: list[list[tuple[int, np.ndarray]]] = []
        self.bias: list[float] = []
        self.sets: list[ConstraintSet] = []

    def add(self, mass: float, inertia: Vector, centre: Any, velocity: Any = (0.0,) * 6) -> int:
        """A body at `centre` [m] with linear and angular `velocity`; returns its number."""
        self.masses.append(mass_block(mass, inertia))
        self.centres.append(np.asarray(centre, dtype=float))
        self.velocities.append(np.asarray(velocity, dtype=float))
        return len(self.masses) - 1

    def contact(self, body: int, other: int | None, point: Any, normal: Any, mu: float) -> None:
        """A contact with friction at `point` [m]; its normal points from `other` (None: ground) to `body`."""
        self._rows(body, other, np.asarray(point, dtype=float), frame(np.asarray(normal, dtype=float)))
        self.sets.append(Coulomb(mu))

    def ball_joint(self, body: int, other: int | None, point: Any) -> None:
        """Keeps the point of both bodies together: three free rows."""
        self._rows(body, other, np.asarray(point, dtype=float), np.eye(3))
        self.sets += [Free()] * 3

    def _rows(self, body: int, other: int | None, point: Vector, directions: np.ndarray) -> None:
        here = np.hstack([directions, np.cross(point - self.centres[body], directions)])
        for k, direction in enumerate(directions):
            blocks = [(body, here[k])]
            if other is not None:
                arm = point - self.centres[other]
                blocks.append((other, -np.concatenate([direction, np.cross(arm, direction)])))
            self.rows.append(blocks)
            self.bias.append(0.0)

    def model(self, name: str) -> ContactModel:
        """The contact problem of one step."""
        jacobian = np.zeros((len(self.rows), 6 * len(self.masses)))
        for i, blocks in enumerate(self.rows):
            for body, values in blocks:
                jacobian[i, 6 * body : 6 * body + 6] += values
        momentum = np.concatenate(
            [
                mass @ velocity + self.step * np.concatenate([mass[0, 0] * self.gravity, np.zeros(3)])
                for mass, velocity in zip(self.masses, self.velocities, strict=True)
            ]
        )
        problem = ContactProblem.from_dynamics(
            np.array(self.masses), jacobian, momentum, np.array(self.bias), self.sets
        )
        return ContactModel(name, problem, self.step)
