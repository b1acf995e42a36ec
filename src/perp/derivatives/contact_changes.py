"""Compiled: how a contact's geometry changes with the motions of its two bodies.

A small motion ξ = (ω, v) of each body about the origin, at the start and at the end of the step, 24 numbers
in all, changes normal n, point p midway and gap of a contact. Known by formula are

    a plane of the first body against a point or centre C carried by the other:
        dn = ω × n of the plane,   dgap = n · (Ċ of its body − Ċ of the plane)
    two centres C₀ and C₁, with L their distance:   dn = (I − n nᵀ) (Ċ₁ − Ċ₀) / L,   dgap = n · (Ċ₁ − Ċ₀)

For all others the detector gives a table of (dn, dp, dgap), see `detector`. From these follow the turn φ of
the frame, the points where impulses act, and the gap at the end n · (P₁⁺ − P₀⁺) − r of points that the bodies
carry along.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.dynamics.row_kernels import cross
from perp.stepping.world import EDGES, FIXED

# How the geometry of a contact is known.
FACE_OF_FIRST, CENTRES, TABLE, CARRIED = range(4)


@part
def _add_velocity(out, column, P):
    """The velocity of P under a motion into columns of `out`, shape (3, …)."""
    x, y, z = P[0], P[1], P[2]
    out[0, column + 1], out[0, column + 2] = z, -y
    out[1, column + 2], out[1, column + 0] = x, -z
    out[2, column + 0], out[2, column + 1] = y, -x
    for r in range(3):
        out[r, column + 3 + r] = 1.0


@part
def geometry_table(code, n, gap, radius, carried, G):
    """(dn, dp, dgap) by the motions of both bodies, shape (7, 12), for what is known by formula."""
    G[:, :] = 0.0
    V0, V1 = np.zeros((3, 12)), np.zeros((3, 12))
    if code == CENTRES:
        _add_velocity(V0, 0, carried[0])
        _add_velocity(V1, 6, carried[1])
        length = gap + radius[0] + radius[1]
        for k in range(12):
            along = 0.0
            for r in range(3):
                along += n[r] * (V1[r, k] - V0[r, k])
            G[6, k] = along
            for r in range(3):
                G[r, k] = (V1[r, k] - V0[r, k] - n[r] * along) / length
                G[3 + r, k] = V0[r, k] + G[r, k] * (radius[0] + 0.5 * gap) + 0.5 * n[r] * along
        return
    C, r1 = carried[1], radius[1]
    _add_velocity(V0, 0, C)
    _add_velocity(V1, 6, C)
    G[0, 1], G[0, 2] = n[2], -n[1]
    G[1, 2], G[1, 0] = n[0], -n[2]
    G[2, 0], G[2, 1] = n[1], -n[0]
    for k in range(12):
        along = 0.0
        for r in range(3):
            along += n[r] * (V1[r, k] - V0[r, k])
        G[6, k] = along
        for r in range(3):
            G[3 + r, k] = V1[r, k] - G[r, k] * (r1 + 0.5 * gap) - 0.5 * n[r] * along


@part
def frame_turn(n, frame, dn, axis, body, F):
    """φ with d(frame) = φ × frame, shape (3, 12), for normals that change by dn, shape (3, 12).

    Tangents follow the normal without spin, or stay along `axis`, a vector that body 0 or 1 carries (−1 for
    the world), where it is not zero.
    """
    a, t2 = axis, frame[2]
    lean = a[0] * n[0] + a[1] * n[1] + a[2] * n[2]
    size = math.sqrt(max(a[0] ** 2 + a[1] ** 2 + a[2] ** 2 - lean * lean, 0.0))
    for k in range(12):
        F[0, k] = n[1] * dn[2, k] - n[2] * dn[1, k]
        F[1, k] = n[2] * dn[0, k] - n[0] * dn[2, k]
        F[2, k] = n[0] * dn[1, k] - n[1] * dn[0, k]
        if size > 1e-9:
            spin = 0.0
            for r in range(3):
                spin -= lean * t2[r] * dn[r, k]
            if body >= 0 and 0 <= k - 6 * body < 3:
                # the axis turns with its body: e_k × a
                i = k - 6 * body
                j, m = (i + 1) % 3, (i + 2) % 3
                spin += t2[m] * a[j] - t2[j] * a[m]
            for r in range(3):
                F[r, k] += spin / size * n[r]


@part
def _turn_facet(facing, n, edges, between, moving, N):
    """n⁺ · (P₁⁺ − P₀⁺) by the turns of the end, for a normal that is that of a face or across two edges.

    Of a face dn = ω × n; of edges a and b with c = a × b, n = c / |c|: dn = (I − n nᵀ) dc / |c|.
    """
    x, y, across = np.empty(3), np.empty(3), np.empty(3)
    if facing != EDGES:
        cross(n, between, x)
        for r in range(3):
            N[12 + 6 * facing + r] += x[r]
        return
    cross(edges[0], edges[1], x)
    size = math.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
    along = n[0] * between[0] + n[1] * between[1] + n[2] * between[2]
    for r in range(3):
        across[r] = (between[r] - along * n[r]) / size
    for side in range(2):
        if not moving[side]:
            continue
        if side == 0:
            cross(edges[1], across, x)
        else:
            cross(across, edges[0], x)
        cross(edges[side], x, y)
        for r in range(3):
            N[12 + 6 * side + r] += y[r]


@part
def contact_changes(
    code, frame, gap, radius, carried, ended, acts, height, turns, moving, G, axis, body, facet, F, A, N
):
    """Turn of the frame, points where impulses act and gap at the end, by the 24 motions.

    Args:
        code: How the geometry is known.
        frame: Normal and tangents.
        gap: At the start.
        radius: Of both surfaces.
        carried: Carried points at the start, shape (2, 3).
        ended: The same at the end.
        acts: Where impulses act.
        height: How far above midway between the surfaces that is, in gaps.
        turns: Rotation of each body over the step, shape (2, 3, 3).
        moving: Whether each body moves.
        G: (dn, dp, dgap), shape (7, 12), see `geometry_table`.
        axis: The axis that the frame is turned about, see `frame_turn`.
        body: The body that has the axis, see `frame_turn`.
        facet: What the normal belongs to, the normal at the end, and edges there; see `stepping.facets`.
        F: Out, shape (3, 24).
        A: Out, shape (2, 3, 24).
        N: Out, by gap at the end, shape (24,).
    """
    n = frame[0]
    F[:, :] = 0.0
    A[:, :, :] = 0.0
    N[:] = 0.0
    frame_turn(n, frame, G[:3], axis, body, F[:, :12])
    between, facing, last = np.empty(3), facet[0], facet[1]
    for r in range(3):
        between[r] = ended[1, r] - ended[0, r]
    if facing == FIXED:
        for k in range(12):
            for r in range(3):
                N[k] += G[r, k] * between[r]
    else:
        _turn_facet(facing, last, facet[2], between, moving, N)
    P, Q, x, y = np.empty((3, 12)), np.zeros((3, 12)), np.zeros(3), np.empty(3)
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        Q[:, :] = 0.0
        _add_velocity(Q, 6 * side, carried[side])
        away = 0.0
        for r in range(3):
            away += (carried[side, r] - acts[side, r]) * n[r]
        for k in range(12):
            for r in range(3):
                if code == CARRIED:
                    P[r, k] = Q[r, k]
                    A[side, r, k] = P[r, k] - away * G[r, k]
                else:
                    P[r, k] = G[3 + r, k] + sign * (
                        0.5 * G[6, k] * n[r] + (0.5 * gap + radius[side]) * G[r, k]
                    )
                    A[side, r, k] = G[3 + r, k] + height * (G[6, k] * n[r] + gap * G[r, k])
            # how the point moves within its body, seen at the end
            for r in range(3):
                x[r] = P[r, k] - (Q[r, k] if moving[side] else 0.0)
            for r in range(3):
                y[r] = x[r]
                if moving[side]:
                    y[r] = turns[side, r, 0] * x[0] + turns[side, r, 1] * x[1] + turns[side, r, 2] * x[2]
                N[k] += sign * last[r] * y[r]
        if moving[side]:
            at = 12 + 6 * side
            cross(ended[side], last, x)
            for r in range(3):
                N[at + r] += sign * x[r]
                N[at + 3 + r] += sign * last[r]


@part
def discrete_normal(D, E, out):
    """The discrete gradient n̄ of the distance on the way from D to E, not normalised; see `second_look`."""
    d = math.sqrt(D[0] ** 2 + D[1] ** 2 + D[2] ** 2)
    e = math.sqrt(E[0] ** 2 + E[1] ** 2 + E[2] ** 2)
    along = square = 0.0
    for k in range(3):
        out[k] = 0.5 * (D[k] / d + E[k] / e)
        along += out[k] * (E[k] - D[k])
        square += (E[k] - D[k]) ** 2
    for k in range(3):
        out[k] += (e - d - along) * (E[k] - D[k]) / square


@part
def turned_changes(frame, radius, carried, ended, F, A, N):
    """As `contact_changes`, for two centres whose normal was turned for the way they go.

    Derivatives of the discrete gradient are differences of its formula.
    """
    D, E, n = np.empty(3), np.empty(3), frame[0]
    V = np.zeros((2, 3, 24))
    for side in range(2):
        _add_velocity(V[side], 6 * side, carried[side])
        _add_velocity(V[side], 12 + 6 * side, ended[side])
    for r in range(3):
        D[r], E[r] = carried[1, r] - carried[0, r], ended[1, r] - ended[0, r]
    end = math.sqrt(E[0] ** 2 + E[1] ** 2 + E[2] ** 2)
    mean = np.empty(3)
    discrete_normal(D, E, mean)
    length = math.sqrt(mean[0] ** 2 + mean[1] ** 2 + mean[2] ** 2)
    step = 1e-5 * end
    slope, plus, minus = np.empty((3, 6)), np.empty(3), np.empty(3)
    for k in range(6):
        which = D if k < 3 else E
        kept = which[k % 3]
        which[k % 3] = kept + step
        discrete_normal(D, E, plus)
        which[k % 3] = kept - step
        discrete_normal(D, E, minus)
        which[k % 3] = kept
        for r in range(3):
            slope[r, k] = (plus[r] - minus[r]) / (2.0 * step)
    F[:, :] = 0.0
    N[:] = 0.0
    dm, dn = np.empty(3), np.empty(3)
    gap = end - radius[0] - radius[1]
    for k in range(24):
        at = 0 if k < 12 else 3
        along = grown = 0.0
        for r in range(3):
            dm[r] = 0.0
            for c in range(3):
                dm[r] += slope[r, at + c] * (V[1, c, k] - V[0, c, k])
            along += dm[r] * n[r]
            if at:
                grown += E[r] / end * (V[1, r, k] - V[0, r, k])
        for r in range(3):
            dn[r] = (dm[r] - n[r] * along) / length
        N[k] = grown / length - gap * along / (length * length)
        F[0, k] = n[1] * dn[2] - n[2] * dn[1]
        F[1, k] = n[2] * dn[0] - n[0] * dn[2]
        F[2, k] = n[0] * dn[1] - n[1] * dn[0]
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            for r in range(3):
                A[side, r, k] = (V[side, r, k] if not at else 0.0) - sign * radius[side] * dn[r]
