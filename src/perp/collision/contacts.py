"""Contacts as arrays."""

from dataclasses import dataclass

import numpy as np


@dataclass(slots=True)
class Contacts:
    """All contacts of one pose. The normal points from the first body to the second.

    Attributes:
        geom: The two shapes, shape (contacts, 2).
        body: Their bodies or WORLD, shape (contacts, 2).
        point: Midway between the two surfaces in the world, shape (contacts, 3) [m].
        frame: Normal and two tangents, as rows, shape (contacts, 3, 3).
        gap: Distance of the surfaces, negative when they overlap, shape (contacts,) [m].
        rows: 1 frictionless, 3 sliding friction, 4 with spin, 6 with rolling friction, shape (contacts,).
        friction: Two sliding coefficients, one of spin and two of rolling [m], shape (contacts, 5).
        restitution: Shape (contacts,).
        roundness: Radius of each surface about the contact, shape (contacts, 2) [m]: the gap of a sphere is
            that of its centre, so that rolling does not change it.
        accuracy: Error to expect of the gap, shape (contacts,) [m]: zero for formulas, more for iterations.
    """

    geom: np.ndarray
    body: np.ndarray
    point: np.ndarray
    frame: np.ndarray
    gap: np.ndarray
    rows: np.ndarray
    friction: np.ndarray
    restitution: np.ndarray
    roundness: np.ndarray
    accuracy: np.ndarray

    @property
    def count(self) -> int:
        return self.gap.size
