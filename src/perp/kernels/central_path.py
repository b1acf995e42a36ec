"""The central path of the relaxed problem: an interior point that rank does not trouble.

The impulses of the relaxation minimise ½ xᵀ W x + qᵀ x over the cones, which reads u = Gᵀ z, s = G x + g with
s, z in the cones and s ∘ z = 0; the path has s ∘ z = τ e, τ → 0. A step solves W + Gᵀ V⁻² G with
Nesterov–Todd scaling V, which has the blocks of W: one block elimination an iteration, whatever the rank of
W, with Mehrotra's predictor and corrector. Contacts at rest that share their load in many ways end in the
middle of their solutions, where active-set methods cycle. Exact friction is a sequence of such problems, with
the shift Γ of the last answer in q.

Reference: Acary, Armand, Nguyen and Shpakovych, Second-order cone programming for frictional contact
mechanics using interior point algorithm (2022).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.block_elimination import factorise, substitute
from perp.kernels.cone import disc_rows
from perp.kernels.cone_scaling import divide, inverse_square, room, scale, scaling, unscale
from perp.kernels.newton_step import largest_size
from perp.kernels.packed import Blocks, velocity, view
from perp.kernels.residual import MOST_ROWS, norm, residual_at, workspace

# The part of the way to the boundary of the cones that a step may go.
FRACTION = 0.995
# τ falls by no more than this in an iteration.
LEAST_CENTRING = 1e-3
# Iterations without progress after which the path is lost.
PATIENCE = 12
# Keeps pivots away from zero where W is singular and nothing presses.
REGULARISATION = 1e-15


@kernel(nogil=True, error_model="numpy")
def scaled(blocks, size):
    """The problem in impulses √d x / ‖q‖ and velocities u / (√d ‖q‖), and the factor back to impulses."""
    start = blocks.start
    count = start.size - 1
    factor = 1.0 / np.sqrt(blocks.d)
    data, q, back = blocks.data.copy(), np.empty(blocks.q.size), np.empty(blocks.q.size)
    low, high = blocks.low.copy(), blocks.high.copy()
    for c in range(count):
        low[c] /= factor[c] * size
        high[c] /= factor[c] * size
        rows = start[c + 1] - start[c]
        for i in range(start[c], start[c + 1]):
            q[i] = factor[c] * blocks.q[i] / size
            back[i] = factor[c] * size
        for k in range(blocks.first[c], blocks.first[c + 1]):
            o = blocks.column[k]
            for p in range(blocks.at[k], blocks.at[k] + rows * (start[o + 1] - start[o])):
                data[p] *= factor[c] * factor[o]
    return Blocks(
        start, blocks.row, low, high, blocks.mu, blocks.mu_r, blocks.stretch, blocks.scale, q,
        blocks.first, blocks.column, blocks.at, blocks.diagonal, data, np.ones(count),
        factor * blocks.size / size, blocks.relaxed,
    ), back  # fmt: skip


@kernel(nogil=True, error_model="numpy")
def cones_of(blocks):
    """The cones of all constraints: s = coefficient · x[row] + constant.

    Returns:
        first: Offsets of the cones in the rows of s. owner: The constraint of each cone. row, coefficient,
        constant: Of each row of s.
    """
    start = blocks.start
    count = start.size - 1
    most = 2 * start[count] + 2 * count
    first, owner = np.zeros(most + 1, np.int64), np.empty(most, np.int64)
    row, coefficient, constant = np.empty(most, np.int64), np.empty(most), np.zeros(most)
    cones = end = 0
    for c in range(count):
        i, size = start[c], start[c + 1] - start[c]
        if blocks.mu[c] < 0.0:
            for side in range(2):
                bound = blocks.low[c] if side == 0 else blocks.high[c]
                if math.isfinite(bound):
                    sign = 1.0 if side == 0 else -1.0
                    row[end], coefficient[end], constant[end] = i, sign, -sign * bound
                    owner[cones] = c
                    cones, end = cones + 1, end + 1
                    first[cones] = end
            continue
        for disc in range(2 if blocks.mu_r[c] >= 0.0 else 1):
            mu = blocks.mu[c] if disc == 0 else blocks.mu_r[c]
            m = disc_rows(size, blocks.mu_r[c]) if disc == 0 else 2
            row[end], coefficient[end] = i, min(mu, 1.0)
            for k in range(m):
                row[end + 1 + k], coefficient[end + 1 + k] = i + 1 + 2 * disc + k, min(1.0 / mu, 1.0)
            owner[cones] = c
            cones, end = cones + 1, end + 1 + m
            first[cones] = end
    return first[: cones + 1], owner[:cones], row[:end], coefficient[:end], constant[:end]


@kernel(nogil=True, error_model="numpy")
def _direction(blocks, order, factors, closed, B, C, cones, w, eta, right, gap, H, dx, ds, dz, F, work):
    """The step (dx, ds, dz) whose scaled change of s and z is `right`; `F` and `work` are workspaces."""
    first, owner, row, coefficient, _ = cones
    F[:] = H
    for b in range(owner.size):
        head = first[b]
        m = first[b + 1] - head
        unscale(w, eta[b], head, m, gap, head, work, 0)
        for k in range(m):
            work[k] = right[head + k] - work[k]
        unscale(w, eta[b], head, m, work, 0, work, MOST_ROWS)
        for k in range(m):
            F[row[head + k]] -= coefficient[head + k] * work[MOST_ROWS + k]
    substitute(blocks, order, factors, closed, B, C, F, dx)
    for b in range(owner.size):
        head, end = first[b], first[b + 1]
        m = end - head
        for k in range(head, end):
            ds[k] = coefficient[k] * dx[row[k]] + gap[k]
        unscale(w, eta[b], head, m, ds, head, work, 0)
        for k in range(m):
            work[k] = right[head + k] - work[k]
        unscale(w, eta[b], head, m, work, 0, dz, head)


@kernel(nogil=True, error_model="numpy")
def _longest(cones, s, ds, z, dz):
    """How far the step may go, at most 1."""
    first, owner = cones[0], cones[1]
    far = 1.0
    for b in range(owner.size):
        head = first[b]
        m = first[b + 1] - head
        far = min(far, FRACTION * room(s, ds, head, m), FRACTION * room(z, dz, head, m))
    return far


@kernel(nogil=True, error_model="numpy")
def _complementarity(cones, w, eta, z, tau, ds, dz, right, work):
    """What V dz + V⁻¹ ds must be for s ∘ z = τ e, with the correction for the products of ds and dz.

    The workspace holds the scaled point, what it must become, and the scaled ds and dz.
    """
    first, owner = cones[0], cones[1]
    goal, ahead, other = MOST_ROWS, 2 * MOST_ROWS, 3 * MOST_ROWS
    for b in range(owner.size):
        head = first[b]
        m = first[b + 1] - head
        scale(w, eta[b], head, m, z, head, work, 0)
        unscale(w, eta[b], head, m, ds, head, work, ahead)
        scale(w, eta[b], head, m, dz, head, work, other)
        work[goal] = tau
        for k in range(m):
            work[goal] -= work[k] * work[k] + work[ahead + k] * work[other + k]
        for k in range(1, m):
            work[goal + k] = (
                -2.0 * work[0] * work[k] - work[ahead] * work[other + k] - work[other] * work[ahead + k]
            )
        divide(work, 0, work, goal, m, right, head)


class Path(NamedTuple):
    """A point on the way, all arrays changed in place by `advance`.

    Attributes:
        inner: The problem in units of its own size. back: Factor from its impulses to those of the problem.
        cones: See `cones_of`. y, s, z: Impulses, slacks and multipliers. progress: The least error so far,
        and the iterations since it halved.
    """

    inner: Blocks
    back: np.ndarray
    cones: tuple
    y: np.ndarray
    s: np.ndarray
    z: np.ndarray
    progress: np.ndarray


@kernel(nogil=True, error_model="numpy")
def begin(blocks, x):
    """The path's first point, in the middle of the cones, from impulses x."""
    size = norm(blocks.q)
    inner, back = scaled(blocks, size if size > 0.0 else 1.0)
    cones = cones_of(inner)
    first, owner, row, coefficient, constant = cones
    y, s, z = x / back, np.empty(row.size), np.zeros(row.size)
    for b in range(owner.size):
        head = first[b]
        inside = 1.0
        for k in range(head, first[b + 1]):
            s[k] = coefficient[k] * y[row[k]] + constant[k]
            inside += abs(s[k]) if k > head else 0.0
        s[head] = max(s[head], inside)
        z[head] = 1.0
    return Path(inner, back, cones, y, s, z, np.array([math.inf, 0.0]))


