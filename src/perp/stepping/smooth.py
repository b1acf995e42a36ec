"""Compiled smooth part of a step: forces, velocities without constraints, and Coriolis forces of the way.

A step kicks and then drifts. Forces and impulses of the start change the velocity, v′ = v + M̃⁻¹ (h f + Jᵀ
λ); then the scene moves by inertia alone, with half of what Coriolis and centrifugal forces c do before it
and half after it,

    v̄ = v′ − (h/2) M̃⁻¹ c(q⁻, v̄),   q⁺ = q⁻ ⊕ h v̄,   v⁺ = v̄ − (h/2) M̃⁻¹ c(q⁺, v̄)

a symmetric scheme, which for a body that tumbles is the implicit midpoint rule and keeps |L| and energy;
long turns are taken in parts (`fast_turns`). Of cut bodies the spin of the end is read off their momentum,
which keeps L. Springs, dampers and unlimited motors are implicit: M̃ = M + h D + h² K.

References: Hairer, Lubich and Wanner, Geometric Numerical Integration (2006), section IV.2, for the
midpoint rule and quadratic invariants; Lewis and Simo (1994) for the spin of free bodies.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.dynamics.actuators import advance
from perp.dynamics.libmujoco import mj_comVel, mj_fwdActuation, mj_fwdVelocity, mj_passive
from perp.dynamics.measuring import push
from perp.dynamics.motions import add_wrenches, weights
from perp.dynamics.tree_kernels import factorise, multiply, solve
from perp.kernels.arrays import copy_into, fill
from perp.kernels.borrowed import onward
from perp.stepping.fast_turns import drift_in_parts, half_kick, mean_spin, parts_of
from perp.stepping.world import PLACED

# The fixed point of δ contracts by about h |ω| a sweep.
_SWEEPS = 40


@part
def collect_forces(w):
    """Weights, given wrenches, springs and forces of the air on the freedoms; activations of the end."""
    s, p = w.scene, w.start
    weights(s, p, w.weight)
    copy_into(w.force, w.weight)
    add_wrenches(s, p, w.wrench, w.force)
    for j in range(w.extra.size):
        w.extra[j] = w.h * (s.damping[j] + w.h * s.stiffness[j])
    copy_into(w.act_end, w.act)
    if not s.cut:
        copy_into(p.qvel, w.v)
    if s.actuation:
        copy_into(p.act, w.act)
        copy_into(p.ctrl, w.control[: p.ctrl.size])
        mj_fwdVelocity(s.model, p.data)
        mj_fwdActuation(s.model, p.data)
        advance(s.act_at, s.act_count, s.act_tau, s.act_range, p.act_dot, w.h, w.act_end)
        for k in range(s.other_output.size):
            line = s.other_output[k]
            for e in range(p.moment_begin[line], p.moment_begin[line] + p.moment_count[line]):
                push(s, w.table_row, p.moment_column[e], p.moment[e] * p.actuator_force[line], w.force)
    elif s.passive:
        mj_comVel(s.model, p.data)
        mj_passive(s.model, p.data)
    if s.passive:
        for j in range(p.qvel.size):
            # springs of cut joints are rows
            spring = 0.0 if s.cut else p.spring[j]
            push(s, w.table_row, j, spring + p.lift[j] + p.fluid[j], w.force)


@part
def apply_forces(w):
    """M̃ by trees into the problem, its factor, and the velocity after the forces into `kick`."""
    s, p, problem = w.scene, w.start, w.problem
    if s.cut:
        _cut_masses(w)
        for b in range(s.mass.size):
            for k in range(3):
                w.kick[6 * b + k] = w.v[6 * b + k] + w.h * w.force[6 * b + k] / s.mass[b]
            _spin_of(s, p, b, w.force, 6 * b + 3, w.h, w.guess)
            for k in range(3, 6):
                w.kick[6 * b + k] = w.v[6 * b + k] + w.guess[6 * b + k]
        return
    factorise(s, p.M, w.extra, w.factor)
    multiply(s, p.M, w.v, w.kick)
    for j in range(w.kick.size):
        w.kick[j] += w.h * w.force[j]
    solve(s, w.factor, w.kick)
    fill(problem.mass, 0.0)
    tree = 0
    for k in range(w.kick.size):
        while problem.tree_start[tree + 1] <= k:
            tree += 1
        first, at = problem.tree_start[tree], problem.mass_start[tree]
        n, i = problem.tree_start[tree + 1] - first, k - first
        a, last = s.M_begin[k], s.M_count[k] - 1
        for t in range(last):
            j = s.M_column[a + t] - first
            problem.mass[at + i * n + j] = problem.mass[at + j * n + i] = p.M[a + t]
        problem.mass[at + i * n + i] = p.M[a + last] + w.extra[k]


@part
def _cut_masses(w):
    s, p, mass = w.scene, w.start, w.problem.mass
    for b in range(s.mass.size):
        at = 36 * b
        for k in range(36):
            mass[at + k] = 0.0
        for k in range(3):
            mass[at + 7 * k] = s.mass[b]
        for i in range(3):
            for j in range(3):
                total = 0.0
                for k in range(3):
                    total += p.R[b, i, k] * p.R[b, j, k] * s.inertia[b, k]
                mass[at + 6 * (3 + i) + 3 + j] = total


@part
def _spin_of(s, p, b, momentum, at, scale, out):
    """I⁻¹ of scale · momentum[at …] of body b in the world, into out[at …]."""
    R = p.R[b]
    x, y, z = scale * momentum[at], scale * momentum[at + 1], scale * momentum[at + 2]
    for i in range(3):
        out[at + i] = 0.0
    for k in range(3):
        rate = (R[0, k] * x + R[1, k] * y + R[2, k] * z) / s.inertia[b, k]
        for i in range(3):
            out[at + i] += R[i, k] * rate


@part
def mass_solve(w, x):
    """M̃⁻¹ x in place."""
    s = w.scene
    if not s.cut:
        solve(s, w.factor, x)
        return
    for b in range(s.mass.size):
        for k in range(3):
            x[6 * b + k] /= s.mass[b]
        R, at = w.start.R[b], 6 * b + 3
        u, v, t = x[at], x[at + 1], x[at + 2]
        for i in range(3):
            x[at + i] = 0.0
        for k in range(3):
            rate = (R[0, k] * u + R[1, k] * v + R[2, k] * t) / s.inertia[b, k]
            for i in range(3):
                x[at + i] += R[i, k] * rate


@part
def is_exact(w):
    """Whether fixed points of a step are taken to round-off: where less than the default is tolerated."""
    return w.tolerance < 0.99e-9


@part
def drift(w, v, within):
    """δ for the velocity v after all impulses, by sweeps until it changes by less than `within` of it.

    Returns the largest change against the δ there was [m/s or rad/s].
    """
    w.parts = parts_of(w, v)
    if w.scene.cut:
        return _drift_of_bodies(w, v)
    if w.parts == 1:
        return _drift_of_trees(w, v, within)
    w.info[PLACED] = 0  # the end of the step is room for that
    return drift_in_parts(w, v, w.parts)


@part
def _drift_of_trees(w, v, within):
    s, p, c = w.scene, w.start, w.coriolis
    largest = speed = 0.0
    for j in range(v.size):
        speed = max(speed, abs(v[j]))
    last = np.inf
    for sweep in range(_SWEEPS):
        for j in range(v.size):
            c[j] = v[j] + w.delta[j]
        half_kick(s, p, c, w.weight, w.factor, w.h, c)
        change = 0.0
        for j in range(v.size):
            change = max(change, abs(c[j] - w.delta[j]))
        if not change < np.inf or (sweep > 2 and change > 0.9 * last):
            # joints that turn by a radian a step: what the last sweep had is the best there is
            break
        largest = max(largest, change)
        for j in range(v.size):
            w.delta[j] = c[j]
        # sweeps converge linearly: the next one changes δ by change / last of this one
        if change <= within * speed or (sweep > 0 and change * change <= within * speed * last):
            break
        last = change
    return largest


@part
def _drift_of_bodies(w, v):
    """δ = ω − I⁻¹ Π with the spin ω of each body's own motion, in the frames of the bodies."""
    s, h, largest = w.scene, w.h, 0.0
    for b in range(s.mass.size):
        R, at = w.start.R[b], 6 * b + 3
        i, j, k = s.inertia[b, 0], s.inertia[b, 1], s.inertia[b, 2]
        if i == j == k:
            continue
        x = R[0, 0] * v[at] + R[1, 0] * v[at + 1] + R[2, 0] * v[at + 2]
        y = R[0, 1] * v[at] + R[1, 1] * v[at + 1] + R[2, 1] * v[at + 2]
        z = R[0, 2] * v[at] + R[1, 2] * v[at + 1] + R[2, 2] * v[at + 2]
        a, c, e = mean_spin(x, y, z, (i, j, k), h)
        for r in range(3):
            new = R[r, 0] * (a - x) + R[r, 1] * (c - y) + R[r, 2] * (e - z)
            largest = max(largest, abs(new - w.delta[at + r]))
            w.delta[at + r] = new
    return largest


