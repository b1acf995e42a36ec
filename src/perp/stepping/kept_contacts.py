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
from perp.stepping.contact_rows import into_world, pair_of

# As shares of a body's size: points that touch have stayed together to this, and those nearer than this to
# another contact are not missing.
_TOUCH, _SAME = 1e-6, 1e-3
# Contacts of two shapes with those that are kept: the detector finds four of a pair of faces, or eight.
_MOST = 8


@part
def keep_touching(w):
    """Put contacts of the last step that are missing back among those of the start."""
    place, points, low = w.start, np.empty((2, 3)), 0
    for j in range(w.old_count[0]):
        force = w.old_force[j, 0]
        if force[0] == 0.0 and force[1] == 0.0 and force[2] == 0.0:
            continue
        first, last = pair_of(place.geom, w.old_geom[j], low, place.count[0])
        if first == last or last - first >= _MOST or place.round[first, 0] + place.round[first, 1] > 0.0:
            continue
        low, size, apart = first, np.inf, 0.0
        for side in range(2):
            b = place.body[first, side]
            into_world(place, b, w.old_local[j, side], points[side])
            if b >= 0:
                size = min(size, w.scene.bound[b])
        for k in range(3):
            apart += (points[1, k] - points[0, k]) ** 2
        if apart <= (_TOUCH * size) ** 2 and _is_missing(place, first, last, points[0], _SAME * size):
            _insert(place, first, last, points)


@part
def _is_missing(place, first, last, point, near):
    for c in range(first, last):
        away = 0.0
        for k in range(3):
            away += (place.point[c, k] - point[k]) ** 2
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
