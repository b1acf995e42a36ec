"""The pivots of Lemke's method: bases, rates, ratio tests and ties, on the inverse of the basic block.

With basic z columns C (z₀ first) and nonbasic w rows R, only K⁻¹ for K = [d, M]_{R,C} is kept. Rates of the
basic z are a product with K⁻¹, those of w a sum of M's columns; a pivot changes one row, one column or both
of K.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perp.solvers.pivoting.factors import add_multiple, add_rows, dot, lu, lu_solve, pivot_kernel, pivot_part
from perp.solvers.pivoting.inverse import (
    PAD,
    border,
    padded,
    product,
    product_from_left,
    replace_column,
    replace_row,
    shrink,
)
from perp.solvers.pivoting.rows import DONE, LIMIT, RAY, SINGULAR

# Rates below this fraction of the largest one are round-off, not pivots.
PIVOT_TOLERANCE = 1e-11
# Pivots below this fraction of the largest rate are believed only of a fresh inverse.
SMALL_PIVOT = 1e-6
# z₀ below this fraction of its first value is zero.
NEGLIGIBLE = 1e-12
# Ratios that differ by less than this fraction are ties.
TIE = 1e-12
# Pivots after which the inverse is made anew, in addition to one per row.
FRESH_FOR = 50
# The largest w, against q, that a solved row may keep, and the corrections that it may take to get there
# before the inverse is made anew.
DRIFT = 1e-14
REFINEMENTS = 3
# What may be left at the end, or of a suggested basis, before it is rejected.
USABLE = 1e-9
# A basic variable is negative only beyond this fraction of the largest one.
SIGN = 1e-10
# Header of the integer workspace: size of the block, entering variable, pivots since the inverse was made,
# whether the final signs are wrong.
SIZE, ENTERING, AGE, WRONG, HEADER = 0, 1, 2, 3, 4


class _Basis(NamedTuple):
    """The problem and the block of basic variables, as views of `lemke_pivots`'s workspace."""

    T: Any  # the transpose of M, shape (n, n)
    q: Any  # vector, shape (n,)
    d: Any  # covering vector, shape (n,)
    columns: Any  # basic z, or z₀, of each column of the block
    rows: Any  # rows of the block
    position: Any  # place of each row of the problem in `rows`, −1 outside
    order: Any  # order of rows in the factors; ties
    x: Any  # basic values
    w: Any  # slack of the rows that are not in the block, infinite in it
    b: Any  # room for a right-hand side
    inverse: Any  # inverse of the block
    factor: Any  # its factors


@pivot_part
def _refine(p, m, artificial):
    """Correct the basic x until w = M z + q + d z₀ vanishes in the block's rows; returns what is left over q.

    Nonbasic rows of w are set to infinity: they never block.
    """
    q, d, columns, rows, x, w, b = p.q, p.d, p.columns, p.rows, p.x, p.w, p.b
    n = q.size
    size = 0.0
    for i in range(n):
        size = max(size, abs(q[i]))
    first = 1 if artificial else 0
    error = 0.0
    for attempt in range(REFINEMENTS + 1):
        for i in range(n):
            w[i] = q[i]
        if artificial:
            add_multiple(w, x[0], d)
        add_rows(w, p.T, columns[first:], x[first:], m - first)
        error = 0.0
        for a in range(m):
            b[a] = w[rows[a]]
            error = max(error, abs(b[a]))
        if error <= DRIFT * size or attempt == REFINEMENTS:
            break
        for a in range(m):
            x[a] -= dot(p.inverse[a, :m], b[:m])
    for a in range(m):
        w[rows[a]] = np.inf
    return error / size if error > 0.0 else 0.0


@pivot_part
def _invert(p, m, artificial):
    """The inverse of the block from scratch; returns whether it exists."""
    inverse, factor, order, b = p.inverse, p.factor, p.order, p.b
    for a in range(m):
        for c in range(m):
            factor[a, c] = p.d[p.rows[a]] if artificial and c == 0 else p.T[p.columns[c], p.rows[a]]
    if lu(factor, m, order) >= 0:
        return False
    for a in range(m):
        for c in range(m, inverse.shape[1]):
            inverse[a, c] = 0.0
    for c in range(m):
        for a in range(m):
            b[a] = 1.0 if a == c else 0.0
        lu_solve(factor, m, order, b)
        for a in range(m):
            inverse[a, c] = b[a]
    return True


