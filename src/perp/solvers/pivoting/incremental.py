"""Drives one row after another to its complementary state while all earlier ones stay in theirs.

This is the move that Dantzig's and Baraff's methods share; they differ in which row comes next. The row's z
is pushed against its w; the free rows move along so that their w stays zero. The push ends when the row's own
w is zero (it becomes free), at a bound, or earlier when another row must change sides. A push costs two
triangular solves with the factor of the free block and one product with its columns: O(n k) for k free rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perp.problems import LCP, BoxedLCP, Status
from perp.problems.boxed_kernels import clip
from perp.problems.infeasibility import proves_infeasible
from perp.solvers.attempt import Attempt, Control
from perp.solvers.pivoting.factors import (
    add_multiple,
    add_rows,
    append,
    dot,
    pivot_kernel,
    pivot_part,
    remove,
    solve_transposed,
    solve_upper,
)
from perp.solvers.pivoting.general_driving import drive_general
from perp.solvers.pivoting.principal import repair
from perp.solvers.pivoting.rows import (
    AT_HI,
    AT_LO,
    DONE,
    FREE,
    LIMIT,
    RAY,
    SINGULAR,
    STOPPED,
    UNSEEN,
    PivotOptions,
    bounds_of,
    dense,
    describe,
    pivot,
    sides_of,
)
from perp.solvers.symmetry import is_symmetric

# A Schur complement or a change of w below this fraction, per free row, of what was summed to get it is zero:
# the row depends on the free ones.
DEPENDENT = 1e-13
# A w below this fraction of what was summed to get it is zero.
ROUND_OFF = 1e-13
# Times that finished signs are checked afresh and wrong rows driven once more.
REPAIRS = 20
# Enough for every problem that is not made to be exponential; those end here, truthfully.
PIVOTS_PER_ROW = 50
# Header of the integer workspace, before sides, free rows and order.
_FREE_COUNT, _PLACE, _TOP, _REPAIRS_DONE, _DRIVEN, HEADER = 0, 1, 2, 3, 4, 5


class _Rows(NamedTuple):
    """The problem and its free rows, as views of `drive_rows`'s workspace."""

    M: Any  # shape (n, n)
    q: Any  # shape (n,)
    lo: Any  # lower bounds, shape (n,)
    hi: Any  # upper bounds, shape (n,)
    root: Any  # roots of M's diagonal
    sides: Any  # side of each row
    free: Any  # the free rows
    U: Any  # factor of their block
    x: Any  # room for its unknowns
    z: Any  # the point
    w: Any  # M z + q


@pivot_part
def _add_free(p, k, i):
    """Make row i free unless it depends on the free rows; returns the new number of free rows."""
    M, x = p.M, p.x
    for a in range(k):
        x[a] = M[i, p.free[a]]
    solve_transposed(p.U, k, x)
    pivot = M[i, i] - dot(x[:k], x[:k])
    if not pivot > DEPENDENT * (k + 10) * M[i, i]:
        return k
    append(p.U, k, x, pivot)
    p.free[k] = i
    p.sides[i] = FREE
    return k + 1


@pivot_part
def _drop_free(p, k, place):
    """Take the row in this place out of the free ones; returns their new number."""
    remove(p.U, k, place)
    for a in range(place, k - 1):
        p.free[a] = p.free[a + 1]
    return k - 1


@pivot_part
def _settle(p, k, passes):
    """Put resting rows on their bounds, solve the free ones afresh, and compute every w."""
    x, z, w = p.x, p.z, p.w
    n = z.size
    for i in range(n):
        if p.sides[i] == AT_LO:
            z[i] = p.lo[i]
        elif p.sides[i] == AT_HI:
            z[i] = p.hi[i]
    for _ in range(passes):
        for i in range(n):
            w[i] = p.q[i]
        for i in range(n):
            if z[i] != 0.0:
                add_multiple(w, z[i], p.M[i])
        for a in range(k):
            x[a] = -w[p.free[a]]
        solve_transposed(p.U, k, x)
        solve_upper(p.U, k, x)
        for a in range(k):
            z[p.free[a]] += x[a]
        add_rows(w, p.M, p.free, x, k)


