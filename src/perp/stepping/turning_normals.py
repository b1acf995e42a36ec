"""Normals that turn within a step: a wheel that rolls over an edge, balls that pass each other.

A row with the normal of the step's start keeps a round surface on one side of a plane, although it may pass
around what is behind the plane. Where that matters the row gets the discrete gradient of the distance d,

    n̄ = n + (d⁺ − d⁻ − n · Δ) Δ / |Δ|²,   n = (n⁻ + n⁺) / 2,   n̄ · Δ = d⁺ − d⁻

with Δ the way of the centre of curvature and n⁺, d⁺ found at the new poses: the row is then met where the
surfaces touch, and its impulse does no work but that of closing the gap. The step is solved again until the
normals stay.

Reference: Gonzalez, Time integration and discrete Hamiltonian systems (1996), for the discrete gradient.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.collision import ContactFinder, Contacts
from perp.collision.matching import sorted_pairs
from perp.dynamics.motion import rotation_matrices, turn
from perp.stepping.scales import reach
from perp.stepping.system import StepSystem

# A gap that a row keeps open is worth a second solve from this share of the radius on.
_OPEN = 1e-3
# … and a row that has been turned is turned on down to this share.
_CLOSED = 1e-6
_SHORTEST = 1e-2
_LEAST_SHARE = 0.3


@njit(cache=True)
def _way(body, carried, x, u, h, out):
    """How far the second carried point moves, less the first."""
    out[:] = 0.0
    for side in range(2):
        b = body[side]
        if b < 0:
            continue
        sign, p = -1.0 if side == 0 else 1.0, carried[side]
        sx, sy, sz = p[0] - x[b, 0], p[1] - x[b, 1], p[2] - x[b, 2]
        tx, ty, tz = turn(h * u[b, 3], h * u[b, 4], h * u[b, 5], sx, sy, sz)
        out[0] += sign * (h * u[b, 0] + tx - sx)
        out[1] += sign * (h * u[b, 1] + ty - sy)
        out[2] += sign * (h * u[b, 2] + tz - sz)


@njit(cache=True)
def passing(body, carried, frame, roundness, first, x, u, h, impulse):
    """Whether a round surface is pushed while it passes by so far that its normal may turn."""
    way = np.empty(3)
    for c in range(body.shape[0]):
        radius = roundness[c, 0] + roundness[c, 1]
        if radius <= 0.0 or impulse[first[c]] <= 0.0:
            continue
        _way(body[c], carried[c], x, u, h, way)
        along = across = 0.0
        for k in range(3):
            along += way[k] * frame[c, 0, k]
            across += way[k] * way[k]
        # the sagitta of the way is what a tangent plane keeps open
        if across - along * along > 2.0 * _OPEN * radius * radius:
            return True
    return False


@njit(cache=True)
def _turn(key, order, end_key, end_order, body, carried, frame, gap, roundness, end_frame, end_gap, first, x,
          u, h, impulse, new_frame, new_gap, last):  # fmt: skip
    """New frames and gaps of single contacts of round surfaces; returns how far the worst row was off [m].

    Normals that swing from look to look are damped by how far rows were off in the `last` one (Aitken).
    """
    way, n, t = np.empty(3), np.empty(3), np.empty(3)
    worst, low = 0.0, 0
    for at in range(order.size):
        c = order[at]
        alone = (at == 0 or key[order[at - 1]] != key[c]) and (
            at + 1 == order.size or key[order[at + 1]] != key[c]
        )
        while low < end_order.size and end_key[end_order[low]] < key[c]:
            low += 1
        radius = roundness[c, 0] + roundness[c, 1]
        if not alone or radius <= 0.0 or low == end_order.size or end_key[end_order[low]] != key[c]:
            continue
        if low + 1 < end_order.size and end_key[end_order[low + 1]] == key[c]:
            continue
        e = end_order[low]
        _way(body[c], carried[c], x, u, h, way)
        square = seen = along = 0.0
        for k in range(3):
            n[k] = 0.5 * (frame[c, 0, k] + end_frame[e, 0, k])
            along += n[k] * way[k]
            square += way[k] * way[k]
            seen += new_frame[c, 0, k] * way[k]
        off = new_gap[c] + seen - end_gap[e]
        turned = new_frame[c, 0, 0] != frame[c, 0, 0]
        allowed = (_CLOSED if turned else _OPEN) * radius
        pushed = impulse[first[c]] > 0.0
        if not (pushed or end_gap[e] < 0.0) or abs(off) <= allowed:
            continue
        length = 0.0
        for k in range(3):
            n[k] += (end_gap[e] - gap[c] - along) * way[k] / square
            length += n[k] * n[k]
        length = math.sqrt(length)
        if length < _SHORTEST:
            continue
        worst = max(worst, abs(off))
        share = 1.0
        if turned and last[c] != 0.0 and off / last[c] < 0.0:
            share = max(1.0 / (1.0 - off / last[c]), _LEAST_SHARE)
        last[c] = off if turned else 0.0
        new_gap[c] += share * (gap[c] / length - new_gap[c])
        size = 0.0
        for k in range(3):
            n[k] = new_frame[c, 0, k] + share * (n[k] / length - new_frame[c, 0, k])
            size += n[k] * n[k]
        size = math.sqrt(size)
        # tangents stay as near to those of the start as they can
        lean = 0.0
        for k in range(3):
            new_frame[c, 0, k] = n[k] / size
            lean += new_frame[c, 0, k] * frame[c, 1, k]
        size = 0.0
        for k in range(3):
            t[k] = frame[c, 1, k] - lean * new_frame[c, 0, k]
            size += t[k] * t[k]
        if size < 1e-4:
            lean = 0.0
            for k in range(3):
                lean += new_frame[c, 0, k] * frame[c, 2, k]
            size = 0.0
            for k in range(3):
                t[k] = frame[c, 2, k] - lean * new_frame[c, 0, k]
                size += t[k] * t[k]
        size = math.sqrt(size)
        for k in range(3):
            new_frame[c, 1, k] = t[k] / size
        a, b = new_frame[c, 0], new_frame[c, 1]
        new_frame[c, 2, 0] = a[1] * b[2] - a[2] * b[1]
        new_frame[c, 2, 1] = a[2] * b[0] - a[0] * b[2]
        new_frame[c, 2, 2] = a[0] * b[1] - a[1] * b[0]
    return worst


def turned_normals(
    finder: ContactFinder, system: StepSystem, impulse: np.ndarray, u: np.ndarray
) -> tuple[Contacts, np.ndarray] | None:
    """The contacts of a step with normals for the way that bodies go with velocities u, and where they act.

    None where those it has will do.
    """
    start, h, x = system.found, system.h, system.state.position
    count, n = start.count, system.model.body_count
    carried = system.carried[:count]
    if not count or not passing(
        start.body, carried, start.frame, start.roundness, system.first, x, u, h, impulse
    ):
        return None
    new_x, quat = system.pose_after(u)
    R = np.empty((n, 3, 3))
    rotation_matrices(quat, R)
    end = finder.find(new_x, R, reach(finder.bound, system.before, u, h))
    contacts = system.contacts.taken(np.arange(system.contacts.count))
    at = system.before_turning.copy()
    worst = _turn(
        *sorted_pairs(start.geom), *sorted_pairs(end.geom), start.body, carried, start.frame, start.gap,
        start.roundness, end.frame, end.gap, system.first, x, u, h, impulse, contacts.frame, contacts.gap,
        system.off,
    )  # fmt: skip
    if not worst:
        return None
    sign = np.array([-1.0, 1.0])[None, :, None]
    at[:count] = carried - sign * start.roundness[:, :, None] * contacts.frame[:count, None, 0]
    return contacts, at
