"""One frame of a pile: balls stacked as a square pyramid, every touching pair a contact."""

import itertools
import math

import numpy as np

from perp.models.rigid import GRAVITY, Bodies, ContactModel, sphere_inertia

RADIUS, LAYERS = 0.05, 3


def pile(*, mu: float = 0.3, step: float = 1e-3) -> ContactModel:
    """Fourteen 0.1 kg balls in layers of 9, 4 and 1, at rest at the moment they are let go."""
    bodies = Bodies(np.array([0.0, 0.0, -GRAVITY]), step)
    centres = []
    for layer in range(LAYERS):
        side = LAYERS - layer
        for i, j in itertools.product(range(side), repeat=2):
            offset = (side - 1) * RADIUS
            centre = (2 * RADIUS * i - offset, 2 * RADIUS * j - offset, RADIUS * (1 + layer * math.sqrt(2)))
            centres.append(np.array(centre))
            bodies.add(0.1, sphere_inertia(0.1, RADIUS), centre)
    for ball, centre in enumerate(centres):
        if centre[2] < 1.5 * RADIUS:
            bodies.contact(ball, None, centre - [0.0, 0.0, RADIUS], (0, 0, 1), mu)
    for a, b in itertools.combinations(range(len(centres)), 2):
        apart = centres[b] - centres[a]
        if np.linalg.norm(apart) < 2.0001 * RADIUS:
            bodies.contact(b, a, (centres[a] + centres[b]) / 2, apart, mu)
    return bodies.model("pile")