@pivot_part
def _warm(p):
    """Take over the suggested sides: free rows that leave their bounds or depend on others are dropped.

    Returns the number of free rows; rows whose sign is wrong, and dropped ones, are UNSEEN at a bound.
    """
    lo, hi, z = p.lo, p.hi, p.z
    k = 0
    for i in range(z.size):
        if p.sides[i] == FREE:
            p.sides[i] = UNSEEN
            k = _add_free(p, k, i)
    while True:
        _settle(p, k, 1)
        dropped = False
        for a in range(k - 1, -1, -1):
            i = p.free[a]
            if not (lo[i] <= z[i] <= hi[i]):
                z[i] = lo[i] if z[i] < lo[i] else hi[i]
                p.sides[i] = UNSEEN
                k = _drop_free(p, k, a)
                dropped = True
        if not dropped:
            break
    return k


@pivot_part
def _check_free(p, k, zero):
    """Repair what round-off has done to free rows; returns their number and whether something was wrong.

    A w that is not zero means a factor of nearly dependent rows: it is made anew from independent ones. A z
    outside of its bounds goes back to them.
    """
    lo, hi, z = p.lo, p.hi, p.z
    for a in range(k):
        if not abs(p.w[p.free[a]]) <= 100.0 * zero:
            for i in range(z.size):
                z[i] = clip(z[i], lo[i], hi[i])
            return _warm(p), True
    wrong = False
    for a in range(k - 1, -1, -1):
        i = p.free[a]
        if not (lo[i] <= z[i] <= hi[i]):
            if p.root[i] * p.root[i] * max(lo[i] - z[i], z[i] - hi[i]) > zero:
                p.sides[i] = UNSEEN
                k = _drop_free(p, k, a)
                wrong = True
            z[i] = clip(z[i], lo[i], hi[i])
    return k, wrong


@pivot_part
def _doubt(p, zero):
    """Turn resting rows whose sign is wrong by more than `zero` into UNSEEN ones; returns if any is."""
    lo, hi, z, w = p.lo, p.hi, p.z, p.w
    wrong = False
    for i in range(z.size):
        if p.sides[i] == FREE or lo[i] == hi[i]:
            continue
        if (w[i] < -zero and z[i] < hi[i]) or (w[i] > zero and z[i] > lo[i]):
            p.sides[i] = UNSEEN
            wrong = True
    return wrong


@pivot_part
def _zero_level(p):
    """The size of w below which it is round-off: a fraction of what is summed to get any of its entries."""
    largest, widest, total = 0.0, 0.0, 0.0
    for i in range(p.q.size):
        largest = max(largest, abs(p.q[i]))
        widest = max(widest, p.root[i])
        total += p.root[i] * abs(p.z[i])
    return ROUND_OFF * (largest + widest * total)


@pivot_part
def _next_row(p, order, place, zero, worst_first):
    """The next row to drive, and its place in the order: the first unseen one, or the most wrong one."""
    sides, z, w = p.sides, p.z, p.w
    n = z.size
    if not worst_first:
        while place < n and sides[order[place]] != UNSEEN:
            place += 1
        return (order[place] if place < n else -1), place
    worst, row = zero, -1
    for i in range(n):
        if sides[i] == UNSEEN and abs(w[i]) > worst and (z[i] < p.hi[i] if w[i] < 0.0 else z[i] > p.lo[i]):
            worst, row = abs(w[i]), i
    return row, place


