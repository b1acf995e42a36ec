"""A box at rest on a tilted plane, touching it with its four lower corners."""

import numpy as np

from perp.models.rigid import Bodies, ContactModel, box_inertia, slope_gravity

HALF = np.array([0.5, 0.5, 0.25])


def box_on_slope(*, angle: float = 0.0, mu: float = 1.0, step: float = 1e-3) -> ContactModel:
    """A 1 kg box of 1 × 1 × 0.5 m on a plane tilted by `angle`, in the plane's frame.

    Its totals are m g cos θ and the smaller of m g sin θ and μ m g cos θ.
    """
    bodies = Bodies(slope_gravity(angle), step)
    box = bodies.add(1.0, box_inertia(1.0, HALF), (0.0, 0.0, HALF[2]))
    for x in (-HALF[0], HALF[0]):
        for y in (-HALF[1], HALF[1]):
            bodies.contact(box, None, (x, y, 0.0), (0, 0, 1), mu)
    return bodies.model("box-on-slope")
