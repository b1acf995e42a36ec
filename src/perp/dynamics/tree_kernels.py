"""Compiled algebra on kinematic trees: factorisation of M(q), constraint rows over chains, their products.

The joint-space inertia M has an entry (k, i) only where degree of freedom i lies on the path from k to the
root. Eliminated from the leaves to the roots, M = Lᵀ D L fills nothing in: the row of i is the beginning of
the row of k. A constraint row over such paths stays on them when it is weighed, y = D^(−1/2) L⁻ᵀ j, so that
W = Y Yᵀ.

Letters: `cdof` the motion of each degree of freedom, angular then linear at the centre of its tree; rows are
compressed (`first`, `column`, `value`) with ascending columns, closed under ancestors.
Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.5.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def factorise(begin, count, column, M, extra, L):
    """Lᵀ D L of M + diag(extra), in M's own layout: diagonals last in each row."""
    L[:] = M
    for k in range(begin.size):
        L[begin[k] + count[k] - 1] += extra[k]
    for k in range(begin.size - 1, -1, -1):
        a, n = begin[k], count[k] - 1
        pivot = L[a + n]
        for t in range(n - 1, -1, -1):
            share = L[a + t] / pivot
            b = begin[column[a + t]]
            for s in range(t + 1):
                L[b + s] -= share * L[a + s]
            L[a + t] = share


@njit(cache=True)
def multiply(begin, count, column, M, x, out):
    """M x for a symmetric M stored as its lower rows."""
    out[:] = 0.0
    for k in range(begin.size):
        a, n = begin[k], count[k] - 1
        out[k] += M[a + n] * x[k]
        for t in range(n):
            out[k] += M[a + t] * x[column[a + t]]
            out[column[a + t]] += M[a + t] * x[k]


@njit(cache=True)
def solve(begin, count, column, L, x):
    """(Lᵀ D L)⁻¹ x in place."""
    for k in range(begin.size - 1, -1, -1):
        a, n = begin[k], count[k] - 1
        for t in range(n):
            x[column[a + t]] -= L[a + t] * x[k]
    for k in range(begin.size):
        a, n = begin[k], count[k] - 1
        x[k] /= L[a + n]
        for t in range(n):
            x[k] -= L[a + t] * x[column[a + t]]


@njit(cache=True)
def body_velocities(parent, dof_begin, dof_count, root, slot, cdof, centre, com, v, twist, out):
    """Velocity of every centre of mass and angular velocity, in the world.

    Args:
        parent: Of each body of the trees, as the next three.
        dof_begin: Its first degree of freedom.
        dof_count: How many it has.
        root: Root body of its tree.
        slot: Line of the result for each body, or −1.
        cdof: Motions, shape (nv, 6).
        centre: Centre of mass of each tree at its root body, shape (tree bodies, 3).
        com: Centre of mass of each body.
        v: Generalised velocity.
        twist: Workspace, shape (tree bodies, 6).
        out: Shape (bodies, 6).
    """
    twist[0] = 0.0
    for b in range(1, parent.size):
        for k in range(6):
            twist[b, k] = twist[parent[b], k]
        for j in range(dof_begin[b], dof_begin[b] + dof_count[b]):
            for k in range(6):
                twist[b, k] += cdof[j, k] * v[j]
        i = slot[b]
        if i < 0:
            continue
        c = centre[root[b]]
        ax, ay, az = com[b, 0] - c[0], com[b, 1] - c[1], com[b, 2] - c[2]
        wx, wy, wz = twist[b, 0], twist[b, 1], twist[b, 2]
        out[i, 0] = twist[b, 3] + wy * az - wz * ay
        out[i, 1] = twist[b, 4] + wz * ax - wx * az
        out[i, 2] = twist[b, 5] + wx * ay - wy * ax
        out[i, 3], out[i, 4], out[i, 5] = wx, wy, wz