@pivot_part
def _blocked(p, k, top, dw, floor, step):
    """The first row in the way of a step: (step, row or −1, its place among the free rows or −1)."""
    lo, hi, d, z, w = p.lo, p.hi, p.x, p.z, p.w
    row, place = -1, -1
    for a in range(k):
        i = p.free[a]
        if d[a] > 0.0 and hi[i] - z[i] < step * d[a]:
            step, row, place = max((hi[i] - z[i]) / d[a], 0.0), i, a
        elif d[a] < 0.0 and z[i] - lo[i] < -step * d[a]:
            step, row, place = max((lo[i] - z[i]) / d[a], 0.0), i, a
    for i in range(top):
        side = p.sides[i]
        if side <= FREE:
            continue
        sign = -1.0 if side == AT_LO else 1.0
        rate = sign * dw[i]
        if rate > floor and -sign * w[i] < step * rate and lo[i] != hi[i]:
            step, row, place = max(-sign * w[i] / rate, 0.0), i, -1
    return step, row, place


@pivot_kernel
def drive_rows(M, q, bounds, integers, work, warm, worst_first, limit):
    """Drive rows until every sign is right; returns (outcome, pivots). Call again to go on.

    Args:
        M: Symmetric positive semidefinite matrix, shape (n, n).
        q: Vector, shape (n,).
        bounds: Lower and upper bounds, shapes (n,).
        integers: Header, sides, free rows, order of the rows; shape (HEADER + 3 n,).
        work: z, the direction of a ray, then workspace; shape (n (n + 7),). z lies within its bounds.
        warm: Take over the sides that `integers` suggests first.
        worst_first: Drive the row that is most in the wrong, instead of the next in the order.
        limit: Largest number of pivots.
    """
    n, (lo, hi) = q.size, bounds
    sides, rows = integers[HEADER : HEADER + n], integers[HEADER + n : HEADER + 2 * n]
    order = integers[HEADER + 2 * n : HEADER + 3 * n]
    z, ray, w, dw = work[:n], work[n : 2 * n], work[2 * n : 3 * n], work[3 * n : 4 * n]
    x, y, root = work[4 * n : 5 * n], work[5 * n : 6 * n], work[6 * n : 7 * n]
    U = work[7 * n : (n + 7) * n].reshape((n, n))
    for i in range(n):
        root[i] = abs(M[i, i]) ** 0.5
    p = _Rows(M, q, lo, hi, root, sides, rows, U, x, z, w)
    k, top = integers[_FREE_COUNT], integers[_TOP]
    pivots = 0
    if warm:
        k = _warm(p)
        _doubt(p, _zero_level(p))
        top = n
    elif worst_first and pivots == 0:
        _settle(p, k, 1)
        top = n
    zero = _zero_level(p)
    while True:
        j, place = _next_row(p, order, integers[_PLACE], zero, worst_first)
        integers[_PLACE], integers[_FREE_COUNT] = place, k
        if j < 0:
            _settle(p, k, 2)
            zero = _zero_level(p)
            k, wrong = _check_free(p, k, zero)
            wrong = _doubt(p, zero) or wrong
            integers[_PLACE], integers[_FREE_COUNT], integers[_TOP] = 0, k, n
            top = n
            integers[_REPAIRS_DONE] += 1
            if not wrong:
                return DONE, pivots
            if integers[_REPAIRS_DONE] > REPAIRS:
                return SINGULAR, pivots
            continue
        top = max(top, j + 1)
        integers[_TOP] = top
        while True:
            # from scratch: with dependent rows what has drifted in an updated w would be driven for ever
            w[j] = q[j] + dot(M[j], z)
            zero = _zero_level(p)
            if abs(w[j]) <= zero or (z[j] <= lo[j] if w[j] > 0.0 else z[j] >= hi[j]):
                if z[j] <= lo[j]:
                    sides[j] = AT_LO
                elif z[j] >= hi[j]:
                    sides[j] = AT_HI
                else:
                    k = _add_free(p, k, j)
                break
            if pivots >= limit:
                integers[_FREE_COUNT] = k
                return LIMIT, pivots
            sign = -1.0 if w[j] > 0.0 else 1.0
            for a in range(k):
                y[a] = M[j, rows[a]]
            solve_transposed(U, k, y)
            curvature = M[j, j] - dot(y[:k], y[:k])
            reach = root[j]
            for a in range(k):
                x[a] = -sign * y[a]
            solve_upper(U, k, x)
            for i in range(top):
                dw[i] = sign * M[j, i]
            add_rows(dw[:top], M, rows, x, k)
            for a in range(k):
                reach += root[rows[a]] * abs(x[a])
            noise = DEPENDENT * (k + 10)
            room = hi[j] - z[j] if sign > 0.0 else z[j] - lo[j]
            step = np.inf
            if curvature > noise * M[j, j]:
                step = abs(w[j]) / curvature
            reaches_bound = room <= step
            step, i, at = _blocked(p, k, top, dw, noise * reach * root[j], min(step, room))
            if step == np.inf:
                for i in range(n):
                    ray[i] = 0.0
                for a in range(k):
                    ray[rows[a]] = x[a]
                ray[j] = sign
                return RAY, pivots
            pivots += 1
            for a in range(k):
                z[rows[a]] += step * x[a]
            z[j] += step * sign
            add_multiple(w[:top], step, dw[:top])
            if at >= 0:
                sides[i] = AT_HI if x[at] > 0.0 else AT_LO
                z[i] = hi[i] if x[at] > 0.0 else lo[i]
                w[i] = 0.0
                k = _drop_free(p, k, at)
            elif i >= 0:
                w[i] = 0.0
                sides[i] = UNSEEN
                k = _add_free(p, k, i)
            elif reaches_bound:
                sides[j] = AT_HI if sign > 0.0 else AT_LO
                z[j] = hi[j] if sign > 0.0 else lo[j]
                break
            else:
                w[j] = 0.0
                append(U, k, y, curvature)
                rows[k] = j
                sides[j] = FREE
                k += 1
                break
        if sides[j] == UNSEEN:
            integers[_PLACE] += 1


