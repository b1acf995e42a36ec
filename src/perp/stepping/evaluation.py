"""Compiled evaluation of a step at given impulses: velocities, positions at the end, bias, residual."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from perp.dynamics.motion import mechanics, move, rotation_matrices, spin_velocity
from perp.dynamics.row_kernels import evaluate_rows
from perp.problems.law_kernels import violation
from perp.stepping.contact_equations import parameters_of
from perp.stepping.contact_rows import gaps, normal_rows
from perp.stepping.laws import DRIVE, contact_terms, joint_terms
from perp.stepping.row_products import body_impulse, row_velocity, turn_rows


class Frame(NamedTuple):
    """What the positions at the end of a step depend on.

    Attributes:
        h: Step [s].
        at_end: Whether positions are those of the end of the step (position level) or of its start.
        correction: Baumgarte's Υ where they are those of the start.
        recovery, rest_speed: See `contact_terms`.
        position, quaternion, predicted: Of the bodies at the start, and ũ.
        links, geometry, law, parameters, value: The joint rows, and their values at the start.
        body, carried, normal, gap, restitution, accuracy: Of the contacts; `normal` has the frames.
    """

    h: float
    at_end: bool
    correction: float
    recovery: float
    rest_speed: float
    position: np.ndarray
    quaternion: np.ndarray
    predicted: np.ndarray
    links: np.ndarray
    geometry: np.ndarray
    law: np.ndarray
    parameters: np.ndarray
    value: np.ndarray
    body: np.ndarray
    carried: np.ndarray
    normal: np.ndarray
    gap: np.ndarray
    restitution: np.ndarray
    accuracy: np.ndarray


@njit(cache=True)
def velocities(rows, predicted, impulse, u):
    """u = ũ + M⁻¹ Jᵀ λ."""
    u[:] = predicted
    for i in range(impulse.size):
        if impulse[i] == 0.0:
            continue
        for side in range(2):
            b = rows.bodies[i, side]
            if b >= 0:
                for k in range(6):
                    u[b, k] += rows.weighed[i, 6 * side + k] * impulse[i]


@njit(cache=True)
def _joints_after(frame, u, value, jacobian):
    """Values and Jacobians of the joint rows at the end of the step with velocities u."""
    n = u.shape[0]
    x, quat, R = np.empty((n, 3)), np.empty((n, 4)), np.empty((n, 3, 3))
    move(frame.position, frame.quaternion, u, frame.h, x, quat)
    rotation_matrices(quat, R)
    evaluate_rows(frame.links, frame.geometry, x, quat, R, frame.value, value, jacobian)


@njit(cache=True)
def bias_at(frame, rows, u, moving, bias):
    """What the laws add to the row velocities `moving` = J u, linearised at u; position values at the end."""
    h, m = frame.h, rows.start.size - 1 - rows.first.size
    contacts = rows.first.size
    bias[:] = 0.0
    joint, gap = frame.value[:m].copy(), frame.gap.copy()
    correction = frame.correction
    if frame.at_end:
        correction = 1.0
        if m:
            value, jacobian = np.empty(frame.law.size), np.empty((frame.law.size, 12))
            _joints_after(frame, u, value, jacobian)
            for i in range(m):
                joint[i] = value[i] - h * moving[i]
        gaps(frame.body, frame.carried, frame.normal, frame.gap, frame.position, u, h, gap)
        for c in range(contacts):
            gap[c] -= h * moving[rows.first[c]]
    if m:
        scratch = np.empty((3, m))
        joint_terms(
            frame.law, frame.parameters, joint, correction, h, bias[:m], scratch[0], scratch[1], scratch[2]
        )
    free = np.empty(contacts)
    for c in range(contacts):
        free[c] = rows.free_velocity[rows.first[c]]
    contact_terms(
        rows.first, frame.gap, gap, frame.accuracy, frame.restitution, rows.approach, free, correction,
        frame.recovery, frame.rest_speed, h, bias,
    )  # fmt: skip


@njit(cache=True)
def evaluate(frame, rows, impulse, u, bias, y):
    """Velocities u, bias and row velocities y = J u + bias + Σ λ at impulses λ."""
    velocities(rows, frame.predicted, impulse, u)
    row_velocity(rows.bodies, rows.jacobian, u, y)
    bias_at(frame, rows, u, y, bias)
    for i in range(y.size):
        y[i] += bias[i] + rows.compliance[i] * impulse[i]


@njit(cache=True)
def end_jacobian(frame, rows, u, left):
    """Rows of the exact derivative of y with respect to u: positions belong to the step's end."""
    left[:] = rows.jacobian
    if not frame.at_end:
        return
    m = rows.start.size - 1 - rows.first.size
    if m:
        value, jacobian = np.empty(frame.law.size), np.empty((frame.law.size, 12))
        _joints_after(frame, u, value, jacobian)
        for i in range(m):
            # drives on rates keep their row
            if frame.law[i] != DRIVE:
                left[i] = jacobian[i]
                turn_rows(rows.bodies[i : i + 1], left[i : i + 1], u, frame.h)
    normal_rows(frame.body, frame.carried, frame.normal, rows.first, frame.position, u, frame.h, left)
    for c in range(rows.first.size):
        i = rows.first[c]
        turn_rows(rows.bodies[i : i + 1], left[i : i + 1], u, frame.h)


