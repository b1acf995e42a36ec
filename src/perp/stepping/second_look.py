"""Compiled second look at a solved step: contacts that its start did not foresee, normals that turn.

The contacts of a step are those near its start, with their normals. A corner that turns into another face,
or a body that another one pushes far, overlaps at the end although every row is met: such overlaps become
rows of the same step, carried back to the start with their bodies. A round surface may pass around what is
behind the plane of its row: where that matters the row gets the discrete gradient of the distance d,

    n̄ = n + (d⁺ − d⁻ − n · Δ) Δ / |Δ|²,   n = (n⁻ + n⁺) / 2,   n̄ · Δ = d⁺ − d⁻

with Δ the way of the centre of curvature and n⁺, d⁺ those of the end: the row is then met where the
surfaces touch, and its impulse does no work but that of closing the gap.

Reference: Gonzalez, Time integration and discrete Hamiltonian systems (1996), for the discrete gradient.
"""

from __future__ import annotations

import math

import numpy as np

from perp.collision.finding import copy_line, lean_frame, make_room
from perp.compilation.kernel import part
from perp.kernels.arrays import fill
from perp.stepping.contact_rows import (
    fill_contact,
    into_body,
    into_world,
    overlap_at_start,
    pair_of,
    refill,
    room_for_contacts,
    rows_of,
)
from perp.stepping.facets import find_facet
from perp.stepping.pauses import recovery_between
from perp.stepping.smooth import is_exact
from perp.stepping.world import CONTACTS, FIXED, JOINTS, LATE, LEFT_OUT

# Overlap of this share of a body's size counts as none: a micrometre of a body of 0.1 m, the roughness of a
# polished surface.
OVERLAP = 1e-5
# A gap that a row keeps open is worth a second solve from this share of the radius on …
_OPEN = 1e-3
# … and a row that has been turned is turned on down to this share.
_CLOSED, _EXACT = 1e-6, 1e-12
_SHORTEST = 1e-2
_LEAST_SHARE = 0.3
# Normals that turn by more than this cosine within a step are those of a body that went through another one.
_FLIPPED = 0.2
# Centres of curvature that slide by more of the radius within their bodies are others: no way joins them.
_SLID = 0.1


@part
def excess(w, e):
    """How much deeper than allowed contact e of the end overlaps [m].

    Overlap of the start may stay for a while. Where it is deeper also fills the lines of `end_carried` and
    `end_back`: carried points of the contact at the end and at the start.
    """
    end, start, gap = w.end, w.start, w.end.gap[e]
    size = np.inf
    for side in range(2):
        if end.body[e, side] >= 0:
            size = min(size, w.scene.bound[end.body[e, side]])
    reserve = max(end.accuracy[e], OVERLAP * size)
    if gap >= -reserve:
        return -reserve - gap
    before = gap
    local = np.empty(3)
    for side in range(2):
        b, sign = end.body[e, side], -1.0 if side == 0 else 1.0
        inward = sign * (0.5 * gap + end.round[e, side])
        for k in range(3):
            w.end_carried[side, k] = end.point[e, k] + inward * end.frame[e, 0, k]
        into_body(end, b, w.end_carried[side], local)
        into_world(start, b, local, w.end_back[side])
        for k in range(3):
            before += sign * end.frame[e, 0, k] * (w.end_back[side, k] - w.end_carried[side, k])
    w.end_gap[0] = before
    before = max(before, overlap_at_start(w, end.geom[e], e)) if before < 0.0 else 0.0
    allowed = min(before + w.h * recovery_between(w, end.body[e]), 0.0)
    if w.gives:
        allowed = min(allowed, -_given_way(w, end.geom[e]))
    return allowed - reserve - gap


@part
def _given_way(w, geom):
    """How far two shapes have given way to their forces in the step, at most [m]."""
    p, place, deepest = w.problem, w.start, 0.0
    for c in range(w.count[CONTACTS]):
        if place.geom[c, 0] == geom[0] and place.geom[c, 1] == geom[1] and not w.left_out[c]:
            force = p.impulse[p.start[w.count[JOINTS] + c]] / w.h
            deepest = max(deepest, (w.contact_compliance + place.soft[c]) * force)
    return deepest


