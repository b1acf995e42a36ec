"""Compiled search for contacts: reach into mujoco's margins, one collision call, contacts into our table."""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.dynamics.file_softness import file_compliance, pyramid_share
from perp.dynamics.libmujoco import mj_collision, mj_geomDistance
from perp.kernels.borrowed import numbers_of, onward

# Shapes this share of a body's size apart are contacts even when nothing moves.
_NEARBY = 1e-3
# Bodies may be pushed by others within a step: twice their own travel is searched.
_SAFETY = 2.0
# mujoco finds the lowest point of a cylinder from the part of its axis along the plane, which is round-off
# where it stands flat: contacts were missed, or off by a tenth of its radius. Below this angle it is flat.
_FLAT = 1e-8
# A cylinder counts as rolling on its side when its axis is this close to the contact plane.
_ROLLING_COSINE = 1e-3
# Several contacts of two shapes are looked behind where they are nearer than this share of the smaller one;
# a deeper one is added where it is so by the second share, and its normal can be told.
_BEHIND, _DEEPER, _TELLING = 0.1, 1e-6, 1e-9


@part
def find_contacts(s, p, velocity, h):
    """Contacts at a place within reach of bodies that move with these velocities, shape (n, 6)."""
    _write_reach(s, velocity, h)
    if s.cut:
        place_shapes(s, p)
    _lay_flat(s, p)
    mj_collision(s.model, p.data)
    _read(s, p, velocity, h)


@part
def _write_reach(s, velocity, h):
    """How far surfaces may come in a step, as margins of bodies and shapes."""
    for i in range(s.bound.size):
        plain = later = turning = 0.0
        for k in range(3):
            plain += velocity[i, k] ** 2
            later += (velocity[i, k] + h * s.gravity[k]) ** 2
            turning += velocity[i, 3 + k] ** 2
        speed = math.sqrt(max(plain, later)) + s.bound[i] * math.sqrt(turning)
        # bodies are sorted out by their own margin before their shapes are looked at
        s.body_margin[s.body_id[i]] = _SAFETY * h * speed + _NEARBY * s.bound[i]
    for k in range(s.movable_geom.size):
        g = s.movable_geom[k]
        s.geom_margin[g] = s.body_margin[s.body_id[s.geom_body[g]]]
    for k in range(s.pair_margin.size):
        s.pair_margin[k] = s.geom_margin[s.pair_geom[k, 0]] + s.geom_margin[s.pair_geom[k, 1]]


@part
def place_shapes(s, p):
    """Poses of cut bodies and of their shapes into mujoco's arrays."""
    for i in range(s.body_id.size):
        b, R = s.body_id[i], p.R[i]
        for r in range(3):
            p.xipos[b, r] = p.xpos[b, r] = p.x[i, r]
            for k in range(3):
                p.ximat[b, 3 * r + k] = R[r, k]
                p.xpos[b, r] += R[r, k] * s.origin[i, k]
                p.xmat[b, 3 * r + k] = (
                    R[r, 0] * s.frame[i, 0, k] + R[r, 1] * s.frame[i, 1, k] + R[r, 2] * s.frame[i, 2, k]
                )
    for j in range(s.movable_geom.size):
        g = s.movable_geom[j]
        b = s.body_id[s.geom_body[g]]
        for r in range(3):
            p.geom_xpos[g, r] = p.xpos[b, r]
            for k in range(3):
                p.geom_xpos[g, r] += p.xmat[b, 3 * r + k] * s.geom_position[j, k]
                total = 0.0
                for m in range(3):
                    total += p.xmat[b, 3 * r + m] * s.geom_rotation[j, m, k]
                p.geom_xmat[g, 3 * r + k] = total


