"""Lemke's complementary pivoting for the LCP, with any matrix.

An artificial variable z₀ with covering vector d makes w = M z + q + d z₀ feasible; each pivot brings in the
complement of the variable that left, until z₀ leaves (a solution) or nothing blocks (a ray). Only the inverse
of the block of basic z columns and nonbasic w rows is kept, so that a pivot with k basic columns costs n k +
3 k² multiplications and few writes; ties are broken lexicographically, at a cost only where there are ties.
It needs 2 n² + O(n) numbers, 3 n² with a nonsymmetric matrix.

Reference: Cottle, Pang and Stone, The Linear Complementarity Problem, algorithm 4.4.5 and section 4.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.problems import LCP, ProblemError, Status
from perp.problems.validation import Vector, freeze, vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.pivoting.factors import add_multiple, add_rows, dot, kernel, lu, lu_solve
from perp.solvers.pivoting.rows import (
    DONE,
    LIMIT,
    RAY,
    SINGULAR,
    STOPPED,
    PivotOptions,
    dense,
    is_symmetric,
    pivot,
)
from perp.solvers.registry import register

# Rates below this fraction of the largest one are round-off, not pivots.
PIVOT_TOLERANCE = 1e-11
# Pivots below this fraction of the largest rate are believed only of a fresh inverse.
SMALL_PIVOT = 1e-6
# z₀ below this fraction of its first value is zero.
NEGLIGIBLE = 1e-12
# Ratios that differ by less than this fraction are ties.
TIE = 1e-12
# Enough for every class that Lemke processes in practice; exponential families end here, truthfully.
PIVOTS_PER_ROW = 50
# Pivots after which the inverse is made anew, in addition to one per row.
FRESH_FOR = 50
# The largest w, against q, that a solved row may keep, and the corrections that it may take to get there
# before the inverse is made anew.
DRIFT = 1e-14
REFINEMENTS = 3
# What may be left at the end, or of a suggested basis, before it is rejected.
USABLE = 1e-9
# Rows of the inverse are padded to whole vector registers.
PAD = 16
# Times that a finished basis with a wrong sign is taken as the start of another run.
RESTARTS = 3
# A basic variable is negative only beyond this fraction of the largest one.
SIGN = 1e-10
# Header of the integer workspace: size of the block, entering variable, pivots since the inverse was made.
_SIZE, _ENTERING, _AGE, HEADER = 0, 1, 2, 3


@kernel
def _refine(T, q, d, columns, rows, m, artificial, inverse, x, w, b):
    """Correct the basic x until w = M z + q + d z₀ vanishes in the block's rows; returns what is left over q.

    Nonbasic rows of w are set to infinity: they never block.
    """
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
        add_rows(w, T, columns[first:], x[first:], m - first)
        error = 0.0
        for a in range(m):
            b[a] = w[rows[a]]
            error = max(error, abs(b[a]))
        if error <= DRIFT * size or attempt == REFINEMENTS:
            break
        for a in range(m):
            x[a] -= dot(inverse[a, :m], b[:m])
    for a in range(m):
        w[rows[a]] = np.inf
    return error / size if error > 0.0 else 0.0


@kernel
def _invert(T, d, columns, rows, m, artificial, inverse, factor, order, b):
    """The inverse of the block from scratch; returns whether it exists."""
    for a in range(m):
        for c in range(m):
            factor[a, c] = d[rows[a]] if artificial and c == 0 else T[columns[c], rows[a]]
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


@kernel
def _solve_again(T, q, columns, rows, m, factor, order, x, w, b):
    """Set x by the factors of the block, refined with their own residual: better than an explicit inverse."""
    for a in range(m):
        x[a] = 0.0
    for _ in range(2):
        for i in range(q.size):
            w[i] = q[i]
        add_rows(w, T, columns, x, m)
        for a in range(m):
            b[a] = w[rows[a]]
        lu_solve(factor, m, order, b)
        for a in range(m):
            x[a] -= b[a]


@kernel
def _row_of_block(T, d, columns, m, i, r):
    """Set r to row i of [d, M] in the basic columns."""
    r[0] = d[i]
    for c in range(1, m):
        r[c] = T[columns[c], i]


@kernel
def _perturbation(T, d, columns, rows, m, inverse, leaving, rate, r, out):
    """How a basic variable, divided by its rate, depends on a perturbation of q; shape (n,)."""
    n = d.size
    for i in range(n):
        out[i] = 0.0
    if leaving < m:
        for b in range(m):
            out[rows[b]] = inverse[leaving, b] / rate
        return
    i = leaving - m
    _row_of_block(T, d, columns, m, i, r)
    out[i] = -1.0 / rate
    for b in range(m):
        total = 0.0
        for a in range(m):
            total += r[a] * inverse[a, b]
        out[rows[b]] += total / rate


@kernel
def _leaving(T, d, columns, rows, m, inverse, x, w, dx, dw, ties, work):
    """The variable that blocks first: its place among the block's columns, m + i for w_i, or −1.

    z₀ (place 0) leaves whenever it is among the first; other ties are broken lexicographically.
    """
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
    best = ties[0]
    one, other, r = work[:n], work[n : 2 * n], work[2 * n : 3 * n + 1]
    _perturbation(T, d, columns, rows, m, inverse, best, dx[best] if best < m else dw[best - m], r, one)
    for t in range(1, count):
        rival = ties[t]
        rate = dx[rival] if rival < m else dw[rival - m]
        _perturbation(T, d, columns, rows, m, inverse, rival, rate, r, other)
        for i in range(n):
            if abs(other[i] - one[i]) > TIE * (abs(other[i]) + abs(one[i])):
                if other[i] < one[i]:
                    best = rival
                    one, other = other, one
                break
    return best


@kernel
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


@kernel
def _padded(m):
    """The width that rows of the inverse are worked on: full vector registers, the rest being zeros."""
    return (m + PAD - 1) // PAD * PAD


@kernel
def _replace_column(inverse, m, p, dx):
    """The inverse after column p of the block has become −(block) dx."""
    width = _padded(m)
    scale = -1.0 / dx[p]
    for b in range(width):
        inverse[p, b] *= scale
    for a in range(m):
        if a != p:
            factor = dx[a]
            for b in range(width):
                inverse[a, b] += factor * inverse[p, b]


@kernel
def _border(inverse, m, dx, g, schur):
    """The inverse after the block has grown by a column −(block) dx and a row g (block)."""
    scale = 1.0 / schur
    width = _padded(m + 1)
    if m % PAD == 0:
        for a in range(m):
            for b in range(m, width):
                inverse[a, b] = 0.0
    g[m] = -1.0
    for b in range(m + 1, width):
        g[b] = 0.0
    for a in range(m):
        factor = dx[a] * scale
        for b in range(width):
            inverse[a, b] -= factor * g[b]
    for b in range(width):
        inverse[m, b] = -scale * g[b]


@kernel
def _replace_row(inverse, m, p, g):
    """The inverse after row p of the block has become g (block)."""
    scale = 1.0 / g[p]
    width = _padded(m)
    for a in range(m):
        factor = inverse[a, p] * scale
        for b in range(width):
            inverse[a, b] -= factor * g[b]
        inverse[a, p] = factor


@kernel
def _shrink(inverse, m, p, r):
    """The inverse after column p and row r of the block have gone; the last ones take their places."""
    last = m - 1
    width = _padded(m)
    scale = 1.0 / inverse[p, r]
    for a in range(m):
        if a != p:
            factor = inverse[a, r] * scale
            for b in range(width):
                inverse[a, b] -= factor * inverse[p, b]
    if p != last:
        for b in range(width):
            inverse[p, b] = inverse[last, b]
    for a in range(last):
        inverse[a, r] = inverse[a, last]
        inverse[a, last] = 0.0


@kernel
def _counting(spare, m):
    """The numbers 0 … m − 1 in a workspace."""
    for a in range(m):
        spare[a] = a
    return spare


@kernel
def _product(inverse, m, b, out):
    """Set out = inverse b; b is padded with zeros."""
    width = _padded(m)
    for a in range(m, width):
        b[a] = 0.0
    for a in range(m):
        total = 0.0
        for c in range(width):
            total += inverse[a, c] * b[c]
        out[a] = total


@kernel
def _begin(T, q, d, integers, columns, rows, position, spare, x, b, w, inverse, factor):
    """Bring z₀ into the starting basis; returns whether that basis is a solution already."""
    n = q.size
    m = integers[_SIZE]
    for i in range(n):
        position[i] = -1
    if m > 0:
        usable = _invert(T, d, columns, rows, m, False, inverse, factor, spare, b)
        if usable:
            _solve_again(T, q, columns, rows, m, factor, spare, x, w, b)
            usable = _refine(T, q, d, columns, rows, m, False, inverse, x, w, b) <= USABLE
        if not usable:
            m = 0
    if m == 0:
        _refine(T, q, d, columns, rows, m, False, inverse, x, w, b)
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
    integers[_SIZE], integers[_ENTERING], integers[_AGE] = m, -1, 0
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
    integers[_SIZE] = m
    integers[_ENTERING] = leaving + n if leaving < n else leaving - n
    # a larger block is inverted before the next pivot
    if m == 1:
        for c in range(PAD):
            inverse[0, c] = 0.0
        inverse[0, 0] = 1.0 / d[rows[0]]
        x[0] = -q[rows[0]] / d[rows[0]]
        _refine(T, q, d, columns, rows, m, True, inverse, x, w, b)
    else:
        x[0] = -least
        integers[_AGE] = n + FRESH_FOR + 1
    return False


@kernel
def lemke_pivots(T, q, d, integers, work, limit):
    """Pivot until z₀ leaves, nothing blocks or the limit is reached; returns (outcome, pivots).

    Variables are numbered w_i = i, z_i = n + i, z₀ = 2 n. Called with entering z₀ and, for a warm start, the
    basic z in columns and rows, it begins; called again it goes on.

    Args:
        T: The transpose of M, shape (n, n).
        q: Vector, shape (n,).
        d: Covering vector, shape (n,); changed for a warm start.
        integers: Header, columns and rows of the block, row positions, workspace; shape (HEADER + 4 n + 4,).
        work: Basic values x, rates dx, vectors, w, dw, inverse, factor, error, first z₀; shape
            (`workspace(n)`,).
        limit: Largest number of pivots.
    """
    n = q.size
    columns, rows = integers[HEADER : HEADER + n + 1], integers[HEADER + n + 1 : HEADER + 2 * n + 2]
    position = integers[HEADER + 2 * n + 2 : HEADER + 3 * n + 3]
    spare = integers[HEADER + 3 * n + 3 : HEADER + 4 * n + 4]
    size = _padded(n + 1)
    x, dx, g, b = work[:size], work[size : 2 * size], work[2 * size : 3 * size], work[3 * size : 4 * size]
    w, dw = work[4 * size : 4 * size + n], work[5 * size : 5 * size + n]
    vectors = work[6 * size : 9 * size]
    inverse = work[9 * size : 9 * size + size * size].reshape((size, size))
    factor = work[9 * size + size * size : 9 * size + 2 * size * size].reshape((size, size))
    m, entering = integers[_SIZE], integers[_ENTERING]
    pivots = 0
    if entering == 2 * n:
        if _begin(T, q, d, integers, columns, rows, position, spare, x, b, w, inverse, factor):
            return DONE, 0
        m, entering = integers[_SIZE], integers[_ENTERING]
        work[-1] = max(x[0], 0.0)
    fresh = False
    while pivots < limit:
        if integers[_AGE] > n + FRESH_FOR or fresh:
            if not _invert(T, d, columns, rows, m, True, inverse, factor, spare, b):
                return SINGULAR, pivots
            for a in range(m):
                x[a] = 0.0
            _refine(T, q, d, columns, rows, m, True, inverse, x, w, b)
            integers[_AGE] = 0
        # rates of the basic variables as the entering one grows
        if entering >= n:
            e = entering - n
            column = T[e]
            for a in range(m):
                b[a] = column[rows[a]]
            _product(inverse, m, b, dx)
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
        add_rows(dw, T, columns[1:], dx[1:], m - 1)
        out = _leaving(T, d, columns, rows, m, inverse, x, w, dx, dw, spare, vectors)
        # a ray and a small pivot are believed only of a fresh inverse
        if integers[_AGE] > 0 and _doubtful(out, m, dx, dw):
            fresh = True
            continue
        if out < 0:
            return RAY, pivots
        fresh = False
        step = max(-x[out] / dx[out] if out < m else -w[out - m] / dw[out - m], 0.0)
        add_multiple(x[:m], step, dx[:m])
        add_multiple(w, step, dw)
        pivots += 1
        integers[_AGE] += 1
        done = out == 0
        if out >= m:
            i = out - m
            _row_of_block(T, d, columns, m, i, b)
            width = _padded(m)
            for a in range(width):
                g[a] = 0.0
            add_rows(g[:width], inverse, _counting(spare, m), b, m)
            leaving = i
            w[i] = np.inf
            if entering >= n:
                _border(inverse, m, dx, g, dw[i])
                columns[m], rows[m], position[i], x[m] = e, i, m, step
                m += 1
            else:
                _replace_row(inverse, m, e, g)
                rows[e], position[i], position[entering] = i, e, -1
                w[entering] = step
        else:
            leaving = columns[out] + n
            if entering >= n:
                _replace_column(inverse, m, out, dx)
                columns[out], x[out] = e, step
            else:
                _shrink(inverse, m, out, e)
                m -= 1
                columns[out], x[out] = columns[m], x[m]
                rows[e] = rows[m]
                position[rows[e]] = e
                position[entering] = -1
                w[entering] = step
        entering = leaving + n if leaving < n else leaving - n
        integers[_SIZE], integers[_ENTERING] = m, entering
        if done:
            work[-2] = _refine(T, q, d, columns, rows, m, False, inverse, x, w, b)
            if not work[-2] <= DRIFT and _invert(T, d, columns, rows, m, False, inverse, factor, spare, b):
                _solve_again(T, q, columns, rows, m, factor, spare, x, w, b)
                work[-2] = _refine(T, q, d, columns, rows, m, False, inverse, x, w, b)
            return DONE, pivots
        if x[0] <= NEGLIGIBLE * work[-1]:
            # z₀ is zero though it is still basic: the point is a solution, whatever would block next
            work[-2] = _refine(T, q, d, columns, rows, m, True, inverse, x, w, b)
            return DONE, pivots
    return LIMIT, pivots


@dataclass(frozen=True)
class LemkeOptions(PivotOptions):
    """Options of Lemke's method.

    Attributes:
        covering: The covering vector d > 0, shape (n,). The default of ones suits problems whose rows have
            one scale; another vector takes another path, which may find another solution.
    """

    covering: Any = None


def workspace(n: int) -> int:
    """Numbers that the kernel needs."""
    size = (n + PAD) // PAD * PAD
    return size * (9 + 2 * size) + 2


class _Path:
    """The kernel with its workspace, for one problem."""

    def __init__(self, problem: LCP, control: Control, options: LemkeOptions) -> None:
        n = self.n = problem.size
        M = dense(problem.M)
        self.transposed = M if is_symmetric(M) else freeze(np.ascontiguousarray(M.T))
        self.q = problem.q
        self.covering = _covering(options.covering, n)
        self.integers = np.empty(HEADER + 4 * n + 4, dtype=np.int64)
        self.work = np.empty(workspace(n))
        self.stride = (n + PAD) // PAD * PAD
        self.control = control
        self.limit = control.limit(PIVOTS_PER_ROW * max(n, 4))
        self.every = options.check_every or (n if control.watched else 0)
        self.pivots = 0

    def run(self, basis: np.ndarray) -> int:
        """Follow a path from the basis with these z; returns the outcome."""
        n, size = self.n, basis.size
        cover = self.covering.copy()
        self.integers[:HEADER] = size, 2 * n, 0
        self.integers[HEADER : HEADER + size] = basis
        self.integers[HEADER + n + 1 : HEADER + n + 1 + size] = basis

        def advance(count: int) -> tuple[int, int]:
            return lemke_pivots(self.transposed, self.q, cover, self.integers, self.work, count)

        left = self.limit - self.pivots
        outcome, pivots = pivot(advance, self.iterate, self.control, limit=left, every=self.every)
        self.pivots += pivots
        return outcome

    @property
    def basis(self) -> np.ndarray:
        """The basic z, without z₀."""
        columns = self.integers[HEADER : HEADER + self.integers[_SIZE]]
        return np.sort(columns[columns < self.n])

    def iterate(self) -> Vector:
        """The present z, shape (n,)."""
        columns = self.integers[HEADER : HEADER + self.integers[_SIZE]]
        z = np.zeros(self.n + 1)
        z[columns] = np.maximum(self.work[: columns.size], 0.0)
        return z[: self.n]

    def wrong(self) -> bool:
        """Whether a basic variable is negative beyond round-off."""
        n, size = self.n, self.integers[_SIZE]
        x, w = self.work[:size], self.work[4 * self.stride : 4 * self.stride + n]
        largest = np.abs(self.q).max(initial=0.0)
        return bool(
            not self.work[-2] <= USABLE
            or (x < -SIGN * np.abs(x).max(initial=0.0)).any()
            or (w < -SIGN * largest).any()
            or not np.isfinite(x).all()
        )

    def ray(self) -> dict[str, Any]:
        """The direction in which nothing blocks: rates of z, w and z₀."""
        n, size = self.n, self.integers[_SIZE]
        entering = self.integers[_ENTERING]
        columns = self.integers[HEADER : HEADER + size]
        z = np.zeros(n + 1)
        z[columns] = self.work[self.stride : self.stride + size]
        w = self.work[5 * self.stride : 5 * self.stride + n].copy()
        w[self.integers[HEADER + n + 1 : HEADER + n + 1 + size]] = 0.0
        if entering >= n:
            z[entering - n] = 1.0
        else:
            w[entering] = 1.0
        return {"z": z[:n], "w": w, "z0": float(z[n])}


def _covering(covering: Any, n: int) -> Vector:
    if covering is None:
        return np.ones(n)
    d = vector("covering", covering, n)
    if not (d > 0).all():
        i = int(np.argmin(d > 0))
        raise ProblemError(f"covering[{i}] = {d[i]}: every entry must be positive")
    return d.copy()


def _run(path: _Path, basis: np.ndarray) -> int:
    """Follow a path, and another from where it ends as long as signs there are wrong; returns the outcome."""
    outcome = path.run(basis)
    for _ in range(RESTARTS):
        if outcome != DONE or not path.wrong():
            break
        outcome = path.run(path.basis)
    return outcome


@register(
    "lemke",
    takes=LCP,
    summary="complementary pivoting; any matrix, a ray as certificate where it fails",
    options=LemkeOptions,
)
def lemke(problem: LCP, control: Control, options: LemkeOptions) -> Attempt:
    """Solve an LCP by Lemke's method."""
    path = _Path(problem, control, options)
    none = np.empty(0, dtype=np.int64)
    warm = none if control.start is None else np.flatnonzero(control.start > 0)
    outcome = _run(path, warm)
    if warm.size and (outcome in (RAY, SINGULAR) or (outcome == DONE and path.wrong())):
        outcome = _run(path, none)
    info: dict[str, Any] = {"active_set": path.basis, "pivots": path.pivots}
    attempt = Attempt(path.iterate(), path.pivots, info=info)
    if outcome == RAY:
        ray = path.ray()
        info.update(ray=ray, certificate=np.maximum(ray["z"], 0.0))
        attempt.reason = Status.INFEASIBLE
    elif outcome != DONE:
        attempt.reason = {LIMIT: Status.ITERATION_LIMIT, STOPPED: control.reason}.get(outcome, Status.STALLED)
    return attempt
