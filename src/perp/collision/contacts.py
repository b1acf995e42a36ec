"""Contacts as arrays, and what a collision detector must be able to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Protocol

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
        rows: 1 frictionless, 3 sliding friction, 5 with rolling friction, shape (contacts,).
        friction: Two sliding coefficients and one rolling coefficient [m], shape (contacts, 3).
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

    @classmethod
    def none(cls) -> Contacts:
        """No contacts at all."""
        pair = np.zeros((0, 2), dtype=np.int64)
        line, number = np.zeros((0, 3)), np.zeros(0)
        rows = np.zeros(0, dtype=np.int64)
        return cls(
            pair, pair, line, np.zeros((0, 3, 3)), number, rows, line, number, np.zeros((0, 2)), number
        )

    def joined(self, other: Contacts) -> Contacts:
        """These and then those."""
        return self._of(np.concatenate([getattr(self, p.name), getattr(other, p.name)]) for p in fields(self))

    def taken(self, which: np.ndarray) -> Contacts:
        """Some of them, by index or mask."""
        return self._of(getattr(self, part.name)[which] for part in fields(self))

    @classmethod
    def _of(cls, columns: Iterable[np.ndarray]) -> Contacts:
        return cls(*columns)

    @property
    def count(self) -> int:
        return self.gap.size

    @property
    def row_count(self) -> int:
        """Rows of all contacts together."""
        return int(self.rows.sum())


class ContactFinder(Protocol):
    """Finds every pair of surface points that are nearer than the shapes can move in a step."""

    @property
    def bound(self) -> np.ndarray:
        """Radius of each body about its centre of mass, shape (bodies,) [m]."""
        ...

    def find(self, position: np.ndarray, rotation: np.ndarray, reach: np.ndarray) -> Contacts:
        """Contacts at a pose.

        Args:
            position: Centres of mass of the bodies, shape (bodies, 3) [m].
            rotation: Their principal frames, shape (bodies, 3, 3).
            reach: How far each body's surface can move, shape (bodies,) [m].
        """
        ...
