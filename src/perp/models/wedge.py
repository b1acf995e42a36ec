"""A block on the face of a wedge that can itself slide on the floor."""

import math

import numpy as np

from perp.models.rigid import GRAVITY, Bodies, ContactModel, box_inertia

WEDGE_MASS, BLOCK_MASS = 2.0, 1.0
HALF = 0.1


def wedge(*, angle: float = 30.0, mu: float = 0.1, step: float = 1e-3) -> ContactModel:
    """A 1 kg cube on the face of a 2 kg wedge, tilted by `angle`, on a level floor.

    Without friction the block presses with m g cos α / (1 + (m / M) sin² α) (a textbook result).
    """
    bodies = Bodies(np.array([0.0, 0.0, -GRAVITY]), step)
    base = bodies.add(WEDGE_MASS, box_inertia(WEDGE_MASS, (0.5, 0.25, 0.25)), (0.0, 0.0, 0.25))
    for x in (-0.5, 0.5):
        for y in (-0.25, 0.25):
            bodies.contact(base, None, (x, y, 0.0), (0, 0, 1), mu)
    tilt = math.radians(angle)
    normal = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    along = np.array([math.cos(tilt), 0.0, -math.sin(tilt)])
    foot = np.array([0.0, 0.0, 0.3])
    block = bodies.add(BLOCK_MASS, box_inertia(BLOCK_MASS, (HALF,) * 3), foot + HALF * normal)
    for a in (-HALF, HALF):
        for y in (-HALF, HALF):
            bodies.contact(block, base, foot + a * along + np.array([0.0, y, 0.0]), normal, mu)
    return bodies.model("wedge")
