"""What the models are made of: masses, contact rows in the sign u = J v, and the finished model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.problems import ContactProblem
from perp.problems.validation import Vector

GRAVITY = 9.81
"""Acceleration of free fall [m/s²]."""


@dataclass(frozen=True)
class Model:
    """One step of a small mechanism as a contact problem.

    Attributes:
        name: What `perp compare` calls it.
        problem: The contact problem, in dynamics form.
        step: Time step h [s]: forces are impulses / h.
    """

    name: str
    problem: ContactProblem
    step: float


def mass_block(mass: float, inertia: Vector) -> np.ndarray:
    """Mass matrix of a body, diagonal, shape (6, 6): mass [kg], principal inertias [kg·m²]."""
    return np.diag([mass, mass, mass, *inertia])


def box_inertia(mass: float, half: Vector) -> Vector:
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


def contact_rows(point: Vector, normal: Vector) -> np.ndarray:
    """Rows d, p × d of a body's contact: the velocities of its point p along n, t₁ and t₂, shape (3, 6).

    Args:
        point: From the body's centre of mass to the contact, in the world's directions [m].
        normal: Towards this body.
    """
    directions = frame(normal)
    return np.hstack([directions, np.cross(np.asarray(point, dtype=float), directions)])