@njit(cache=True)
def given_rows(dof, sign, source, dense, parent, first, column, value):
    """Rows of joints: a single degree of freedom, or a dense row; returns the number of entries.

    Args:
        dof: The degree of freedom of each row, or −1 for a dense row.
        sign: Factor of the row.
        source: Which dense row.
        dense: Shape (any, nv).
        parent: Parent of each degree of freedom, −1 at roots.
        first: Out: where each row begins, with one entry more than there are rows.
        column: Out.
        value: Out.
    """
    nv = parent.size
    marked = np.zeros(nv, dtype=np.bool_)
    at = 0
    first[0] = 0
    for i in range(dof.size):
        marked[:] = False
        if dof[i] >= 0:
            marked[dof[i]] = True
        else:
            for j in range(nv):
                marked[j] = dense[source[i], j] != 0.0
        for j in range(nv - 1, -1, -1):
            if marked[j] and parent[j] >= 0:
                marked[parent[j]] = True
        for j in range(nv):
            if marked[j]:
                column[at] = j
                if dof[i] >= 0:
                    value[at] = sign[i] if j == dof[i] else 0.0
                else:
                    value[at] = sign[i] * dense[source[i], j]
                at += 1
        first[i + 1] = at
    return at


@njit(cache=True)
def contact_rows(body, points, frame, rows, last_dof, dof_root, parent, cdof, centre, first, column, value):
    """Rows of contacts: velocity of the second body's point minus that of the first, along the frame.

    Args:
        body: Shape (contacts, 2); −1 for the world.
        points: The point of each side, shape (contacts, 2, 3).
        frame: Normal and tangents as rows.
        rows: 1, 3 or 5 per contact; the last two are relative turning rates about the tangents.
        last_dof: The last degree of freedom on the path of each body.
        dof_root: Root body of each degree of freedom.
        parent: Its parent.
        cdof: As above.
        centre: As above.
        first: Out; filling begins at first[0].
        column: Out.
        value: Out.
    """
    path = np.empty((2, parent.size), dtype=np.int64)
    length = np.zeros(2, dtype=np.int64)
    line, at = 0, first[0]
    for c in range(rows.size):
        for side in range(2):
            length[side] = 0
            if body[c, side] >= 0:
                j = last_dof[body[c, side]]
                while j >= 0:
                    path[side, length[side]] = j
                    length[side] += 1
                    j = parent[j]
        for r in range(rows[c]):
            e = frame[c, r] if r < 3 else frame[c, r - 2]
            s, t = length[0] - 1, length[1] - 1
            while s >= 0 or t >= 0:
                from_first = t < 0 or (s >= 0 and path[0, s] <= path[1, t])
                j = path[0, s] if from_first else path[1, t]
                total = 0.0
                if s >= 0 and path[0, s] == j:
                    total -= along(cdof[j], centre[dof_root[j]], points[c, 0], e, r >= 3)
                    s -= 1
                if t >= 0 and path[1, t] == j:
                    total += along(cdof[j], centre[dof_root[j]], points[c, 1], e, r >= 3)
                    t -= 1
                column[at], value[at] = j, total
                at += 1
            line += 1
            first[line] = at


@njit(cache=True)
def along(motion, centre, p, e, turning):
    """Velocity at p along e under a motion given at `centre`, or the turning rate about e."""
    wx, wy, wz = motion[0], motion[1], motion[2]
    if turning:
        return wx * e[0] + wy * e[1] + wz * e[2]
    ax, ay, az = p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]
    return (
        (motion[3] + wy * az - wz * ay) * e[0]
        + (motion[4] + wz * ax - wx * az) * e[1]
        + (motion[5] + wx * ay - wy * ax) * e[2]
    )


@njit(cache=True)
def weigh(begin, count, tree_column, L, first, column, value, out):
    """Y = J L⁻¹ D^(−1/2), on the rows' own columns."""
    work = np.zeros(begin.size)
    for i in range(first.size - 1):
        for t in range(first[i], first[i + 1]):
            work[column[t]] = value[t]
        for t in range(first[i + 1] - 1, first[i] - 1, -1):
            k = column[t]
            x = work[k]
            a, n = begin[k], count[k] - 1
            if x != 0.0:
                for s in range(n):
                    work[tree_column[a + s]] -= L[a + s] * x
            out[t] = x / math.sqrt(L[a + n])
        for t in range(first[i], first[i + 1]):
            work[column[t]] = 0.0


@njit(cache=True)
def row_products(first, column, value, v, out):
    """J v."""
    for i in range(first.size - 1):
        total = 0.0
        for t in range(first[i], first[i + 1]):
            total += value[t] * v[column[t]]
        out[i] = total


