"""The Newton system of contacts by way of the bodies: for problems in dynamics form.

B_c dx_c + C_c ((W + σ D) dx)_c = −F_c with W = J M⁻¹ Jᵀ + Σ is the same as M dv = Jᵀ dx with

    dx_c = −A_c⁻¹ (F_c + C_c J_c dv),   A_c = B_c + C_c (Σ + σ D)_c,

so that (M + Jᵀ A⁻¹ C J) dv is what must be solved: one block for each body and each pair of bodies that
touch, however many contacts they share. A needs a little compliance; what that costs in digits a refinement
against W gives back. Bodies are eliminated in the order of least degree by `block_elimination`.

Reference: Castro, Permenter and Han, An unconstrained convex formulation of compliant contact (2022), for
Newton's method in velocities.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.block_elimination import factorise, substitute
from perp.kernels.body_form import body_form_of, group_unknowns, has_body_form
from perp.kernels.elimination import eliminate
from perp.problems import ContactProblem

# Compliance at least, relative to the scale of a constraint: it keeps A invertible where a contact sticks.
LEAST_COMPLIANCE = 1e-9
# Refinements at most; they end when one gains less than this.
REFINEMENTS, ENOUGH = 4, 0.1
# Bodies with more unknowns than this, or constraints on more bodies, are left to W.
LARGEST_BODY, MOST_BODIES = 12, 4


class Graph(NamedTuple):
    """A block matrix over bodies with the names of `Blocks`."""

    start: np.ndarray
    first: np.ndarray
    column: np.ndarray
    at: np.ndarray
    data: np.ndarray


class BodyOrder(NamedTuple):
    """What the elimination over bodies needs, in place of an order over constraints.

    Attributes:
        order: What `eliminate` returned for the bodies. mass: M in blocks, with the pattern of the system.
        first, body, at, J, own, own_at: As in `BodyForm`. pair, pair_first: Where the block of each pair of
        bodies of a constraint stands in the pattern, and its offsets. factor: Of the rows of each constraint.
    """

    order: Any
    mass: Graph
    first: np.ndarray
    body: np.ndarray
    at: np.ndarray
    J: np.ndarray
    own: np.ndarray
    own_at: np.ndarray
    pair: np.ndarray
    pair_first: np.ndarray
    factor: np.ndarray


def body_order_of(problem: ContactProblem) -> BodyOrder | None:
    """The order over bodies of a problem that has small ones, else None."""
    if not has_body_form(problem):
        return None
    from scipy.sparse import csr_array, eye_array

    form = body_form_of(problem)
    bodies, count = form.unknown.size - 1, form.first.size - 1
    touching = np.diff(form.first)
    if np.diff(form.unknown).max(initial=0) > LARGEST_BODY or touching.max(initial=0) > MOST_BODIES:
        return None
    incidence: Any = csr_array((np.ones(form.body.size), form.body, form.first), shape=(count, bodies))
    pattern = (incidence.T @ incidence + eye_array(bodies)).tocsr()
    pattern.sort_indices()
    first, column = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)
    width = np.diff(form.unknown)
    area = np.repeat(width, np.diff(first)) * width[column]
    at = np.concatenate([[0], np.cumsum(area)])
    data = np.zeros(at[-1])
    _place_mass(problem, form.unknown, first, column, at, data)
    pair_first = np.concatenate([[0], np.cumsum(touching**2)])
    return BodyOrder(
        eliminate(first, column), Graph(form.unknown, first, column, at[:-1], data), form.first, form.body,
        form.at, form.J, form.own, form.own_at, _pairs(form.first, form.body, first, column, pair_first),
        pair_first, np.ones(count),
    )  # fmt: skip


def _place_mass(problem: ContactProblem, unknown, first, column, at, data) -> None:
    """The entries of the mass into the diagonal blocks of the pattern."""
    dynamics: Any = problem.dynamics
    group, place, _ = group_unknowns(dynamics.mass, dynamics.mass_solver.inverse)
    entries = dynamics.mass_rows.tocoo()
    owner = group[entries.row]
    rows = np.repeat(np.arange(first.size - 1), np.diff(first))
    diagonal = at[:-1][rows == column]
    r, s = place[entries.row] - unknown[owner], place[entries.col] - unknown[owner]
    np.add.at(data, diagonal[owner] + r * np.diff(unknown)[owner] + s, entries.data)


@kernel(nogil=True)
def _pairs(slot, body, first, column, pair_first):
    """Where the blocks of the pairs of bodies of each constraint stand in the pattern."""
    out = np.empty(pair_first[-1], np.int64)
    for c in range(slot.size - 1):
        n = slot[c + 1] - slot[c]
        for a in range(n):
            row = body[slot[c] + a]
            for b in range(n):
                wanted = body[slot[c] + b]
                low, high = first[row], first[row + 1]
                while high - low > 1:
                    middle = (low + high) // 2
                    if column[middle] <= wanted:
                        low = middle
                    else:
                        high = middle
                out[pair_first[c] + a * n + b] = low
    return out


@kernel(nogil=True)
def _condense(blocks, bodies, rho, sigma, c, B, C, A, inverse, K):
    """A⁻¹ and K = A⁻¹ C of constraint c; false where A is singular."""
    size = blocks.start[c + 1] - blocks.start[c]
    p, own, f = blocks.at[blocks.diagonal[c]], bodies.own_at[c], bodies.factor[c]
    for s in range(size):
        # what the diagonal of W has beyond the bodies: compliance and a proximal term
        k = s * (size + 1)
        soft = max(blocks.data[p + k] - f * f * bodies.own[own + k], 0.0) + sigma * rho[c]
        soft = max(soft, LEAST_COMPLIANCE * rho[c])
        for r in range(size):
            A[r, s] = B[r, s] + C[r, s] * soft
            A[r, size + s] = 1.0 if r == s else 0.0
    for k in range(size):
        best = k
        for r in range(k + 1, size):
            if abs(A[r, k]) > abs(A[best, k]):
                best = r
        if A[best, k] == 0.0:
            return False
        for s in range(2 * size):
            A[k, s], A[best, s] = A[best, s], A[k, s]
        pivot = 1.0 / A[k, k]
        for s in range(2 * size):
            A[k, s] *= pivot
        for r in range(size):
            t = A[r, k]
            if r != k and t != 0.0:
                for s in range(2 * size):
                    A[r, s] -= t * A[k, s]
    for r in range(size):
        for s in range(size):
            inverse[r, s] = A[r, size + s]
    for r in range(size):
        for s in range(size):
            K[r, s] = 0.0
            for m in range(size):
                K[r, s] += inverse[r, m] * C[m, s]
    return True


@kernel(nogil=True)
def factorise_bodies(blocks, bodies, rho, sigma, closed, B, C):
    """Factors for `substitute_bodies`; arguments as in `block_elimination.factorise`."""
    count, largest = closed.size, B.shape[1]
    inverse, K = np.zeros((count, largest, largest)), np.zeros((count, largest, largest))
    A, KJ = np.empty((largest, 2 * largest)), np.empty((largest, LARGEST_BODY))
    graph, slot, J = bodies.mass, bodies.first, bodies.J
    unknown, data = graph.start, graph.data.copy()
    singular = 0
    for c in range(count):
        if not closed[c]:
            continue
        if not _condense(blocks, bodies, rho, sigma, c, B[c], C[c], A, inverse[c], K[c]):
            singular += 1
            continue
        size, n = blocks.start[c + 1] - blocks.start[c], slot[c + 1] - slot[c]
        f = bodies.factor[c] * bodies.factor[c]
        for b in range(n):
            p = bodies.at[slot[c] + b]
            width = unknown[bodies.body[slot[c] + b] + 1] - unknown[bodies.body[slot[c] + b]]
            for r in range(size):
                for m in range(width):
                    total = 0.0
                    for s in range(size):
                        total += K[c, r, s] * J[p + s * width + m]
                    KJ[r, m] = f * total
            for a in range(n):
                q, owner = bodies.at[slot[c] + a], bodies.body[slot[c] + a]
                height = unknown[owner + 1] - unknown[owner]
                base = graph.at[bodies.pair[bodies.pair_first[c] + a * n + b]]
                for k in range(height):
                    for s in range(size):
                        weight = J[q + s * height + k]
                        if weight != 0.0:
                            for m in range(width):
                                data[base + k * width + m] += weight * KJ[s, m]
    system = Graph(unknown, graph.first, graph.column, graph.at, data)
    n = unknown.size - 1
    most = 1
    for b in range(n):
        most = max(most, unknown[b + 1] - unknown[b])
    nothing, one = np.zeros((n, most, most)), np.zeros((n, most, most))
    for b in range(n):
        for k in range(most):
            one[b, k, k] = 1.0
    # pivots are compared with this: far below the smallest mass
    factors = factorise(system, bodies.order, np.full(n, 1e-280), 0.0, np.ones(n, np.bool_), nothing, one)
    return inverse, K, rho, sigma, system, one, factors, singular


@kernel(nogil=True)
def _solve(blocks, bodies, factors, closed, F, dx):
    """One solve with the factors; dx holds the changes of the open constraints."""
    inverse, K, _, _, system, one, inner, _ = factors
    start, slot, unknown, J = blocks.start, bodies.first, system.start, bodies.J
    right, dv = np.zeros(unknown[-1]), np.zeros(unknown[-1])
    moved = np.empty(K.shape[1])
    for c in range(closed.size):
        i, size, f = start[c], start[c + 1] - start[c], bodies.factor[c]
        if closed[c]:
            for r in range(size):
                total = 0.0
                for s in range(size):
                    total += inverse[c, r, s] * F[i + s]
                dx[i + r] = -total
        for k in range(slot[c], slot[c + 1]):
            j = unknown[bodies.body[k]]
            width = unknown[bodies.body[k] + 1] - j
            for r in range(size):
                push = f * dx[i + r]
                for m in range(width):
                    right[j + m] -= J[bodies.at[k] + r * width + m] * push
    substitute(system, bodies.order, inner, np.ones(unknown.size - 1, np.bool_), one, one, right, dv)
    for c in range(closed.size):
        if not closed[c]:
            continue
        i, size, f = start[c], start[c + 1] - start[c], bodies.factor[c]
        for r in range(size):
            moved[r] = 0.0
        for k in range(slot[c], slot[c + 1]):
            j = unknown[bodies.body[k]]
            width = unknown[bodies.body[k] + 1] - j
            for r in range(size):
                for m in range(width):
                    moved[r] += f * J[bodies.at[k] + r * width + m] * dv[j + m]
        for r in range(size):
            for s in range(size):
                dx[i + r] -= K[c, r, s] * moved[s]


@kernel(nogil=True)
def _left_over(blocks, rho, sigma, closed, B, C, F, dx, out):
    """F + B dx + C (W + σ D) dx of the closed constraints into `out`; returns its norm."""
    start, first, column, at, data = blocks.start, blocks.first, blocks.column, blocks.at, blocks.data
    moved, squares = np.empty(C.shape[1]), 0.0
    for c in range(closed.size):
        i, size = start[c], start[c + 1] - start[c]
        if not closed[c]:
            continue
        for r in range(size):
            moved[r] = sigma * rho[c] * dx[i + r]
        for k in range(first[c], first[c + 1]):
            j = start[column[k]]
            width = start[column[k] + 1] - j
            for r in range(size):
                for s in range(width):
                    moved[r] += data[at[k] + r * width + s] * dx[j + s]
        for r in range(size):
            total = F[i + r]
            for s in range(size):
                total += B[c, r, s] * dx[i + s] + C[c, r, s] * moved[s]
            out[i + r] = total
            squares += total * total
    return np.sqrt(squares)


@kernel(nogil=True)
def substitute_bodies(blocks, bodies, factors, closed, B, C, F, dx):
    """The solution of the system into dx, which holds that of the open constraints already."""
    rho, sigma = factors[2], factors[3]
    left, change, trial = np.zeros(F.size), np.zeros(F.size), np.empty(F.size)
    _solve(blocks, bodies, factors, closed, F, dx)
    error = _left_over(blocks, rho, sigma, closed, B, C, F, dx, left)
    for _ in range(REFINEMENTS):
        change[:] = 0.0
        _solve(blocks, bodies, factors, closed, left, change)
        for i in range(dx.size):
            trial[i] = dx[i] + change[i]
        new = _left_over(blocks, rho, sigma, closed, B, C, F, trial, left)
        if not new < error:
            break
        dx[:] = trial
        if new > ENOUGH * error:
            break
        error = new
