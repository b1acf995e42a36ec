"""The error of the collision detector."""

from perp.problems import PerpError


class CollisionError(PerpError, RuntimeError):
    """The collision detector could not hold all contacts."""
