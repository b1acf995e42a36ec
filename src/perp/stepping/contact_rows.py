"""Compiled contact rows of a step: sets, Jacobians at its start, gaps at its end, restitution.

The normal and the two carried points are those of the start, each point carried by its body; the gap at the
end is their distance along that normal. For a round surface the carried point is the centre of curvature,
whose distance does not change when the body rolls.
"""

from __future__ import annotations

import math

import numpy as np

from perp.collision.finding import more
from perp.compilation.kernel import part
from perp.dynamics.motions import contact_entries, pair_columns, turn_entries
from perp.kernels.arrays import copy_into
from perp.kernels.borrowed import numbers_of, onward
from perp.kernels.tree_rows import times
from perp.problems.sets import COULOMB, ELLIPTIC, NONNEGATIVE
from perp.stepping.facets import find_facet, normal_at_end, touch_at_end
from perp.stepping.flat_contacts import lay_flat
from perp.stepping.joint_rows import motor_signal
from perp.stepping.pauses import recovery_of
from perp.stepping.world import CONTACTS, FIXED, JOINTS, LATE, LEFT_OUT

# A normal row that is this much shorter than the tangential ones has no freedom that could open the contact.
_IMMOBILE = 1e-5
# Adhesion reaches over gaps up to this share of the size of the largest body.
_STICKY = 1e-3


@part
def room_for_contacts(w, count):
    """Room for so many contacts in the arrays of the world."""
    if count <= w.approach.size:
        return
    n = 2 * count
    w.acts, w.local = more(w.acts, 6 * n).reshape(n, 2, 3), more(w.local, 6 * n).reshape(n, 2, 3)
    w.carried, w.normal0 = more(w.carried, 6 * n).reshape(n, 2, 3), more(w.normal0, 3 * n).reshape(n, 3)
    w.gap_linear, w.approach, w.bounce = more(w.gap_linear, n), more(w.approach, n), more(w.bounce, n)
    w.height, w.facing = more(w.height, n), more(w.facing, n)
    w.facet = more(w.facet, 6 * n).reshape(n, 2, 3)
    w.gap0, w.off, w.left_out, w.turned = (
        more(w.gap0, n),
        more(w.off, n),
        more(w.left_out, n),
        more(w.turned, n),
    )
    w.lively, w.sag = more(w.lively, 5 * n).reshape(n, 5), more(w.sag, n)


@part
def rows_of(dim):
    """Rows of a contact by mujoco's dimension: normal, two tangents, spin, two rolling rates."""
    return 1 if dim <= 1 else (3 if dim <= 3 else (4 if dim == 4 else 6))


@part
def needed(w):
    """Constraints, rows and entries that the step needs, with joint rows collected."""
    p, place = w.problem, w.start
    rows = 0
    width = _widest(w)
    for c in range(place.count[0]):
        rows += rows_of(place.dim[c])
    entries = p.row_begin[w.count[JOINTS]] + rows * width
    return w.count[JOINTS] + place.count[0], w.count[JOINTS] + rows, entries


@part
def _widest(w):
    """Freedoms on the paths of two contacting bodies at most."""
    s, place, most = w.scene, w.start, 1
    for c in range(place.count[0]):
        n = 0
        for side in range(2):
            b = place.body[c, side]
            j = s.last_dof[b] if b >= 0 else -1
            while j >= 0:
                n += 1
                j = s.dof_parent[j]
        most = max(most, n)
    return most


@part
def carry(w, c):
    """The carried points of contact c at the start, in the world and in bodies, and where impulses act."""
    place = w.start
    point, normal, body = numbers_of(place.point, c), numbers_of(place.frame, c), numbers_of(place.body, c)
    acts, carried, local = numbers_of(w.acts, c), numbers_of(w.carried, c), numbers_of(w.local, c)
    half, radius = 0.5 * place.gap[c], numbers_of(place.round, c)
    w.height[c] = 0.0
    for side in range(2):
        inward, there = half + radius[side], onward(carried, 3 * side)
        inward *= -1.0 if side == 0 else 1.0
        for k in range(3):
            acts[3 * side + k] = point[k]
            there[k] = point[k] + inward * normal[k]
        into_body(place, body[side], there, onward(local, 3 * side))