@njit(cache=True)
def block_residuals(rows, predicted, impulse, u, bias):
    """Largest natural map of joint rows, normal rows and the other rows [m/s], and |u − ũ − M⁻¹ Jᵀ λ|.

    Returns:
        The four numbers, NaN where something is NaN, and J u, shape (rows,).
    """
    m, n = rows.start.size - 1 - rows.first.size, impulse.size
    moving, y, work, gap = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    row_velocity(rows.bodies, rows.jacobian, u, moving)
    for i in range(n):
        y[i] = moving[i] + bias[i] + rows.compliance[i] * impulse[i]
    parameters = parameters_of(rows.a, rows.b)
    violation(rows.kind, rows.start, parameters, rows.scale, rows.length, False, impulse, y, work, gap)
    out = np.zeros(4)
    for c in range(rows.kind.size):
        for i in range(rows.start[c], rows.start[c + 1]):
            block = 0 if c < m else (1 if i == rows.start[c] else 2)
            if not abs(gap[i]) <= out[block] and not math.isnan(out[block]):
                out[block] = abs(gap[i])
    pushed = np.empty_like(u)
    velocities(rows, predicted, impulse, pushed)
    for b in range(u.shape[0]):
        for k in range(6):
            if not abs(pushed[b, k] - u[b, k]) <= out[3] and not math.isnan(out[3]):
                out[3] = abs(pushed[b, k] - u[b, k])
    return out, moving


@njit(cache=True)
def end_of_step(
    mass, inertia, gravity, bodies, jacobian, impulse, spin, x, quat, h, keeps_spin, new_x, new_quat, u,
    numbers,
):  # fmt: skip
    """Where the bodies are after moving with u, with the spin of their momentum in u; see `mechanics`.

    With `keeps_spin` bodies go on turning as they did in the step: less true, and never with more energy.
    """
    move(x, quat, u, h, new_x, new_quat)
    R, pushed, momentum = np.empty((mass.size, 3, 3)), np.empty_like(u), np.empty((mass.size, 3))
    rotation_matrices(new_quat, R)
    body_impulse(bodies, jacobian, impulse, pushed)
    for b in range(mass.size):
        for k in range(3):
            momentum[b, k] = spin[b, k] + pushed[b, 3 + k]
    if not keeps_spin:
        spin_velocity(inertia, R, momentum, u)
    numbers[:] = mechanics(mass, inertia, R, new_x, u, gravity)
