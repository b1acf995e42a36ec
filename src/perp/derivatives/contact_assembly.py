"""Compiled: rows and forces of contacts by the coordinates and velocities of a step.

What `contact_changes` tells of one contact, by motions of its bodies, becomes columns of freedoms: a freedom
of the path of a body moves it by S_j. With the impulses held, forces on the freedoms change because points
and frames move and because the axes of the freedoms turn; velocities of rows change because bodies move
otherwise at the same rates.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel
from perp.derivatives.spatial import cross_motion, dot, moved
from perp.derivatives.tree_dynamics import add_carried
from perp.dynamics.row_kernels import cross

# What the normal row of a contact is: the gap at the end, or the velocity at the start or at the end.
GAP, RATE, RATE_AT_END = range(3)


@kernel(error_model="numpy")
def _rate_change(e, turn, p0, p1, d0, d1, T0, T1, dT0, dT1, turning):
    """Change of e · (velocity of p₁ under T₁ − of p₀ under T₀), or of turning rates about e."""
    a, b, x, y = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    if turning:
        for r in range(3):
            a[r], b[r] = T1[r] - T0[r], dT1[r] - dT0[r]
    else:
        moved(T1, p1, a)
        moved(T0, p0, x)
        for r in range(3):
            a[r] -= x[r]
        moved(dT1, p1, b)
        moved(dT0, p0, x)
        for r in range(3):
            b[r] -= x[r]
        cross(T1, d1, x)
        cross(T0, d0, y)
        for r in range(3):
            b[r] += x[r] - y[r]
    cross(turn, e, x)
    return x[0] * a[0] + x[1] * a[1] + x[2] * a[2] + e[0] * b[0] + e[1] * b[1] + e[2] * b[2]


@kernel(error_model="numpy")
def _force_change(push, twist, acts, turn, d, sign, out):
    """Change of the force on one side, about the origin, when its point moves by d and its frame turns."""
    x, y, z = np.empty(3), np.empty(3), np.empty(3)
    cross(turn, push, x)
    cross(d, push, y)
    cross(acts, x, z)
    for r in range(3):
        out[3 + r] = sign * x[r]
        out[r] = sign * (y[r] + z[r])
    cross(turn, twist, y)
    for r in range(3):
        out[r] += sign * y[r]


@kernel(error_model="numpy")
def add_contact(tree, place, ends, stop, contact, changes, rows, out):
    """Add one contact to the derivatives of forces and rows.

    Args:
        tree: Parent, freedom before the joint and last freedom of the joint of each freedom; whether a
            freedom carries the rates behind it; whether rates of a rotation turn their own axes.
        place: Motions at the start and at the end, shapes (nv, 6); velocities behind each freedom with a line
            of zeros for the world: with the moving velocity at the start, with the velocity of the start, and
            with the moving velocity at the end, shapes (nv + 1, 6).
        ends: Last freedom of both bodies or −1.
        stop: First freedom that both have, or −1.
        contact: Frame, points where impulses act, impulses, how many rows, what the normal row is, its
            restitution, its share of the gap at the start, the length of the step.
        changes: F, A, N of `contact_changes`, derivative of the points by the spin of each body
            (2, 3, 3), and (dgap) by motions of the start, shape (12,).
        rows: First row of the contact.
        out: G by q of the start, q of the end and velocity; U by the same and by the velocity of the start.
    """
    parent, before, last, carry, siblings = tree
    S, E, T, T_old, _ = place
    frame, acts, impulse, count, kind, bounce, share, h = contact
    F, A, N, spin, dgap = changes
    Gq, Gp, Gv, Uq, Up, Uv, Uo = out
    nv = S.shape[0]
    push, twist = np.zeros(3), np.zeros(3)
    for r in range(count):
        for k in range(3):
            if r < 3:
                push[k] += impulse[r] * frame[r, k]
            else:
                twist[k] += impulse[r] * frame[r - 3, k]
    turn, d, dT, dO, W, x = (
        np.empty(3),
        np.empty((2, 3)),
        np.zeros((2, 6)),
        np.zeros((2, 6)),
        np.empty(6),
        np.empty(6),
    )
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        cross(acts[side], push, turn)
        for r in range(3):
            W[r], W[3 + r] = sign * (turn[r] + twist[r]), sign * push[r]
        add_carried(S, parent, before, last, ends[side], -W, siblings, Gq)
    mark = np.zeros(nv, np.int64)
    for side in range(2):
        j = ends[side]
        while j >= 0:
            mark[j] += 1 + side
            j = parent[j]
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
                at, s = 6 * side, S[j]
                for k in range(6):
                    near += N[at + k] * s[k]
                    gap += dgap[at + k] * s[k]
                    for r in range(3):
                        turn[r] += F[r, at + k] * s[k]
                        d[0, r] += A[0, r, at + k] * s[k]
                        d[1, r] += A[1, r, at + k] * s[k]
                if carry[j]:
                    for k in range(6):
                        x[k] = T[ends[side], k] - T[before[j], k]
                    cross_motion(s, x, dT[side])
                    for k in range(6):
                        x[k] = T_old[ends[side], k] - T_old[before[j], k]
                    cross_motion(s, x, dO[side])
            for side in range(2):
                for r in range(3):
                    for k in range(3):
                        d[side, r] += spin[side, r, k] * dT[side, k]
            _forces(S, parent, ends, stop, push, twist, acts, turn, d, j, Gq)
            for r in range(1, count):
                e = frame[r] if r < 3 else frame[r - 3]
                Uq[rows + r, j] += _rate_change(
                    e, turn, acts[0], acts[1], d[0], d[1], T[ends[0]], T[ends[1]], dT[0], dT[1], r >= 3
                )
            n = frame[0]
            if kind == GAP:
                Uq[rows, j] += (near - (1.0 - share) * gap) / h
            elif kind == RATE:
                Uq[rows, j] += share * gap / h + _rate_change(
                    n, turn, acts[0], acts[1], d[0], d[1], T[ends[0]], T[ends[1]], dT[0], dT[1], False
                )
            if bounce != 0.0:
                Uq[rows, j] += bounce * _rate_change(
                    n, turn, acts[0], acts[1], d[0], d[1], T_old[ends[0]], T_old[ends[1]], dO[0], dO[1], False
                )
            # the end
            turn[:], d[:, :] = 0.0, 0.0
            near = 0.0
            some = False
            for side in range(2):
                if not mark[j] & (1 + side):
                    continue
                at, s = 12 + 6 * side, E[j]
                for k in range(6):
                    near += N[at + k] * s[k]
                    for r in range(3):
                        turn[r] += F[r, at + k] * s[k]
                        d[0, r] += A[0, r, at + k] * s[k]
                        d[1, r] += A[1, r, at + k] * s[k]
            for r in range(3):
                some = some or turn[r] != 0.0
            if kind == GAP:
                Up[rows, j] += near / h
            if some:
                dT[:, :] = 0.0
                _forces(S, parent, ends, stop, push, twist, acts, turn, d, j, Gp)
                for r in range(1, count):
                    e = frame[r] if r < 3 else frame[r - 3]
                    Up[rows + r, j] += _rate_change(
                        e, turn, acts[0], acts[1], d[0], d[1], T[ends[0]], T[ends[1]], dT[0], dT[1], r >= 3
                    )
            # velocities
            turn[:], d[:, :], dT[:, :] = 0.0, 0.0, 0.0
            for side in range(2):
                if mark[j] & (1 + side):
                    dT[side] = S[j]
                    for r in range(3):
                        for k in range(3):
                            d[side, r] += spin[side, r, k] * S[j, k]
            for r in range(0 if kind == RATE else 1, count):
                e = frame[r] if r < 3 else frame[r - 3]
                Uv[rows + r, j] += _rate_change(
                    e, turn, acts[0], acts[1], d[0], d[1], T[ends[0]], T[ends[1]], dT[0], dT[1], r >= 3
                )
            some = False
            for side in range(2):
                for r in range(3):
                    some = some or d[side, r] != 0.0
            if some:
                _forces(S, parent, ends, stop, push, twist, acts, turn, d, j, Gv)
            if bounce != 0.0:
                d[:, :] = 0.0
                Uo[rows, j] += bounce * _rate_change(
                    n, turn, acts[0], acts[1], d[0], d[1], T[ends[0]], T[ends[1]], dT[0], dT[1], False
                )
            j = parent[j]


@kernel(error_model="numpy")
def _forces(S, parent, ends, stop, push, twist, acts, turn, d, j, out):
    """out[k, j] −= S_k · dW over the freedoms of both bodies."""
    W = np.empty(6)
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        _force_change(push, twist, acts[side], turn, d[side], sign, W)
        k = ends[side]
        while k >= 0 and k != stop:
            out[k, j] -= dot(S[k], W)
            k = parent[k]


@kernel(error_model="numpy")
def add_rate_at_end(tree, place, ends, frame, ended, F, carried, rows, out):
    """The normal row n · (velocities of the carried points at the end), for contacts that bounce.

    Args:
        tree: As in `add_contact`.
        place: As there.
        ends: As there.
        frame: Normal and tangents.
        ended: Carried points at the end.
        F: Turn of the frame by the motions of the start, shape (3, 24).
        carried: How the points move by the motions of start and end, shape (2, 3, 24).
        rows: The row.
        out: As there.
    """
    parent, before, _, carry, _ = tree
    S, E, _, _, T = place
    _, _, _, Uq, Up, Uv, _ = out
    turn, d, dT, x = np.empty(3), np.empty((2, 3)), np.empty((2, 6)), np.empty(6)
    nothing = np.zeros((2, 3))
    for side in range(2):
        j = ends[side]
        while j >= 0:
            # each body apart: both see a freedom that they share
            turn[:], d[:, :], dT[:, :] = 0.0, 0.0, 0.0
            for k in range(6):
                for r in range(3):
                    turn[r] += F[r, 6 * side + k] * S[j, k]
                    for other in range(2):
                        d[other, r] += carried[other, r, 6 * side + k] * S[j, k]
            Uq[rows, j] += _rate_change(
                frame[0], turn, ended[0], ended[1], d[0], d[1], T[ends[0]], T[ends[1]], dT[0], dT[1], False
            )
            turn[:], d[:, :] = 0.0, 0.0
            moved(E[j], ended[side], d[side])
            if carry[j]:
                for k in range(6):
                    x[k] = T[ends[side], k] - T[before[j], k]
                cross_motion(E[j], x, dT[side])
            Up[rows, j] += _rate_change(
                frame[0], turn, ended[0], ended[1], d[0], d[1], T[ends[0]], T[ends[1]], dT[0], dT[1], False
            )
            dT[:, :] = 0.0
            dT[side] = E[j]
            Uv[rows, j] += _rate_change(
                frame[0], turn, ended[0], ended[1], nothing[0], nothing[1], T[ends[0]], T[ends[1]], dT[0],
                dT[1], False,
            )  # fmt: skip
            j = parent[j]
