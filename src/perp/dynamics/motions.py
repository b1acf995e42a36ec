"""Compiled algebra on freedoms: rows over the paths of bodies, velocities of bodies, forces on freedoms.

A freedom j moves everything behind it by v_j times its motion, angular then linear at its reference point.
The
path of a body is its last freedom and that one's parents; indices fall towards the root.
"""

from __future__ import annotations

from perp.compilation.kernel import part
from perp.dynamics.motion import turn_coefficients
from perp.kernels.borrowed import numbers_of, onward


@part
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


@part
def pair_columns(s, first, second, apart, at, column):
    """Freedoms on the paths of two bodies in ascending order into column[at …]; returns how many.

    With `apart` those that move both are left out.
    """
    if s.cut and first != second:
        return _two_sixes(first, second, at, column)
    a = s.last_dof[first] if first >= 0 else -1
    b = s.last_dof[second] if second >= 0 else -1
    n = 0
    while a >= 0 or b >= 0:
        if a == b:
            if apart:
                break
            column[at + n] = a
            a = b = s.dof_parent[a]
        elif a > b:
            column[at + n] = a
            a = s.dof_parent[a]
        else:
            column[at + n] = b
            b = s.dof_parent[b]
        n += 1
    for k in range(n // 2):
        column[at + k], column[at + n - 1 - k] = column[at + n - 1 - k], column[at + k]
    return n


@part
def _two_sixes(first, second, at, column):
    """The freedoms of two cut bodies, or of one where the other is the world."""
    n = 0
    for b in (min(first, second), max(first, second)):
        if b >= 0:
            for k in range(6):
                onward(column, at + n)[k] = 6 * b + k
            n += 6
    return n


@part
def _cut_entries(x, body, points, frame, rows, at, n, out):
    """`contact_entries` of cut bodies, whose freedoms are v and ω at their centres x."""
    for side in range(2):
        b = body[side]
        if b < 0:
            continue
        sign, p, centre = -1.0 if side == 0 else 1.0, numbers_of(points, side), numbers_of(x, b)
        a = at + (6 if 0 <= body[1 - side] < b else 0)
        rx, ry, rz = p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]
        for r in range(rows):
            entry, f = onward(out, a + r * n), numbers_of(frame, r if r < 3 else r - 3)
            fx, fy, fz = sign * f[0], sign * f[1], sign * f[2]
            if r >= 3:
                entry[0], entry[1], entry[2], entry[3], entry[4], entry[5] = 0.0, 0.0, 0.0, fx, fy, fz
                continue
            entry[0], entry[1], entry[2] = fx, fy, fz
            entry[3], entry[4], entry[5] = ry * fz - rz * fy, rz * fx - rx * fz, rx * fy - ry * fx


@part
def contact_entries(s, place, body, points, frame, rows, span, out):
    """Entries of a contact's rows, out[at + r n + k]: the second body's point less the first's.

    Args:
        s: The scene.
        place: Where its motions are taken.
        body: The two bodies.
        points: A point of each, shape (2, 3).
        frame: Normal and tangents.
        rows: How many; from the fourth on they are turning rates about normal and tangents.
        span: Columns of the entries of all rows, where those of the first row begin, entries of a row.
        out: Receives the entries.
    """
    column, at, n = span
    if s.cut and body[0] != body[1]:
        _cut_entries(place.x, body, points, frame, rows, at, n, out)
        return
    for e in range(at, at + rows * n):
        out[e] = 0.0
    for side in range(2):
        if body[side] < 0:
            continue
        sign, j = -1.0 if side == 0 else 1.0, s.last_dof[body[side]]
        k = n - 1
        while j >= 0 and k >= 0:
            while k >= 0 and column[at + k] > j:
                k -= 1
            if k < 0:
                break
            if column[at + k] == j:
                motion, centre = place.cdof[j], place.reference[s.dof_reference[j]]
                for r in range(rows):
                    e = frame[r] if r < 3 else frame[r - 3]
                    out[at + r * n + k] += sign * along(motion, centre, points[side], e, r >= 3)
            j = s.dof_parent[j]