@kernel(nogil=True, error_model="numpy")
def advance(blocks, order, path, x, tol, limit):
    """`limit` iterations along a path; x receives the impulses where they are better than x.

    Args:
        blocks: The relaxed problem.
        order: Of elimination, `Packed.order`.
        path: From `begin`; changed in place.
        x: The best impulses so far: changed in place.
        tol: The residual to reach.
        limit: Iterations at most.

    Returns:
        The residual of x, and the number of iterations: fewer where the path ends.
    """
    n, size = x.size, norm(blocks.q)
    u, work = np.empty(n), workspace()
    best = residual_at(blocks, x, u, size, work)
    if size == 0.0:
        return best, 0
    inner, back, cones, y, s, z, since = path
    first, owner, row, coefficient, constant = cones
    count, rows = inner.start.size - 1, row.size
    largest = largest_size(inner.start)
    B, C = np.empty((count, largest, largest)), np.zeros((count, largest, largest))
    for r in range(largest):
        C[:, r, r] = 1.0
    closed, ones = np.ones(count, np.bool_), np.ones(count)
    w, eta, right, gap = np.empty(rows), np.empty(owner.size), np.zeros(rows), np.empty(rows)
    ds, dz, dx, H = np.zeros(rows), np.zeros(rows), np.zeros(n), np.empty(n)
    impulse, F = np.empty(n), np.empty(n)
    done = 0
    while done < limit and best > tol:
        velocity(inner, y, u)
        tau = error = 0.0
        H[:] = u
        for k in range(rows):
            tau += s[k] * z[k]
            gap[k] = coefficient[k] * y[row[k]] + constant[k] - s[k]
            H[row[k]] -= coefficient[k] * z[k]
            error = max(error, abs(gap[k]))
        tau /= max(1, owner.size)
        for i in range(n):
            error = max(error, abs(H[i]))
        progress = error + tau
        since[1] = 0.0 if progress < 0.5 * since[0] else since[1] + 1.0
        since[0] = min(since[0], progress)
        if since[1] > PATIENCE or not progress < 1e30:
            break
        B[:] = 0.0
        healthy = True
        for b in range(owner.size):
            head = first[b]
            m = first[b + 1] - head
            eta[b] = scaling(s, z, head, m, w)
            healthy = healthy and eta[b] > 0.0 and eta[b] < 1e300
            c = owner[b]
            i = inner.start[c]
            for k in range(m):
                for j in range(m):
                    value = inverse_square(w, eta[b], head, k, j)
                    B[c, row[head + k] - i, row[head + j] - i] += (
                        coefficient[head + k] * coefficient[head + j] * value
                    )
        if not healthy:
            break
        for c in range(count):
            for r in range(inner.start[c + 1] - inner.start[c]):
                B[c, r, r] += REGULARISATION
        factors = factorise(inner, order, ones, 0.0, closed, B, C)
        ds[:] = 0.0
        dz[:] = 0.0
        _complementarity(cones, w, eta, z, 0.0, ds, dz, right, work)
        _direction(inner, order, factors, closed, B, C, cones, w, eta, right, gap, H, dx, ds, dz, F, work)
        centring = max(LEAST_CENTRING, (1.0 - _longest(cones, s, ds, z, dz)) ** 3)
        _complementarity(cones, w, eta, z, centring * tau, ds, dz, right, work)
        _direction(inner, order, factors, closed, B, C, cones, w, eta, right, gap, H, dx, ds, dz, F, work)
        step = _longest(cones, s, ds, z, dz)
        done += 1
        if not np.isfinite(np.sum(dx)) or step < 1e-10:
            break
        for i in range(n):
            y[i] += step * dx[i]
            impulse[i] = back[i] * y[i]
        for k in range(rows):
            s[k] += step * ds[k]
            z[k] += step * dz[k]
        value = residual_at(blocks, impulse, u, size, work)
        if value < best:
            best = value
            x[:] = impulse
    return best, done


@kernel(nogil=True, error_model="numpy")
def begin_path(packed, x):
    """`begin` of a packed problem."""
    return begin(view(packed), x)


@kernel(nogil=True, error_model="numpy")
def advance_path(packed, order, path, x, tol, limit):
    """`advance` of a packed problem: for looks in between."""
    return advance(view(packed), order, path, x, tol, limit)
