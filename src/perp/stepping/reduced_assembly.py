"""Compiled assembly of a step's rows in generalised coordinates: joints, then contacts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from perp.dynamics.rows import DRIVE, LIMIT
from perp.dynamics.tree_kernels import (
    body_velocities,
    carried_points,
    constraint_scale,
    contact_rows,
    factorise,
    given_rows,
    multiply,
    place_points,
    row_products,
    row_squares,
    solve,
    transposed_product,
    weigh,
)
from perp.problems.law_kernels import violation
from perp.problems.set_kernels import BOX, COULOMB, ELLIPTIC, FREE, NONNEGATIVE, ROLLING
from perp.stepping.contact_equations import parameters_of
from perp.stepping.scales import travel


class ChainRows(NamedTuple):
    """The rows of a step over generalised velocities; constraint c has rows start[c] … start[c+1]−1.

    Attributes:
        kind, start, a, b: The sets, as in `perp.problems.Sets`.
        first: Normal row of each contact.
        begin, column, value: J in compressed form, closed under ancestors.
        weighed: J L⁻¹ D^(−1/2) on the same columns.
        compliance: Σ, shape (rows,).
        free_velocity: J ṽ, shape (rows,).
        approach: J v⁻ of each normal row [m/s].
        square: Diagonal of W, shape (rows,).
        scale: Velocity per impulse of each constraint.
        length: What turns its rolling rates into velocities [m].
        local, carried: The two points of each contact whose distance along the normal is its gap, in the
            frames of their bodies and in the world at the start, shape (contacts, 2, 3).
    """

    kind: np.ndarray
    start: np.ndarray
    a: np.ndarray
    b: np.ndarray
    first: np.ndarray
    begin: np.ndarray
    column: np.ndarray
    value: np.ndarray
    weighed: np.ndarray
    compliance: np.ndarray
    free_velocity: np.ndarray
    approach: np.ndarray
    square: np.ndarray
    scale: np.ndarray
    length: np.ndarray
    local: np.ndarray
    carried: np.ndarray


@njit(cache=True)
def chain_rows(joints, contacts, rows, nv, width, whole, real):
    """Room for so many joint rows, contacts and rows in all, taken from two arrays; see `room_needed`.

    Args:
        joints: Number of joint rows.
        contacts: Number of contacts.
        rows: Number of rows in all.
        nv: Number of degrees of freedom: entries of a joint row at most.
        width: Entries of a contact row at most.
        whole: Integers.
        real: Numbers.
    """
    n, room, i, r = joints + contacts, joints * nv + (rows - joints) * width, 0, 0
    kind, i = whole[i : i + n], i + n
    start, i = whole[i : i + n + 1], i + n + 1
    first, i = whole[i : i + contacts], i + contacts
    begin, i = whole[i : i + rows + 1], i + rows + 1
    column = whole[i : i + room]
    a, r = real[r : r + n], r + n
    b, r = real[r : r + n], r + n
    scale, r = real[r : r + n], r + n
    length, r = real[r : r + n], r + n
    approach, r = real[r : r + contacts], r + contacts
    compliance, r = real[r : r + rows], r + rows
    free, r = real[r : r + rows], r + rows
    square, r = real[r : r + rows], r + rows
    value, r = real[r : r + room], r + room
    weighed, r = real[r : r + room], r + room
    local, r = real[r : r + 6 * contacts].reshape((contacts, 2, 3)), r + 6 * contacts
    carried = real[r : r + 6 * contacts].reshape((contacts, 2, 3))
    return ChainRows(
        kind, start, a, b, first, begin, column, value, weighed, compliance, free, approach, square, scale,
        length, local, carried,
    )  # fmt: skip


def room_needed(joints: int, contacts: int, rows: int, nv: int, width: int) -> tuple[int, int]:
    """How many integers and numbers `chain_rows` takes."""
    n, room = joints + contacts, joints * nv + (rows - joints) * width
    return 2 * n + contacts + rows + room + 2, 4 * n + 13 * contacts + 3 * rows + 2 * room


@njit(cache=True)
def assemble(
    law, dof, sign, source, dense, gain, low, high, body, point, frame, count, friction, gap, roundness, h,
    parent, last_dof, dof_root, tree_begin, tree_count, tree_column, factor, predicted, qvel, cdof, centre,
    movable, x, R, rows,
):  # fmt: skip
    """Fill the rows of a step.

    Args:
        law: Of the joint rows, as the next seven; see `RowSet`.
        dof: Degree of freedom.
        sign: Factor.
        source: Which dense row.
        dense: Dense rows.
        gain: Of drives.
        low: Of drives.
        high: Of drives.
        body: Of the contacts, as the next six; see `Contacts`.
        point: Where.
        frame: Normal and tangents.
        count: 1, 3 or 5 rows.
        friction: Coefficients.
        gap: Distance.
        roundness: Radii.
        h: Step [s].
        parent: Of each degree of freedom, as the next two; see `Tree`.
        last_dof: Of each body.
        dof_root: Root body.
        tree_begin: Layout of M, as the next two.
        tree_count: Entries.
        tree_column: Columns.
        factor: Lᵀ D L of M̃.
        predicted: ṽ.
        qvel: v⁻.
        cdof: mujoco's motions of the degrees of freedom.
        centre: mujoco's centres of the trees.
        movable: mujoco's numbers of the bodies.
        x: Origins of mujoco's bodies, shape (bodies, 3).
        R: Their orientations, shape (bodies, 9).
        rows: Out.
    """
    m, contacts = law.size, count.size
    start, kind, a, b = rows.start, rows.kind, rows.a, rows.b
    for i in range(m):
        start[i] = i
        kind[i] = NONNEGATIVE if law[i] == LIMIT else FREE
        a[i] = b[i] = rows.compliance[i] = 0.0
        if law[i] == DRIVE:
            rows.compliance[i] = 1.0 / gain[i] if gain[i] > 0.0 else 0.0
            if low[i] > -np.inf or high[i] < np.inf:
                kind[i], a[i], b[i] = BOX, h * low[i], h * high[i]
    start[m] = m
    for c in range(contacts):
        k = m + c
        rows.first[c] = start[k]
        start[k + 1] = start[k] + count[c]
        kind[k], a[k], b[k] = NONNEGATIVE, 0.0, 0.0
        if count[c] == 5:
            kind[k], a[k], b[k] = ROLLING, friction[c, 0], friction[c, 2]
        elif count[c] == 3 and friction[c, 0] != friction[c, 1]:
            kind[k], a[k], b[k] = ELLIPTIC, friction[c, 0], friction[c, 1]
        elif count[c] == 3:
            kind[k], a[k] = COULOMB, friction[c, 0]
    rows.compliance[m:] = 0.0
    points = np.empty((contacts, 2, 3))
    for c in range(contacts):
        points[c, 0] = point[c]
        points[c, 1] = point[c]
    begin, column, value = rows.begin, rows.column, rows.value
    begin[m] = given_rows(dof, sign, source, dense, parent, begin[: m + 1], column, value)
    contact_rows(
        body, points, frame, count, last_dof, dof_root, parent, cdof, centre, begin[m:], column, value
    )
    weigh(tree_begin, tree_count, tree_column, factor, begin, column, value, rows.weighed)
    row_products(begin, column, value, predicted, rows.free_velocity)
    before = np.empty(rows.square.size)
    row_products(begin, column, value, qvel, before)
    for c in range(contacts):
        rows.approach[c] = before[rows.first[c]]
    row_squares(begin, rows.weighed, rows.compliance, rows.square)
    constraint_scale(rows.square, start, rows.scale, rows.length)
    carried_points(body, point, frame, gap, roundness, movable, x, R, rows.local)
    place_points(body, rows.local, movable, x, R, rows.carried)


@njit(cache=True)
def free_tree(
    begin, count, column, M, extra, qvel, force, spring, lift, fluid, bias, h, parent, dof_begin, dof_count,
    root, slot, cdof, centre, com, frames, velocity, bound, factor, predicted, body_predicted, position,
    rotation, reach,
):  # fmt: skip
    """The step without constraints: M̃ ṽ = M v + h (forces − bias), and how far the bodies may come.

    Args:
        begin: Layout of M, as the next two.
        count: Entries.
        column: Columns.
        M: Inertia at the start.
        extra: Added to its diagonal.
        qvel: v⁻.
        force: Given forces, shape (nv,), as the next four.
        spring: Of springs.
        lift: Against gravity.
        fluid: Of the air.
        bias: What is subtracted.
        h: Step [s].
        parent: See `body_velocities`, as the next four.
        dof_begin: First degree of freedom.
        dof_count: How many.
        root: Root body.
        slot: Line of each body.
        cdof: mujoco's motions, as the next three.
        centre: Centres of the trees.
        com: Centres of mass.
        frames: Principal frames.
        velocity: Of the bodies at the start, shape (n, 6).
        bound: Radius of each body.
        factor: Out: Lᵀ D L of M̃.
        predicted: Out: ṽ.
        body_predicted: Out, shape (n, 6).
        position: Out: centres of mass, shape (n, 3).
        rotation: Out: principal frames, shape (n, 3, 3).
        reach: Out, shape (n,).
    """
    factorise(begin, count, column, M, extra, factor)
    multiply(begin, count, column, M, qvel, predicted)
    for j in range(predicted.size):
        predicted[j] += h * (force[j] + spring[j] + lift[j] + fluid[j] - bias[j])
    solve(begin, count, column, factor, predicted)
    body_predicted[:] = 0.0
    twist = np.empty((parent.size, 6))
    body_velocities(
        parent, dof_begin, dof_count, root, slot, cdof, centre, com, predicted, twist, body_predicted
    )
    travel(bound, velocity, body_predicted, h, reach)
    for b in range(slot.size):
        i = slot[b]
        if i >= 0:
            for r in range(3):
                position[i, r] = com[b, r]
                for k in range(3):
                    rotation[i, r, k] = frames[b, 3 * r + k]


@njit(cache=True)
def tree_residuals(rows, tree_begin, tree_count, tree_column, factor, predicted, impulse, v, bias):
    """The numbers of `block_residuals` for rows over generalised velocities.

    Args:
        rows: The rows.
        tree_begin: Layout of M, as the next two.
        tree_count: Entries.
        tree_column: Columns.
        factor: Lᵀ D L of M̃.
        predicted: ṽ.
        impulse: λ.
        v: Velocity.
        bias: Of the rows.
    """
    n, joints = impulse.size, rows.kind.size - rows.first.size
    y, work, gap, pushed = np.empty(n), np.empty(n), np.empty(n), np.empty(v.size)
    row_products(rows.begin, rows.column, rows.value, v, y)
    for i in range(n):
        y[i] += bias[i] + rows.compliance[i] * impulse[i]
    parameters = parameters_of(rows.a, rows.b)
    violation(rows.kind, rows.start, parameters, rows.scale, rows.length, False, impulse, y, work, gap)
    out = np.zeros(4)
    for c in range(rows.kind.size):
        for i in range(rows.start[c], rows.start[c + 1]):
            block = 0 if c < joints else (1 if i == rows.start[c] else 2)
            if not abs(gap[i]) <= out[block] and not math.isnan(out[block]):
                out[block] = abs(gap[i])
    transposed_product(rows.begin, rows.column, rows.value, impulse, pushed)
    solve(tree_begin, tree_count, tree_column, factor, pushed)
    for j in range(v.size):
        drift = abs(predicted[j] + pushed[j] - v[j])
        if not drift <= out[3] and not math.isnan(out[3]):
            out[3] = drift
    return out
