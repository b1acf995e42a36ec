"""A chain of rods on a tilted plane, hung from its upper end."""

import numpy as np

from perp.models.rigid import Bodies, ContactModel, slope_gravity

LENGTH, RADIUS, COUNT = 0.2, 0.01, 5


def chain(*, angle: float = 40.0, mu: float = 0.3, step: float = 1e-3) -> ContactModel:
    """Five 0.1 kg rods joined end to end by ball joints, each touching the plane at both ends."""
    bodies = Bodies(slope_gravity(angle), step)
    mass = 0.1
    across, along = mass * LENGTH**2 / 12, mass * RADIUS**2 / 2
    previous = None
    for k in range(COUNT):
        start = k * LENGTH
        rod = bodies.add(mass, np.array([along, across, across]), (start + LENGTH / 2, 0.0, RADIUS))
        bodies.ball_joint(rod, previous, (start, 0.0, RADIUS))
        for x in (start, start + LENGTH):
            bodies.contact(rod, None, (x, 0.0, 0.0), (0, 0, 1), mu)
        previous = rod
    return bodies.model("chain")
