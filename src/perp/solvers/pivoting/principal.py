"""Block principal pivoting for LCPs and boxed LCPs with P- or positive semidefinite matrices.

Guess which rows are free, solve for them, and exchange every row whose sign is wrong at once; when the number
of wrong rows has not shrunk for a while, exchange only the last of them until it does (Murty's rule, finite
for P-matrices). A singular free block is handled by proximal steps: the matrix is shifted by a little of its
scale, and the right-hand side moves along until the shift has no effect. A step costs one factorisation of
the free block, or a few O(k²) updates of it, and one product with the free columns; it needs n² + O(n)
numbers. Large sparse matrices stay sparse, see `sparse_principal`.

Reference: Júdice and Pires, A block principal pivoting algorithm for large-scale strictly monotone linear
complementarity problems, Computers & Operations Research 21 (1994).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perp.problems import LCP, BoxedLCP, Status
from perp.problems.boxed_kernels import clip
from perp.problems.infeasibility import proves_infeasible
from perp.problems.validation import Vector, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.pivoting.factors import (
    add_multiple,
    add_rows,
    append,
    cholesky,
    dot,
    lu,
    lu_solve,
    pivot_kernel,
    pivot_part,
    remove,
    solve_transposed,
    solve_upper,
)
from perp.solvers.pivoting.rows import (
    AT_HI,
    AT_LO,
    DONE,
    FREE,
    LIMIT,
    SINGULAR,
    STOPPED,
    PivotOptions,
    bounds_of,
    dense,
    describe,
    moving_bounds,
    pivot,
    sides_of,
)
from perp.solvers.pivoting.sparse_principal import SMALLEST, sparse_principal
from perp.solvers.registry import register
from perp.solvers.symmetry import is_symmetric

# Block exchanges that may fail to lower the number of wrong rows before single exchanges take over. Júdice
# and Pires recommend 10; more costs time only where the block rule cycles.
PATIENCE = 10
# Steps per row; Murty's rule may need 2ⁿ of them, and those problems end here.
STEPS_PER_ROW = 50
# Signs are wrong only beyond this much of what was summed to get them.
ROUND_OFF = 1e-13
# Updating the factor beats making it anew while this many rows, times this factor, change.
UPDATE_FACTOR = 6
# The shift of proximal steps, relative to the scale of each column: small enough that a few steps suffice,
# large enough that a block of many dependent rows is still well within working precision.
SHIFT = 1e-7
PROXIMAL_STEPS = 60
# A drift settles within a few steps; looking for a proof in fractions costs more than a step.
PROOF_AT = (3, 4, 6, 9, 14, 22, 35, 55)
# Steps in which another solver's spoilt answer must be repaired; its sides are close.
REPAIR_STEPS = 200
# Pivoting can do better than the tolerance for the price of one or two solves, so it does.
SHARP = 1e-13


class _Block(NamedTuple):
    """The problem and its free block, as views of `principal_steps`'s workspace."""

    M: Any  # Matrix, shape (n, n), with `shift` times `scale` on its diagonal
    q: Any  # vector, shape (n,)
    lo: Any  # lower bounds, shape (n,)
    hi: Any  # upper bounds, shape (n,)
    shift: Any  # the multiple of `scale`
    scale: Any  # size of each column
    center: Any  # where the shift pulls to
    symmetric: Any  # whether M is; otherwise blocks are factored as PLU
    sides: Any  # side of each row
    rows: Any  # rows of the free block
    position: Any  # −1 for rows that are not in it
    order: Any  # order of rows in the factors
    U: Any  # factors of the free block
    x: Any  # room for its unknowns
    z: Any  # the point
    w: Any  # M z + q with the shift


@pivot_part
def _fill(p, k):
    """Copy the free block into U, with the shift on its diagonal."""
    rows = p.rows
    for a in range(k):
        source, target = p.M[rows[a]], p.U[a]
        for b in range(a if p.symmetric else 0, k):
            target[b] = source[rows[b]]
        target[a] += p.shift * p.scale[rows[a]]


