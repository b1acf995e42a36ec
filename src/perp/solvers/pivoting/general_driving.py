"""Dantzig's driving on any matrix: nonsymmetric, indefinite, with any bounds, as far as the method goes.

The symmetric semidefinite kernel (`incremental`) keeps a Cholesky factor, and every push there lowers the
row's error. Without semidefiniteness a push may lead away before it leads back: here the driven row r keeps
both its z and its w basic, and the path of points where all earlier rows are complementary is followed from
vertex to vertex: whatever blocks leaves, and its complement enters, until w_r is zero or z_r reaches its
other bound. The path may also end at the bound it came from, or in a ray: then the row waits until others
have been driven, and where none of those that wait can be driven any more the method has broken down, and
says so. A pivot costs n² operations on the tableau of basic against nonbasic variables; it needs 2 n² + O(n)
numbers.

Reference: Cottle, Pang and Stone, The Linear Complementarity Problem, section 4.2; van de Panne and Whinston,
The symmetric formulation of the simplex method for quadratic programming, Econometrica 37 (1969).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perp.problems import LCP, BoxedLCP, Status
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt
from perp.solvers.linear import solve_regularised
from perp.solvers.pivoting.factors import pivot_kernel, pivot_part
from perp.solvers.pivoting.rows import AT_HI, AT_LO, FREE, UNSEEN, bounds_of, dense, describe

# Rates below this fraction of the largest are round-off, not pivots; ratios as close as this are ties.
PIVOT_TOLERANCE, TIE = 1e-11, 1e-11
# A w below this fraction of the largest entry of q is zero.
ZERO = 1e-13
# Orders of the rows that are tried, the given one first: of 154 solvable random symmetric indefinite LCPs
# with two to eight rows one order solves 85, sixteen 99, and 256 no more.
ORDERS = 16
# How a drive ends.
DRIVEN, RETURNED, UNBOUNDED, EXHAUSTED = 0, 1, 2, 3


class _Tableau(NamedTuple):
    """Rates of basic against nonbasic variables, and where they stand; w_i is variable i, z_i is n + i."""

    T: Any  # rates, shape (n, n)
    basic: Any  # the variable in each row of T
    nonbasic: Any  # the variable in each column of T
    x: Any  # values of the basic variables
    y: Any  # values of the nonbasic ones
    sides: Any  # UNSEEN rows do not block; AT_LO, AT_HI or FREE otherwise
    lo: Any  # lower bounds
    hi: Any  # upper bounds


@pivot_part
def _copy(source, target):
    """Everything that changes while a row is driven."""
    target.T[:, :] = source.T
    target.basic[:], target.nonbasic[:] = source.basic, source.nonbasic
    target.x[:], target.y[:], target.sides[:] = source.x, source.y, source.sides


@pivot_part
def _place(variables, wanted):
    """Where a variable is, −1 where it is not."""
    for k in range(variables.size):
        if variables[k] == wanted:
            return k
    return -1


@pivot_part
def exchange(T, place, column):
    """Exchange the basic variable in `place` with the nonbasic one in `column`."""
    n = T.shape[0]
    pivot = 1.0 / T[place, column]
    row = T[place]
    for j in range(n):
        row[j] *= -pivot
    row[column] = pivot
    for i in range(n):
        if i != place:
            factor = T[i, column]
            if factor != 0.0:
                T[i, column] = 0.0
                for j in range(n):
                    T[i, j] += factor * row[j]


@pivot_part
def _room(t, k, direction, r):
    """How far the basic variable in row k may move in a direction: to a bound of z, or to zero of w."""
    n, lo, hi, sides = t.x.size, t.lo, t.hi, t.sides
    variable, value = t.basic[k], t.x[k]
    i = variable if variable < n else variable - n
    if variable >= n:
        if i != r and sides[i] == UNSEEN:
            return np.inf
        return hi[i] - value if direction > 0.0 else value - lo[i]
    if i == r:
        return -value * direction if value * direction < 0.0 else np.inf
    if sides[i] == AT_LO and lo[i] != hi[i]:
        return max(value, 0.0) if direction < 0.0 else np.inf
    if sides[i] == AT_HI and lo[i] != hi[i]:
        return max(-value, 0.0) if direction > 0.0 else np.inf
    return np.inf


@pivot_part
def drive_row(t, r, limit):
    """Drive row r with at most `limit` pivots; returns (how that ended, pivots)."""
    T, basic, nonbasic, x, y, sides, lo, hi = t
    n = x.size
    own, column = _place(basic, r), _place(nonbasic, n + r)
    sign = -1.0 if x[own] > 0.0 else 1.0
    direction = sign
    pivots = 0
    while True:
        entering = nonbasic[column]
        largest = 0.0
        for k in range(n):
            largest = max(largest, abs(T[k, column]))
        floor = PIVOT_TOLERANCE * max(largest, 1e-300)
        step, place = np.inf, -1
        if entering >= n:
            i = entering - n
            step = hi[i] - y[column] if direction > 0.0 else y[column] - lo[i]
        best = 0.0
        for k in range(n):
            rate = direction * T[k, column]
            if abs(rate) > floor:
                room = max(_room(t, k, 1.0 if rate > 0.0 else -1.0, r) / abs(rate), 0.0)
                tie = TIE * step if step < np.inf else 0.0
                # among ties the driven row itself, else the safest pivot
                weight = np.inf if basic[k] == r else abs(rate)
                if room < step - tie or (place >= 0 and room <= step + tie and weight > best):
                    step, place, best = min(room, step), k, weight
        if step == np.inf:
            return UNBOUNDED, pivots
        if pivots >= limit:
            return EXHAUSTED, pivots
        pivots += 1
        for k in range(n):
            x[k] += step * direction * T[k, column]
        y[column] += step * direction
        if place < 0:
            # the entering z goes all the way to its other bound
            i = entering - n
            y[column] = hi[i] if direction > 0.0 else lo[i]
            sides[i] = AT_HI if direction > 0.0 else AT_LO
            if i == r:
                return DRIVEN, pivots
            leaving = entering
        else:
            leaving = basic[place]
            value = y[column]
            i = leaving if leaving < n else leaving - n
            if leaving < n:
                y[column] = 0.0
            else:
                upper = direction * T[place, column] > 0.0
                y[column] = hi[i] if upper else lo[i]
                sides[i] = AT_HI if upper else AT_LO
            exchange(T, place, column)
            x[place] = value
            basic[place], nonbasic[column] = entering, leaving
            if leaving == r:
                sides[r] = FREE
                return DRIVEN, pivots
            if leaving == n + r:
                # its w has kept its sign: that is right at one of the bounds only
                return (DRIVEN if (sides[r] == AT_HI) == (sign > 0.0) else RETURNED), pivots
            if leaving < n:
                sides[i] = FREE
        # the complement of what left enters: w away from the bound, z away from the bound where w held it
        complement = leaving + n if leaving < n else leaving - n
        column = _place(nonbasic, complement)
        if leaving >= n:
            direction = 1.0 if sides[i] == AT_LO else -1.0
        else:
            direction = 1.0 if y[column] <= lo[i] else -1.0


@pivot_part
def _starting_tableau(M, q, bounds, sides, z):
    """All w basic, all z where they rest, every row UNSEEN."""
    n = q.size
    integers, values = np.empty((2, n), dtype=np.int64), np.empty((2, n))
    t = _Tableau(M.copy(), integers[0], integers[1], values[0], values[1], sides, bounds[0], bounds[1])
    for i in range(n):
        t.basic[i], t.nonbasic[i], t.y[i], sides[i] = i, n + i, z[i], UNSEEN
        total = q[i]
        for j in range(n):
            total += M[i, j] * z[j]
        t.x[i] = total
    return t


@pivot_kernel
def drive_all(M, q, bounds, order, sides, z, limit):
    """Drive every row, those that could not be driven again after the others; returns (rows left, pivots).

    Args:
        M: Any matrix, shape (n, n).
        q: Vector, shape (n,).
        bounds: Lower and upper bounds, shapes (n,).
        order: The rows in the order in which they are driven.
        sides: Receives the side of every row.
        z: Where the rows rest at first, within their bounds; receives the answer.
        limit: Pivots at most.
    """
    n, (lo, hi) = q.size, bounds
    t = _starting_tableau(M, q, bounds, sides, z)
    before = _starting_tableau(M, q, bounds, np.empty(n, dtype=np.int64), z)
    T, basic, nonbasic, x, y = t.T, t.basic, t.nonbasic, t.x, t.y
    scale = 0.0
    for i in range(n):
        scale = max(scale, abs(q[i]))
    pivots, waiting, left = 0, n, n
    while left > 0:
        waiting = 0
        for r in order:
            if sides[r] != UNSEEN:
                continue
            own, resting = _place(basic, r), _place(nonbasic, n + r)
            value = y[resting]
            if abs(x[own]) <= ZERO * scale or (value <= lo[r] if x[own] > 0.0 else value >= hi[r]):
                if value <= lo[r]:
                    sides[r] = AT_LO
                elif value >= hi[r]:
                    sides[r] = AT_HI
                else:
                    sides[r] = FREE
                    if abs(T[own, resting]) > 0.0:
                        exchange(T, own, resting)
                        basic[own], nonbasic[resting] = n + r, r
                        x[own], y[resting] = value, 0.0
                continue
            _copy(t, before)
            end, made = drive_row(t, r, limit - pivots)
            pivots += made
            if end == DRIVEN:
                continue
            waiting += 1
            if end == RETURNED:
                sides[r] = UNSEEN
                continue
            _copy(before, t)
            if end == EXHAUSTED:
                left = waiting
                break
        if waiting == 0 or waiting >= left:
            left = waiting
            break
        left = waiting
    for k in range(n):
        if basic[k] >= n:
            z[basic[k] - n] = x[k]
        if nonbasic[k] >= n:
            z[nonbasic[k] - n] = y[k]
    return left, pivots


def drive_general(problem: LCP | BoxedLCP, limit: int) -> Attempt:
    """Drive the rows of a problem with any matrix, those without bounds first.

    Args:
        problem: The problem, with bounds that stay where they are.
        limit: Pivots at most.
    """
    n = problem.size
    M = dense(problem.M)
    lo, hi = bounds_of(problem)
    sides = np.empty(n, dtype=np.int64)
    shuffle = np.random.default_rng(0)
    order = np.argsort(np.isfinite(lo) | np.isfinite(hi), kind="stable")
    best = Attempt(np.clip(0.0, lo, hi), 0)
    fewest, pivots, tried = n + 1, 0, 0
    while tried < ORDERS:
        tried += 1
        z = np.clip(0.0, lo, hi)
        left, made = drive_all(M, problem.q, (lo, hi), order, sides, z, limit - pivots)
        pivots += int(made)
        if left < fewest:
            fewest = int(left)
            info = describe(sides, pivots, bounded=isinstance(problem, BoxedLCP))
            best = Attempt(_settled(M, problem.q, lo, hi, sides, z), pivots, info=info)
            best.info["rows_left"] = np.flatnonzero(sides == UNSEEN)
        if not left or pivots >= limit:
            break
        order = shuffle.permutation(n)
    best.iterations = pivots
    best.info.update(pivots=pivots, orders=tried)
    if fewest:
        best.reason = Status.ITERATION_LIMIT if pivots >= limit else Status.STALLED
        best.message = f"Dantzig's driving broke down: {fewest} of {n} rows end in rays or return."
    return best


def _settled(M: np.ndarray, q: Vector, lo: Vector, hi: Vector, sides: np.ndarray, z: Vector) -> Vector:
    """z with the free rows solved afresh, without the round-off of many pivots."""
    free = np.flatnonzero(sides == FREE)
    z = np.where(sides == AT_LO, lo, np.where(sides == AT_HI, hi, z))
    z[free] = 0.0
    solved = solve_regularised(M[np.ix_(free, free)], -(M[free] @ z + q[free]), symmetric=False)
    if solved is not None:
        z[free] = solved
    return np.clip(z, lo, hi)
