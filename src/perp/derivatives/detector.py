"""Compiled: how contacts of shapes without a formula here change with poses, by differences of the detector.

Mujoco's function for the two shapes is called as they are, and with one of them moved by a little to both
sides along six motions: its contacts tell (dn, dp, dgap). Moving both shapes together carries the contact
along, which gives the motions of the other one. A call of most pairs takes less than a microsecond.
"""

import math

import numpy as np

from perp.compilation.kernel import part
from perp.dynamics.libmujoco import call_collision
from perp.dynamics.row_kernels import cross

# mujoco's types of shapes, and how many contacts two of them have at most.
PLANE, FIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)
MOST = 50
# Steps of differences in radians and shares of a body's size; convex pairs are known to about 1e-8.
_STEP, _CONVEX_STEP = 1e-6, 1e-4
# One-sided differences that differ by more than this share of their scale are those of a kink.
_KINK = 1e-2
# A contact of the step is one of the detector's where it is this near, as a share of a body's size.
_SAME = 1e-6


@part
def is_convex(first, second):
    """Whether mujoco finds the contact by iterations: their normals have errors that differences amplify."""
    if first == PLANE or (first == SPHERE and second == CYLINDER):
        return False
    known = second == SPHERE or second == CAPSULE or second == BOX
    return first == FIELD or not known


@part
def new_room():
    """What `contact_table` keeps from contact to contact of the same shapes.

    The shapes, how many contacts they have or −1, whether these have a kink; the contacts, those of both
    sides, tables by the motions of one shape.
    """
    return (
        np.full(4, -1), np.empty((MOST, 10)), np.empty((MOST, 10)), np.empty((MOST, 10)),
        np.empty((MOST, 7, 6)),
    )  # fmt: skip


@part
def contact_table(w, t, c, room, G):
    """(dn, dp, dgap) of contact c by the motions of both bodies about the origin, shape (7, 12).

    Returns:
        −1 where there is none: the detector does not find it, or another number of contacts with a shape a
        little apart; 1 at a kink of the shapes, for example two faces that lie on each other, where it is the
        derivative as they part; 0 otherwise.
    """
    pair, here, _, _, tables = room
    place, size = w.start, np.inf
    g, h = place.geom[c, 0], place.geom[c, 1]
    for side in range(2):
        if place.body[c, side] >= 0:
            size = min(size, w.scene.bound[place.body[c, side]])
    if pair[0] != g or pair[1] != h:
        pair[0], pair[1] = g, h
        pair[2] = _differences(w, t, c, size, room)
    best, least = -1, (_SAME * size) ** 2
    for i in range(pair[2]):
        away = 0.0
        for r in range(3):
            away += (here[i, 1 + r] - place.point[c, r]) ** 2
        if away <= least:
            best, least = i, away
    if best < 0:
        return -1
    # both bodies together carry all
    one, other = (6, 0) if _moves_second(w, t, c) else (0, 6)
    n, p, table, x, y = place.frame[c, 0], place.point[c], tables[best], np.zeros(3), np.empty(3)
    for k in range(6):
        for r in range(7):
            G[r, one + k], G[r, other + k] = table[r, k], -table[r, k]
        if k < 3:
            x[k] = 1.0
            cross(x, n, y)
            for r in range(3):
                G[r, other + k] += y[r]
            cross(x, p, y)
            for r in range(3):
                G[3 + r, other + k] += y[r]
            x[k] = 0.0
        else:
            G[k, other + k] += 1.0
    return pair[3]


@part
def _moves_second(w, t, c):
    """Which shape of a contact is moved: one of a body, and a round one where there is one."""
    if w.start.body[c, 0] < 0 or w.start.body[c, 1] < 0:
        return w.start.body[c, 1] >= 0
    # mujoco's types are in order, and the first of a pair is the lesser one
    return t.geom_type[w.start.geom[c, 0]] > CAPSULE


