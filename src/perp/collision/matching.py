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
def _match(key, local, old_key, old_local, partner):
    """partner[i]: index of the old contact that i continues, or −1. Keys are sorted within each list."""
    used = np.zeros(old_key.size, dtype=np.bool_)
    low = 0
    for i in range(key.size):
        if (i > 0 and key[i] != key[i - 1]) or i == 0:
            while low < old_key.size and old_key[low] < key[i]:
                low += 1
        best, nearest = -1, np.inf
        j = low
        while j < old_key.size and old_key[j] == key[i]:
            if not used[j]:
                distance = 0.0
                for k in range(3):
                    distance += (local[i, k] - old_local[j, k]) ** 2
                if distance < nearest:
                    best, nearest = j, distance
            j += 1
        partner[i] = best
        if best >= 0:
            used[best] = True


@njit(cache=True)
def _into_bodies(body, point, position, rotation, out):
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
    _into_bodies(contacts.body, contacts.point, position, rotation, out)
    return out


def carry_over(
    contacts: Contacts, local: np.ndarray, old: Contacts | None, old_local: np.ndarray | None
) -> np.ndarray:
    """For each contact the index of the one it continues, or −1, shape (contacts,)."""
    partner = np.full(contacts.count, -1, dtype=np.int64)
    if old is None or old_local is None or not old.count or not contacts.count:
        return partner
    shapes = int(max(contacts.geom.max(), old.geom.max())) + 1
    key = contacts.geom[:, 0] * shapes + contacts.geom[:, 1]
    old_key = old.geom[:, 0] * shapes + old.geom[:, 1]
    order, old_order = np.argsort(key, kind="stable"), np.argsort(old_key, kind="stable")
    found = np.empty(contacts.count, dtype=np.int64)
    _match(key[order], local[order], old_key[old_order], old_local[old_order], found)
    partner[order] = np.where(found >= 0, old_order[found], -1)
    return partner
