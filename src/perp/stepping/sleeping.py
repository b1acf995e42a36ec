"""Islands that are at rest for long enough are frozen until something touches them.

A sleeping body has no weight, no contacts and no velocity: it stays where it is, to the last bit. Its island
wakes as a whole when a body that is awake comes within reach of it, when a force on one of its bodies changes
or someone moves one. Contacts among sleepers cost nothing and are not in the record.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from perp.collision import Contacts
from perp.stepping.body_newton import find_islands
from perp.stepping.system import StepSystem

# A body whose surface moves by less than this share of its size in a second is at rest.
_AT_REST = 1e-6


class Rest(NamedTuple):
    """How long bodies have been at rest.

    Attributes:
        time: Seconds, shape (n,); infinite for those asleep.
        island: A number for each body's island when it fell asleep, shape (n,).
        wrench: External forces of the last step, shape (n, 6).
    """

    time: np.ndarray
    island: np.ndarray
    wrench: np.ndarray

    @property
    def asleep(self) -> np.ndarray:
        """Which bodies sleep, shape (n,)."""
        return np.isinf(self.time)

    def woken(self, bodies: np.ndarray) -> Rest:
        """With the islands of these bodies awake."""
        woken = self.asleep & np.isin(self.island, self.island[bodies & self.asleep])
        return self._replace(time=np.where(woken, 0.0, self.time))

    @classmethod
    def none(cls, count: int) -> Rest:
        """Nobody has rested yet."""
        return cls(np.zeros(count), np.arange(count), np.zeros((count, 6)))


def disturbed(rest: Rest, velocity: np.ndarray, wrench: np.ndarray) -> Rest:
    """After waking those that were moved or that another force acts on."""
    return rest.woken((velocity != 0.0).any(axis=1) | (wrench != rest.wrench).any(axis=1))


@njit(cache=True)
def _touched(body, asleep):
    """Bodies asleep that share a contact with one that is awake."""
    out = np.zeros(asleep.size, np.bool_)
    for c in range(body.shape[0]):
        a, b = body[c, 0], body[c, 1]
        if a >= 0 and b >= 0 and asleep[a] != asleep[b]:
            out[a if asleep[a] else b] = True
    return out


def touched(rest: Rest, contacts: Contacts) -> Rest:
    """After waking those within reach of bodies that are awake, and those within reach of them."""
    while True:
        woken = _touched(contacts.body, rest.asleep)
        if not woken.any():
            return rest
        rest = rest.woken(woken)


def of_the_awake(rest: Rest, contacts: Contacts) -> Contacts:
    """Contacts with a body that is awake."""
    awake = np.append(~rest.asleep, False)
    return contacts.taken(np.flatnonzero(awake[contacts.body].any(axis=1)))


def after_step(rest: Rest, system: StepSystem, bound: np.ndarray, velocity: np.ndarray, sleep: float) -> Rest:
    """How long bodies have rested after a step with these velocities, asleep from `sleep` seconds on."""
    speed = np.linalg.norm(velocity[:, :3], axis=1) + bound * np.linalg.norm(velocity[:, 3:], axis=1)
    size = np.where(bound > 0.0, bound, 1.0)
    time = np.where(rest.asleep | (speed <= _AT_REST * size), rest.time + system.h, 0.0)
    count, of_body, _ = find_islands(system.arrays, velocity.shape[0])
    least = np.full(count, np.inf)
    np.minimum.at(least, of_body, time)
    falls = (least[of_body] >= sleep) & ~rest.asleep
    # an island takes the number of its first body: no other sleeper has it
    first = np.full(count, velocity.shape[0])
    np.minimum.at(first, of_body, np.arange(velocity.shape[0]))
    island = np.where(falls, first[of_body], rest.island)
    return Rest(np.where(falls, np.inf, time), island, rest.wrench)
