"""Compiled assembly of a step's constraint rows: joints, then contacts, with everything the routes need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from perp.problems.set_kernels import BOX, COULOMB, ELLIPTIC, FREE, NONNEGATIVE, ROLLING
from perp.stepping.contact_rows import contact_jacobian
from perp.stepping.laws import DRIVE, LIMIT, joint_terms
from perp.stepping.row_products import constraint_scale, row_velocity, weigh_rows


class Rows(NamedTuple):
    """The rows of a step; constraint c has rows start[c] … start[c+1]−1.

    Attributes:
        kind, start, a, b: The sets, as in `perp.problems.Sets`.
        first: Normal row of each contact.
        bodies, jacobian: In the layout of `row_products`.
        weighed: Rows of J M⁻¹.
        compliance: Σ, shape (rows,).
        free_velocity: J ũ, shape (rows,).
        approach: J u⁻ of each normal row [m/s].
        scale: Velocity per impulse of each constraint.
        length: What turns its rolling rates into velocities [m].
    """

    kind: np.ndarray
    start: np.ndarray
    a: np.ndarray
    b: np.ndarray
    first: np.ndarray
    bodies: np.ndarray
    jacobian: np.ndarray
    weighed: np.ndarray
    compliance: np.ndarray
    free_velocity: np.ndarray
    approach: np.ndarray
    scale: np.ndarray
    length: np.ndarray


@njit(cache=True)
def assemble(
    m, law, parameters, value, h, links, joint_jacobian, body, at, frame, count, friction, x, inverse,
    velocity, predicted,
):  # fmt: skip
    """The rows of a step from the joint rows and from the contacts (see `Contacts`; `count` are their rows).

    Args:
        m: Number of joint rows.
        law: Of the joint rows, or more, as the next five; see `JointRows`.
        parameters: Of the laws.
        value: At the start.
        h: Step [s].
        links: See `row_kernels`.
        joint_jacobian: Shape (joint rows or more, 12).
        body: Of the contacts, as the next four.
        at: Where impulses act, see `contact_jacobian`.
        frame: Normal and tangents.
        count: 1, 3 or 5.
        friction: Coefficients.
        x: Centres of mass, shape (n, 3).
        inverse: M⁻¹, shape (n, 6, 6).
        velocity: u⁻, shape (n, 6).
        predicted: ũ, shape (n, 6).
    """
    contacts = count.size
    kind, start = np.empty(m + contacts, np.int64), np.empty(m + contacts + 1, np.int64)
    a, b = np.zeros(m + contacts), np.zeros(m + contacts)
    first = np.empty(contacts, np.int64)
    bias, joint_compliance = np.empty(m), np.empty(m)
    joint_terms(law, parameters, value, 1.0, h, bias, joint_compliance, a, b)
    for i in range(m):
        start[i] = i
        if law[i] == LIMIT:
            kind[i] = NONNEGATIVE
        else:
            kind[i] = BOX if law[i] == DRIVE and parameters[i, 4] < np.inf else FREE
    start[m] = m
    for c in range(contacts):
        k = m + c
        first[c] = start[k]
        start[k + 1] = start[k] + count[c]
        if count[c] == 1:
            kind[k] = NONNEGATIVE
        elif count[c] == 5:
            kind[k], a[k], b[k] = ROLLING, friction[c, 0], friction[c, 2]
        elif friction[c, 0] != friction[c, 1]:
            kind[k], a[k], b[k] = ELLIPTIC, friction[c, 0], friction[c, 1]
        else:
            kind[k], a[k] = COULOMB, friction[c, 0]
    rows = start[m + contacts]
    bodies, jacobian, weighed = np.empty((rows, 2), np.int64), np.empty((rows, 12)), np.empty((rows, 12))
    compliance, free, before = np.zeros(rows), np.empty(rows), np.empty(rows)
    for i in range(m):
        bodies[i, 0], bodies[i, 1] = links[i, 1], links[i, 2]
        jacobian[i] = joint_jacobian[i]
        compliance[i] = joint_compliance[i]
    contact_jacobian(body, at, frame, count, first, x, bodies, jacobian)
    weigh_rows(bodies, jacobian, inverse, weighed)
    row_velocity(bodies, jacobian, predicted, free)
    row_velocity(bodies, jacobian, velocity, before)
    approach = np.empty(contacts)
    for c in range(contacts):
        approach[c] = before[first[c]]
    scale, length = np.empty(m + contacts), np.empty(m + contacts)
    constraint_scale(bodies, jacobian, weighed, compliance, start, scale, length)
    return Rows(
        kind, start, a, b, first, bodies, jacobian, weighed, compliance, free, approach, scale, length
    )