@part
def velocities_after(w):
    """The velocity of the end from that which moved the scene; the place at the end is complete."""
    v, s, p, c = w.problem.velocity, w.scene, w.end, w.coriolis
    if not s.cut and w.parts != 1:
        for j in range(v.size):
            w.v_end[j] = v[j] + w.gained[j]
        return
    if not s.cut:
        weights(s, p, w.guess)
        factorise(s, p.M, w.extra, w.factor_end)
        half_kick(s, p, v, w.guess, w.factor_end, w.h, c)
        for j in range(v.size):
            w.v_end[j] = v[j] + c[j]
        return
    for j in range(v.size):
        w.v_end[j] = v[j] + w.delta[j]
    for b in range(s.mass.size):
        R, at = w.start.R[b], 6 * b + 3
        for i in range(3):
            w.guess[at + i] = 0.0
        for k in range(3):
            rate = 0.0
            for i in range(3):
                rate += R[i, k] * (v[at + i] - w.delta[at + i])
            for i in range(3):
                w.guess[at + i] += R[i, k] * s.inertia[b, k] * rate
        _spin_of(s, w.end, b, w.guess, at, 1.0, w.v_end)


@part
def kinetic_energy(w, v):
    """½ vᵀ M̃ v over the problem's mass [J]."""
    p, total = w.problem, 0.0
    for t in range(p.tree_start.size - 1):
        first, at = p.tree_start[t], p.mass_start[t]
        n, speed = p.tree_start[t + 1] - first, onward(v, first)
        for i in range(n):
            mass, momentum = onward(p.mass, at + i * n), 0.0
            for j in range(n):
                momentum += mass[j] * speed[j]
            total += 0.5 * momentum * speed[i]
    return total if math.isfinite(total) else np.inf