@pivot_part
def _solve_again(p, m):
    """Set x by the factors of the block, refined with their own residual: better than an explicit inverse."""
    x, w, b = p.x, p.w, p.b
    for a in range(m):
        x[a] = 0.0
    for _ in range(2):
        for i in range(w.size):
            w[i] = p.q[i]
        add_rows(w, p.T, p.columns, x, m)
        for a in range(m):
            b[a] = w[p.rows[a]]
        lu_solve(p.factor, m, p.order, b)
        for a in range(m):
            x[a] -= b[a]


@pivot_part
def _row_of_block(p, m, i, r):
    """Set r to row i of [d, M] in the basic columns."""
    r[0] = p.d[i]
    for c in range(1, m):
        r[c] = p.T[p.columns[c], i]


@pivot_part
def _perturbation(p, m, leaving, rate, r, out):
    """How a basic variable, divided by its rate, depends on a perturbation of q; shape (n,)."""
    rows, inverse = p.rows, p.inverse
    for i in range(p.d.size):
        out[i] = 0.0
    if leaving < m:
        for b in range(m):
            out[rows[b]] = inverse[leaving, b] / rate
        return
    i = leaving - m
    _row_of_block(p, m, i, r)
    out[i] = -1.0 / rate
    for b in range(m):
        total = 0.0
        for a in range(m):
            total += r[a] * inverse[a, b]
        out[rows[b]] += total / rate


@pivot_part
def _leaving(p, m, dx, dw, work):
    """The variable that blocks first: its place among the block's columns, m + i for w_i, or −1.

    z₀ (place 0) leaves whenever it is among the first; other ties are broken lexicographically.
    """
    x, w, ties = p.x, p.w, p.order
    n = w.size
    largest = 0.0
    for a in range(m):
        largest = max(largest, abs(dx[a]))
    for i in range(n):
        largest = max(largest, abs(dw[i]))
    floor = -PIVOT_TOLERANCE * largest
    best, step, second = -1, np.inf, np.inf
    for a in range(m):
        if dx[a] < floor and x[a] < -second * dx[a]:
            ratio = max(-x[a] / dx[a], 0.0)
            if ratio < step:
                best, step, second = a, ratio, step
            else:
                second = ratio
    for i in range(n):
        if dw[i] < floor and w[i] < -second * dw[i]:
            ratio = max(-w[i] / dw[i], 0.0)
            if ratio < step:
                best, step, second = m + i, ratio, step
            else:
                second = ratio
    # a block that closes at a rate of rounding error may be off by this much
    reach = step * (1.0 + TIE) + TIE * abs(x[0]) / largest
    if best <= 0 or second > reach:
        return best
    count = 0
    for a in range(m):
        if dx[a] < floor and x[a] <= -reach * dx[a]:
            if a == 0:
                return 0
            ties[count] = a
            count += 1
    for i in range(n):
        if dw[i] < floor and w[i] <= -reach * dw[i]:
            ties[count] = m + i
            count += 1
    if count == 0:
        return best  # ratios that underflow, or are not numbers, tie with nothing
    best = ties[0]
    one, other, r = work[:n], work[n : 2 * n], work[2 * n : 3 * n + 1]
    _perturbation(p, m, best, dx[best] if best < m else dw[best - m], r, one)
    for t in range(1, count):
        rival = ties[t]
        rate = dx[rival] if rival < m else dw[rival - m]
        _perturbation(p, m, rival, rate, r, other)
        for i in range(n):
            if abs(other[i] - one[i]) > TIE * (abs(other[i]) + abs(one[i])):
                if other[i] < one[i]:
                    best = rival
                    one, other = other, one
                break
    return best


