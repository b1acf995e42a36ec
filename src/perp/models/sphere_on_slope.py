"""A ball that starts to roll down a tilted plane."""

from perp.models.rigid import Bodies, ContactModel, slope_gravity, sphere_inertia

RADIUS = 0.1


def sphere_on_slope(*, angle: float = 25.0, mu: float = 1.0, step: float = 1e-3) -> ContactModel:
    """A solid 1 kg ball of radius 0.1 m on a plane tilted by `angle`, in the plane's frame.

    It presses with m g cos θ and, while μ ≥ 2/7 tan θ, rolls under a friction of 2/7 m g sin θ.
    """
    bodies = Bodies(slope_gravity(angle), step)
    ball = bodies.add(1.0, sphere_inertia(1.0, RADIUS), (0.0, 0.0, RADIUS))
    bodies.contact(ball, None, (0.0, 0.0, 0.0), (0, 0, 1), mu)
    return bodies.model("sphere-on-slope")
