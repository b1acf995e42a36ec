"""Compiled steps of fourth order, for motion on which no row acts: Nyström's Runge–Kutta method.

A step without contacts, joints as rows, motors with limits or dry friction is smooth. With the acceleration
a(θ, v) at the coordinates q⁻ ⊕ θ,

    a₁ = a(0, v)                   θ₂ = θ₃ = (h/2) v + (h²/8) a₁
    a₂ = a(θ₂, v + (h/2) a₁)       a₃ = a(θ₃, v + (h/2) a₂)
    a₄ = a(θ₄, v + h a₃)           θ₄ = h v + (h²/2) a₃
    θ⁺ = h v + (h²/6) (a₁ + a₂ + a₃),   v⁺ = v + (h/6) (a₁ + 2 a₂ + 2 a₃ + a₄)

so that four accelerations need the scene at three places, the first of which the last step left. Rotations
do not commute: the turn of a ball joint or a free body gains (k²/12) v × v′ over a time k, with v′ its rate
at the end of it (the first term of Magnus' series, for rates in the moving frame). What is implicit in other
steps is explicit here; a step that does not resolve its motion is left to them.

References: Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I (1993), section II.14, for
Nyström's method; Iserles, Munthe-Kaas, Nørsett and Zanna, Lie-group methods (2000), for the rotations.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part
from perp.dynamics.libmujoco import mj_comVel, mj_integratePos, mj_passive, mj_rne
from perp.dynamics.motions import add_wrenches
from perp.dynamics.place import complete, go_to
from perp.dynamics.rows import LIMIT
from perp.dynamics.scalar_tables import LOWER, UPPER
from perp.dynamics.tree_kernels import factorise, solve
from perp.kernels.arrays import copy_into, fill
from perp.stepping.fast_turns import parts_of
from perp.stepping.freedom_rows import ball_gap
from perp.stepping.joint_rows import is_curved, motor_force
from perp.stepping.world import JOINTS

# Change of a velocity from the second to the third acceleration, over itself. For a rate λ it is (h λ)³ / 4:
# steps are taken up to h λ = 0.7, a quarter of where the method becomes unstable. Changes of less than the
# second share of the largest velocity do not matter.
_RESOLVED, _SLIGHT = 0.1, 1e-3
# Parts of half a radian in `fast_turns`, whose error is that of a turn of half a radian here.
_MOST_PARTS = 4


@part
def is_free(w):
    """Whether nothing but forces acts on the collected step: limits may be near, but are open."""
    if w.start.count[0] or w.scene.actuation or parts_of(w, w.v) > _MOST_PARTS:
        return False
    for k in range(w.count[JOINTS]):
        # limits of joints that were added are not looked at again at the end
        added = is_curved(w, k) and (w.group[k] == LOWER or w.group[k] == UPPER)
        if added or w.law[k] != LIMIT or not w.value[k] > 0.0:
            return False
    asleep = False
    for t in range(w.still_time.size):
        asleep = asleep or w.still_time[t] == np.inf
    return not asleep


@part
def passes_something(w):
    """Whether the end of a free step overlaps anything, or is beyond a limit."""
    s, q, place = w.scene, w.q_end, w.end
    for c in range(place.count[0]):
        if place.gap[c] < 0.0:
            return True
    for i in range(s.limit_at.size):
        if not s.limit_low[i] <= q[s.limit_at[i]] <= s.limit_high[i]:
            return True
    for i in range(s.ball_at.size):
        if ball_gap(w, i, q) < 0.0:
            return True
    for t in range(s.tendon_count.size):
        length, low, high = place.tendon_length[t], s.tendon_range[t, 0], s.tendon_range[t, 1]
        if s.tendon_limited[t] and not low <= length <= high:
            return True
    return False


@part
def move_freely(w):
    """The velocity that moves the scene over a free step, and what that of the end has over it (`gained`).

    Returns whether the step resolves its motion. The place at the end is room.
    """
    h, v, way, at = w.h, w.v, w.problem.velocity, w.guess
    one, two, three, four = w.kick, w.delta, w.coriolis, w.gained
    fill(four, 0.0)  # what `_factorise` adds to the diagonal of M
    _factorise(w, w.start)
    _accelerate(w, w.start, v, one)
    for j in range(v.size):
        at[j], way[j] = v[j] + 0.5 * h * one[j], v[j] + 0.25 * h * one[j]
    _go(w, at, way, 0.5 * h)
    _accelerate(w, w.end, at, two)
    for j in range(v.size):
        at[j] = v[j] + 0.5 * h * two[j]
    _accelerate(w, w.end, at, three)
    if not _is_resolved(w):
        return False
    for j in range(v.size):
        at[j], way[j] = v[j] + h * three[j], v[j] + 0.5 * h * three[j]
    _go(w, at, way, h)
    _accelerate(w, w.end, at, four)
    for j in range(v.size):
        at[j] = v[j] + h / 6.0 * (one[j] + 2.0 * (two[j] + three[j]) + four[j])
        way[j] = v[j] + h / 6.0 * (one[j] + two[j] + three[j])
    _turn(w, at, way, h)
    for j in range(v.size):
        four[j] = at[j] - way[j]
    return True


@part
def _is_resolved(w):
    """Whether accelerations in the middle of the step agree."""
    v, at, speed, resolved = w.v, w.guess, 0.0, True
    for j in range(v.size):
        speed = max(speed, abs(v[j]), abs(at[j]))
    for j in range(v.size):
        change = w.h * abs(w.coriolis[j] - w.delta[j])
        resolved = resolved and change <= max(_RESOLVED * max(abs(v[j]), abs(at[j])), _SLIGHT * speed)
    return resolved


@part
def _turn(w, at, way, span):
    """What rotations add to the way over a time because they do not commute; `at` is the velocity then."""
    v, triple = w.v, w.scene.triple
    for j in range(v.size - 2):
        if triple[j]:
            x, y, z, k = v[j], v[j + 1], v[j + 2], span / 12.0
            way[j] += k * (y * at[j + 2] - z * at[j + 1])
            way[j + 1] += k * (z * at[j] - x * at[j + 2])
            way[j + 2] += k * (x * at[j + 1] - y * at[j])


@part
def _go(w, at, way, span):
    """The place at the end to where the scene is after a time, with its inertia and the factor of that."""
    s = w.scene
    _turn(w, at, way, span)
    copy_into(w.q_end, w.q)
    mj_integratePos(s.model, w.q_end.ctypes.data, way.ctypes.data, span)
    go_to(s, w.end, w.q_end, True)
    complete(s, w.end)
    _factorise(w, w.end)


@part
def _factorise(w, place):
    s = w.scene
    factorise(s, place.M, w.gained, w.factor_end)


@part
def _accelerate(w, place, v, out):
    """Accelerations at a place whose factor is there, by all forces that act on freedoms."""
    s = w.scene
    copy_into(place.qvel, v)
    mj_comVel(s.model, place.data)
    mj_rne(s.model, place.data, np.int32(0), out.ctypes.data)
    for j in range(v.size):
        out[j] = -out[j] - s.damping[j] * v[j]
    add_wrenches(s, place, w.wrench, out)
    if s.passive:
        mj_passive(s.model, place.data)
        for j in range(v.size):
            out[j] += place.spring[j] + place.lift[j] + place.fluid[j]
    for i in range(s.motor_output.size):
        line = s.motor_output[i]
        first, end = place.moment_begin[line], place.moment_begin[line] + place.moment_count[line]
        force, _, by_speed = motor_force(w, i, place.motor_length[line])
        for e in range(first, end):
            force += by_speed * place.moment[e] * v[place.moment_column[e]]
        force = min(max(force, s.motor_least[i]), s.motor_most[i])
        for e in range(first, end):
            out[place.moment_column[e]] += force * place.moment[e]
    solve(s, w.factor_end, out)