@pivot_part
def _update(p, k):
    """Bring the factor from the old free set to the one in `sides`; returns the new size, −1 if singular."""
    M, rows, sides, position, U, column = p.M, p.rows, p.sides, p.position, p.U, p.x
    n = sides.size
    for place in range(k - 1, -1, -1):
        i = rows[place]
        if sides[i] != FREE:
            remove(U, k, place)
            k -= 1
            for a in range(place, k):
                rows[a] = rows[a + 1]
            position[i] = -1
    for i in range(n):
        if sides[i] == FREE and position[i] < 0:
            for a in range(k):
                column[a] = M[i, rows[a]]
            solve_transposed(U, k, column)
            diagonal = M[i, i] + p.shift * p.scale[i]
            pivot = diagonal - dot(column[:k], column[:k])
            if not pivot > 1e-13 * diagonal:
                return -1
            append(U, k, column, pivot)
            rows[k] = i
            position[i] = 0
            k += 1
    return k


@pivot_part
def _free_block(p):
    """Collect and factor the free block afresh; returns its size, −1 if it is singular."""
    k = 0
    for i in range(p.sides.size):
        p.position[i] = -1
        if p.sides[i] == FREE:
            p.rows[k] = i
            p.position[i] = k
            k += 1
    _fill(p, k)
    singular = cholesky(p.U, k, p.x) if p.symmetric else lu(p.U, k, p.order)
    return k if singular < 0 else -1


@pivot_part
def _solve_free(p, k):
    """The step of the free rows that brings their w to zero, into x."""
    for a in range(k):
        p.x[a] = -p.w[p.rows[a]]
    if p.symmetric:
        solve_transposed(p.U, k, p.x)
        solve_upper(p.U, k, p.x)
    else:
        lu_solve(p.U, k, p.order, p.x)


@pivot_part
def _slack_of_resting(p):
    """Put resting rows at their bounds and free ones at zero; w = M z + q + shift scale (z − center)."""
    z, w, sides = p.z, p.w, p.sides
    n = z.size
    for i in range(n):
        z[i] = p.lo[i] if sides[i] == AT_LO else (p.hi[i] if sides[i] == AT_HI else 0.0)
        w[i] = p.q[i] + p.shift * p.scale[i] * (z[i] - p.center[i])
    if p.symmetric:
        for i in range(n):
            if z[i] != 0.0:
                add_multiple(w, z[i], p.M[i])
    else:
        for i in range(n):
            w[i] += dot(p.M[i], z)


@pivot_part
def _move_free(p, k):
    """Add x to the free rows of z, and what that does to w."""
    rows, x, w = p.rows, p.x, p.w
    for a in range(k):
        p.z[rows[a]] += x[a]
        w[rows[a]] += p.shift * p.scale[rows[a]] * x[a]
    if p.symmetric:
        add_rows(w, p.M, rows, x, k)
        return
    for i in range(w.size):
        row = p.M[i]
        total = 0.0
        for a in range(k):
            total += row[rows[a]] * x[a]
        w[i] += total


@pivot_part
def _wrong_rows(p, wrong):
    """List the rows whose sign is wrong; returns how many."""
    q, lo, hi, sides, z, w = p.q, p.lo, p.hi, p.sides, p.z, p.w
    largest = 0.0
    for i in range(q.size):
        largest = max(largest, abs(q[i]))
    slack = ROUND_OFF * largest
    count = 0
    for i in range(q.size):
        side = sides[i]
        if side == FREE:
            bad = not (lo[i] <= z[i] <= hi[i])
        elif side == AT_LO:
            bad = w[i] < -slack and lo[i] != hi[i]
        else:
            bad = w[i] > slack and lo[i] != hi[i]
        if bad:
            wrong[count] = i
            count += 1
    return count


