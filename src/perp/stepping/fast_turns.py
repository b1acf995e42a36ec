"""Compiled motion by inertia of bodies that turn by a good part of a radian in a step.

The scheme of `smooth` is the midpoint rule once over the step: of what turns by φ it errs by φ²/12 (a top at
a radian a step precesses an eighth too slowly), and beyond a radian its fixed point does not converge. Here
it is taken in parts, each a short turn; δ is then what leads to the same place at once, and the velocity of
the end is that of the last part.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.dynamics.libmujoco import mj_comVel, mj_differentiatePos, mj_integratePos, mj_rne
from perp.dynamics.motion import turn
from perp.dynamics.motions import weights
from perp.dynamics.place import complete, go_to
from perp.dynamics.tree_kernels import factorise, solve
from perp.kernels.arrays import copy_into, fill

# Turn of a part [rad], which leaves φ²/12 = 0.1 % of Coriolis' forces, and parts of a step at most: of trees,
# and of single bodies, whose parts cost little. Robots turn less in some milliseconds.
_PART, _MOST, _MOST_OF_BODIES = 0.125, 64, 4096
# Turn of an arm in a step from which it is taken in parts: once over it a double pendulum gains 1.4 % of its
# energy there, and 16 % at a radian.
_WHIRL = 0.4
_SWEEPS = 40
# Change of the last sweep over the speed that is round-off, or near enough to it.
_STEADY = 1e-9


@part
def parts_of(w, v):
    """In how many parts the motion with v is taken; balls and free bodies count, and arms that whirl."""
    s, longest = w.scene, 0.0
    for j in range(v.size - 2):
        if s.triple[j]:
            angle = w.h * math.sqrt(v[j] ** 2 + v[j + 1] ** 2 + v[j + 2] ** 2)
            if not angle <= longest:
                longest = angle
    for j in range(v.size):
        angle = w.h * abs(v[j]) if s.turning[j] else 0.0
        if angle > _WHIRL and not angle <= longest:
            longest = angle
    return _count(longest, _MOST)


@part
def _count(angle, most):
    return int(angle / _PART) + 1 if angle < (most - 1) * _PART else most


@part
def mean_spin(x, y, z, inertia, h):
    """The angular velocity in the frame of a free body that turns it over h as its own motion does.

    Π⁺ = exp(−k ω̂) Π with ω = I⁻¹ (Π + Π⁺)/2 in each part of length k; x, y, z are its rates at the start.
    """
    return spin_in_parts(x, y, z, inertia, h, parts_of_body(x, y, z, h))


@part
def parts_of_body(x, y, z, h):
    """In how many parts the motion of a free body with these rates is taken."""
    return _count(h * math.sqrt(x * x + y * y + z * z), _MOST_OF_BODIES)


@part
def spin_in_parts(x, y, z, inertia, h, parts):
    """`mean_spin` in so many parts."""
    i, j, k = inertia
    part = h / parts
    qw, qx, qy, qz = 1.0, 0.0, 0.0, 0.0
    a = b = c = ma = mb = mc = 0.0
    for _ in range(parts):
        a, b, c = x, y, z
        p = q = r = 0.0
        for _ in range(_SWEEPS):
            p, q, r = turn(-part * a, -part * b, -part * c, i * x, j * y, k * z)
            f, g, d = 0.5 * (x + p / i), 0.5 * (y + q / j), 0.5 * (z + r / k)
            change = abs(f - a) + abs(g - b) + abs(d - c)
            a, b, c = f, g, d
            if change <= 1e-16 * (abs(a) + abs(b) + abs(c)):
                break
        if parts == 1:
            return a, b, c
        x, y, z = p / i, q / j, r / k
        ma, mb, mc = ma + a / parts, mb + b / parts, mc + c / parts
        half = 0.5 * part * math.sqrt(a * a + b * b + c * c)
        s = 0.5 * part * (math.sin(half) / half if half > 1e-4 else 1.0 - half * half / 6.0)
        ew, ex, ey, ez = math.cos(half), s * a, s * b, s * c
        qw, qx, qy, qz = (
            qw * ew - qx * ex - qy * ey - qz * ez,
            qw * ex + qx * ew + qy * ez - qz * ey,
            qw * ey - qx * ez + qy * ew + qz * ex,
            qw * ez + qx * ey - qy * ex + qz * ew,
        )
    size = math.sqrt(qx * qx + qy * qy + qz * qz)
    if size == 0.0:
        return ma, mb, mc
    angle = 2.0 * math.atan2(size, qw)
    scale = whole_turns(h * (ma * qx + mb * qy + mc * qz) / size, angle) / (h * size)
    return scale * qx, scale * qy, scale * qz


@part
def whole_turns(expected, angle):
    """The angle that is nearest to what is expected among those that look like it."""
    return angle + 2.0 * math.pi * round((expected - angle) / (2.0 * math.pi))


@part
def drift_in_parts(w, v, parts):
    """δ for the velocity v after all impulses, and what the velocity gains at the end of the step.

    `end` of the world is room. Returns the largest change against the δ there was.
    """
    s, p, h, largest = w.scene, w.end, w.h / parts, 0.0
    x, middle, mean, back = v.copy(), np.empty(v.size), np.zeros(v.size), np.zeros(v.size)
    w.q_end[:] = w.q
    go_to(s, p, w.q_end, True)
    _complete(w)
    for _ in range(parts):
        steady = _half(w, x, back, h, middle)
        for j in range(v.size):
            middle[j] = middle[j] if steady else x[j]
            mean[j] += middle[j] / parts
        mj_integratePos(s.model, w.q_end.ctypes.data, middle.ctypes.data, h)
        go_to(s, p, w.q_end, True)
        _complete(w)
        if not steady:
            # radians a part, as a guess may have them: no forces of inertia are better than wrong ones
            fill(back, 0.0)
            continue
        half_kick(w.scene, w.end, middle, w.gained, w.factor_end, h, back)
        for j in range(v.size):
            x[j] = middle[j] + back[j]
    mj_differentiatePos(s.model, middle.ctypes.data, w.h, w.q.ctypes.data, w.q_end.ctypes.data)
    _unwind(w, mean, middle)
    for j in range(v.size):
        largest = max(largest, abs(middle[j] - v[j] - w.delta[j]))
        w.delta[j] = middle[j] - v[j]
        w.gained[j] = x[j] - middle[j]
    return largest


@part
def _complete(w):
    """Inertia, its factor and weights at the place `end`."""
    complete(w.scene, w.end)
    factorise(w.scene, w.end.M, w.extra, w.factor_end)
    weights(w.scene, w.end, w.gained)


@part
def _half(w, x, back, h, middle):
    """The velocity of the middle, x̄ = x − (h/2) M̃⁻¹ c(q, x̄), by sweeps from x + back.

    Returns whether they converge.
    """
    last = np.inf
    for j in range(x.size):
        middle[j] = x[j] + back[j]
    for sweep in range(_SWEEPS):
        half_kick(w.scene, w.end, middle, w.gained, w.factor_end, h, back)
        change = speed = 0.0
        for j in range(x.size):
            change = max(change, abs(x[j] + back[j] - middle[j]))
            speed = max(speed, abs(x[j]))
        if not change < np.inf or (sweep > 2 and change > 0.9 * last):
            return change <= _STEADY * speed
        last = change
        for j in range(x.size):
            middle[j] = x[j] + back[j]
        if change <= 1e-14 * speed:
            break
    return True


@part
def half_kick(s, place, v, weight, factor, h, out):
    """−(h/2) M̃⁻¹ c(q, v) of trees at a place, with the weights and the factor of M̃ there."""
    copy_into(place.qvel, v)
    mj_comVel(s.model, place.data)
    mj_rne(s.model, place.data, np.int32(0), out.ctypes.data)
    for j in range(v.size):
        # mujoco's bias is c less the weights
        out[j] = -0.5 * h * (out[j] + weight[j])
    solve(s, factor, out)


@part
def _unwind(w, expected, v):
    """Whole turns that a difference of quaternions does not see, from what is expected."""
    s = w.scene
    for j in range(v.size - 2):
        if not s.triple[j]:
            continue
        rate = math.sqrt(v[j] ** 2 + v[j + 1] ** 2 + v[j + 2] ** 2)
        if rate == 0.0:
            continue
        along = (v[j] * expected[j] + v[j + 1] * expected[j + 1] + v[j + 2] * expected[j + 2]) / rate
        scale = whole_turns(w.h * along, w.h * rate) / (w.h * rate)
        for k in range(j, j + 3):
            v[k] *= scale
