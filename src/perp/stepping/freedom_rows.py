"""Compiled: rows of single coordinates, tendons and equalities, as entries over mujoco's freedoms.

Where joints are cut each freedom is measured by a row between bodies, and entries over freedoms become
entries over the bodies that these touch.
"""

import math

import numpy as np

from perp.compilation.kernel import part
from perp.dynamics.measuring import row_of
from perp.dynamics.motions import body_entries, pair_columns


@part
def put_row(w, k, at, n):
    """The n entries over mujoco's freedoms in `freedom` and `entry` as those of row k of the problem."""
    w.problem.row_begin[k + 1] = at + spread(w, w.start, w.table_row, n, at, w.problem.value)


@part
def spread(w, place, row, n, at, out):
    """Such entries over the freedoms of the scene into out[at …]; how many there are.

    Of cut bodies each freedom has the `row` that measures it, and so has what is measured between bodies of
    trees, where it is the only entry.
    """
    s, column, m = w.scene, w.problem.column, 0
    if not s.cut:
        i = row_of(s, w.freedom[0]) if n == 1 else -1
        if i >= 0:
            m = pair_columns(s, s.links[i, 1], s.links[i, 2], False, at, column)
            for e in range(at, at + m):
                out[e] = 0.0
            body_entries(s, place, s.links[i, 1], s.links[i, 2], row[i], (column, at, m), out)
            for e in range(at, at + m):
                out[e] *= w.entry[0]
            return m
        for e in range(n):
            column[at + e], out[at + e] = w.freedom[e], w.entry[e]
        return n
    for e in range(n):
        i = row_of(s, w.freedom[e])
        for side in range(2):
            b = s.links[i, 1 + side]
            if b < 0:
                continue
            for k in range(6):
                old = w.spread[6 * b + k] if w.spread_over[b] else 0.0
                w.spread[6 * b + k] = old + w.entry[e] * row[i, 6 * side + k]
            w.spread_over[b] = 1
    for b in range(w.spread_over.size):
        if w.spread_over[b]:
            w.spread_over[b] = 0
            for k in range(6):
                column[at + m + k], out[at + m + k] = 6 * b + k, w.spread[6 * b + k]
            m += 6
    return m


@part
def put_single(w, k, at, dof, sign):
    """Row k on one freedom."""
    w.freedom[0], w.entry[0] = dof, sign
    put_row(w, k, at, 1)


@part
def motor_entries(w, place, i, value):
    """Entries of motor i, with the values of the rows of the table at the place; how many, and its length."""
    s, line = w.scene, w.scene.motor_output[i]
    if line < 0:
        w.freedom[0], w.entry[0] = s.freedom_row.size - 1 - line, 1.0
        return 1, value[-1 - line]
    n = place.moment_count[line]
    for e in range(n):
        w.freedom[e] = place.moment_column[place.moment_begin[line] + e]
        w.entry[e] = place.moment[place.moment_begin[line] + e]
    return np.int64(n), place.motor_length[line]


@part
def tendon_entries(w, place, t, sign):
    """Entries of a tendon; returns how many."""
    s, n = w.scene, w.scene.tendon_count[t]
    for e in range(n):
        w.freedom[e] = s.tendon_column[s.tendon_begin[t] + e]
        w.entry[e] = sign * place.tendon_J[s.tendon_begin[t] + e]
    return n


@part
def _polynomial(c, x):
    """Value and slope."""
    value = c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])))
    return value, c[1] + x * (2.0 * c[2] + x * (3.0 * c[3] + x * 4.0 * c[4]))


@part
def coupled(w, e, place, q):
    """Value of an equality and the slope of its polynomial."""
    s = w.scene
    tendons, one, two = s.couple[e, 0], s.couple[e, 1], s.couple[e, 3]
    x = 0.0
    if two >= 0:
        x = (place.tendon_length[two] if tendons else q[two]) - s.couple_reference[e, 1]
    value, slope = _polynomial(s.couple_poly[e], x)
    y = place.tendon_length[one] if tendons else q[one]
    return y - s.couple_reference[e, 0] - value, slope


@part
def coupling_entries(w, e, place, slope):
    """Entries of an equality; returns how many."""
    s, column, out = w.scene, w.freedom, w.entry
    one, two, n = s.couple[e, 2], s.couple[e, 4], 0
    if not s.couple[e, 0]:
        if two < 0:
            column[0], out[0] = one, 1.0
            return 1
        first = one < two
        column[0], out[0] = min(one, two), 1.0 if first else -slope
        column[1], out[1] = max(one, two), -slope if first else 1.0
        return 2
    a, b = s.tendon_begin[one], s.tendon_begin[two] if two >= 0 else 0
    a_end, b_end = a + s.tendon_count[one], b + (s.tendon_count[two] if two >= 0 else 0)
    while a < a_end or b < b_end:
        j = min(s.tendon_column[a] if a < a_end else 1 << 60, s.tendon_column[b] if b < b_end else 1 << 60)
        total = 0.0
        if a < a_end and s.tendon_column[a] == j:
            total += place.tendon_J[a]
            a += 1
        if b < b_end and s.tendon_column[b] == j:
            total -= slope * place.tendon_J[b]
            b += 1
        column[n], out[n] = j, total
        n += 1
    return n


@part
def ball_gap(w, i, q):
    """How far a ball joint is from its largest angle; the row of that into `entry`."""
    a, out = w.scene.ball_at[i], w.entry
    side = 1.0 if q[a] >= 0.0 else -1.0
    x, y, z = side * q[a + 1], side * q[a + 2], side * q[a + 3]
    size = math.sqrt(x * x + y * y + z * z)
    if size > 1e-12:
        out[0], out[1], out[2] = -x / size, -y / size, -z / size
    else:
        out[0], out[1], out[2] = -1.0, 0.0, 0.0
    return w.scene.ball_limit[i] - 2.0 * math.atan2(size, side * q[a])