@pivot_kernel
def principal_steps(M, q, bounds, integers, work, shift, symmetric, limit):
    """Pivot until every sign is right; returns (outcome, steps).

    Args:
        M: Matrix, shape (n, n).
        q: Vector, shape (n,).
        bounds: Lower and upper bounds, shapes (n,).
        integers: fewest wrong rows so far, patience left, sides, then workspace; shape (2 + 5 n,).
        work: z, center, scale, then workspace; shape (n (n + 5),). Center and scale are read, z is written.
        shift: The multiple of `scale` on the diagonal.
        symmetric: Whether M is; otherwise blocks are factored as PLU.
        limit: Largest number of steps.
    """
    n, (lo, hi) = q.size, bounds
    sides, rows, position = integers[2 : 2 + n], integers[2 + n : 2 + 2 * n], integers[2 + 2 * n : 2 + 3 * n]
    wrong, order = integers[2 + 3 * n : 2 + 4 * n], integers[2 + 4 * n : 2 + 5 * n]
    z, center, scale = work[:n], work[n : 2 * n], work[2 * n : 3 * n]
    w, x = work[3 * n : 4 * n], work[4 * n : 5 * n]
    U = work[5 * n : (n + 5) * n].reshape((n, n))
    p = _Block(M, q, lo, hi, shift, scale, center, symmetric, sides, rows, position, order, U, x, z, w)
    k, changed, steps = -1, n, 0
    while True:
        k = _update(p, k) if symmetric and changed * UPDATE_FACTOR < k else -1
        if k < 0:
            k = _free_block(p)
        if k < 0:
            return SINGULAR, steps
        steps += 1
        _slack_of_resting(p)
        _solve_free(p, k)
        _move_free(p, k)
        count = _wrong_rows(p, wrong)
        if count == 0:
            # one step of refinement removes what round-off has left in the free rows of w
            _solve_free(p, k)
            for a in range(k):
                i = rows[a]
                z[i] = clip(z[i] + x[a], lo[i], hi[i])
            return DONE, steps
        if count < integers[0]:
            integers[0], integers[1] = count, PATIENCE
        elif integers[1] > 0:
            integers[1] -= 1
        first = 0 if integers[1] > 0 else count - 1
        changed = count - first
        for c in range(first, count):
            i = wrong[c]
            if sides[i] != FREE:
                sides[i] = FREE
            else:
                sides[i] = AT_LO if z[i] < lo[i] else AT_HI
        if steps >= limit:
            return LIMIT, steps


@pivot_kernel
def first_sides(M, q, lo, hi, scale, sides):
    """Sides of a cold start: those of every row solved by itself, with all others at zero."""
    for i in range(q.size):
        z = -q[i] / (M[i, i] if M[i, i] > 0.0 else scale[i])
        sides[i] = AT_HI if z >= hi[i] else (AT_LO if z <= lo[i] else FREE)


class _Steps:
    """The kernel with its workspace, for one problem."""

    def __init__(self, problem: LCP | BoxedLCP, control: Control, options: PivotOptions) -> None:
        n = problem.size
        self.M = dense(problem.M)
        self.q = problem.q
        self.bounded = isinstance(problem, BoxedLCP)
        self.lo, self.hi = bounds_of(problem)
        self.symmetric = is_symmetric(self.M)
        self.integers = np.empty(2 + 5 * n, dtype=np.int64)
        self.work = np.zeros(n * (n + 5))
        self.sides = self.integers[2 : 2 + n]
        self.z, self.center, self.scale = (self.work[i * n : (i + 1) * n] for i in range(3))
        self.scale[:] = problem.column_scale
        self.control = control
        self.every = options.check_every or (1 if control.watched else 0)
        self.limit = control.limit(STEPS_PER_ROW * max(n, 4))
        self.steps = 0
        if control.start is None:
            first_sides(self.M, self.q, self.lo, self.hi, problem.column_scale, self.sides)
        else:
            self.sides[:] = sides_of(control.start, self.lo, self.hi)

    def iterate(self) -> Vector:
        return np.clip(self.z, self.lo, self.hi)

    def run(self, shift: float) -> int:
        """Pivot with this shift until the signs are right; returns the outcome."""
        n = self.q.size
        self.integers[:2] = n + 1, PATIENCE

        def advance(count: int) -> tuple[int, int]:
            return principal_steps(
                self.M, self.q, (self.lo, self.hi), self.integers, self.work, shift, self.symmetric, count
            )

        outcome, steps = pivot(
            advance, self.iterate, self.control, limit=self.limit - self.steps, every=self.every
        )
        self.steps += steps
        return outcome