@part
def _differences(w, t, c, size, room):
    """Contacts of the shapes of contact c and their tables; how many, or −1 where their number changes."""
    pair, here, plus, minus, tables = room
    place, g, h = w.start, pair[0], pair[1]
    first, second = t.geom_type[g], t.geom_type[h]
    moved = h if _moves_second(w, t, c) else g
    # turns about an own axis that a shape is round about change nothing
    kind = t.geom_type[moved]
    turns = 0 if kind == SPHERE else (2 if kind == CAPSULE else 3)
    address = t.collide[first, second]
    step = _CONVEX_STEP if is_convex(first, second) else _STEP
    # margins are those of the end of the step, where things may move more slowly than at its start
    margin = w.scene.geom_margin[g] + w.scene.geom_margin[h] + max(place.gap[c], 0.0) + size * step
    count = call_collision(address, w.scene.model, place.data, here.ctypes.data, g, h, margin)
    pair[3] = 0
    X, R = place.geom_xpos[moved], place.geom_xmat[moved]
    kept, turned = X.copy(), R.copy()
    for k in range(6):
        if turns <= k < 3:
            for i in range(max(count, 0)):
                for r in range(7):
                    tables[i, r, k] = 0.0
            continue
        width = step if k < 3 else step * size
        for sign in (1.0, -1.0):
            side = plus if sign > 0.0 else minus
            if k < 3:
                _turn(turned, k, sign * width, R)
            else:
                X[k - 3] = kept[k - 3] + sign * width
            found = call_collision(address, w.scene.model, place.data, side.ctypes.data, g, h, margin)
            R[:], X[:] = turned, kept
            if found != count:
                return -1
            _match(here, side, count)
        first_side, second_side, span = plus, minus, 2.0 * width
        if _has_kink(here, plus, minus, count, size, _KINK * step):
            pair[3], span = 1, width
            if _opens(plus, minus, count):
                second_side = here
            else:
                first_side = here
        for i in range(count):
            for r in range(7):
                # a table has normal, point and gap, the detector gap, point and normal
                at = 4 + r if r < 3 else (r - 2 if r < 6 else 0)
                tables[i, r, k] = (first_side[i, at] - second_side[i, at]) / span
    # turns about the shape's own axes become turns about those of the world, and about the origin
    own = np.empty(3)
    for i in range(count):
        for r in range(7):
            row = tables[i, r]
            own[0], own[1], own[2] = row[0], row[1], row[2]
            for k in range(3):
                a, b = (k + 1) % 3, (k + 2) % 3
                row[k] = turned[3 * k] * own[0] + turned[3 * k + 1] * own[1] + turned[3 * k + 2] * own[2]
                row[k] += kept[a] * row[3 + b] - kept[b] * row[3 + a]
    return count


@part
def _has_kink(here, plus, minus, count, size, allowed):
    """Whether differences to both sides differ, of gaps and points as shares of a size."""
    for i in range(count):
        for r in range(7):
            bend = abs(plus[i, r] - 2.0 * here[i, r] + minus[i, r])
            if bend > allowed * (size if r < 4 else 1.0):
                return True
    return False


@part
def _opens(plus, minus, count):
    """Whether shapes are further apart on the first side."""
    more = 0.0
    for i in range(count):
        more += plus[i, 0] - minus[i, 0]
    return more >= 0.0


@part
def _turn(R, k, angle, out):
    """A rotation turned about its own axis k, both as nine numbers."""
    c, s, a, b = math.cos(angle), math.sin(angle), (k + 1) % 3, (k + 2) % 3
    for j in range(3):
        out[3 * j + a] = c * R[3 * j + a] + s * R[3 * j + b]
        out[3 * j + b] = c * R[3 * j + b] - s * R[3 * j + a]


@part
def _match(here, there, count):
    """Put contacts of moved shapes into the order of those where they were: the detector may swap them."""
    for i in range(count):
        best, least = i, np.inf
        for j in range(i, count):
            away = 0.0
            for r in range(3):
                away += (there[j, 1 + r] - here[i, 1 + r]) ** 2
            if away < least:
                best, least = j, away
        if best != i:
            for r in range(7):
                there[i, r], there[best, r] = there[best, r], there[i, r]