@part
def _lay_flat(s, p):
    """Axes of cylinders that stand on a plane up to round-off are its normal."""
    for k in range(s.movable_geom.size):
        g = s.movable_geom[k]
        if s.geom_cylinder[g] <= 0.0:
            continue
        axis = p.geom_xmat[g, 2::3]
        for plane in range(s.geom_accuracy.size):
            if s.geom_accuracy[plane] >= 0.0:
                continue
            normal = p.geom_xmat[plane, 2::3]
            sign = 1.0 if normal[0] * axis[0] + normal[1] * axis[1] + normal[2] * axis[2] > 0.0 else -1.0
            apart = max(
                abs(axis[0] - sign * normal[0]),
                abs(axis[1] - sign * normal[1]),
                abs(axis[2] - sign * normal[2]),
            )
            if apart < _FLAT:
                for i in range(3):
                    axis[i] = sign * normal[i]


@part
def more(array, size):
    """So many numbers that begin with those of an array."""
    out, old = np.zeros(size, array.dtype), array.ravel()
    for i in range(old.size):
        out[i] = old[i]
    return out


@part
def make_room(p, count):
    """Room for so many contacts."""
    if count <= p.gap.size:
        return
    n = 2 * count
    p.dim, p.gap, p.restitution = more(p.dim, n), more(p.gap, n), more(p.restitution, n)
    p.accuracy, p.cohesion = more(p.accuracy, n), more(p.cohesion, n)
    p.geom, p.body = more(p.geom, 2 * n).reshape(n, 2), more(p.body, 2 * n).reshape(n, 2)
    p.point, p.surface = more(p.point, 3 * n).reshape(n, 3), more(p.surface, 3 * n).reshape(n, 3)
    p.frame, p.friction = more(p.frame, 9 * n).reshape(n, 3, 3), more(p.friction, 5 * n).reshape(n, 5)
    p.round = more(p.round, 2 * n).reshape(n, 2)
    p.soft = more(p.soft, n)


@part
def _within_reach(s, p, velocity, h, bodies, point, gap):
    """Whether two bodies may touch at a point within the step.

    Margins are those of single bodies: links of a robot that falls or drives would be contacts with all that
    is around them (2448 of a fly, of which seven carried something), so that how they move against each other
    there decides. Loose bodies of a heap are pushed together by others: all of theirs are kept, or a drum of
    spheres finds them too late.
    """
    a, b = bodies[0], bodies[1]
    if a < 0 or b < 0 or s.body_root[s.body_id[a]] != s.body_root[s.body_id[b]]:
        return True
    vx = vy = vz = wx = wy = wz = 0.0
    for i, sign in ((a, -1.0), (b, 1.0)):
        v, x, y, z = velocity[i], point[0] - p.x[i, 0], point[1] - p.x[i, 1], point[2] - p.x[i, 2]
        vx += sign * (v[0] + v[4] * z - v[5] * y)
        vy += sign * (v[1] + v[5] * x - v[3] * z)
        vz += sign * (v[2] + v[3] * y - v[4] * x)
        wx, wy, wz = wx + sign * v[3], wy + sign * v[4], wz + sign * v[5]
    speed = _norm(vx, vy, vz) + min(s.bound[a], s.bound[b]) * _norm(wx, wy, wz)
    return gap <= _SAFETY * h * speed + _NEARBY * (s.bound[a] + s.bound[b])


@part
def _norm(x, y, z):
    return math.sqrt(x * x + y * y + z * z)


