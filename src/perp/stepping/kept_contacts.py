"""Compiled: contacts that carried something, touch as they did, and were overlooked by the detector.

Where faces of two shapes lie in each other edge on edge, clipping one by the other leaves out corners or
finds others, by the last digit of where they are. An arch then stood on what was left of a joint, or fell:
1400 Newton steps for a step at rest. Two points of the surfaces that touched and still do are a contact,
whatever the detector says: with them the forces of the last step remain possible.
"""

from __future__ import annotations

import numpy as np

from perp.collision.finding import copy_line, make_room
from perp.compilation.kernel import part
from perp.kernels.borrowed import numbers_of
from perp.stepping.contact_rows import into_world, pair_of

# As shares of a body's size: points that touch have stayed together to this, and those nearer than this to
# another contact are not missing.
_TOUCH, _SAME = 1e-6, 1e-3
# Contacts of two shapes with those that are kept: the detector finds four of a pair of faces, or eight.
_MOST = 8


@part
def keep_touching(w):
    """Put contacts of the last step that are missing back among those of the start."""
    place, points, first, last, sought = w.start, np.empty((2, 3)), 0, 0, -1
    geom = w.old_geom
    for j in range(w.old_count[0]):
        force = numbers_of(w.old_force, j)
        if force[0] == 0.0 and force[1] == 0.0 and force[2] == 0.0:
            continue
        if sought < 0 or geom[j, 0] != geom[sought, 0] or geom[j, 1] != geom[sought, 1]:
            first, last = pair_of(place.geom, geom[j], last, place.count[0])
            sought = j
        if first == last or last - first >= _MOST or place.round[first, 0] + place.round[first, 1] > 0.0:
            continue
        size, apart = np.inf, 0.0
        for side in range(2):
            b = place.body[first, side]
            if b >= 0:
                size = min(size, w.scene.bound[b])
        into_world(place, place.body[first, 0], w.old_local[j, 0], points[0])
        if not _is_missing(place, first, last, points[0], _SAME * size):
            continue
        into_world(place, place.body[first, 1], w.old_local[j, 1], points[1])
        for k in range(3):
            apart += (points[1, k] - points[0, k]) ** 2
        if apart <= (_TOUCH * size) ** 2:
            _insert(place, first, last, points)
            last += 1


@part
def _is_missing(place, first, last, point, near):
    for c in range(first, last):
        away = 0.0
        there = numbers_of(place.point, c)
        for k in range(3):
            away += (there[k] - point[k]) ** 2
        if away <= near * near:
            return False
    return True


@part
def _insert(place, first, last, points):
    """A contact at these points behind those of its shapes, like the first of them."""
    n = place.count[0]
    make_room(place, n + 1)
    for c in range(n, last, -1):
        copy_line(place, c, place, c - 1)
        place.gap[c] = place.gap[c - 1]
    copy_line(place, last, place, first)
    place.gap[last] = 0.0
    for k in range(3):
        place.point[last, k] = 0.5 * (points[0, k] + points[1, k])
        place.gap[last] += place.frame[first, 0, k] * (points[1, k] - points[0, k])
    place.count[0] = n + 1
