"""Compiled: all contacts of a step into its equations."""

import math

import numpy as np

from perp.compilation.kernel import part
from perp.derivatives.contact_assembly import add_contact
from perp.derivatives.contact_changes import (
    CARRIED,
    CENTRES,
    FACE_OF_FIRST,
    GAP,
    RATE,
    TABLE,
    add_velocity,
    contact_changes,
    geometry_table,
    new_contact,
    turned_changes,
)
from perp.derivatives.detector import (
    BOX,
    CAPSULE,
    MESH,
    PLANE,
    SPHERE,
    contact_table,
    is_convex,
    new_room,
)
from perp.derivatives.equations import ARMS, CONVEX, NORMAL, SCALE, TANGENTS, TURNED
from perp.derivatives.spatial import turn_matrices
from perp.stepping.contact_rows import bounces, into_world
from perp.stepping.course import FOUND
from perp.stepping.facets import normal_at_end, turn_into_world
from perp.stepping.pauses import recovery_of
from perp.stepping.world import EDGES, JOINTS

# Points that lie further from where they should, as a share of the scene's size, act with arms of their own.
_AWAY = 1e-9
# Turned normals that are this far from those of the way [rad] are not those of the step's equations.
_SETTLED = 1e-8


@part
def _formula_of(w, t, c):
    """How the geometry of a contact is known."""
    first, second = t.geom_type[w.start.geom[c, 0]], t.geom_type[w.start.geom[c, 1]]
    if first == PLANE and (second == SPHERE or second == CAPSULE or second == BOX or second == MESH):
        return FACE_OF_FIRST
    return CENTRES if first == SPHERE and second == SPHERE else TABLE


@part
def _touches(w, e, c):
    """Whether a contact has a part in the derivative: what stays open without an impulse has none."""
    k, acts = w.count[JOINTS] + c, False
    for i in range(e.start[k], e.start[k + 1]):
        acts = acts or e.impulse[i] != 0.0
    return e.moves[k] != 0 or (acts and not e.left_out[k])


@part
def normal_row(w, c):
    """What the normal row is, its restitution, and d(gap − allowed)/d(gap)."""
    gap, deep = w.start.gap[c], w.start.gap[c] + w.sag[c]
    if w.start.restitution[c] > 0.0 and bounces(w, c):
        return RATE, w.bounce[c], 0.0
    slope = 0.0
    if deep < 0.0:
        # overlap that cannot be told from none is taken for none
        recovery = recovery_of(w, w.count[JOINTS] + c)
        stays = recovery == 0.0 or deep + w.h * recovery < -w.start.accuracy[c]
        slope = 1.0 if stays else 0.0
    if w.contacts_at_end:
        return GAP, 0.0, 1.0 - slope
    return RATE, 0.0, (1.0 - slope) * (w.corrected * w.contact_correction if gap < 0.0 else 1.0)


@part
def contact_slopes(w, t, e):
    """All contacts into the derivatives: of the step that world w, with tree t, has just taken."""
    joints, x, room = w.count[JOINTS], new_contact(), new_room()
    for c in range(e.held.size):
        if not _touches(w, e, c):
            continue
        _fill(w, t, e, c, x)
        late = c >= w.course[FOUND]
        kink = contact_table(w, t, c, room, x.G) if x.code == TABLE and not late else -1
        if kink >= 0:
            e.degenerate[joints + c] = kink
            if is_convex(t.geom_type[w.start.geom[c, 0]], t.geom_type[w.start.geom[c, 1]]):
                e.held[c] |= CONVEX
        elif x.code == TABLE or late:
            if x.code != FACE_OF_FIRST:
                e.held[c] |= NORMAL
            geometry_table(x, FACE_OF_FIRST)
            x.code = CARRIED
        else:
            geometry_table(x, x.code)
        if w.turned[c] and x.code == CENTRES:
            if turned_changes(x) > _SETTLED:
                e.held[c] |= TURNED
        else:
            if w.turned[c]:
                e.held[c] |= TURNED
            contact_changes(x)
            if not late:
                _arms(w, t, e, c, x)
        if bounces(w, c) and x.bounce < w.start.restitution[c]:
            # the scale that keeps energy from growing is held
            e.held[c] |= SCALE
        add_contact(t, e, x)


