"""Preconditioned conjugate residual on the Schur complement, matrix free: (J M⁻¹ Jᵀ + C) x = b.

The operator is symmetric and at least semidefinite; conjugate residual minimises the residual over the Krylov
space and so makes steady progress where conjugate gradients oscillate. An iteration costs one pass over the
rows. The preconditioner is the diagonal (Jacobi) or the diagonal block of each constraint.

Reference: Saad, Iterative Methods for Sparse Linear Systems (2003), algorithm 6.20.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.stepping.row_products import apply_inverse, body_impulse, coupling, row_velocity


@njit(cache=True)
def _apply(bodies, jacobian, inverse, diagonal, x, pushed, moved, out):
    """(J M⁻¹ Jᵀ + C) x."""
    body_impulse(bodies, jacobian, x, pushed)
    apply_inverse(inverse, pushed, moved)
    row_velocity(bodies, jacobian, moved, out)
    for i in range(x.size):
        out[i] += diagonal[i] * x[i]


@njit(cache=True)
def block_inverses(bodies, jacobian, weighed, diagonal, start, whole, out):
    """Inverse of each constraint's diagonal block, or of its diagonal alone, shape (constraints, 5, 5)."""
    for c in range(start.size - 1):
        first, size = start[c], start[c + 1] - start[c]
        block = np.zeros((size, size))
        for i in range(size):
            for j in range(size):
                if i == j or whole:
                    block[i, j] = coupling(bodies, jacobian, weighed, first + i, first + j)
            block[i, i] = block[i, i] * (1.0 + 1e-12) + diagonal[first + i]
            if block[i, i] == 0.0:
                block[i, i] = 1.0
        out[c, :size, :size] = np.linalg.inv(block)


@njit(cache=True)
def _precondition(blocks, start, x, out):
    for c in range(start.size - 1):
        first, size = start[c], start[c + 1] - start[c]
        for i in range(size):
            total = 0.0
            for j in range(size):
                total += blocks[c, i, j] * x[first + j]
            out[first + i] = total


@njit(cache=True)
def conjugate_residual(bodies, jacobian, inverse, diagonal, blocks, start, b, tolerance, limit, x):
    """Solve into x, starting from zero; returns the number of iterations."""
    n = b.size
    pushed, moved = np.empty((inverse.shape[0], 6)), np.empty((inverse.shape[0], 6))
    x[:] = 0.0
    r, z, Az, PAp = b.copy(), np.empty(n), np.empty(n), np.empty(n)
    _precondition(blocks, start, r, z)
    _apply(bodies, jacobian, inverse, diagonal, z, pushed, moved, Az)
    p, Ap = z.copy(), Az.copy()
    energy = np.dot(z, Az)
    target = tolerance * tolerance * np.dot(b, z)
    for k in range(limit):
        _precondition(blocks, start, Ap, PAp)
        length = np.dot(Ap, PAp)
        if not length > 0.0 or energy == 0.0:
            return k
        alpha = energy / length
        for i in range(n):
            x[i] += alpha * p[i]
            r[i] -= alpha * Ap[i]
            z[i] -= alpha * PAp[i]
        if np.dot(r, z) <= target:
            return k + 1
        _apply(bodies, jacobian, inverse, diagonal, z, pushed, moved, Az)
        new = np.dot(z, Az)
        beta = new / energy
        energy = new
        for i in range(n):
            p[i] = z[i] + beta * p[i]
            Ap[i] = Az[i] + beta * Ap[i]
    return limit
