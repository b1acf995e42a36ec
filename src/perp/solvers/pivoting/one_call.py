"""Small LCPs and boxed LCPs in one compiled call: pivots, and the verdict of the shared residual.

Block exchanges for a symmetric matrix, a box or a few rows, Lemke's path for an LCP with more rows and
another matrix, and each where the other does not end in a few steps: a path on redundant rows, exchanges on
the exponential examples. What neither solves is left to the longer list of `auto`.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.problems.boxed_kernels import clip
from perp.problems.row_verdict import judge_rows
from perp.solvers.pivoting.complementary_path import HEADER, SIZE, WRONG, lemke_pivots, workspace
from perp.solvers.pivoting.factors import dot, pivot_kernel, pivot_part
from perp.solvers.pivoting.inverse import padded
from perp.solvers.pivoting.principal import PATIENCE, principal_steps
from perp.solvers.pivoting.rows import AT_HI, AT_LO, DONE, FREE

# Exchanges beyond one per row: they settle within a handful, or not at all.
STEPS = 20
# Up to this many rows exchanges take no longer than a path, which may lead through all cones (Murty 1978).
FEW = 16
# Sweeps before the first exchange: each takes a fifth of an exchange at n = 64 and saves about one.
SWEEPS = 3
lemke_workspace = part(workspace)


@pivot_part
def _swept_sides(M, q, lo, hi, z, sides):
    """Sides of a cold start: those where projected Gauss–Seidel sweeps from rest put the rows."""
    n = q.size
    for i in range(n):
        z[i] = clip(0.0, lo[i], hi[i])
    for _ in range(SWEEPS):
        for i in range(n):
            diagonal = M[i, i]
            if diagonal > 0.0:
                z[i] = clip(z[i] - (q[i] + dot(M[i], z)) / diagonal, lo[i], hi[i])
    for i in range(n):
        sides[i] = AT_HI if z[i] >= hi[i] else (AT_LO if z[i] <= lo[i] else FREE)


@pivot_part
def _exchange(M, q, lo, hi, d, symmetric, z):
    """Block principal pivoting into z; returns sides and steps, no sides where it does not settle."""
    n = q.size
    integers = np.empty(2 + 5 * n, dtype=np.int64)
    work = np.empty(n * (n + 5))
    integers[0], integers[1] = n + 1, PATIENCE
    for i in range(n):
        work[n + i], work[2 * n + i] = 0.0, d[i]
    sides = integers[2 : 2 + n]
    _swept_sides(M, q, lo, hi, z, sides)
    outcome, steps = principal_steps(
        M, q, (lo, hi), integers, work, 0.0, symmetric, n + STEPS if symmetric else STEPS
    )
    if outcome != DONE:
        return sides[:0], steps
    z[:] = work[:n]
    return sides, steps


@pivot_part
def _path(T, q, z):
    """Lemke's path into z; returns the basic z and pivots, −1 pivots where it does not end well."""
    n = q.size
    integers = np.empty(HEADER + 4 * n + 4, dtype=np.int64)
    work = np.empty(lemke_workspace(n))
    work[:n] = 1.0
    outcome, pivots = lemke_pivots(T, q, integers, work, 0, 2 * n + STEPS)
    size = integers[SIZE]
    columns = integers[HEADER : HEADER + size]
    if outcome != DONE or integers[WRONG] != 0:
        return columns[:0], -1
    stride = padded(n + 1)
    z[:] = 0.0
    for a in range(size):
        if columns[a] < n:
            z[columns[a]] = max(work[stride + a], 0.0)
    return np.sort(columns[columns < n]), pivots


@pivot_part
def _is_lcp(lo, hi):
    boxes = 0
    for i in range(lo.size):
        boxes += lo[i] != 0.0 or hi[i] < math.inf
    return boxes == 0


@pivot_kernel
def solve_rows(numbers, n, symmetric, transposed, z, w):
    """Solve a packed problem into z and w.

    Args:
        numbers: M, its transpose where `transposed` says so, q, lo, hi, column scale, mobility and data size,
            one behind the other.
        n: Rows.
        symmetric: Whether M is.
        transposed: Whether it is an LCP with another matrix than a symmetric one.
        z: Receives the answer, shape (n,).
        w: Receives M z + q, shape (n,).

    Returns:
        The shared residual (infinite without an answer), pivots, active rows, rows at their upper bound,
        whether a path led there.
    """
    M = numbers[: n * n].reshape((n, n))
    T = numbers[n * n : 2 * n * n].reshape((n, n)) if transposed else M
    vectors = numbers[2 * n * n :] if transposed else numbers[n * n :]
    q, lo, hi, d = vectors[:n], vectors[n : 2 * n], vectors[2 * n : 3 * n], vectors[3 * n : 4 * n]
    mobility, size = vectors[4 * n : 5 * n], vectors[5 * n :]
    active = upper = np.empty(0, dtype=np.int64)
    pivots = -1
    if transposed and n > FEW:
        active, pivots = _path(T, q, z)
    by_path = pivots >= 0
    if not by_path:
        sides, pivots = _exchange(M, q, lo, hi, d, symmetric, z)
        if sides.size == n:
            active, upper = np.flatnonzero(sides == FREE), np.flatnonzero(sides == AT_HI)
        elif not (transposed and n > FEW) and _is_lcp(lo, hi):
            active, pivots = _path(T, q, z)
            by_path = True
        else:
            pivots = -1
        if pivots < 0:
            return math.inf, pivots, active, upper, by_path
    following = np.full(n, -1)
    return judge_rows(M, q, lo, hi, following, mobility, size, z, w), pivots, active, upper, by_path
