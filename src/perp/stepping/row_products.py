"""Compiled products with the constraint Jacobian, in the layout of two bodies per row.

Row i touches bodies[i] = (child, parent), either of which may be −1 (the world), with jacobian[i] = 12
numbers: the child's six, then the parent's. All rows of one constraint touch the same bodies.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.dynamics.motion import turn_coefficients


@njit(cache=True)
def row_velocity(bodies, jacobian, u, out):
    """J u, shape (rows,)."""
    for i in range(bodies.shape[0]):
        total = 0.0
        for side in range(2):
            b = bodies[i, side]
            if b >= 0:
                for k in range(6):
                    total += jacobian[i, 6 * side + k] * u[b, k]
        out[i] = total


@njit(cache=True)
def body_impulse(bodies, jacobian, impulse, out):
    """Jᵀ λ, shape (n, 6)."""
    out[:] = 0.0
    for i in range(bodies.shape[0]):
        for side in range(2):
            b = bodies[i, side]
            if b >= 0:
                for k in range(6):
                    out[b, k] += jacobian[i, 6 * side + k] * impulse[i]


@njit(cache=True)
def weigh_rows(bodies, jacobian, inverse, out):
    """Rows of J M⁻¹ in the same layout, shape (rows, 12)."""
    for i in range(bodies.shape[0]):
        for side in range(2):
            b = bodies[i, side]
            for k in range(6):
                total = 0.0
                if b >= 0:
                    for m in range(6):
                        total += inverse[b, k, m] * jacobian[i, 6 * side + m]
                out[i, 6 * side + k] = total


@njit(cache=True)
def apply_inverse(inverse, x, out):
    """M⁻¹ x over bodies, shapes (n, 6)."""
    for b in range(x.shape[0]):
        for k in range(6):
            total = 0.0
            for m in range(6):
                total += inverse[b, k, m] * x[b, m]
            out[b, k] = total


@njit(cache=True)
def coupling(bodies, left, weighed, i, j):
    """Entry (i, j) of L M⁻¹ Jᵀ, with the rows of J M⁻¹ in `weighed`."""
    total = 0.0
    for a in range(2):
        for b in range(2):
            if bodies[i, a] >= 0 and bodies[i, a] == bodies[j, b]:
                for k in range(6):
                    total += left[i, 6 * a + k] * weighed[j, 6 * b + k]
    return total


@njit(cache=True)
def constraint_scale(bodies, jacobian, weighed, compliance, start, scale, length):
    """Velocity per impulse of each constraint, from the diagonal of W, and the length of its rolling rows.

    The length turns rolling rates into velocities, as in `ContactProblem.rolling_length`.
    """
    for c in range(start.size - 1):
        first, last = start[c], start[c + 1]
        linear = angular = 0.0
        for i in range(first, last):
            entry = coupling(bodies, jacobian, weighed, i, i) + compliance[i]
            if i - first < 3:
                linear = max(linear, entry)
            else:
                angular = max(angular, entry)
        scale[c] = linear if linear > 0.0 else 1.0
        length[c] = math.sqrt(linear / angular) if linear > 0.0 and angular > 0.0 else 1.0


@njit(cache=True)
def dense_delassus(bodies, left, weighed, compliance, W):
    """W = L M⁻¹ Jᵀ + Σ, dense; L = J gives the Delassus matrix."""
    for i in range(bodies.shape[0]):
        for j in range(bodies.shape[0]):
            W[i, j] = coupling(bodies, left, weighed, i, j)
        W[i, i] += compliance[i]


@njit(cache=True)
def neighbours(bodies, start, body_count):
    """Which constraints share a body: CSR over constraints, columns sorted, itself included.

    Returns:
        indptr, shape (constraints + 1,), and indices.
    """
    count = start.size - 1
    first = np.zeros(body_count + 1, dtype=np.int64)
    for c in range(count):
        for side in range(2):
            b = bodies[start[c], side]
            if b >= 0:
                first[b + 1] += 1
    for b in range(body_count):
        first[b + 1] += first[b]
    members = np.empty(first[body_count], dtype=np.int64)
    fill = first[:-1].copy()
    for c in range(count):
        for side in range(2):
            b = bodies[start[c], side]
            if b >= 0:
                members[fill[b]] = c
                fill[b] += 1
    indptr = np.zeros(count + 1, dtype=np.int64)
    indices = np.empty(0, dtype=np.int64)
    for sweep in range(2):
        if sweep == 1:
            indices = np.empty(indptr[count], dtype=np.int64)
        for c in range(count):
            # two sorted lists merged: constraints of the child and of the parent
            a, b = bodies[start[c], 0], bodies[start[c], 1]
            i, i_end = (first[a], first[a + 1]) if a >= 0 else (0, 0)
            j, j_end = (first[b], first[b + 1]) if b >= 0 else (0, 0)
            at = indptr[c]
            found = 0
            while i < i_end or j < j_end:
                if j >= j_end or (i < i_end and members[i] <= members[j]):
                    member = members[i]
                    if j < j_end and members[j] == member:
                        j += 1
                    i += 1
                else:
                    member = members[j]
                    j += 1
                if sweep == 1:
                    indices[at + found] = member
                found += 1
            if sweep == 0:
                indptr[c + 1] = indptr[c] + found
    return indptr, indices


@njit(cache=True)
def sparse_delassus(bodies, left, weighed, compliance, start, block_indptr, block_indices):
    """W = L M⁻¹ Jᵀ + Σ in CSR: data, indices, indptr, from the constraints that share bodies."""
    rows, count = bodies.shape[0], start.size - 1
    indptr = np.zeros(rows + 1, dtype=np.int32)
    for c in range(count):
        width = 0
        for k in range(block_indptr[c], block_indptr[c + 1]):
            d = block_indices[k]
            width += start[d + 1] - start[d]
        for i in range(start[c], start[c + 1]):
            indptr[i + 1] = indptr[i] + width
    indices = np.empty(indptr[rows], dtype=np.int32)
    data = np.empty(indptr[rows])
    for c in range(count):
        for i in range(start[c], start[c + 1]):
            at = indptr[i]
            for k in range(block_indptr[c], block_indptr[c + 1]):
                d = block_indices[k]
                for j in range(start[d], start[d + 1]):
                    indices[at] = j
                    data[at] = coupling(bodies, left, weighed, i, j)
                    if i == j:
                        data[at] += compliance[i]
                    at += 1
    return data, indices, indptr


@njit(cache=True)
def turn_rows(bodies, jacobian, u, h):
    """Angular parts times the left Jacobian of the rotation h ω: from turning at the end of a step to ω."""
    for i in range(bodies.shape[0]):
        for side in range(2):
            b = bodies[i, side]
            if b < 0:
                continue
            wx, wy, wz = h * u[b, 3], h * u[b, 4], h * u[b, 5]
            first, second = turn_coefficients(wx, wy, wz)
            at = 6 * side + 3
            rx, ry, rz = jacobian[i, at], jacobian[i, at + 1], jacobian[i, at + 2]
            # rᵀ (1 + first [w]× + second [w]×²), and rᵀ [w]× = (r × w)ᵀ
            cx, cy, cz = ry * wz - rz * wy, rz * wx - rx * wz, rx * wy - ry * wx
            jacobian[i, at] = rx + first * cx + second * (cy * wz - cz * wy)
            jacobian[i, at + 1] = ry + first * cy + second * (cz * wx - cx * wz)
            jacobian[i, at + 2] = rz + first * cz + second * (cx * wy - cy * wx)