@register(
    "principal",
    takes=(LCP, BoxedLCP),
    summary="block principal pivoting; P-matrices and semidefinite ones, the fast choice for n ≥ 64",
    options=PivotOptions,
    refuses=moving_bounds,
)
def principal(problem: LCP | BoxedLCP, control: Control, options: PivotOptions) -> Attempt:
    """Solve a (boxed) LCP by block principal pivoting, with proximal steps where a block is singular."""
    if is_sparse(problem.M) and problem.size >= SMALLEST:
        return sparse_principal(problem, control)
    steps = _Steps(problem, control, options)
    outcome = steps.run(0.0)
    if outcome == SINGULAR:
        return _proximal(problem, control, steps)
    return _attempt(steps, steps.z.copy() if outcome == DONE else steps.iterate(), outcome)


def _attempt(steps: _Steps, z: Vector, outcome: int) -> Attempt:
    reasons = {LIMIT: Status.ITERATION_LIMIT, STOPPED: steps.control.reason, SINGULAR: Status.STALLED}
    reason = reasons.get(outcome)
    info = describe(steps.sides, steps.steps, bounded=steps.bounded)
    return Attempt(z, steps.steps, reason, info)


def _proximal(problem: LCP | BoxedLCP, control: Control, steps: _Steps) -> Attempt:
    """Proximal steps until the residual is sharp or stops falling; a divergent one gives a certificate."""
    if control.start is not None:
        steps.center[:] = np.clip(control.start, steps.lo, steps.hi)
    best, best_z = np.inf, np.clip(np.zeros(problem.size), steps.lo, steps.hi)
    outcome = DONE
    for count in range(PROXIMAL_STEPS):
        outcome = steps.run(SHIFT)
        z = steps.iterate()
        value = control.measure(z)
        falling = value < 0.5 * best
        if value < best:
            best, best_z = value, z
        if outcome != DONE or best <= SHARP or (best <= control.tol and not falling):
            break
        if not falling and count in PROOF_AT:
            drift = z - steps.center
            certificate = np.maximum(drift, 0.0) if isinstance(problem, LCP) else drift
            if proves_infeasible(problem, certificate):
                attempt = _attempt(steps, best_z, outcome)
                attempt.reason = Status.INFEASIBLE
                attempt.info["certificate"] = certificate
                return attempt
        steps.center[:] = z
    else:
        outcome = LIMIT if best > control.tol else DONE
    return _attempt(steps, best_z, outcome)


def repair(problem: LCP | BoxedLCP, control: Control, attempt: Attempt) -> Attempt:
    """Go on from the sides of an answer that round-off has spoilt, and keep what is better."""
    left = max(0, control.limit(attempt.iterations + REPAIR_STEPS) - attempt.iterations)
    inner = Control(
        control.measure, tol=control.tol, max_iterations=left, time_limit=control.remaining(), start=attempt.z
    )
    other = principal(problem, inner, PivotOptions())
    other.iterations += attempt.iterations
    other.info.update(pivots=other.iterations, repaired_by="principal")
    if "ray" in attempt.info:
        other.info["ray"] = attempt.info["ray"]
    proved = other.reason is Status.INFEASIBLE
    return other if proved or control.measure(other.z) <= control.measure(attempt.z) else attempt
