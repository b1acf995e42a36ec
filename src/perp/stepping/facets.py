"""Compiled: whose face or edges a contact's normal belongs to, and where it points at the end of a step.

A corner that slides over a face that turns keeps its distance along the normal of that face, not along where
it pointed at the start; of two edges that cross the normal is across both. The distance of a step's end along
such a normal is the true one: without it a contact between bodies that turn is open or overlaps at the end,
and has to be found there again.
"""

from __future__ import annotations

import math

from perp.compilation.kernel import part
from perp.kernels.borrowed import numbers_of, onward
from perp.stepping.world import EDGES, FIXED

# Normals count as those of a face, and as across edges, to this cosine.
_ALIGNED, _ACROSS = 1e-12, 1e-6
# Edges cross when their sine is above this.
_CROSSING = 1e-3


@part
def find_facet(w, place, c, e):
    """The face or edges of contact c, which is contact e of a place: `facing` and `facet` in their bodies."""
    w.facing[c] = FIXED
    if place.restitution[e] > 0.0:
        return
    one, two = _face(w, place, e, 0), _face(w, place, e, 1)
    if one or two:
        # of faces that lie on each other that of the first: contacts that are redundant agree with each other
        side = 0 if one else 1
        if place.body[e, side] >= 0 and not (two and place.body[e, 1] < 0):
            w.facing[c] = side
            _into_body(place, place.body[e, side], place.frame[e, 0], w.facet[c, side])
        return
    first, second = _edge(w, place, e, 0), _edge(w, place, e, 1)
    if first < 0 or second < 0:
        return
    a, b = w.facet[c, 0], w.facet[c, 1]
    for k in range(3):
        a[k] = place.geom_xmat[place.geom[e, 0], 3 * k + first]
        b[k] = place.geom_xmat[place.geom[e, 1], 3 * k + second]
    n = place.frame[e, 0]
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    along = x * n[0] + y * n[1] + z * n[2]
    if abs(along) < _CROSSING or abs(along) < (1.0 - _ACROSS) * math.sqrt(x * x + y * y + z * z):
        return
    w.facing[c] = EDGES
    for k in range(3):
        a[k] *= 1.0 if along > 0.0 else -1.0
    _into_body(place, place.body[e, 0], a, a)
    _into_body(place, place.body[e, 1], b, b)


@part
def normal_at_end(w, c, out):
    """The normal of contact c at the end of the step, as its face or edges have turned."""
    side = w.facing[c]
    if side == FIXED:
        normal = numbers_of(w.start.frame, c)
        for k in range(3):
            out[k] = normal[k]
        return
    if side != EDGES:
        turn_into_world(w.end, w.start.body[c, side], onward(numbers_of(w.facet, c), 3 * side), out)
        return
    ax, ay, az = _turned(w.end, w.start.body[c, 0], w.facet[c, 0])
    bx, by, bz = _turned(w.end, w.start.body[c, 1], w.facet[c, 1])
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    size = math.sqrt(x * x + y * y + z * z)
    if size < _CROSSING:
        for k in range(3):
            out[k] = w.start.frame[c, 0, k]
        return
    out[0], out[1], out[2] = x / size, y / size, z / size


@part
def touch_at_end(w, c, points):
    """Where contact c would touch at the end, from its carried points there.

    A face moves what touches it as if that were a point of it; edges touch where they are nearest.
    """
    side = w.facing[c]
    if side == FIXED:
        return
    if side != EDGES:
        for k in range(3):
            points[side, k] = points[1 - side, k]
        return
    ax, ay, az = _turned(w.end, w.start.body[c, 0], w.facet[c, 0])
    bx, by, bz = _turned(w.end, w.start.body[c, 1], w.facet[c, 1])
    x, y, z = points[1, 0] - points[0, 0], points[1, 1] - points[0, 1], points[1, 2] - points[0, 2]
    lean, one, two = ax * bx + ay * by + az * bz, ax * x + ay * y + az * z, bx * x + by * y + bz * z
    square = 1.0 - lean * lean
    if square < _CROSSING * _CROSSING:
        return
    s, t = (one - lean * two) / square, (lean * one - two) / square
    points[0, 0], points[0, 1], points[0, 2] = (
        points[0, 0] + s * ax,
        points[0, 1] + s * ay,
        points[0, 2] + s * az,
    )
    points[1, 0], points[1, 1], points[1, 2] = (
        points[1, 0] + t * bx,
        points[1, 1] + t * by,
        points[1, 2] + t * bz,
    )


@part
def _turned(place, b, v):
    """The same, as three numbers."""
    if b < 0:
        return v[0], v[1], v[2]
    R, x, y, z = numbers_of(place.R, b), v[0], v[1], v[2]
    return R[0] * x + R[1] * y + R[2] * z, R[3] * x + R[4] * y + R[5] * z, R[6] * x + R[7] * y + R[8] * z


@part
def turn_into_world(place, b, v, out):
    """A vector of a body's frame in the world."""
    out[0], out[1], out[2] = _turned(place, b, v)


@part
def _into_body(place, b, v, out):
    """A vector of the world in a body's frame."""
    if b < 0:
        out[0], out[1], out[2] = v[0], v[1], v[2]
        return
    R, x, y, z = numbers_of(place.R, b), v[0], v[1], v[2]
    for k in range(3):
        out[k] = R[k] * x + R[3 + k] * y + R[6 + k] * z


@part
def _along(place, g, axis, v):
    """Component of a vector along an axis of a shape."""
    R = numbers_of(place.geom_xmat, g)
    return R[axis] * v[0] + R[3 + axis] * v[1] + R[6 + axis] * v[2]


@part
def _face(w, place, e, side):
    """Whether the normal is that of a face of a shape: a plane, a box, an end of a cylinder."""
    g = place.geom[e, side]
    normals, normal = numbers_of(w.scene.face_axes, g), numbers_of(place.frame, e)
    found = False
    for axis in range(3):
        if normals[axis] and not found:
            found = abs(_along(place, g, axis, normal)) > 1.0 - _ALIGNED
    return found


@part
def _edge(w, place, e, side):
    """The axis of a box that the normal is across, or −1: it is that of the edge that touches."""
    g, best, least = place.geom[e, side], -1, _ACROSS
    if not w.scene.face_axes[g, 0]:
        return -1
    for axis in range(3):
        lean = abs(_along(place, g, axis, place.frame[e, 0]))
        if lean < least:
            best, least = axis, lean
    return best