@part
def _read(s, p, velocity, step):
    """Contacts of movable bodies that may touch within the step, in mujoco's order."""
    n = np.int64(p.found_count[0])
    make_room(p, 2 * n)
    real, word = p.found_real, p.found_word
    stride, dist, pos, _, _, _, _, _, geom, _, _ = s.layout
    k = first = 0
    for c in range(n):
        at, to = c * stride, (c * stride + geom) // 4
        g, h = word[to], word[to + 1]
        if g < 0 or h < 0 or (s.geom_body[g] < 0 and s.geom_body[h] < 0):
            continue
        if k == 0 or p.geom[k - 1, 0] != g or p.geom[k - 1, 1] != h:
            first = k
        p.geom[k, 0], p.geom[k, 1] = g, h
        p.body[k, 0], p.body[k, 1] = s.geom_body[g], s.geom_body[h]
        p.gap[k] = real[(at + dist) // 8]
        if _within_reach(s, p, velocity, step, p.body[k], real[(at + pos) // 8 :], p.gap[k]):
            _fill(s, p, k, at)
            k += 1
        if k - first > 1 and (c + 1 == n or word[to + stride // 4] != g or word[to + stride // 4 + 1] != h):
            k += _look_behind(s, p, first, k)
    p.count[0] = k


@part
def _fill(s, p, k, at):
    """Contact k, whose shapes, bodies and gap are there, from mujoco's at byte `at`."""
    real, word = p.found_real, p.found_word
    _, _, pos, frame, friction, adhesion, surface, dim, _, solref, solimp = s.layout
    g, h = p.geom[k, 0], p.geom[k, 1]
    p.dim[k] = word[(at + dim) // 4]
    p.cohesion[k] = real[(at + adhesion) // 8]
    there, axes = onward(real, (at + pos) // 8), onward(real, (at + frame) // 8)
    belt, coefficients = onward(real, (at + surface) // 8), onward(real, (at + friction) // 8)
    point, moving, turned = numbers_of(p.point, k), numbers_of(p.surface, k), numbers_of(p.frame, k)
    rubs = numbers_of(p.friction, k)
    for i in range(3):
        point[i], moving[i] = there[i], belt[i]
    for i in range(9):
        turned[i] = axes[i]
    for i in range(5):
        rubs[i] = coefficients[i]
    p.restitution[k] = max(s.geom_restitution[g], s.geom_restitution[h])
    exact = min(s.geom_accuracy[g], s.geom_accuracy[h]) < 0.0
    p.accuracy[k] = 0.0 if exact else max(s.geom_accuracy[g], s.geom_accuracy[h])
    p.soft[k] = 0.0
    if s.soft:
        reference, impedance = (at + solref) // 8, (at + solimp) // 8
        loose = s.geom_looseness[g] + s.geom_looseness[h]
        if s.soft == 2:
            loose *= pyramid_share(p.dim[k], p.friction[k, 0])
        p.soft[k] = loose * file_compliance(
            real[reference : reference + 2], real[impedance : impedance + 5], max(-p.gap[k], 0.0)
        )
    _round(s, p, k)
    if s.has_axes:
        _align(s, p, k)


@part
def _round(s, p, c):
    """Radii of curvature of the two surfaces at contact c."""
    for side in range(2):
        shape = p.geom[c, side]
        p.round[c, side] = s.geom_radius[shape]
        if s.geom_cylinder[shape] > 0.0:
            cosine = 0.0
            for i in range(3):
                cosine += p.geom_xmat[shape, 3 * i + 2] * p.frame[c, 0, i]
            if abs(cosine) < _ROLLING_COSINE:
                p.round[c, side] = s.geom_cylinder[shape]


@part
def _look_behind(s, p, first, k):
    """The deepest contact of two shapes as contact k where their several ones hide it; how many were added.

    Where a face is about along the contact mujoco clips shapes by it and returns points over the face, along
    its normal: an edge or a rim that is deeper beside it is lost, by up to a tenth of the shapes' size.
    """
    g, h = p.geom[first, 0], p.geom[first, 1]
    if s.geom_faces[g] == 0 or s.geom_faces[h] == 0 or s.geom_faces[g] + s.geom_faces[h] < 3:
        return 0
    size = min(
        s.bound[s.geom_body[g]] if s.geom_body[g] >= 0 else np.inf,
        s.bound[s.geom_body[h]] if s.geom_body[h] >= 0 else np.inf,
    )
    least = np.inf
    for c in range(first, k):
        least = min(least, p.gap[c])
    if least > _BEHIND * size:
        return 0
    ends, n = np.empty(6), np.empty(3)
    gap = mj_geomDistance(s.model, p.data, g, h, 2.0 * abs(least) + size, ends.ctypes.data)
    if gap > least - _DEEPER * size or abs(gap) < _TELLING * size:
        return 0
    copy_line(p, k, p, first)
    p.gap[k], p.cohesion[k] = gap, 0.0
    for i in range(3):
        n[i] = (ends[3 + i] - ends[i]) / gap
        p.point[k, i] = 0.5 * (ends[i] + ends[3 + i])
    lean_frame(p.frame[k], n)
    _round(s, p, k)
    if s.has_axes:
        _align(s, p, k)
    return 1


@part
def copy_line(to, c, source, e):
    """Contact c of a place as contact e of another, but for its gap."""
    to.dim[c], to.restitution[c], to.accuracy[c] = source.dim[e], source.restitution[e], source.accuracy[e]
    to.cohesion[c], to.soft[c] = source.cohesion[e], source.soft[e]
    for k in range(2):
        to.geom[c, k], to.body[c, k], to.round[c, k] = (
            source.geom[e, k],
            source.body[e, k],
            source.round[e, k],
        )
    for k in range(3):
        to.point[c, k], to.surface[c, k] = source.point[e, k], source.surface[e, k]
        for r in range(3):
            to.frame[c, k, r] = source.frame[e, k, r]
    for k in range(5):
        to.friction[c, k] = source.friction[e, k]


@part
def lean_frame(frame, n):
    """Give a frame the normal n; tangents stay as near to where they were as they can."""
    best, size, t = 1, 0.0, np.empty(3)
    for r in (1, 2):
        lean = frame[r, 0] * n[0] + frame[r, 1] * n[1] + frame[r, 2] * n[2]
        if 1.0 - lean * lean > size + 0.5:
            best, size = r, 1.0 - lean * lean
    lean = frame[best, 0] * n[0] + frame[best, 1] * n[1] + frame[best, 2] * n[2]
    size = 0.0
    for k in range(3):
        t[k] = frame[best, k] - lean * n[k]
        size += t[k] * t[k]
    size = math.sqrt(size)
    for k in range(3):
        frame[0, k] = n[k]
        frame[1, k] = t[k] / size
    frame[2, 0] = n[1] * frame[1, 2] - n[2] * frame[1, 1]
    frame[2, 1] = n[2] * frame[1, 0] - n[0] * frame[1, 2]
    frame[2, 2] = n[0] * frame[1, 1] - n[1] * frame[1, 0]


@part
def _align(s, p, c):
    """Turn the tangents along the friction axis of the first shape that has one."""
    for side in range(2):
        g = p.geom[c, side]
        axis = s.geom_axis[g]
        if axis[0] == 0.0 and axis[1] == 0.0 and axis[2] == 0.0:
            continue
        t, n, lean = np.empty(3), p.frame[c, 0], 0.0
        for i in range(3):
            t[i] = (
                p.geom_xmat[g, 3 * i] * axis[0]
                + p.geom_xmat[g, 3 * i + 1] * axis[1]
                + p.geom_xmat[g, 3 * i + 2] * axis[2]
            )
            lean += t[i] * n[i]
        size = 0.0
        for i in range(3):
            t[i] -= lean * n[i]
            size += t[i] * t[i]
        size = math.sqrt(size)
        if size <= 1e-9:
            return
        for i in range(3):
            p.frame[c, 1, i] = t[i] / size
        t = p.frame[c, 1]
        p.frame[c, 2, 0], p.frame[c, 2, 1] = n[1] * t[2] - n[2] * t[1], n[2] * t[0] - n[0] * t[2]
        p.frame[c, 2, 2] = n[0] * t[1] - n[1] * t[0]
        return
