"""What became of the steps of many worlds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from perp.collision import Contacts
from perp.stepping import packing
from perp.stepping.record import contacts_of_lines
from perp.stepping.verdict import FAILED, FULL


class WorldStatus(IntEnum):
    """Of a step of a world; the larger, the worse. Below `FAILED` a world goes on."""

    SOLVED = 0
    NOT_SOLVED = 1  # the contact problem of the step misses its tolerance
    ROWS_OFF = 2  # rows do not hold at the end of the step
    OVERLAP = 3  # shapes overlap more than they should
    OPEN_JOINT = 4  # joints are open
    ENERGY_GAINED = 5  # bodies have energy that nothing gave them
    FAILED = FAILED  # numbers overflow: the world stays at its last state until it is reset
    CONTACTS_FULL = FULL  # there are more contacts than mujoco's memory holds; as FAILED


@dataclass(frozen=True)
class BatchContacts:
    """Contacts of all worlds and steps of a rollout, one a line, sorted by world and step.

    Attributes:
        world, step: Where each belongs, shape (contacts,).
        contacts: Shapes, bodies, points, frames, gaps, friction.
        impulse: In the contact frames: normal, tangents, spin, rolling, shape (contacts, 6) [N s, N m s].
        sticking: −1 open, 0 slipping, 1 sticking.
    """

    world: np.ndarray
    step: np.ndarray
    contacts: Contacts
    impulse: np.ndarray
    sticking: np.ndarray

    @classmethod
    def of_lines(cls, lines: np.ndarray) -> BatchContacts:
        """From what `many_steps` logs: world, step and a packed contact a line."""
        lines = lines[np.lexsort((lines[:, 1], lines[:, 0]))]
        x = lines[:, 2:]
        return cls(
            lines[:, 0].astype(np.int64), lines[:, 1].astype(np.int64), contacts_of_lines(x),
            x[:, packing.IMPULSE : packing.IMPULSE + 6], x[:, packing.STATE].astype(np.int64),
        )  # fmt: skip


@dataclass(frozen=True)
class Rollout:
    """Every step of every world.

    Attributes:
        time: At the end of each step, shape (worlds, steps) [s].
        qpos, qvel, act: At the end of each step, shape (worlds, steps, …); a world that failed stays.
        status: `WorldStatus` of each step, shape (worlds, steps).
        residual: The worst violation of a law over its scale, infinite where a step failed.
        contacts: Of all steps, where they were asked for.
    """

    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray
    status: np.ndarray
    residual: np.ndarray
    contacts: BatchContacts | None = None

    @property
    def solved(self) -> np.ndarray:
        """Worlds all of whose steps met their tolerance, shape (worlds,)."""
        return (self.status == WorldStatus.SOLVED).all(axis=1)
