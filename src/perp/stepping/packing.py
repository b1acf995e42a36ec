"""Compiled copies of a finished step: its state and its report, each as one array."""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.arrays import copy_into
from perp.kernels.borrowed import numbers_of, onward
from perp.stepping.world import CONTACTS, FIGURES, INFOS, JOINTS

# A report: figures, what `info` counts, a line a contact, impulses of the joint rows.
HEADER = FIGURES + INFOS
# Columns of a packed contact.
GEOM, BODY, ROWS, POINT, FRAME, GAP, FRICTION, RESTITUTION, ROUND, ACCURACY, SLIP, STATE, IMPULSE, WIDTH = (
    0, 2, 4, 5, 8, 17, 18, 23, 24, 26, 27, 28, 29, 35,
)  # fmt: skip
# A contact that slides slower than this share of the step's speeds counts as sticking.
_NO_SLIP = 1e-6


@part
def pack_report(w):
    """All that there is to say about a step but its state."""
    p, place, n, joints = w.problem, w.start, w.count[CONTACTS], w.count[JOINTS]
    out = np.empty(HEADER + n * WIDTH + joints)
    copy_into(out[:FIGURES], w.figure)
    for k in range(INFOS):
        out[FIGURES + k] = w.info[k]
    for c in range(n):
        x, first = onward(out, HEADER + c * WIDTH), p.start[joints + c]
        rows = p.start[joints + c + 1] - first
        x[ROWS], x[GAP], x[RESTITUTION], x[ACCURACY] = (
            rows,
            place.gap[c],
            place.restitution[c],
            place.accuracy[c],
        )
        geom, body, radius = numbers_of(place.geom, c), numbers_of(place.body, c), numbers_of(place.round, c)
        for k in range(2):
            x[GEOM + k], x[BODY + k], x[ROUND + k] = geom[k], body[k], radius[k]
        point, frame, friction = (
            numbers_of(place.point, c),
            numbers_of(place.frame, c),
            numbers_of(place.friction, c),
        )
        for k in range(3):
            x[POINT + k] = point[k]
        for k in range(9):
            x[FRAME + k] = frame[k]
        for k in range(5):
            x[FRICTION + k] = friction[k]
        for r in range(WIDTH - IMPULSE):
            x[IMPULSE + r] = p.impulse[first + r] if r < rows else 0.0
        u = onward(p.row_velocity, first)
        x[SLIP] = math.hypot(u[1], u[2]) if rows >= 3 else 0.0
        sticks = rows >= 3 and x[SLIP] <= _NO_SLIP * w.speed
        x[STATE] = (1.0 if sticks else 0.0) if p.impulse[first] > 0.0 else -1.0
    for k in range(joints):
        out[HEADER + n * WIDTH + k] = p.impulse[k]
    return out


@part
def line_of(report, c):
    """Contact c of a report."""
    return report[HEADER + c * WIDTH : HEADER + (c + 1) * WIDTH]


@part
def pack_state(w):
    """q, v, activations, turns.

    And of trees positions, quaternions and velocities of the bodies, in one array.
    """
    n = 0 if w.scene.cut else w.scene.mass.size
    nq, nv, na, nt = w.q_end.size, w.v_end.size, w.act_end.size, w.turns_end.size
    out = np.empty(nq + nv + na + nt + 13 * n)
    at = 0
    out[at : at + nq] = w.q_end
    at += nq
    out[at : at + nv] = w.v_end
    at += nv
    out[at : at + na] = w.act_end
    at += na
    out[at : at + nt] = w.turns_end
    at += nt
    for b in range(n):
        for k in range(3):
            out[at + 3 * b + k] = w.end.x[b, k]
        for k in range(4):
            out[at + 3 * n + 4 * b + k] = w.end.quat[b, k]
        for k in range(6):
            out[at + 7 * n + 6 * b + k] = w.body_velocity[b, k]
    return out