@part
def overlap(w, e):
    """How deep contact e of the end overlaps, but for what its shapes give way to their force [m]."""
    return -w.end.gap[e] - w.end.accuracy[e] - (_given_way(w, w.end.geom[e]) if w.gives else 0.0)


@part
def add_late(w):
    """Overlaps at the end that no row forbade become rows of the step.

    Returns how many, or −1 without room.
    """
    p, start, end, added = w.problem, w.start, w.end, 0
    for e in range(end.count[0]):
        if end.gap[e] >= 0.0 or excess(w, e) <= 0.0:
            continue
        if immobile(w, e) or _is_known(w, e):
            continue
        c, k = w.count[CONTACTS], w.count[JOINTS] + w.count[CONTACTS]
        rows = rows_of(end.dim[e])
        width = 0
        for side in range(2):
            j = w.scene.last_dof[end.body[e, side]] if end.body[e, side] >= 0 else -1
            while j >= 0:
                width += 1
                j = w.scene.dof_parent[j]
        i = p.start[k]
        if k + 1 >= p.kind.size or i + rows >= p.bias.size or p.row_begin[i] + rows * width >= p.column.size:
            w.info[0], w.info[1], w.info[2] = k + 65, i + rows + 192, p.row_begin[i] + (rows + 192) * width
            return -1
        make_room(start, c + 1)
        room_for_contacts(w, c + 1)
        copy_line(start, c, end, e)
        start.gap[c], w.height[c] = w.end_gap[0], 0.0
        for side in range(2):
            b = end.body[e, side]
            for r in range(3):
                w.carried[c, side, r] = w.end_back[side, r]
                w.acts[c, side, r] = w.end_back[side, r] + end.point[e, r] - w.end_carried[side, r]
            into_body(start, b, w.carried[c, side], w.local[c, side])
        find_facet(w, end, c, e)
        fill_contact(w, c)
        added += 1
    start.count[0] = w.count[CONTACTS]
    w.count[LATE] += added
    return added


@part
def immobile(w, e):
    """Whether contact e of the end is one that no freedom can open."""
    if not w.info[LEFT_OUT]:
        return False
    for c in range(w.count[CONTACTS]):
        same = w.start.geom[c, 0] == w.end.geom[e, 0] and w.start.geom[c, 1] == w.end.geom[e, 1]
        if same and w.left_out[c]:
            return True
    return False


@part
def _is_known(w, e):
    """Whether a late row of the same shapes with about the same normal is there already."""
    start, end = w.start, w.end
    for c in range(w.count[CONTACTS] - w.count[LATE], w.count[CONTACTS]):
        if start.geom[c, 0] != end.geom[e, 0] or start.geom[c, 1] != end.geom[e, 1]:
            continue
        away = lean = 0.0
        for k in range(3):
            away += (start.point[c, k] - end.point[e, k]) ** 2
            lean += start.frame[c, 0, k] * end.frame[e, 0, k]
        if lean > 1.0 - 1e-6 and math.sqrt(away) < 1e-3 * w.scene.size:
            return True
    return False


@part
def _way(w, c, out):
    """How far the second carried point moves in the step, less the first."""
    point = np.empty(3)
    fill(out, 0.0)
    for side in range(2):
        into_world(w.end, w.start.body[c, side], w.local[c, side], point)
        for k in range(3):
            out[k] += (-1.0 if side == 0 else 1.0) * (point[k] - w.carried[c, side, k])


