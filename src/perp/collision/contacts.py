"""Contacts as arrays."""

from dataclasses import dataclass

import numpy as np


@dataclass(slots=True)
class Contacts:
    """All contacts of one pose. The normal points from the first body to the second."""

    geom: np.ndarray  # the two shapes, shape (contacts, 2)
    body: np.ndarray  # their bodies or WORLD, shape (contacts, 2)
    point: np.ndarray  # midway between the two surfaces in the world, shape (contacts, 3) [m]
    frame: np.ndarray  # normal and two tangents, as rows, shape (contacts, 3, 3)
    gap: np.ndarray  # distance of the surfaces, negative when they overlap, shape (contacts,) [m]
    # 1 frictionless, 3 sliding friction, 4 with spin, 6 with rolling friction, shape (contacts,)
    rows: np.ndarray
    friction: np.ndarray  # two sliding coefficients, one of spin and two of rolling [m], shape (contacts, 5)
    restitution: np.ndarray  # shape (contacts,)
    # radius of each surface about the contact, shape (contacts, 2) [m]: the gap of a sphere is that of its
    # centre, so that rolling does not change it
    roundness: np.ndarray
    # error to expect of the gap, shape (contacts,) [m]: zero for formulas, more for iterations
    accuracy: np.ndarray

    @property
    def count(self) -> int:
        return self.gap.size
