"""A stack of boxes: each rests on the one below, the lowest on a tilted plane."""

from perp.models.rigid import Bodies, ContactModel, box_inertia, slope_gravity

HALF = (0.5, 0.5, 0.25)
COUNT = 3


def stack(*, angle: float = 0.0, mu: float = 1.0, step: float = 1e-3) -> ContactModel:
    """Three 1 kg boxes of 1 × 1 × 0.5 m; at rest the normal forces add up to (1 + 2 + 3) m g cos θ."""
    bodies = Bodies(slope_gravity(angle), step)
    below = None
    for k in range(COUNT):
        bottom = 2 * k * HALF[2]
        box = bodies.add(1.0, box_inertia(1.0, HALF), (0.0, 0.0, bottom + HALF[2]))
        for x in (-HALF[0], HALF[0]):
            for y in (-HALF[1], HALF[1]):
                bodies.contact(box, below, (x, y, bottom), (0, 0, 1), mu)
        below = box
    return bodies.model("stack")
