"""A box at rest on a tilted plane, touching it with its four lower corners."""

from __future__ import annotations

import math

import numpy as np

from perp.models.rigid import GRAVITY, Model, box_inertia, contact_rows, mass_block
from perp.problems import ContactProblem, Sets


def box_on_slope(*, angle: float = 0.0, mu: float = 1.0, step: float = 1e-3) -> Model:
    """A 1 kg box of 1 × 1 × 0.5 m on a plane tilted by `angle`, in the plane's frame.

    Args:
        angle: Tilt [degrees].
        mu: Friction coefficient.
        step: Time step h [s].

    Returns:
        The problem of one step from rest; its totals are m g cos θ and, sticking, m g sin θ.
    """
    half = np.array([0.5, 0.5, 0.25])
    mass = mass_block(1.0, box_inertia(1.0, half))
    corners = [(x, y, -half[2]) for x in (-half[0], half[0]) for y in (-half[1], half[1])]
    jacobian = np.vstack([contact_rows(corner, normal=(0, 0, 1)) for corner in corners])
    tilt = math.radians(angle)
    force = GRAVITY * np.array([math.sin(tilt), 0.0, -math.cos(tilt), 0, 0, 0])
    problem = ContactProblem.from_dynamics(mass, jacobian, step * force, 0.0, Sets.coulomb(np.full(4, mu)))
    return Model("box-on-slope", problem, step)