@pivot_part
def _doubtful(out, m, dx, dw):
    """Whether the pivot is so small, or absent, that it may be round-off of an old inverse."""
    if out < 0:
        return True
    largest = 0.0
    for a in range(m):
        largest = max(largest, abs(dx[a]))
    for i in range(dw.size):
        largest = max(largest, abs(dw[i]))
    return abs(dx[out] if out < m else dw[out - m]) < SMALL_PIVOT * largest


@pivot_part
def _wrong_signs(q, x, m, w):
    """Whether a basic variable is negative beyond round-off, or not a number."""
    size, largest = 0.0, 0.0
    for i in range(q.size):
        size = max(size, abs(q[i]))
    for a in range(m):
        largest = max(largest, abs(x[a]))
    for a in range(m):
        if not x[a] >= -SIGN * largest:
            return True
    least = np.inf
    for i in range(q.size):
        least = w[i] if w[i] < least or w[i] != w[i] else least
    return not least >= -SIGN * size


@pivot_part
def _begin(p, integers):
    """Bring z₀ into the starting basis; returns whether that basis is a solution already."""
    T, q, d, columns, rows, position, x, w = p.T, p.q, p.d, p.columns, p.rows, p.position, p.x, p.w
    n = q.size
    m = integers[SIZE]
    for i in range(n):
        position[i] = -1
    if m > 0:
        usable = _invert(p, m, False)
        if usable:
            _solve_again(p, m)
            usable = _refine(p, m, False) <= USABLE
        if not usable:
            m = 0
    if m == 0:
        _refine(p, m, False)
    for a in range(m):
        position[rows[a]] = a
    # with basic z the covering vector must be one that raises every basic variable by one for a unit of z₀
    if m > 0:
        for i in range(n):
            d[i] = 1.0 if position[i] < 0 else 0.0
        for a in range(m):
            add_multiple(d, -1.0, T[columns[a]])
    size = 0.0
    for i in range(n):
        size = max(size, abs(q[i]))
    out, least = -1, 0.0
    for a in range(m):
        if x[a] < least:
            out, least = a, x[a]
    for i in range(n):
        value = w[i] / d[i] if m == 0 else w[i]
        # among equal values the last row is lexicographically least
        if w[i] < -(DRIFT * size if m > 0 else 0.0) and value <= least:
            out, least = m + i, value
    integers[SIZE], integers[ENTERING], integers[AGE] = m, -1, 0
    if out < 0:
        return True
    if out < m:
        leaving = columns[out] + n
        columns[out] = columns[0]
    else:
        i = out - m
        leaving = i
        rows[m], position[i] = i, m
        if m > 0:
            columns[m] = columns[0]
        m += 1
    columns[0] = n
    integers[SIZE] = m
    integers[ENTERING] = leaving + n if leaving < n else leaving - n
    # a larger block is inverted before the next pivot
    if m == 1:
        for c in range(PAD):
            p.inverse[0, c] = 0.0
        p.inverse[0, 0] = 1.0 / d[rows[0]]
        x[0] = -q[rows[0]] / d[rows[0]]
        _refine(p, m, True)
    else:
        x[0] = -least
        integers[AGE] = n + FRESH_FOR + 1
    return False