@part
def into_body(place, b, point, out):
    """A point of the world in a body's frame."""
    x, y, z = point[0], point[1], point[2]
    if b < 0:
        out[0], out[1], out[2] = x, y, z
        return
    R, centre = numbers_of(place.R, b), numbers_of(place.x, b)
    x, y, z = x - centre[0], y - centre[1], z - centre[2]
    for k in range(3):
        out[k] = R[k] * x + R[3 + k] * y + R[6 + k] * z


@part
def into_world(place, b, local, out):
    """A point of a body's frame in the world."""
    x, y, z = local[0], local[1], local[2]
    if b < 0:
        out[0], out[1], out[2] = x, y, z
        return
    R, centre = numbers_of(place.R, b), numbers_of(place.x, b)
    for k in range(3):
        out[k] = centre[k] + R[3 * k] * x + R[3 * k + 1] * y + R[3 * k + 2] * z


@part
def add_contacts(w, first):
    """Rows of the contacts from `first` on; those that no freedom can open get none."""
    n, geom = w.start.count[0], w.start.geom
    room_for_contacts(w, n)
    if first == 0:
        begin = 0
        for c in range(n):
            carry(w, c)
            if c + 1 == n or geom[c + 1, 0] != geom[c, 0] or geom[c + 1, 1] != geom[c, 1]:
                if c > begin:
                    lay_flat(w, begin, c + 1)
                begin = c + 1
    for c in range(first, n):
        if c > first and _continues(w.start, c):
            # a face of the same two shapes
            w.facing[c] = w.facing[c - 1]
            facet, same = numbers_of(w.facet, c), numbers_of(w.facet, c - 1)
            for k in range(6):
                facet[k] = same[k]
        else:
            find_facet(w, w.start, c, c)
        fill_contact(w, c)


@part
def _continues(place, c):
    """Whether contact c has the shapes and the normal of the one before it."""
    geom, other = numbers_of(place.geom, c), numbers_of(place.geom, c - 1)
    normal, last = numbers_of(place.frame, c), numbers_of(place.frame, c - 1)
    return (
        geom[0] == other[0]
        and geom[1] == other[1]
        and normal[0] == last[0]
        and normal[1] == last[1]
        and normal[2] == last[2]
    )


@part
def fill_contact(w, c):
    """Set, rows and entries of contact c, after those of the contacts before it; L is J."""
    s, p, place = w.scene, w.problem, w.start
    w.workspace.prepared[0] = -1
    k = w.count[JOINTS] + w.count[CONTACTS]
    i, dim = p.start[k], rows_of(place.dim[c])
    at = p.row_begin[i]
    n = pair_columns(s, place.body[c, 0], place.body[c, 1], True, at, p.column)
    contact_entries(s, place, place.body[c], w.acts[c], place.frame[c], dim, (p.column, at, n), p.value)
    normal = tangent = 0.0
    entry = onward(p.value, at)
    for e in range(n):
        normal += entry[e] * entry[e]
    for e in range(n, 3 * n if dim > 1 else n):
        tangent += entry[e] * entry[e]
    w.left_out[c] = n == 0 or normal <= _IMMOBILE**2 * tangent or normal == 0.0
    # a contact without rows keeps its line with none
    w.count[CONTACTS] += 1
    w.info[LEFT_OUT] += w.left_out[c]
    if w.left_out[c]:
        p.kind[k] = NONNEGATIVE
        if n == 0:
            p.column[at] = 0
        dim, n, p.value[at] = 1, 1, 0.0
    else:
        _set_of(w, k, c, dim)
    p.start[k + 1] = i + dim
    row, compliance, bias = onward(p.row_begin, i + 1), onward(p.compliance, i), onward(p.bias, i)
    impulse, first = onward(p.impulse, i), onward(p.column, at)
    for r in range(dim):
        row[r] = at + (r + 1) * n
        compliance[r] = bias[r] = impulse[r] = 0.0
        column = onward(first, r * n)
        for e in range(n if r > 0 else 0):
            column[e] = first[e]
    left = onward(p.left, at)
    for e in range(dim * n):
        left[e] = entry[e]
    if w.gives and not w.left_out[c]:
        share = 1.0 if w.contacts_at_end else w.contact_correction
        p.compliance[i] = share * (w.contact_compliance + place.soft[c]) / (w.h * w.h)
    if dim > 1:
        belt = numbers_of(place.surface, c)
        bias[1], bias[2] = belt[0], belt[1]
        if dim > 3:
            bias[3] = belt[2]
    w.approach[c] = times(p.column, p.value, at, at + n, w.v)
    w.bounce[c] = place.restitution[c]
    w.gap_linear[c] = w.gap0[c] = place.gap[c]
    w.off[c], w.turned[c], w.sag[c] = 0.0, 0, 0.0
    line, normal0, axes = numbers_of(w.lively, c), numbers_of(w.normal0, c), numbers_of(place.frame, c)
    line[0], line[1], line[2], line[3], line[4] = 0.0, np.inf, 1.0, np.inf, 1.0
    normal0[0], normal0[1], normal0[2] = axes[0], axes[1], axes[2]


