"""Compiled: rows and forces of contacts by the coordinates and velocities of a step.

What `contact_changes` tells of one contact, by motions of its bodies, becomes columns of freedoms: a freedom
of the path of a body moves it by S_j. With the impulses held, forces on the freedoms change because points
and frames move and because the axes of the freedoms turn; velocities of rows change because bodies move
otherwise at the same rates.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part
from perp.derivatives.spatial import cross_motion, dot
from perp.derivatives.tree_dynamics import add_carried
from perp.dynamics.row_kernels import cross

# What the normal row of a contact is: the gap at the end, or the velocity at the start.
GAP, RATE = range(2)


@part
def _relative(T0, T1, points, out):
    """Velocity of the second point over the first, then of turning."""
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        out[k] = T1[3 + k] + T1[a] * points[1, b] - T1[b] * points[1, a]
        out[k] -= T0[3 + k] + T0[a] * points[0, b] - T0[b] * points[0, a]
        out[3 + k] = T1[k] - T0[k]


@part
def _relative_change(T0, T1, points, d, dT, out):
    """Its change, when the points move by d and the velocities change by dT."""
    _relative(dT[0], dT[1], points, out)
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        out[k] += T1[a] * d[1, b] - T1[b] * d[1, a] - T0[a] * d[0, b] + T0[b] * d[0, a]


@part
def _row_change(axis, turn, rate, change, at):
    """Change of axis · rate, with an axis that turns; linear rates from 0, turning ones from 3."""
    total = 0.0
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        total += (turn[a] * axis[b] - turn[b] * axis[a]) * rate[at + k] + axis[k] * change[at + k]
    return total


@part
def _rows_change(frame, first, count, turn, rate, change, at, j, out):
    """out[at + r, j] += the change of the velocity of row r."""
    for r in range(first, count):
        axis = frame[r] if r < 3 else frame[r - 3]
        out[at + r, j] += _row_change(axis, turn, rate, change, 0 if r < 3 else 3)


@part
def _force_change(push, twist, acts, turn, d, sign, x, y, out):
    """Change of the force on one side, about the origin, when its point moves by d and its frame turns."""
    cross(turn, push, x)
    cross(acts, x, y)
    for r in range(3):
        out[3 + r], out[r] = sign * x[r], sign * y[r]
    cross(d, push, x)
    cross(turn, twist, y)
    for r in range(3):
        out[r] += sign * (x[r] + y[r])


@part
def _forces(S, parent, ends, stop, load, turn, d, room, j, out):
    """out[k, j] −= S_k · dW over the freedoms of both bodies."""
    push, twist, acts = load
    x, y, W = room
    for side in range(2):
        _force_change(push, twist, acts[side], turn, d[side], -1.0 if side == 0 else 1.0, x, y, W)
        k = ends[side]
        while k >= 0 and k != stop:
            out[k, j] -= dot(S[k], W)
            k = parent[k]


@part
def add_contact(t, e, ends, stop, contact, changes, at):
    """Add one contact to the derivatives of forces and rows.

    Args:
        t: The tree.
        e: The equations.
        ends: Last freedom of both bodies or −1.
        stop: First freedom that both have, or −1.
        contact: Frame, points where impulses act, how many rows, what the normal row is, its restitution, its
            share of the gap at the start.
        changes: F, A, N of `contact_changes`, derivative of the points by the spin of each body
            (2, 3, 3), and (dgap) by motions of the start, shape (12,).
        at: First row of the contact.
    """
    S, E, T, T_old, parent, before = e.S, e.E, e.T, e.T_old, t.parent, t.before
    frame, acts, count, kind, bounce, share = contact
    F, A, N, spin, dgap = changes
    Gq, Gp, Gv, Uq, Up, Uv, Uo, h = e.Gq, e.Gp, e.Gv, e.Uq, e.Up, e.Uv, e.Uo, e.h
    push, twist, turn, d = np.zeros(3), np.zeros(3), np.empty(3), np.empty((2, 3))
    for r in range(count):
        for k in range(3):
            if r < 3:
                push[k] += e.impulse[at + r] * frame[r, k]
            else:
                twist[k] += e.impulse[at + r] * frame[r - 3, k]
    dT, dO, x, nothing = np.zeros((2, 6)), np.zeros((2, 6)), np.empty(6), np.zeros((2, 3))
    rate, old, change = np.empty(6), np.empty(6), np.empty(6)
    room = np.empty(3), np.empty(3), np.empty(6)
    load = push, twist, acts
    _relative(T[ends[0]], T[ends[1]], acts, rate)
    _relative(T_old[ends[0]], T_old[ends[1]], acts, old)
    mark = np.zeros(S.shape[0], np.int64)
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        cross(acts[side], push, turn)
        for r in range(3):
            x[r], x[3 + r] = -sign * (turn[r] + twist[r]), -sign * push[r]
        add_carried(S, parent, before, t.last, ends[side], x, t.siblings, Gq)
        j = ends[side]
        while j >= 0:
            mark[j] += 1 + side
            j = parent[j]
    normal = 0 if kind == RATE else 1
    for first in range(2):
        j = ends[first]
        while j >= 0:
            if first == 1 and mark[j] == 3:
                j = parent[j]
                continue
            # the start: motions of both bodies
            turn[:], d[:, :], dT[:, :], dO[:, :] = 0.0, 0.0, 0.0, 0.0
            near = gap = 0.0
            for side in range(2):
                if not mark[j] & (1 + side):
                    continue
                for k in range(6):
                    s, column = S[j, k], 6 * side + k
                    near += N[column] * s
                    gap += dgap[column] * s
                    for r in range(3):
                        turn[r] += F[r, column] * s
                        d[0, r] += A[0, r, column] * s
                        d[1, r] += A[1, r, column] * s
                if t.carry[j]:
                    for k in range(6):
                        x[k] = T[ends[side], k] - T[before[j], k]
                    cross_motion(S[j], x, dT[side])
                    for k in range(6):
                        x[k] = T_old[ends[side], k] - T_old[before[j], k]
                    cross_motion(S[j], x, dO[side])
            for side in range(2):
                for r in range(3):
                    for k in range(3):
                        d[side, r] += spin[side, r, k] * dT[side, k]
            _forces(S, parent, ends, stop, load, turn, d, room, j, Gq)
            _relative_change(T[ends[0]], T[ends[1]], acts, d, dT, change)
            _rows_change(frame, normal, count, turn, rate, change, at, j, Uq)
            if kind == GAP:
                Uq[at, j] += (near - (1.0 - share) * gap) / h
            elif kind == RATE:
                Uq[at, j] += share * gap / h
            if bounce != 0.0:
                _relative_change(T_old[ends[0]], T_old[ends[1]], acts, d, dO, change)
                Uq[at, j] += bounce * _row_change(frame[0], turn, old, change, 0)
            # the end
            turn[:], d[:, :], dT[:, :] = 0.0, 0.0, 0.0
            near = 0.0
            for side in range(2):
                if not mark[j] & (1 + side):
                    continue
                for k in range(6):
                    s, column = E[j, k], 12 + 6 * side + k
                    near += N[column] * s
                    for r in range(3):
                        turn[r] += F[r, column] * s
                        d[0, r] += A[0, r, column] * s
                        d[1, r] += A[1, r, column] * s
            if kind == GAP:
                Up[at, j] += near / h
            if turn[0] != 0.0 or turn[1] != 0.0 or turn[2] != 0.0:
                _forces(S, parent, ends, stop, load, turn, d, room, j, Gp)
                _relative_change(T[ends[0]], T[ends[1]], acts, d, dT, change)
                _rows_change(frame, 1, count, turn, rate, change, at, j, Up)
            # velocities
            turn[:], d[:, :] = 0.0, 0.0
            some = False
            for side in range(2):
                if mark[j] & (1 + side):
                    dT[side] = S[j]
                    for r in range(3):
                        for k in range(3):
                            d[side, r] += spin[side, r, k] * S[j, k]
                        some = some or d[side, r] != 0.0
            _relative_change(T[ends[0]], T[ends[1]], acts, d, dT, change)
            _rows_change(frame, normal, count, turn, rate, change, at, j, Uv)
            if some:
                _forces(S, parent, ends, stop, load, turn, d, room, j, Gv)
            if bounce != 0.0:
                _relative_change(T[ends[0]], T[ends[1]], acts, nothing, dT, change)
                Uo[at, j] += bounce * _row_change(frame[0], turn, rate, change, 0)
            j = parent[j]