@part
def _fill(w, t, e, c, x):
    """What is known of contact c before its geometry is differentiated."""
    place, k = w.start, w.count[JOINTS] + c
    x.at, x.rows, x.code = e.start[k], e.start[k + 1] - e.start[k], _formula_of(w, t, c)
    x.kind, x.bounce, x.share = normal_row(w, c)
    x.gap, x.height, x.facing, x.arms = place.gap[c], w.height[c], w.facing[c], False
    x.frame[:, :], x.radius[:], x.carried[:, :] = place.frame[c], place.round[c], w.carried[c]
    x.acts[:, :] = w.acts[c]
    for side in range(2):
        b = place.body[c, side]
        x.ends[side], x.moving[side] = t.body_last[b], b >= 0
        _turn_of(w, b, x.turns[side])
        if b >= 0:
            into_world(w.end, b, w.local[c, side], x.ended[side])
        else:
            x.ended[side] = w.carried[c, side]
        if x.facing == EDGES:
            turn_into_world(w.end, b, w.facet[c, side], x.edges[side])
    x.stop = _common(t.parent, x.ends[0], x.ends[1])
    x.body = _axis(w, e, c, x.axis)
    normal_at_end(w, c, x.last)


@part
def _common(parent, a, b):
    """First freedom on the way to the root that two last freedoms share, or −1."""
    while a != b:
        if a > b:
            a = parent[a] if a >= 0 else -1
        else:
            b = parent[b] if b >= 0 else -1
    return a


@part
def _turn_of(w, b, out):
    """Rotation of a body over the step."""
    for r in range(3):
        for k in range(3):
            out[r, k] = 1.0 if r == k else 0.0
            if b >= 0:
                out[r, k] = 0.0
                for m in range(3):
                    out[r, k] += w.end.R[b, r, m] * w.start.R[b, k, m]


@part
def _surface_point(x, side, out):
    """How the carried point moves within the world, shape (3, 12)."""
    G, sign, inward = x.G, -1.0 if side == 0 else 1.0, 0.5 * x.gap + x.radius[side]
    for r in range(3):
        for k in range(12):
            out[r, k] = G[3 + r, k] + sign * (0.5 * x.frame[0, r] * G[6, k] + inward * G[r, k])


@part
def _axis(w, e, c, axis):
    """The vector that tangents stay along, and the side that carries it or −1; zero for round friction."""
    place, s = w.start, w.scene
    axis[:] = 0.0
    if place.dim[c] < 3 or place.friction[c, 0] == place.friction[c, 1]:
        return -1
    for side in range(2):
        g, some = place.geom[c, side], False
        for k in range(3):
            some = some or s.geom_axis[g, k] != 0.0
        if some:
            for r in range(3):
                for k in range(3):
                    axis[r] += place.geom_xmat[g, 3 * r + k] * s.geom_axis[g, k]
            return side if place.body[c, side] >= 0 else -1
    n = place.frame[c, 0]
    axis[1 if abs(n[1]) < 0.5 else 2] = 1.0
    lean = axis[0] * n[0] + axis[1] * n[1] + axis[2] * n[2]
    along = square = 0.0
    for r in range(3):
        along += (axis[r] - lean * n[r]) * place.frame[c, 1, r]
        square += (axis[r] - lean * n[r]) ** 2
    if abs(along) < (1.0 - 1e-9) * math.sqrt(square):
        e.held[c] |= TANGENTS
        axis[:] = 0.0
    return -1


@part
def _arms(w, t, e, c, x):
    """Impulses with the mean arms of the way (`stepping.arms`): points that depend on the spin."""
    place, h, away, G, A, spin = w.start, w.h, 0.0, x.G, x.A, x.spin
    for side in range(2):
        for r in range(3):
            above = w.height[c] * place.gap[c] * place.frame[c, 0, r]
            away = max(away, abs(w.acts[c, side, r] - place.point[c, r] - above))
    if away <= _AWAY * w.scene.size:
        return
    e.held[c] |= ARMS
    x.arms = True
    spin[:] = 0.0
    turn, mean, plus, minus = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    own, moved, angle, step = np.empty((3, 12)), np.empty((3, 12)), np.empty(3), 1e-6
    for side in range(2):
        b, sign = place.body[c, side], -1.0 if side == 0 else 1.0
        if b < 0:
            continue
        rate = e.T[t.body_last[b]]
        for r in range(3):
            angle[r] = h * rate[r]
        turn_matrices(angle, turn, mean)
        own[:, :] = 0.0
        add_velocity(own, 6 * side, place.x[b])
        _surface_point(x, side, moved)
        for r in range(3):
            for k in range(12):
                A[side, r, k] = own[r, k] - sign * place.round[c, side] * G[r, k]
                for m in range(3):
                    A[side, r, k] += mean[r, m] * (moved[m, k] - own[m, k])
        for k in range(3):
            angle[k] = h * (rate[k] + step)
            turn_matrices(angle, turn, plus)
            angle[k] = h * (rate[k] - step)
            turn_matrices(angle, turn, minus)
            angle[k] = h * rate[k]
            for r in range(3):
                spin[side, r, k] = 0.0
                for m in range(3):
                    arm = w.carried[c, side, m] - place.x[b, m]
                    spin[side, r, k] += (plus[r, m] - minus[r, m]) * arm / (2.0 * step)