@part
def refill(w, c):
    """Entries of contact c anew, after its frame or points have changed."""
    s, p, place = w.scene, w.problem, w.start
    w.workspace.prepared[0] = -1
    i = p.start[w.count[JOINTS] + c]
    dim, at = p.start[w.count[JOINTS] + c + 1] - i, p.row_begin[i]
    n = p.row_begin[i + 1] - at
    contact_entries(s, place, place.body[c], w.acts[c], place.frame[c], dim, (p.column, at, n), p.value)
    for e in range(at, at + dim * n):
        p.left[e] = p.value[e]
    w.approach[c] = times(p.column, p.value, at, at + n, w.v)


@part
def _adhesion(w, c):
    """Force with which adhesion motors pull at contact c [N]: each is shared by the contacts of its body."""
    s, total = w.scene, 0.0
    for a in range(s.adhesion.shape[0]):
        if not _sticks(w, s.adhesion[a], c):
            continue
        shared, i = 0, s.adhesion[a, 0]
        for e in range(w.start.count[0]):
            shared += 1 if _sticks(w, s.adhesion[a], e) else 0
        force = s.motor_gain[i, 0] * motor_signal(w, i) + s.motor_bias[i, 0]
        total += min(max(force, s.motor_least[i]), s.motor_most[i]) / shared
    return max(total, 0.0)


@part
def _sticks(w, adhesion, c):
    """Whether a contact is one of a sticky body, and closed."""
    first, last, place = adhesion[1], adhesion[2], w.start
    for side in range(2):
        if first <= place.geom[c, side] < last:
            return place.gap[c] <= _STICKY * w.scene.size
    return False


@part
def _set_of(w, k, c, dim):
    p, mu = w.problem, w.start.friction[c]
    p.parameter[k, 5] = w.h * (w.start.cohesion[c] + _adhesion(w, c))
    if dim == 1:
        p.kind[k] = NONNEGATIVE
        return
    p.kind[k] = COULOMB if dim == 3 and mu[0] == mu[1] else ELLIPTIC
    for r in range(5):
        p.parameter[k, r] = mu[r] if r < dim - 1 else 0.0


@part
def gaps_at_end(w, v, left):
    """Constant parts of the gaps over the step with velocities v.

    With `left` normal rows are those of the end.
    """
    s, p, h, place = w.scene, w.problem, w.h, w.start
    points, frame = np.empty((2, 3)), np.empty((3, 3))
    for c in range(w.count[CONTACTS]):
        if w.left_out[c]:
            continue
        i = p.start[w.count[JOINTS] + c]
        at = p.row_begin[i]
        n, gap, facing = p.row_begin[i + 1] - at, place.gap[c], w.facing[c]
        body, local, carried = numbers_of(place.body, c), numbers_of(w.local, c), numbers_of(w.carried, c)
        normal, one, two = numbers_of(frame, 0), numbers_of(points, 0), numbers_of(points, 1)
        normal_at_end(w, c, normal)
        into_world(w.end, body[0], local, one)
        into_world(w.end, body[1], onward(local, 3), two)
        if facing == FIXED:
            for k in range(3):
                gap -= normal[k] * (one[k] - carried[k])
            for k in range(3):
                gap += normal[k] * (two[k] - carried[3 + k])
        else:
            gap = -place.round[c, 0] - place.round[c, 1]
            for k in range(3):
                gap += normal[k] * (two[k] - one[k])
        if place.restitution[c] > 0.0 and bounces(w, c):
            # velocities before and after an impact are those along one row
            copy_into(p.left[at : at + n], p.value[at : at + n])
        elif left:
            touch_at_end(w, c, points)
            contact_entries(s, w.end, place.body[c], points, frame, 1, (p.column, at, n), p.left)
            if w.stiff:
                p.value[at : at + n] = p.left[at : at + n]
            turn_entries(s, p.column, at, n, v, h, p.left)
        w.gap_linear[c] = gap - h * times(p.column, p.left, at, at + n, v)