@pivot_kernel
def lemke_pivots(T, q, integers, work, begin, limit):
    """Pivot until z₀ leaves, nothing blocks or the limit is reached; returns (outcome, pivots).

    Variables are numbered w_i = i, z_i = n + i, z₀ = 2 n. A `begin` ≥ 0 begins with so many basic z, named in
    columns and rows; −1 goes on.

    Args:
        T: The transpose of M, shape (n, n).
        q: Vector, shape (n,).
        integers: Header, columns and rows of the block, row positions, workspace; shape (HEADER + 4 n + 4,).
        work: Covering vector d (changed for a warm start), basic values x, rates dx, vectors, w, dw,
            inverse, factor, first z₀; shape (`workspace(n)`,).
        begin: Number of basic z to begin with, or −1.
        limit: Largest number of pivots.
    """
    n = q.size
    columns, rows = integers[HEADER : HEADER + n + 1], integers[HEADER + n + 1 : HEADER + 2 * n + 2]
    position = integers[HEADER + 2 * n + 2 : HEADER + 3 * n + 3]
    spare = integers[HEADER + 3 * n + 3 : HEADER + 4 * n + 4]
    size = padded(n + 1)
    d, x, dx = work[:n], work[size : 2 * size], work[2 * size : 3 * size]
    w, dw = work[3 * size : 3 * size + n], work[4 * size : 4 * size + n]
    g, b, vectors = work[5 * size : 6 * size], work[6 * size : 7 * size], work[7 * size : 10 * size]
    inverse = work[10 * size : 10 * size + size * size].reshape((size, size))
    factor = work[10 * size + size * size : 10 * size + 2 * size * size].reshape((size, size))
    p = _Basis(T, q, d, columns, rows, position, spare, x, w, b, inverse, factor)
    pivots = 0
    if begin >= 0:
        integers[SIZE] = begin
        if _begin(p, integers):
            integers[WRONG] = 0
            return DONE, 0
        work[-1] = max(x[0], 0.0)
    m, entering = integers[SIZE], integers[ENTERING]
    others, dx_of_others = columns[1:], dx[1:]
    fresh = False
    while pivots < limit:
        if integers[AGE] > n + FRESH_FOR or fresh:
            if not _invert(p, m, True):
                return SINGULAR, pivots
            for a in range(m):
                x[a] = 0.0
            _refine(p, m, True)
            integers[AGE] = 0
        # rates of the basic variables as the entering one grows
        if entering >= n:
            e = entering - n
            column = T[e]
            for a in range(m):
                b[a] = column[rows[a]]
            product(inverse, m, b, dx)
            for a in range(m):
                dx[a] = -dx[a]
            for i in range(n):
                dw[i] = column[i]
        else:
            e = position[entering]
            for a in range(m):
                dx[a] = inverse[a, e]
            for i in range(n):
                dw[i] = 0.0
        add_multiple(dw, dx[0], d)
        add_rows(dw, T, others, dx_of_others, m - 1)
        out = _leaving(p, m, dx, dw, vectors)
        # a ray and a small pivot are believed only of a fresh inverse
        if integers[AGE] > 0 and _doubtful(out, m, dx, dw):
            fresh = True
            continue
        if out < 0:
            return RAY, pivots
        fresh = False
        step = max(-x[out] / dx[out] if out < m else -w[out - m] / dw[out - m], 0.0)
        for a in range(m):
            x[a] += step * dx[a]
        add_multiple(w, step, dw)
        pivots += 1
        integers[AGE] += 1
        done = out == 0
        if out >= m:
            i = out - m
            _row_of_block(p, m, i, b)
            product_from_left(inverse, m, b, g)
            leaving = i
            w[i] = np.inf
            if entering >= n:
                border(inverse, m, dx, g, dw[i])
                columns[m], rows[m], position[i], x[m] = e, i, m, step
                m += 1
            else:
                replace_row(inverse, m, e, g)
                rows[e], position[i], position[entering] = i, e, -1
                w[entering] = step
        else:
            leaving = columns[out] + n
            if entering >= n:
                replace_column(inverse, m, out, dx)
                columns[out], x[out] = e, step
            else:
                shrink(inverse, m, out, e)
                m -= 1
                columns[out], x[out] = columns[m], x[m]
                rows[e] = rows[m]
                position[rows[e]] = e
                position[entering] = -1
                w[entering] = step
        entering = leaving + n if leaving < n else leaving - n
        integers[SIZE], integers[ENTERING] = m, entering
        if done:
            error = _refine(p, m, False)
            if not error <= DRIFT and _invert(p, m, False):
                _solve_again(p, m)
                error = _refine(p, m, False)
            integers[WRONG] = not error <= USABLE or _wrong_signs(q, x, m, w)
            return DONE, pivots
        if x[0] <= NEGLIGIBLE * work[-1]:
            # z₀ is zero though it is still basic: the point is a solution, whatever would block next
            error = _refine(p, m, True)
            integers[WRONG] = not error <= USABLE or _wrong_signs(q, x, m, w)
            return DONE, pivots
    return LIMIT, pivots


def workspace(n: int) -> int:
    """Numbers that the kernel needs."""
    size = (n + PAD) // PAD * PAD
    return size * (10 + 2 * size) + 1
