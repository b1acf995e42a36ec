"""Line searches on a merit function, shared by the Newton methods."""

from __future__ import annotations

from collections.abc import Callable

from perp.problems.validation import Vector

# Armijo's fraction of the predicted decrease: the usual small one, so that almost any decrease is taken.
SUFFICIENT = 1e-4
# Steps shorter than 2⁻¹² of a Newton step make no headway; another kind of step is due.
HALVINGS = 12


def backtrack(
    merit: Callable[[Vector], float],
    z: Vector,
    direction: Vector,
    reference: float,
    *,
    slope: float | None = None,
    halvings: int = HALVINGS,
) -> tuple[Vector, float] | None:
    """The first of z + d, z + d/2, z + d/4, … with enough decrease, or None.

    Args:
        merit: What is to be lowered, NaN-safe: a NaN is never a decrease.
        z: Where the search starts, shape (n,).
        direction: d, shape (n,).
        reference: The merit to beat: that of z, or the largest of the last few for a nonmonotone search.
        slope: Directional derivative of the merit; None demands a relative decrease of 1e-4 of the step.
        halvings: How many times the step may be halved.

    Returns:
        The new point and its merit.
    """
    step = 1.0
    for _ in range(halvings + 1):
        candidate = z + step * direction
        value = merit(candidate)
        target = (
            reference * (1.0 - SUFFICIENT * step) if slope is None else reference + SUFFICIENT * step * slope
        )
        if value <= target:
            return candidate, value
        step *= 0.5
    return None
