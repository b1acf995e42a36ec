"""Compiled contact rows: their Jacobian at the start of the step and their gap at any iterate.

The normal and the two contact points are those of the start of the step, each point carried by its body; the
gap at an iterate u is the distance of the carried points along that normal, exact in the rotations:

    gap(u) = gap⁻ + n · [h (v_b − v_a) + (exp(h ω_b) − 1) s_b − (exp(h ω_a) − 1) s_a]

s is the arm of the carried point. For a round surface that point is the centre of curvature, whose distance
does not change when the body rolls.
"""

from __future__ import annotations

import math

from numba import njit

from perp.dynamics.motion import turn, turn_coefficients


@njit(cache=True)
def contact_jacobian(body, at, frame, rows, first, x, bodies, jacobian):
    """Rows of all contacts: normal, two tangents, two rolling rates; child is the second body.

    Args:
        body: As in `Contacts`, as the next three.
        at: Where the impulse acts on each body, shape (contacts, 2, 3).
        frame: Normal and tangents.
        rows: 1, 3 or 5 of each contact.
        first: First row of each contact, shape (contacts,).
        x: Centres of mass, shape (n, 3).
        bodies: Out, over all rows of the step.
        jacobian: Out, over all rows of the step.
    """
    for c in range(rows.size):
        for r in range(rows[c]):
            i = first[c] + r
            e = frame[c, r] if r < 3 else frame[c, r - 2]
            for side in range(2):
                b = body[c, 1 - side]
                sign = 1.0 if side == 0 else -1.0
                bodies[i, side] = b
                column, p = 6 * side, at[c, 1 - side]
                for k in range(6):
                    jacobian[i, column + k] = 0.0
                if b < 0:
                    continue
                if r >= 3:
                    for k in range(3):
                        jacobian[i, column + 3 + k] = sign * e[k]
                    continue
                ax, ay, az = p[0] - x[b, 0], p[1] - x[b, 1], p[2] - x[b, 2]
                for k in range(3):
                    jacobian[i, column + k] = sign * e[k]
                jacobian[i, column + 3] = sign * (ay * e[2] - az * e[1])
                jacobian[i, column + 4] = sign * (az * e[0] - ax * e[2])
                jacobian[i, column + 5] = sign * (ax * e[1] - ay * e[0])


@njit(cache=True)
def carried_points(point, frame, gap, roundness, out):
    """The two points of each contact whose distance along the normal is the gap, shape (contacts, 2, 3).

    From midway half the gap, then the radius, into the body: a round surface is carried by its centre.
    """
    for c in range(gap.size):
        for side in range(2):
            inward = (0.5 * gap[c] + roundness[c, side]) * (-1.0 if side == 0 else 1.0)
            for k in range(3):
                out[c, side, k] = point[c, k] + inward * frame[c, 0, k]


@njit(cache=True)
def mean_points(body, carried, point, x, u, h, out):
    """Where impulses act so that they do the work of the way: with the arms averaged over the turn.

    With the mean arm r̄ of a carried point its way in the step is h (v + ω × r̄) exactly. Rows at these points
    have J u equal to what the gap changes by, over h, so that a contact that closes takes energy at any step.

    Args:
        body: As in `Contacts`.
        carried: At the start of the step.
        point: Where the impulse acts at the start, one for both, shape (contacts, 2, 3).
        x: Centres of mass at the start.
        u: Velocities.
        h: Step [s].
        out: Shape (contacts, 2, 3).
    """
    for c in range(body.shape[0]):
        for side in range(2):
            b, p, s = body[c, side], point[c, side], carried[c, side]
            if b < 0:
                out[c, side] = p
                continue
            wx, wy, wz = h * u[b, 3], h * u[b, 4], h * u[b, 5]
            first, second = turn_coefficients(wx, wy, wz)
            sx, sy, sz = s[0] - x[b, 0], s[1] - x[b, 1], s[2] - x[b, 2]
            # (1 + first [w]× + second [w]×²) s − s
            cx, cy, cz = wy * sz - wz * sy, wz * sx - wx * sz, wx * sy - wy * sx
            out[c, side, 0] = p[0] + first * cx + second * (wy * cz - wz * cy)
            out[c, side, 1] = p[1] + first * cy + second * (wz * cx - wx * cz)
            out[c, side, 2] = p[2] + first * cz + second * (wx * cy - wy * cx)


@njit(cache=True)
def gaps(body, carried, frame, gap, x, u, h, out):
    """Gap of every contact after moving with the velocities u for h."""
    for c in range(gap.size):
        total = gap[c]
        nx, ny, nz = frame[c, 0, 0], frame[c, 0, 1], frame[c, 0, 2]
        for side in range(2):
            b = body[c, side]
            if b < 0:
                continue
            sign, p = -1.0 if side == 0 else 1.0, carried[c, side]
            sx, sy, sz = p[0] - x[b, 0], p[1] - x[b, 1], p[2] - x[b, 2]
            tx, ty, tz = turn(h * u[b, 3], h * u[b, 4], h * u[b, 5], sx, sy, sz)
            total += sign * (
                nx * (h * u[b, 0] + tx - sx) + ny * (h * u[b, 1] + ty - sy) + nz * (h * u[b, 2] + tz - sz)
            )
        out[c] = total


@njit(cache=True)
def normal_rows(body, carried, frame, first, x, u, h, jacobian):
    """Normal rows of all contacts with the arms of the carried points after the step: d gap / h d(turn)."""
    for c in range(first.size):
        nx, ny, nz = frame[c, 0, 0], frame[c, 0, 1], frame[c, 0, 2]
        for side in range(2):
            b = body[c, side]
            if b < 0:
                continue
            sign, p = -1.0 if side == 0 else 1.0, carried[c, side]
            sx, sy, sz = p[0] - x[b, 0], p[1] - x[b, 1], p[2] - x[b, 2]
            tx, ty, tz = turn(h * u[b, 3], h * u[b, 4], h * u[b, 5], sx, sy, sz)
            # the child of a contact row is its second body
            at = 6 * (1 - side)
            jacobian[first[c], at + 3] = sign * (ty * nz - tz * ny)
            jacobian[first[c], at + 4] = sign * (tz * nx - tx * nz)
            jacobian[first[c], at + 5] = sign * (tx * ny - ty * nx)


@njit(cache=True)
def sliding(first, rows, moving, impulse, slowest, slip, sticking):
    """Sliding speed of each contact [m/s], and −1 where it is open, 0 slipping, 1 sticking.

    Contacts up to the speed `slowest` stick: single forces need not be unique.
    """
    for c in range(first.size):
        i, rough = first[c], rows[c] >= 3
        slip[c] = math.hypot(moving[i + 1], moving[i + 2]) if rough else 0.0
        stays = rough and slip[c] <= slowest
        sticking[c] = (1 if stays else 0) if impulse[i] > 0.0 else -1
