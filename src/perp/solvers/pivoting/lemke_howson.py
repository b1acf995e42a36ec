"""Lemke and Howson's path for the LCPs of bimatrix games, where Lemke's own path ends in a ray at once.

In such a game the first player's costs A and the second's B are positive matrices, and the LCP is

    w = [[0, A], [Bᵀ, 0]] z + q,   q < 0   (q = −1 for a game)

whose solutions, divided by the sums of their two parts, are the equilibria. One label k is dropped: z_k grows
until the other player's rows are in order, then that player's answer until the rows of the first are; from
there what blocks leaves and its complement enters, until the pair k is complementary again. That always
happens where no two rows tie; where ties lead it in circles, another label is dropped. A pivot costs n²
operations.

Reference: Lemke and Howson, Equilibrium points of bimatrix games, SIAM Journal 12 (1964); Cottle, Pang and
Stone, The Linear Complementarity Problem, section 4.4.
"""

from __future__ import annotations

import numpy as np

from perp.problems import LCP, Status
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.pivoting.factors import pivot_kernel, pivot_part
from perp.solvers.pivoting.general_driving import exchange
from perp.solvers.pivoting.rows import dense, dense_memory
from perp.solvers.registry import NoOptions, register

# Rates below this fraction of the largest one are round-off, not pivots; ratios closer than this are ties.
PIVOT_TOLERANCE, TIE = 1e-11, 1e-12
PIVOTS_PER_ROW = 50


def first_player(problem: LCP) -> int:
    """Rows of the first player where the LCP is that of a bimatrix game, else 0."""
    n = problem.size
    if n < 2 or not (problem.q < 0).all():
        return 0
    M = dense(problem.M)
    zero = M[0] == 0.0
    rows = n if zero.all() else int(np.argmin(zero))
    if not 0 < rows < n or M[:rows, :rows].any() or M[rows:, rows:].any():
        return 0
    return rows if (M[:rows, rows:] > 0).all() and (M[rows:, :rows] > 0).all() else 0


@pivot_part
def _in_order(T, x, column, basic, first, last):
    """The place, among rows of one player, whose w is last to become nonnegative as a variable grows."""
    step, place = -1.0, -1
    for k in range(x.size):
        if first <= basic[k] < last and -x[k] > step * T[k, column]:
            step, place = -x[k] / T[k, column], k
    return place


@pivot_part
def _enter(T, x, basic, nonbasic, place, column):
    """Let the variable of a column enter in a place; returns what has left."""
    step = -x[place] / T[place, column]
    for k in range(x.size):
        x[k] += step * T[k, column]
    leaving = basic[place]
    exchange(T, place, column)
    x[place] = step
    basic[place], nonbasic[column] = nonbasic[column], leaving
    return leaving


@pivot_kernel
def label_path(M, q, first, label, x, basic, limit):
    """Follow the path that drops a label; returns pivots, negative where it did not end at a solution.

    Args:
        M: The matrix of the game, shape (n, n).
        q: Vector, negative, shape (n,).
        first: Rows of the first player.
        label: The row whose pair is left out.
        x: Receives the values of the basic variables, shape (n,).
        basic: Receives them: w_i is i, z_i is n + i.
        limit: Pivots at most.
    """
    n = q.size
    T, nonbasic = M.copy(), np.empty(n, dtype=np.int64)
    for i in range(n):
        x[i], basic[i], nonbasic[i] = q[i], i, n + i
    mine, other = (0, first), (first, n)
    if label >= first:
        mine, other = other, mine
    place = _in_order(T, x, label, basic, other[0], other[1])
    leaving = _enter(T, x, basic, nonbasic, place, label)
    place = _in_order(T, x, leaving, basic, mine[0], mine[1])
    leaving = _enter(T, x, basic, nonbasic, place, leaving)
    pivots = 2
    while leaving != label and leaving != n + label:
        if pivots >= limit:
            return -pivots
        entering = leaving + n if leaving < n else leaving - n
        column = 0
        while nonbasic[column] != entering:
            column += 1
        largest = 0.0
        for k in range(n):
            largest = max(largest, abs(T[k, column]))
        step, place = np.inf, -1
        for k in range(n):
            rate = T[k, column]
            if rate < -PIVOT_TOLERANCE * largest:
                room = max(-x[k] / rate, 0.0)
                own = basic[k] == label or basic[k] == n + label
                tied = place >= 0 and room <= step * (1.0 + TIE)
                if room < step * (1.0 - TIE) or (tied and (own or rate < T[place, column])):
                    step, place = room, k
        if place < 0:
            return -pivots
        leaving = _enter(T, x, basic, nonbasic, place, column)
        pivots += 1
    return pivots


def follow_labels(problem: LCP, control: Control, rows: int) -> Attempt:
    """Drop one label after the other until a path ends at a solution."""
    n = problem.size
    M, q = dense(problem.M), problem.q
    x, basic = np.empty(n), np.empty(n, dtype=np.int64)
    limit = control.limit(PIVOTS_PER_ROW * n)
    total, z = 0, np.zeros(n)
    for label in range(n):
        pivots = int(label_path(M, q, rows, label, x, basic, limit - total))
        total += abs(pivots)
        z = _answer(M, q, basic, x)
        if pivots > 0 and control.measure(z) <= control.tol:
            return Attempt(
                z, total, info={"active_set": np.flatnonzero(z > 0), "pivots": total, "label": label}
            )
        if total >= limit or control.out_of_time():
            break
    reason = Status.ITERATION_LIMIT if total >= limit else Status.STALLED
    return Attempt(z, total, reason, {"active_set": np.flatnonzero(z > 0), "pivots": total})


def _answer(M: np.ndarray, q: Vector, basic: np.ndarray, x: Vector) -> Vector:
    """z of a basis, solved afresh where that is possible."""
    n = q.size
    z = np.zeros(n)
    inside = basic >= n
    z[basic[inside] - n] = np.maximum(x[inside], 0.0)
    free = np.sort(basic[inside] - n)
    try:
        solved = np.linalg.solve(M[np.ix_(free, free)], -q[free])
    except np.linalg.LinAlgError:
        return z
    if np.isfinite(solved).all() and (solved >= 0).all():
        z[free] = solved
    return z


@register(
    "lemke-howson",
    takes=LCP,
    summary="the path of bimatrix games: [[0, A], [Bᵀ, 0]] with positive A and B, negative q",
    refuses=lambda problem: None if first_player(problem) else "it is not that of a bimatrix game",
    memory=dense_memory(1),
)
def lemke_howson(problem: LCP, control: Control, options: NoOptions) -> Attempt:
    """Solve the LCP of a bimatrix game."""
    return follow_labels(problem, control, first_player(problem))
