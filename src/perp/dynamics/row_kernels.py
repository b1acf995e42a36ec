"""Compiled geometry of joint rows: the value c(q) of each scalar constraint and its Jacobian.

Every joint is a list of rows of nine kinds. With p_c, p_p the anchors of child and parent in the world,
r = p − x their arms, and vectors carried by the bodies:

    POINT           e · (p_c − p_p)                     e fixed in the world
    LATERAL         (R_p n) · (p_c − p_p)
    PERPENDICULAR   (R_c a) · (R_p b)
    ORIENTATION     2 sign(w) vec_k,  (w, vec) = (θ_p f_p)⁻¹ ⊗ θ_c f_c
    DISTANCE        ‖p_c − p_p‖
    ANGLE           atan2(a · b₂, a · b₁),  a = R_c a₀,  b = R_p b₀; component 1: a = R_p a₀,  b = R_c b₀
    SPIN            no value, the rate (R_c a₀) · (ω_c − ω_p)
    LOGARITHM       component k of the rotation vector φ of the same relative rotation, ‖φ‖ ≤ π
    TURN            ‖φ‖, the angle of that rotation

minus an offset, times a sign. The Jacobians are exact derivatives for any pose, with moving parents; at half
a turn φ and the slope of ‖φ‖ change sign.

Columns of `geometry`: 0 child anchor, 3 parent anchor, 6 child vector, 9 parent vector, 12 second parent
vector, 15 child frame, 19 parent frame, 23 offset, 24 sign. Columns of `links`: kind, child, parent,
component.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.kernels.arrays import copy_into, fill

POINT, LATERAL, PERPENDICULAR, ORIENTATION, DISTANCE, ANGLE, SPIN, LOGARITHM, TURN = range(9)
GEOMETRY_COLUMNS = 25


@part
def _carried(R, body, vector, out):
    """A vector of a body in the world frame; of the world (body < 0) as it is."""
    for k in range(3):
        if body < 0:
            out[k] = vector[k]
        else:
            out[k] = R[body, k, 0] * vector[0] + R[body, k, 1] * vector[1] + R[body, k, 2] * vector[2]


@part
def cross(a, b, out):
    """out = a × b in three dimensions; out is another array."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@part
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@part
def _frame(quat, body, local, out):
    """θ ⊗ f: a joint frame in the world."""
    if body < 0:
        copy_into(out, local)
        return
    p, q = quat[body], local
    out[0] = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3]
    out[1] = p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2]
    out[2] = p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1]
    out[3] = p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0]


@part
def relative(quat, child, parent, g, a, v):
    """The rotation from the parent's frame, put into a, to the child's, as (w, v) with w ≥ 0; returns w."""
    b = np.empty(4)
    _frame(quat, child, g[15:19], b)
    _frame(quat, parent, g[19:23], a)
    w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    v[0] = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    v[1] = a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1]
    v[2] = a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0]
    side = 1.0 if w >= 0.0 else -1.0
    for i in range(3):
        v[i] *= side
    return side * w


@part
def _turned(a, local, arrow):
    """A vector turned by the quaternion a."""
    once, twice = np.empty(3), np.empty(3)
    cross(a[1:4], local, once)
    cross(a[1:4], once, twice)
    for i in range(3):
        arrow[i] = local[i] + 2.0 * (a[0] * once[i] + twice[i])


@part
def _orientation(quat, child, parent, g, k, arrow):
    """Component k of the relative rotation, and the angular row of the child into `arrow`."""
    a, v = np.empty(4), np.empty(3)
    w = relative(quat, child, parent, g, a, v)
    # with s = R_pᵀ δω: δ(2 vec) = w s + s × v, so row k is w e_k + v × e_k, turned into the world by the
    # parent
    e, local = np.zeros(3), np.empty(3)
    e[k] = 1.0
    cross(v, e, local)
    for i in range(3):
        local[i] += w * e[i]
    _turned(a, local, arrow)
    return 2.0 * v[k]


