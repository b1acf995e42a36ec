"""The whole step in generalised coordinates by Newton's method in the velocities, as one compiled call.

Unknowns (v, λ) with M̃ (v − ṽ) = Jᵀ λ kept exactly, gaps at the new positions. With a proximal compliance
σ d around an earlier λ⁰ the impulses follow from the velocities whatever the rank of J, so that a Newton step
is one dense system (M̃ + Jᵀ K L) Δv = −Jᵀ f over the degrees of freedom (see `body_system`; L is J with the
normal rows at the end of the step). λ⁰ moves along once a proximal problem is solved well enough. A step that
wanders is left to the other routes. Cost: nv³ / 3 and a pass over the rows a Newton step; a scene at rest
takes none or one.

Reference: Alart and Curnier (1991) for the equations; Acary, Brémond and Huber (2018), section 6, for the
proximal term.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from perp.dynamics import tree_kernels as tree
from perp.dynamics.tree_motion import moved, place, turn_entries
from perp.problems.law_kernels import violation
from perp.stepping.body_system import LARGEST, condense
from perp.stepping.contact_equations import parameters_of
from perp.stepping.laws import contact_terms
from perp.stepping.ncp_rows import solve_eliminating

_LEAST_WEIGHT = 1e-7
# A proximal weight beyond this one has not helped: another route is better.
_HEAVIEST = 1.0
_INNER = 0.1
# Newton steps that a proximal problem may take.
_PATIENCE = 12
# … and those that it may take while it is worse than at its start: contacts that touch without force change
# between open and closed for ever.
_DETOUR = 5
# The error of reused impulses adds up from step to step: they need a better residual than new ones.
_REUSED = 0.01
# Normal rows whose diagonal of W is this share of the largest do not move.
IMMOBILE = 1e-20


@njit(cache=True)
def end_points(links, contact_body, q, v, h, x, quat, end_q, motion, local, points):
    """Carried points at the end of a step with velocities v; poses and motions there into x, quat, motion."""
    moved(links, q, v, h, end_q)
    place(links, end_q, x, quat, motion)
    R = np.empty((quat.shape[0], 9))
    for b in range(quat.shape[0]):
        w, i, j, k = quat[b, 0], quat[b, 1], quat[b, 2], quat[b, 3]
        R[b, 0], R[b, 1], R[b, 2] = 1 - 2 * (j * j + k * k), 2 * (i * j - w * k), 2 * (i * k + w * j)
        R[b, 3], R[b, 4], R[b, 5] = 2 * (i * j + w * k), 1 - 2 * (i * i + k * k), 2 * (j * k - w * i)
        R[b, 6], R[b, 7], R[b, 8] = 2 * (i * k - w * j), 2 * (j * k + w * i), 1 - 2 * (i * i + j * j)
    tree.place_points(contact_body, local, links.movable, x, R, points)


@njit(cache=True)
def end_normals(links, rows, contact_body, frame, points, x, motion, v, h, left):
    """J with its normal rows at the end of the step, on the same columns."""
    left[:] = rows.value
    for c in range(rows.first.size):
        i = rows.first[c]
        for t in range(rows.begin[i], rows.begin[i + 1]):
            j, total = rows.column[t], 0.0
            for side in range(2):
                if contact_body[c, side] < 0:
                    continue
                b = links.movable[contact_body[c, side]]
                if links.path[b, j]:
                    part = tree.along(motion[j], x[links.root[b]], points[c, side], frame[c, 0], False)
                    total += part if side == 1 else -part
            left[t] = total
        turn_entries(
            links.triple, v, h, rows.column[rows.begin[i] : rows.begin[i + 1]],
            left[rows.begin[i] : rows.begin[i + 1]],
        )  # fmt: skip


@njit(cache=True)
def _judge(rows, h, length, speed, impulse, y, work, gap):
    """Merit (sum of squares) and largest residual in units of what is allowed."""
    parameters = parameters_of(rows.a, rows.b)
    violation(rows.kind, rows.start, parameters, rows.scale, rows.length, False, impulse, y, work, gap)
    m = rows.kind.size - rows.first.size
    merit = largest = 0.0
    for c in range(rows.kind.size):
        i = rows.start[c]
        for r in range(rows.start[c + 1] - i):
            value = abs(gap[i + r])
            value = h * value / length if c < m or r == 0 else value / speed
            merit += value * value
            if not value <= largest:
                largest = value
    return (merit, largest) if math.isfinite(merit) else (math.inf, math.inf)


@njit(cache=True)
def _pulled(rows, sigma, impulse, centre, y, out):
    """Row velocities with the proximal term: y + σ d (λ − centre)."""
    for c in range(rows.kind.size):
        for i in range(rows.start[c], rows.start[c + 1]):
            share = sigma * rows.scale[c]
            if i - rows.start[c] >= 3:
                share /= rows.length[c] * rows.length[c]
            out[i] = y[i] + share * (impulse[i] - centre[i])


@njit(cache=True)
def _newton_matrix(tree_begin, tree_count, tree_column, M, extra, rows, left, K, f, A, right):
    """A = M̃ + Jᵀ K L and −Jᵀ f."""
    A[:] = 0.0
    right[:] = 0.0
    for k in range(tree_begin.size):
        a, n = tree_begin[k], tree_count[k] - 1
        A[k, k] = M[a + n] + extra[k]
        for t in range(n):
            A[k, tree_column[a + t]] = A[tree_column[a + t], k] = M[a + t]
    for c in range(rows.kind.size):
        i = rows.start[c]
        size, width = rows.start[c + 1] - i, rows.begin[i + 1] - rows.begin[i]
        for r in range(size):
            at = rows.begin[i + r]
            for t in range(width):
                right[rows.column[at + t]] -= rows.value[at + t] * f[i + r]
        if K[c, 0, 0] == 0.0:
            continue
        at = rows.begin[i]
        for t in range(width):
            column = rows.column[at + t]
            for r in range(size):
                total = 0.0
                for s in range(size):
                    total += K[c, r, s] * left[rows.begin[i + s] + t]
                if total == 0.0:
                    continue
                base = rows.begin[i + r]
                for k in range(width):
                    A[rows.column[base + k], column] += rows.value[base + k] * total


@njit(cache=True)
def _new_impulses(rows, left, K, f, dv, impulse, out):
    """λ + Δλ with Δλ = −f − K L Δv."""
    step = np.empty(LARGEST)
    for c in range(rows.kind.size):
        i = rows.start[c]
        size = rows.start[c + 1] - i
        for r in range(size):
            step[r] = 0.0
            for t in range(rows.begin[i + r], rows.begin[i + r + 1]):
                step[r] += left[t] * dv[rows.column[t]]
        for r in range(size):
            total = f[i + r]
            for s in range(size):
                total += K[c, r, s] * step[s]
            out[i + r] = impulse[i + r] - total


class _Step(NamedTuple):
    """What does not change while a step is solved; see `solve_tree`, where it is made."""

    links: Any
    begin: Any
    count: Any
    column: Any
    factor: Any
    predicted: Any
    joint_bias: Any
    frame: Any
    gap: Any
    accuracy: Any
    restitution: Any
    body: Any
    q: Any
    h: Any
    at_end: Any
    correction: Any
    recovery: Any
    rest_speed: Any


class _End(NamedTuple):
    """Coordinates, poses, motions and carried points at the end of the step."""

    q: Any
    x: Any
    quat: Any
    motion: Any
    points: Any


@njit(cache=True)
def _evaluate(step, rows, impulse, v, bias, y, end):
    """Velocities v = ṽ + M̃⁻¹ Jᵀ λ, bias and row velocities y = J v + bias + Σ λ at impulses λ."""
    tree.transposed_product(rows.begin, rows.column, rows.value, impulse, v)
    tree.solve(step.begin, step.count, step.column, step.factor, v)
    for j in range(v.size):
        v[j] += step.predicted[j]
    tree.row_products(rows.begin, rows.column, rows.value, v, y)
    m, contacts, h = step.joint_bias.size, step.gap.size, step.h
    bias[:] = 0.0
    bias[:m] = step.joint_bias
    linear, free = step.gap.copy(), np.empty(contacts)
    if step.at_end and contacts:
        end_points(
            step.links, step.body, step.q, v, h, end.x, end.quat, end.q, end.motion, rows.local, end.points
        )
        change = np.empty(contacts)
        tree.gap_change(step.frame, rows.carried, end.points, change)
        for c in range(contacts):
            linear[c] += change[c] - h * y[rows.first[c]]
    for c in range(contacts):
        free[c] = rows.free_velocity[rows.first[c]]
    contact_terms(
        rows.first, step.gap, linear, step.accuracy, step.restitution, rows.approach, free, step.correction,
        step.recovery, step.rest_speed, h, bias,
    )  # fmt: skip
    largest = 0.0
    for i in range(rows.square.size):
        largest = max(largest, rows.square[i])
    for i in rows.first:
        if rows.square[i] <= IMMOBILE * largest:
            bias[i] = 0.0
    for i in range(y.size):
        y[i] += bias[i] + rows.compliance[i] * impulse[i]


@njit(cache=True)
def solve_tree(
    links, rows, tree_begin, tree_count, tree_column, M, extra, factor, predicted, joint_bias, frame, gap,
    accuracy, restitution, contact_body, q, x, quat, h, at_end, correction, recovery, rest_speed, length,
    speed, weight, limit, impulse, v, bias, info,
):  # fmt: skip
    """Solve a step, in place, from the impulses given.

    Args:
        links: The scene.
        rows: Its rows.
        tree_begin: Layout of M, as the next two.
        tree_count: Entries.
        tree_column: Columns.
        M: Inertia.
        extra: What is added to its diagonal.
        factor: Lᵀ D L of M̃.
        predicted: ṽ.
        joint_bias: Of the joint rows, shape (joint rows,).
        frame: Of the contacts, as the next four; see `Contacts`.
        gap: Distance.
        accuracy: Of the gap.
        restitution: Of the contacts.
        contact_body: The two bodies.
        q: Coordinates at the start.
        x: Poses of mujoco's bodies at the start, as the next.
        quat: Orientations.
        h: Step [s].
        at_end: Whether gaps are those of the step's end.
        correction: See `contact_terms`, as the next two.
        recovery: Speed cap.
        rest_speed: Below it nothing bounces.
        length: Allowed error of positions [m].
        speed: Allowed error of velocities [m/s].
        weight: First proximal weight: least, per residual over what is allowed, and largest.
        limit: Newton steps.
        impulse: λ, in and out.
        v: Velocities, out.
        bias: At the answer, out.
        info: Out: Newton steps, and whether it failed.
    """
    n, size, count = predicted.size, impulse.size, rows.kind.size
    step = _Step(
        links, tree_begin, tree_count, tree_column, factor, predicted, joint_bias, frame, gap, accuracy,
        restitution, contact_body, q, h, at_end, correction, recovery, rest_speed,
    )  # fmt: skip
    end = _End(np.empty(q.size), x.copy(), quat.copy(), np.empty((n, 6)), np.empty((gap.size, 2, 3)))
    y, work, natural = np.empty(size), np.empty(size), np.empty(size)
    info[:] = 0
    _evaluate(step, rows, impulse, v, bias, y, end)
    merit, largest = _judge(rows, h, length, speed, impulse, y, work, natural)
    if largest <= _REUSED:
        return
    K, f = np.empty((count, LARGEST, LARGEST)), np.empty(size)
    A, dv, left = np.empty((n, n)), np.empty(n), np.empty(rows.value.size)
    island, active = np.zeros(count, np.int64), np.ones(1, np.bool_)
    # far from the answer contacts change their state, and a heavier weight keeps them together
    sigma = np.full(1, min(max(weight[1] * largest, weight[0]), weight[2]))
    base, held, trial = impulse.copy(), np.empty(size), np.empty(size)
    best, best_merit, reference, wander = impulse.copy(), merit, merit, 0
    while info[0] < limit:
        info[0] += 1
        left[:] = rows.value
        if at_end:
            end_normals(links, rows, contact_body, frame, end.points, end.x, end.motion, v, h, left)
        _pulled(rows, sigma[0], impulse, base, y, held)
        if not condense(rows, sigma, island, active, impulse, held, K, f):
            break
        _newton_matrix(tree_begin, tree_count, tree_column, M, extra, rows, left, K, f, A, dv)
        solve_eliminating(A, dv)
        _new_impulses(rows, left, K, f, dv, impulse, trial)
        impulse[:] = trial
        _evaluate(step, rows, impulse, v, bias, y, end)
        merit, largest = _judge(rows, h, length, speed, impulse, y, work, natural)
        if merit < best_merit:
            best_merit = merit
            best[:] = impulse
        if largest <= 1.0:
            return
        _pulled(rows, sigma[0], impulse, base, y, held)
        inner, inner_largest = _judge(rows, h, length, speed, impulse, held, work, natural)
        if inner <= _INNER * reference or inner_largest <= 0.5:
            wander, reference = 0, merit
            base[:] = impulse
            sigma[0] = max(0.3 * sigma[0], _LEAST_WEIGHT)
            continue
        wander += 1
        if wander >= (_PATIENCE if inner < reference else _DETOUR) or inner == math.inf:
            wander = 0
            sigma[0] = max(100.0 * sigma[0], 1e-2)
            if sigma[0] > _HEAVIEST:
                break
            impulse[:] = base
            _evaluate(step, rows, impulse, v, bias, y, end)
    info[1] = 1
    impulse[:] = best
    _evaluate(step, rows, impulse, v, bias, y, end)
