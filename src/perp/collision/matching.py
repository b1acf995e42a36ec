"""Contact identity from step to step: impulses of the last step as the start of the next.

Contacts of the same two shapes are paired greedily, nearest points first, in the frame of the second body
(the first when the second does not move). Contacts of one pair are consecutive, so the cost is linear in
contacts.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.collision.contacts import Contacts


@njit(cache=True)
def sorted_pairs(geom):
    """A number for each pair of shapes, and the contacts in its order; those of one pair keep theirs."""
    key = np.empty(geom.shape[0], np.int64)
    rising = True
    for c in range(key.size):
        key[c] = (geom[c, 0] << 32) + geom[c, 1]
        rising = rising and (c == 0 or key[c - 1] <= key[c])
    if rising:
        return key, np.arange(key.size)
    return key, np.argsort(key, kind="mergesort")


@njit(cache=True)
def match(geom, local, old_geom, old_local, partner):
    """partner[i]: index of the old contact that i continues, or −1."""
    key, order = sorted_pairs(geom)
    old_key, old_order = sorted_pairs(old_geom)
    used = np.zeros(old_key.size, dtype=np.bool_)
    low = 0
    for i in order:
        while low < old_key.size and old_key[old_order[low]] < key[i]:
            low += 1
        best, nearest = -1, np.inf
        at = low
        while at < old_key.size and old_key[old_order[at]] == key[i]:
            j = old_order[at]
            if not used[j]:
                distance = 0.0
                for k in range(3):
                    distance += (local[i, k] - old_local[j, k]) ** 2
                if distance < nearest:
                    best, nearest = j, distance
            at += 1
        partner[i] = best
        if best >= 0:
            used[best] = True


@njit(cache=True)
def into_bodies(body, point, position, rotation, out):
    """See `local_points`."""
    for c in range(body.shape[0]):
        b = body[c, 1] if body[c, 1] >= 0 else body[c, 0]
        for k in range(3):
            total = 0.0
            for r in range(3):
                total += rotation[b, r, k] * (point[c, r] - position[b, r])
            out[c, k] = total


def local_points(contacts: Contacts, position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Contact points in the frame of a body that moves, shape (contacts, 3)."""
    out = np.empty((contacts.count, 3))
    into_bodies(contacts.body, contacts.point, position, rotation, out)
    return out


def carry_over(
    contacts: Contacts, local: np.ndarray, old: Contacts | None, old_local: np.ndarray | None
) -> np.ndarray:
    """For each contact the index of the one it continues, or −1, shape (contacts,)."""
    if old is None or old_local is None:
        return np.full(contacts.count, -1, dtype=np.int64)
    partner = np.empty(contacts.count, dtype=np.int64)
    match(contacts.geom, local, old.geom, old_local, partner)
    return partner
