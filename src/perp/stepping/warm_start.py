"""Impulses carried from step to step: forces and torques in the world, by contact identity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Self

import numpy as np
from numba import njit

from perp.collision import Contacts, carry_over
from perp.collision.matching import local_points
from perp.stepping.rotors import RotorRates
from perp.stepping.sleeping import Rest
from perp.stepping.system import StepSystem


@njit(cache=True)
def into_world(first, rows, frame, impulse, out):
    """Force and rolling torque of each contact in the world frame, shape (contacts, 2, 3)."""
    out[:] = 0.0
    for c in range(rows.size):
        for r in range(rows[c]):
            side, axis = (0, r) if r < 3 else (1, r - 2)
            for k in range(3):
                out[c, side, k] += impulse[first[c] + r] * frame[c, axis, k]


@njit(cache=True)
def into_frames(first, rows, frame, partner, world, h, out):
    """The impulses of matched contacts in the frames of this step."""
    for c in range(rows.size):
        if partner[c] < 0:
            continue
        for r in range(rows[c]):
            side, axis = (0, r) if r < 3 else (1, r - 2)
            total = 0.0
            for k in range(3):
                total += world[partner[c], side, k] * frame[c, axis, k]
            out[first[c] + r] = h * total


# Shapes whose overlap could not be undone are not asked to separate for 1, 2, 4, … steps, at most this many.
_LONGEST_PAUSE = 256


class Memory:
    """What a stepper remembers of its last step.

    Args:
        joint_rows: Number of joint constraint rows that there can be.

    Attributes:
        rotors: Rates of rotors after the last step; None before the first.
        pause: Steps to come that do not ask overlapping shapes to separate first.
        stiff: Steps to come that begin with forces of their end.
        rest: How long bodies have been at rest; None where none may sleep.
    """

    def __init__(self, joint_rows: int) -> None:
        self.pause = self._last_pause = self.stiff = self._last_stiff = 0
        self._joint_force = np.zeros(joint_rows)
        self._contacts: Contacts | None = None
        self._local: np.ndarray | None = None
        self._world = np.zeros((0, 2, 3))
        self.rotors: RotorRates | None = None
        self.rest: Rest | None = None

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays; `of_arrays` makes the same memory of them."""
        out = {"joint_force": self._joint_force.copy(), "world": self._world.copy()}
        out["pause"] = np.array([self.pause, self._last_pause])
        out["stiff"] = np.array([self.stiff, self._last_stiff])
        if self._contacts is not None and self._local is not None:
            out["local"] = self._local.copy()
            out |= {f"contact.{part.name}": getattr(self._contacts, part.name) for part in fields(Contacts)}
        if self.rotors is not None:
            out |= {f"rotor.{name}": x.copy() for name, x in self.rotors._asdict().items()}
        if self.rest is not None:
            out |= {f"rest.{name}": x.copy() for name, x in self.rest._asdict().items()}
        return out

    @classmethod
    def of_arrays(cls, joint_rows: int, arrays: Mapping[str, np.ndarray]) -> Self:
        """The memory that `arrays` returned; one without arrays is empty."""
        out = cls(joint_rows)
        if "joint_force" not in arrays:
            return out
        out._joint_force, out._world = np.array(arrays["joint_force"]), np.array(arrays["world"])
        if "pause" in arrays:
            out.pause, out._last_pause = (int(k) for k in arrays["pause"])
        if "stiff" in arrays:
            out.stiff, out._last_stiff = (int(k) for k in arrays["stiff"])
        if "local" in arrays:
            out._local = np.array(arrays["local"])
            out._contacts = Contacts(*(np.array(arrays[f"contact.{p.name}"]) for p in fields(Contacts)))
        if "rotor.rate" in arrays:
            out.rotors = RotorRates(*(np.array(arrays[f"rotor.{name}"]) for name in RotorRates._fields))
        if "rest.time" in arrays:
            out.rest = Rest(*(np.array(arrays[f"rest.{name}"]) for name in Rest._fields))
        return out

    def separated(self, *, done: bool) -> None:
        """Note whether a step undid overlaps, or had none, to decide when to ask for it again."""
        if done:
            self.pause = self._last_pause = 0
        elif self.pause:
            self.pause -= 1
        else:
            self.pause = self._last_pause = min(max(2 * self._last_pause, 1), _LONGEST_PAUSE)

    def directed(self, *, at_end: bool) -> None:
        """Note whether a step needed forces of its end: the next ones will, for 4, 8, 16, … steps."""
        if self.stiff:
            self.stiff -= 1
        elif at_end:
            self.stiff = self._last_stiff = min(max(2 * self._last_stiff, 4), _LONGEST_PAUSE)
        else:
            self._last_stiff //= 2

    @property
    def pauses(self) -> tuple[int, int]:
        """Steps to come without asking for separation, and how many there were last."""
        return self.pause, self._last_pause

    @pauses.setter
    def pauses(self, value: tuple[int, int]) -> None:
        self.pause, self._last_pause = value

    @property
    def last(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Forces of the joint rows; shapes, points in body frames and forces of the contacts."""
        contacts, local = self._contacts, self._local
        if contacts is None or local is None:
            contacts, local = Contacts.none(), np.zeros((0, 3))
        return self._joint_force, contacts.geom, local, self._world

    def keep(self, joint_force: np.ndarray, contacts: Contacts, local: np.ndarray, world: np.ndarray) -> None:
        """Keep what `last` is to return after this step."""
        self._joint_force, self._contacts, self._local, self._world = joint_force, contacts, local, world

    def wake(self, bodies: int | slice) -> None:
        """Wake the islands of some bodies."""
        if self.rest is not None:
            which = np.zeros(self.rest.time.size, dtype=bool)
            which[bodies] = True
            self.rest = self.rest.woken(which)

    def recall(self, system: StepSystem) -> np.ndarray:
        """Impulses to begin a step with, shape (rows,)."""
        contacts, state = system.contacts, system.state
        start = np.zeros(system.rows)
        start[: system.joint_rows] = system.h * self._joint_force[system.joint_identity]
        local = local_points(contacts, state.position, system.rotation)
        partner = carry_over(contacts, local, self._contacts, self._local)
        into_frames(system.first, contacts.rows, contacts.frame, partner, self._world, system.h, start)
        return start

    def remember(self, system: StepSystem, impulse: np.ndarray) -> None:
        """Keep the impulses of a finished step, as forces."""
        contacts, state = system.contacts, system.state
        self._joint_force = np.zeros(self._joint_force.size)
        self._joint_force[system.joint_identity] = impulse[: system.joint_rows] / system.h
        self._contacts = contacts
        self._local = local_points(contacts, state.position, system.rotation)
        self._world = np.empty((contacts.count, 2, 3))
        into_world(system.first, contacts.rows, contacts.frame, impulse / system.h, self._world)