@part
def body_entries(s, place, child, parent, row, span, out):
    """Entries of a row given over (v, ω) of child and parent, shape (12,), into out[at …]; see above."""
    column, at, n = span
    for side in range(2):
        b = child if side == 0 else parent
        if b < 0:
            continue
        if s.cut and child != parent:
            a = at + (6 if 0 <= (parent if side == 0 else child) < b else 0)
            for k in range(6):
                out[a + k] += row[6 * side + k]
            continue
        force, torque, p = row[6 * side : 6 * side + 3], row[6 * side + 3 : 6 * side + 6], place.x[b]
        k, j = n - 1, s.last_dof[b]
        while j >= 0:
            while column[at + k] > j:
                k -= 1
            motion, centre = place.cdof[j], place.reference[s.dof_reference[j]]
            out[at + k] += along(motion, centre, p, force, False) + along(motion, centre, p, torque, True)
            j = s.dof_parent[j]


@part
def turn_entries(s, column, at, n, v, h, out):
    """Rows at the end of a step as derivatives with respect to its velocities: rotations compose.

    Rates of a rotation are in the world for cut bodies and in the moving frame for trees.
    """
    side = 1.0 if s.cut else -1.0
    for k in range(at, at + n - 2):
        j = column[k]
        if not s.triple[j]:
            continue
        wx, wy, wz = h * v[j], h * v[j + 1], h * v[j + 2]
        first, second = turn_coefficients(wx, wy, wz)
        first *= side
        x, y, z = out[k], out[k + 1], out[k + 2]
        cx, cy, cz = y * wz - z * wy, z * wx - x * wz, x * wy - y * wx
        out[k] = x + first * cx + second * (cy * wz - cz * wy)
        out[k + 1] = y + first * cy + second * (cz * wx - cx * wz)
        out[k + 2] = z + first * cz + second * (cx * wy - cy * wx)


@part
def body_velocities(s, place, v, twist, out):
    """Velocity of every movable centre of mass and angular velocity in the world, shape (n, 6).

    `twist` is room, shape (mujoco's bodies, 6).
    """
    if s.cut:
        for b in range(s.mass.size):
            for k in range(6):
                out[b, k] = v[6 * b + k]
        return
    twist[0] = 0.0
    for b in range(1, s.body_parent.size):
        for k in range(6):
            twist[b, k] = twist[s.body_parent[b], k]
        for j in range(s.body_dof[b], s.body_dof[b] + s.body_dofs[b]):
            for k in range(6):
                twist[b, k] += place.cdof[j, k] * v[j]
        i = s.slot[b]
        if i < 0:
            continue
        c = place.reference[s.body_root[b]]
        ax, ay, az = place.x[i, 0] - c[0], place.x[i, 1] - c[1], place.x[i, 2] - c[2]
        wx, wy, wz = twist[b, 0], twist[b, 1], twist[b, 2]
        out[i, 0] = twist[b, 3] + wy * az - wz * ay
        out[i, 1] = twist[b, 4] + wz * ax - wx * az
        out[i, 2] = twist[b, 5] + wx * ay - wy * ax
        out[i, 3], out[i, 4], out[i, 5] = wx, wy, wz


@part
def add_wrenches(s, place, wrench, out):
    """Forces on freedoms of wrenches on the centres of mass, shape (n, 6), added to out."""
    for b in range(wrench.shape[0]):
        some = False
        for k in range(6):
            some = some or wrench[b, k] != 0.0
        if not some:
            continue
        j = s.last_dof[b]
        while j >= 0:
            motion, centre = place.cdof[j], place.reference[s.dof_reference[j]]
            out[j] += along(motion, centre, place.x[b], wrench[b, :3], False)
            out[j] += along(motion, centre, place.x[b], wrench[b, 3:], True)
            j = s.dof_parent[j]


@part
def weights(s, place, out):
    """Force of gravity on the freedoms."""
    g = s.gravity
    if s.cut:
        for b in range(s.mass.size):
            for k in range(3):
                out[6 * b + k] = s.mass[b] * g[k]
                out[6 * b + 3 + k] = 0.0
        return
    for j in range(out.size):
        b = s.dof_body[j]
        out[j] = s.subtree_mass[b] * along(
            place.cdof[j], place.reference[s.dof_reference[j]], place.subtree_com[b], g, False
        )