@part
def turn_normals(w):
    """Normals of round surfaces that pass by are turned for the way they go.

    Returns the worst gap error [m].
    """
    p, start, end, worst = w.problem, w.start, w.end, 0.0
    way, n = np.empty(3), np.empty(3)
    for c in range(w.count[CONTACTS] - w.count[LATE]):
        radius = start.round[c, 0] + start.round[c, 1]
        pushed = p.impulse[p.start[w.count[JOINTS] + c]] > 0.0
        if radius <= 0.0 or w.left_out[c] or w.facing[c] != FIXED:
            continue
        _way(w, c, way)
        along = across = 0.0
        for k in range(3):
            along += way[k] * w.normal0[c, k]
            across += way[k] * way[k]
        # the sagitta of the way is what a tangent plane keeps open
        if across - along * along <= 2.0 * _OPEN * radius * radius:
            continue
        first, last = pair_of(end.geom, start.geom[c], c, end.count[0])
        alone = pair_of(start.geom, start.geom[c], c, w.count[CONTACTS] - w.count[LATE])
        if last - first != 1 or alone[1] - alone[0] != 1:
            continue
        e = first
        if _slid(w, c, e) > _SLID * radius:
            _straighten(w, c)
            continue
        off = _turn_one(w, c, e, way, n, pushed)
        worst = max(worst, off)
    return worst


@part
def _slid(w, c, e):
    """How far the centres of curvature of a contact moved within their bodies [m]."""
    end, far = w.end, 0.0
    point, local = np.empty(3), np.empty(3)
    for side in range(2):
        b, sign = end.body[e, side], -1.0 if side == 0 else 1.0
        if end.round[e, side] <= 0.0 and b < 0:
            continue
        inward = sign * (0.5 * end.gap[e] + end.round[e, side])
        for k in range(3):
            point[k] = end.point[e, k] + inward * end.frame[e, 0, k]
        into_body(end, b, point, local)
        away = 0.0
        for k in range(3):
            away += (local[k] - w.local[c, side, k]) ** 2
        if end.round[e, side] > 0.0:
            far = max(far, math.sqrt(away))
    return far


@part
def _straighten(w, c):
    """Give a turned row the normal of its start back."""
    if w.turned[c] == 0:
        return
    start = w.start
    start.gap[c], w.off[c], w.turned[c] = w.gap0[c], 0.0, 0
    lean_frame(start.frame[c], w.normal0[c])
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        for k in range(3):
            w.acts[c, side, k] = w.carried[c, side, k] - sign * start.round[c, side] * w.normal0[c, k]
    refill(w, c)


@part
def _turn_one(w, c, e, way, n, pushed):
    """Turn the normal of contact c with the one that it is at the end.

    Returns how far its row was off [m].
    """
    start, end = w.start, w.end
    frame, seen, square, along, lean = start.frame[c], 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        lean += w.normal0[c, k] * end.frame[e, 0, k]
        n[k] = 0.5 * (w.normal0[c, k] + end.frame[e, 0, k])
        along += n[k] * way[k]
        square += way[k] * way[k]
        seen += frame[0, k] * way[k]
    if lean < _FLIPPED:
        return 0.0
    off = start.gap[c] + seen - end.gap[e]
    turned = w.turned[c] != 0
    radius = start.round[c, 0] + start.round[c, 1]
    allowed = ((_EXACT if is_exact(w) else _CLOSED) if turned else _OPEN) * radius
    if not (pushed or end.gap[e] < 0.0) or abs(off) <= allowed:
        return 0.0
    length = 0.0
    for k in range(3):
        n[k] += (end.gap[e] - w.gap0[c] - along) * way[k] / square
        length += n[k] * n[k]
    length = math.sqrt(length)
    if length < _SHORTEST:
        return 0.0
    share = 1.0
    if turned and w.off[c] != 0.0 and off / w.off[c] < 0.0:
        # normals that swing from look to look are damped (Aitken)
        share = max(1.0 / (1.0 - off / w.off[c]), _LEAST_SHARE)
    w.off[c], w.turned[c] = off if turned else 0.0, 1
    start.gap[c] += share * (w.gap0[c] / length - start.gap[c])
    size = 0.0
    for k in range(3):
        n[k] = frame[0, k] + share * (n[k] / length - frame[0, k])
        size += n[k] * n[k]
    size = math.sqrt(size)
    for k in range(3):
        n[k] /= size
    lean_frame(frame, n)
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        for k in range(3):
            w.acts[c, side, k] = w.carried[c, side, k] - sign * start.round[c, side] * n[k]
    refill(w, c)
    return abs(off)