@njit(cache=True)
def transposed_product(first, column, value, x, out):
    """Jᵀ x."""
    out[:] = 0.0
    for i in range(first.size - 1):
        for t in range(first[i], first[i + 1]):
            out[column[t]] += value[t] * x[i]


@njit(cache=True)
def dense_products(first, column, left, right, compliance, out):
    """A Bᵀ + diag(compliance) of two sets of rows with the same columns, dense."""
    n = first.size - 1
    work = np.zeros(column.max() + 1 if column.size else 1)
    for j in range(n):
        for t in range(first[j], first[j + 1]):
            work[column[t]] = right[t]
        for i in range(n):
            total = 0.0
            for t in range(first[i], first[i + 1]):
                total += left[t] * work[column[t]]
            out[i, j] = total
        for t in range(first[j], first[j + 1]):
            work[column[t]] = 0.0
        out[j, j] += compliance[j]


@njit(cache=True)
def row_squares(first, weighed, compliance, out):
    """Diagonal of W."""
    for i in range(first.size - 1):
        out[i] = compliance[i]
        for t in range(first[i], first[i + 1]):
            out[i] += weighed[t] * weighed[t]


@njit(cache=True)
def constraint_scale(diagonal, start, scale, length):
    """Velocity per impulse of each constraint and the length of its rolling rows, from the diagonal of W."""
    for c in range(start.size - 1):
        linear = angular = 0.0
        for i in range(start[c], start[c + 1]):
            if i - start[c] < 3:
                linear = max(linear, diagonal[i])
            else:
                angular = max(angular, diagonal[i])
        scale[c] = linear if linear > 0.0 else 1.0
        length[c] = math.sqrt(linear / angular) if linear > 0.0 and angular > 0.0 else 1.0


@njit(cache=True)
def carried_points(body, point, frame, gap, roundness, movable, x, R, local):
    """The points whose distance along the normal is the gap, in the frames of their bodies.

    Half the gap away from the middle, then the radius into the body: a round surface is its centre. x and R,
    shapes (any, 3) and (any, 9), hold the frame of body b in line movable[b].
    """
    for c in range(gap.size):
        for side in range(2):
            b = body[c, side]
            sign = -1.0 if side == 0 else 1.0
            inward = sign * (0.5 * gap[c] + roundness[c, side])
            for k in range(3):
                local[c, side, k] = point[c, k] + inward * frame[c, 0, k]
            if b < 0:
                continue
            b = movable[b]
            sx, sy, sz = local[c, side, 0] - x[b, 0], local[c, side, 1] - x[b, 1], local[c, side, 2] - x[b, 2]
            for k in range(3):
                local[c, side, k] = R[b, k] * sx + R[b, 3 + k] * sy + R[b, 6 + k] * sz


@njit(cache=True)
def place_points(body, local, movable, x, R, out):
    """Points of body frames in the world; see `carried_points`."""
    for c in range(body.shape[0]):
        for side in range(2):
            b, p = body[c, side], local[c, side]
            for k in range(3):
                out[c, side, k] = p[k]
            if b >= 0:
                b = movable[b]
                for k in range(3):
                    out[c, side, k] = (
                        x[b, k] + R[b, 3 * k] * p[0] + R[b, 3 * k + 1] * p[1] + R[b, 3 * k + 2] * p[2]
                    )


@njit(cache=True)
def gap_change(frame, before, after, out):
    """How much the distance of the carried points has grown along the normals."""
    for c in range(out.size):
        total = 0.0
        for k in range(3):
            second = after[c, 1, k] - before[c, 1, k]
            total += frame[c, 0, k] * (second - (after[c, 0, k] - before[c, 0, k]))
        out[c] = total


@njit(cache=True)
def compose(p, q, out):
    """Quaternion products p ⊗ q, line by line."""
    for i in range(p.shape[0]):
        a, b, c, d = p[i, 0], p[i, 1], p[i, 2], p[i, 3]
        w, x, y, z = q[i, 0], q[i, 1], q[i, 2], q[i, 3]
        out[i, 0] = a * w - b * x - c * y - d * z
        out[i, 1] = a * x + b * w + c * z - d * y
        out[i, 2] = a * y - b * z + c * w + d * x
        out[i, 3] = a * z + b * y - c * x + d * w