def drive(problem: LCP | BoxedLCP, control: Control, options: PivotOptions, *, worst_first: bool) -> Attempt:
    """Drive the rows of a problem in order, or the worst one first."""
    n = problem.size
    limit = control.limit(PIVOTS_PER_ROW * max(n, 4))
    if not is_symmetric(problem.M):
        return drive_general(problem, limit)
    M = dense(problem.M)
    lo, hi = bounds_of(problem)
    integers = np.zeros(HEADER + 3 * n, dtype=np.int64)
    work = np.zeros(n * (n + 7))
    z, sides, order = work[:n], integers[HEADER : HEADER + n], integers[HEADER + 2 * n :]
    order[:] = np.argsort(np.isfinite(lo) | np.isfinite(hi), kind="stable")
    warm = control.start is not None
    if control.start is not None:
        sides[:] = sides_of(control.start, lo, hi)
        np.clip(control.start, lo, hi, out=z)
    else:
        np.clip(0.0, lo, hi, out=z)
        sides[lo == hi] = AT_LO

    def advance(count: int) -> tuple[int, int]:
        nonlocal warm
        outcome = drive_rows(M, problem.q, (lo, hi), integers, work, warm, worst_first, count)
        warm = False
        return outcome

    every = options.check_every or (n if control.watched else 0)
    outcome, pivots = pivot(advance, z.copy, control, limit=limit, every=every)
    attempt = Attempt(z.copy(), pivots, info=describe(sides, pivots, bounded=isinstance(problem, BoxedLCP)))
    if outcome == RAY:
        ray = work[n : 2 * n].copy()
        attempt.reason = Status.INFEASIBLE
        attempt.info.update(ray=ray, certificate=ray)
        if proves_infeasible(problem, ray):
            return attempt
    if outcome in (RAY, SINGULAR):
        # round-off of a semidefinite matrix, or one that is not
        repaired = repair(problem, control, attempt)
        if repaired.reason is Status.INFEASIBLE or control.measure(repaired.z) <= control.tol:
            return repaired
        spent = repaired.iterations
        other = drive_general(problem, max(0, control.limit(limit + spent) - spent))
        other.iterations += repaired.iterations
        return other if control.measure(other.z) < control.measure(repaired.z) else repaired
    if outcome != DONE:
        attempt.reason = control.reason if outcome == STOPPED else Status.ITERATION_LIMIT
    return attempt