@part
def _rotation_vector(quat, child, parent, g, kind, k, arrow):
    """Component k of the rotation vector φ, or its length, and the angular row of the child into `arrow`.

    With s = R_pᵀ δω: δφ = s − φ × s / 2 + c φ × (φ × s), c = (1 − (θ/2) cot(θ/2)) / θ².
    """
    a, v = np.empty(4), np.empty(3)
    w = relative(quat, child, parent, g, a, v)
    sine = math.sqrt(_dot(v, v))
    theta = 2.0 * math.atan2(sine, w)
    if kind == TURN:
        if sine > 0.0:
            for i in range(3):
                v[i] /= sine
        else:
            v[k] = 1.0
        _turned(a, v, arrow)
        return theta
    for i in range(3):
        v[i] *= theta / sine if sine > 1e-9 else 2.0
    # the series avoids a difference of nearly equal numbers
    c = 1.0 / 12.0 + theta * theta / 720.0 if theta < 1e-2 else (1.0 - 0.5 * theta * w / sine) / theta**2
    e, local, twice = np.zeros(3), np.empty(3), np.empty(3)
    e[k] = 1.0
    cross(v, e, local)
    cross(v, local, twice)
    for i in range(3):
        local[i] = e[i] + 0.5 * local[i] + c * twice[i]
    _turned(a, local, arrow)
    return v[k]


@kernel(shared=True)
def evaluate_rows(links, geometry, x, quat, R, last, value, jacobian):
    """Values and Jacobians of all rows.

    Args:
        links: As above, shape (rows, 4).
        geometry: As above, shape (rows, 25).
        x: Centres of mass, shape (n, 3).
        quat: Quaternions, shape (n, 4).
        R: Rotation matrices, shape (n, 3, 3).
        last: Values one step ago, shape (rows,): angles are continued from them beyond half a turn.
        value: Out, shape (rows,).
        jacobian: Out, shape (rows, 12): child's (v, ω), parent's (v, ω).
    """
    rc, rp, d, n, a, b = np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    s, t = np.empty(3), np.empty(3)
    for i in range(links.shape[0]):
        kind, child, parent, g = links[i, 0], links[i, 1], links[i, 2], geometry[i]
        row = jacobian[i]
        fill(row, 0.0)
        c = 0.0
        if kind == POINT or kind == LATERAL or kind == DISTANCE:
            _carried(R, child, g[0:3], rc)
            _carried(R, parent, g[3:6], rp)
            for k in range(3):
                d[k] = rc[k] - rp[k]
                if child >= 0:
                    d[k] += x[child, k]
                if parent >= 0:
                    d[k] -= x[parent, k]
            if kind == POINT:
                n[:] = g[9:12]
            elif kind == LATERAL:
                _carried(R, parent, g[9:12], n)
                # the direction turns with the parent: its arm reaches to the child's anchor
                for k in range(3):
                    rp[k] += d[k]
            else:
                length = math.sqrt(_dot(d, d))
                for k in range(3):
                    n[k] = d[k] / length if length > 0.0 else (1.0 if k == 0 else 0.0)
            c = _dot(d, n)
            cross(rc, n, s)
            cross(rp, n, t)
            for k in range(3):
                row[k], row[3 + k], row[6 + k], row[9 + k] = n[k], s[k], -n[k], -t[k]
        else:
            if kind == ORIENTATION:
                c = _orientation(quat, child, parent, g, links[i, 3], s)
            elif kind == SPIN:
                _carried(R, child, g[6:9], s)
            elif kind == LOGARITHM or kind == TURN:
                c = _rotation_vector(quat, child, parent, g, kind, links[i, 3], s)
            elif kind == ANGLE:
                first, second = (child, parent) if links[i, 3] == 0 else (parent, child)
                _carried(R, first, g[6:9], a)
                _carried(R, second, g[9:12], b)
                along = _dot(a, b)
                cross(a, b, s)
                _carried(R, second, g[12:15], b)
                across = _dot(a, b)
                cross(a, b, t)
                size = along * along + across * across
                if links[i, 3] != 0:
                    size = -size
                for k in range(3):
                    s[k] = (along * t[k] - across * s[k]) / size
                c = math.atan2(across, along)
            else:
                _carried(R, child, g[6:9], a)
                _carried(R, parent, g[9:12], b)
                cross(a, b, s)
                c = _dot(a, b)
            for k in range(3):
                row[3 + k], row[9 + k] = s[k], -s[k]
        c = g[24] * (c - g[23])
        if kind == ANGLE:
            c += 2.0 * math.pi * round((last[i] - c) / (2.0 * math.pi))
        value[i] = c
        if g[24] != 1.0:
            for k in range(12):
                row[k] *= g[24]