@part
def overlap_at_start(w, geom, about):
    """The deepest gap of two shapes at the start [m], zero where they were apart; `about` as in `pair_of`."""
    first, last = pair_of(w.start.geom, geom, about, w.count[CONTACTS] - w.count[LATE])
    deepest = 0.0
    for c in range(first, last):
        deepest = min(deepest, w.gap0[c])
    return deepest


@part
def pair_of(at, geom, about, count):
    """First and last contact (not included) of two shapes among the first `count`; they follow each other.

    The search begins at `about`: pairs come in the same order at the start and the end of a step as a rule.
    """
    one, two = geom[0], geom[1]
    if about >= count:
        about = 0
    for k in range(count):
        c = about + k if about + k < count else about + k - count
        if at[c, 0] == one and at[c, 1] == two:
            first, last = c, c + 1
            while first > 0 and at[first - 1, 0] == one and at[first - 1, 1] == two:
                first -= 1
            while last < count and at[last, 0] == one and at[last, 1] == two:
                last += 1
            return first, last
    return 0, 0


@part
def contact_biases(w):
    """Bias of the normal rows.

    A contact that closes within the step faster than a fall of two steps and has restitution bounces: its
    bias is e J v⁻ and holds no gap. Overlap is undone no faster than `recovery_of`; overlap that cannot be
    told from none stays for good, as undoing it would jam what rests between others. How far a soft contact
    has given way to the force of the last step is none.
    """
    p, h, place = w.problem, w.h, w.start
    correction = 1.0 if w.contacts_at_end else w.corrected * w.contact_correction
    for c in range(w.count[CONTACTS]):
        i, gap = p.start[w.count[JOINTS] + c], place.gap[c]
        if w.left_out[c]:
            p.bias[i] = 1.0
            continue
        if c >= w.count[CONTACTS] - w.count[LATE] and gap < 0.0:
            # its points carried back to the start overlap along the normal of the end, its shapes need not
            gap = max(gap, overlap_at_start(w, place.geom[c], 0))
        if place.restitution[c] > 0.0 and bounces(w, c):
            p.bias[i] = w.bounce[c] * w.approach[c]
            continue
        allowed, deep = 0.0, gap + w.sag[c]
        if deep < 0.0:
            recovery = recovery_of(w, w.count[JOINTS] + c)
            stays = deep > -place.accuracy[c] or recovery == 0.0
            allowed = deep if stays else min(deep + h * recovery, -place.accuracy[c])
        p.bias[i] = (w.gap_linear[c] - allowed) / h
        if gap < 0.0 and correction < 1.0:
            p.bias[i] += (1.0 - correction) * (allowed - gap) / h


@part
def bounces(w, c):
    """Whether a contact closes in the step, faster than a fall of two steps.

    As it moves at the start, or as forces would move it.
    """
    p, h, gap, g = w.problem, w.h, w.start.gap[c], w.scene.gravity
    if w.left_out[c] or w.approach[c] >= -2.0 * h * math.sqrt(g[0] ** 2 + g[1] ** 2 + g[2] ** 2):
        return False
    i = p.start[w.count[JOINTS] + c]
    free = times(p.column, p.value, p.row_begin[i], p.row_begin[i + 1], p.free_velocity)
    return gap + h * free <= 0.0 or gap + h * w.approach[c] <= 0.0
