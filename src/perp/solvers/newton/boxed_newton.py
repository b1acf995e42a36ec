"""Semismooth Newton for boxed problems, with the derivative of friction bounds that move.

The natural map with ρ from the diagonal of M decides for every row whether it sits at lo, at hi or inside;
the linear system of that guess is solved exactly, with z_i = ±μ z_n substituted where a bound follows its
normal, so that friction and normal move together. Small dense symmetric boxes run in one compiled loop that
starts from a few sweeps and ends when the guess repeats; everything else, and whatever that loop does not
settle, is damped by a line search. A step costs one factorisation of the rows inside; typically 3 to 8 steps.

Reference: Hintermüller, Ito and Kunisch, The primal-dual active set strategy as a semismooth Newton method,
SIAM J. Optim. 13 (2002).
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.problems import LCP, BoxedLCP, ContactProblem
from perp.problems.validation import is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import (
    SYMMETRY_TOLERANCE,
    RowProblem,
    dense_symmetric,
    refuses_cones,
    refuses_following,
    register_rows,
    rows_of_problem,
)
from perp.solvers.newton.natural_map_newton import newton_on_natural_map
from perp.solvers.projection.sweep_kernels import dense_sweeps
from perp.solvers.projection.sweeps import Sweeper

# Beyond this size LAPACK's blocked factorisation is faster than the compiled loop's plain one.
LARGEST_COMPILED = 192
FIRST_SWEEPS = 6
COMPILED_STEPS = 12
# A pivot this small against its diagonal entry means a rank-deficient block: left to the regularised path.
SMALLEST_PIVOT = 1e-10


@part(fastmath={"contract"})
def _cholesky(U, m, diagonal):
    """The factor Uᵀ U of the leading m × m block in place (upper triangle); False when not definite."""
    for k in range(m):
        if not U[k, k] > SMALLEST_PIVOT * diagonal[k]:
            return False
        scale = 1.0 / np.sqrt(U[k, k])
        row = U[k]
        for j in range(k, m):
            row[j] *= scale
        for i in range(k + 1, m):
            factor = row[i]
            if factor != 0.0:
                other = U[i]
                for j in range(i, m):
                    other[j] -= factor * row[j]
    return True


@part
def _slack(M, q, z, w):
    for i in range(q.size):
        w[i] = q[i]
    for j in range(q.size):
        value = z[j]
        if value != 0.0:
            row = M[j]
            for i in range(q.size):
                w[i] += value * row[i]


@kernel
def newton(M, q, lo, hi, none, z, sweeps, steps):
    """Sweeps, then steps until the active set repeats; returns the steps taken, or −1 when it did not settle.

    A matrix that is not symmetric or has a nonpositive diagonal entry does not settle here.
    """
    n = q.size
    step, order, w = np.empty(n), np.arange(n), np.empty(n)
    for i in range(n):
        if not M[i, i] > 0.0:
            return -1
        step[i] = 1.0 / M[i, i]
    if not dense_symmetric(M, SYMMETRY_TOLERANCE):
        return -1
    _slack(M, q, z, w)
    if sweeps > 0:
        dense_sweeps(M, lo, hi, none, step, order, z, w, sweeps)
    U = np.empty((n, n))
    inner, side, previous = np.empty(n, np.int64), np.empty(n, np.int8), np.full(n, 2, np.int8)
    x, diagonal = np.empty(n), np.empty(n)
    for done in range(steps):
        changed = False
        m = 0
        for i in range(n):
            target = z[i] - step[i] * w[i]
            side[i] = -1 if target <= lo[i] else (1 if target >= hi[i] else 0)
            changed = changed or side[i] != previous[i]
            previous[i] = side[i]
        if not changed:
            return done
        for i in range(n):
            if side[i] == 0:
                inner[m] = i
                m += 1
                z[i] = 0.0
            else:
                z[i] = lo[i] if side[i] < 0 else hi[i]
        _slack(M, q, z, w)
        for a in range(m):
            row = M[inner[a]]
            x[a] = -w[inner[a]]
            diagonal[a] = row[inner[a]]
            for b in range(a, m):
                U[a, b] = row[inner[b]]
        if not _cholesky(U, m, diagonal):
            return -1
        for a in range(m):
            x[a] /= U[a, a]
            for b in range(a + 1, m):
                x[b] -= U[a, b] * x[a]
        for a in range(m - 1, -1, -1):
            for b in range(a + 1, m):
                x[a] -= U[a, b] * x[b]
            x[a] /= U[a, a]
        for a in range(m):
            i = inner[a]
            z[i] = x[a]
            row = M[i]
            for k in range(n):
                w[k] += x[a] * row[k]
    return -1


@register_rows(
    "boxed-newton",
    refuses=refuses_cones,
    summary="semismooth Newton with moving friction bounds; positive semidefinite and P matrices",
)
def boxed_newton(problem: RowProblem, control: Control, options: object) -> Attempt:
    """Solve a boxed problem by semismooth Newton steps."""
    matrix = problem.W if isinstance(problem, ContactProblem) else problem.M
    plain = not is_sparse(matrix) and isinstance(problem, (LCP, BoxedLCP)) and not refuses_following(problem)
    sweeps = FIRST_SWEEPS if control.start is None else 0
    if plain and problem.size <= LARGEST_COMPILED and control.max_iterations is None:
        point = control.begin(problem.size)
        none = np.full(problem.size, -1)
        steps = newton(problem.M, problem.q, problem.lo, problem.hi, none, point, sweeps, COMPILED_STEPS)
        if steps >= 0 and control.check(steps, point):
            return control.attempt(point, steps)
    rows = rows_of_problem(problem)
    sweeper = Sweeper(problem)
    z = control.begin(rows.size)
    sweeper.sweep(z, sweeps)
    return newton_on_natural_map(rows, rows.divisor, control, rows.clip(z), sweeper.sweep)
