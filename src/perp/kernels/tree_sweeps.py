"""Block Gauss–Seidel sweeps with momentum over the constraints of an island of loose bodies.

Where the impulses of the last time step are far from an answer, as in a heap that moves, Newton's method goes
from one active set to the next at the cost of an elimination each. A sweep solves the law of each constraint
by itself against the velocities at that time, costs about a fiftieth of that (500 spheres in a drum), and a
few hundred of them leave an active set from which Newton's method ends soon. Every second sweep goes
backwards, and each constraint has its own momentum as in `sweep.momentum_sweeps`.

The velocities of trees are kept up to date instead of W: with Y = M⁻¹ Jᵀ the impulse of a constraint changes
those of the trees in its rows alone, which is so where its rows reach all freedoms of their trees.
"""

from __future__ import annotations

from perp.compilation.kernel import part
from perp.kernels.friction_laws import MOST_ROWS, bounds
from perp.kernels.local_solve import solve_coulomb
from perp.kernels.sweep import GROWTH, MOST
from perp.kernels.tree_algebra import solve_mass
from perp.kernels.tree_state import copy_rows, evaluate
from perp.problems.set_kernels import COULOMB

# Rows of a contact that a sweep solves.
_ROWS = 3
# Trees of an island from which sweeps pay: with fewer of them a Newton step costs as little as a few sweeps
# (dominoes and cubes of `benchmarks/stepping.py`, 24 and 15 trees, take as long as without or longer).
_MANY = 60


@part
def can_sweep(p, w, k):
    """Whether island k has many trees, rows that reach all of theirs, and contacts with two tangents."""
    if p.count[2] or w.island_tree_start[k + 1] - w.island_tree_start[k] < _MANY:
        return False
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i = p.start[c]
        size = p.start[c + 1] - i
        if p.kind[c] >= COULOMB and (p.kind[c] != COULOMB or size != _ROWS):
            return False
        e, end = p.row_begin[i], p.row_begin[i + 1]
        while e < end:
            t = w.tree_of[p.column[e]]
            n = p.tree_start[t + 1] - p.tree_start[t]
            if e + n > end or p.column[e + n - 1] != p.tree_start[t + 1] - 1:
                return False
            e += n
    return True


@part
def sweep_island(p, w, k, count):
    """`count` pairs of sweeps on island k, forwards and backwards, from its impulses and velocities."""
    y, x, before, beta = p.impulse, w.dual, w.step, w.upper
    first, end = w.island_constraint_start[k], w.island_constraint_start[k + 1]
    for pair in range(count):
        copy_rows(p, w, k, y, before)
        for a in range(first, end):
            _solve_one(p, w, w.island_constraint[a])
        for a in range(end - 1, first - 1, -1):
            _solve_one(p, w, w.island_constraint[a])
        for a in range(first, end):
            c = w.island_constraint[a]
            i, against = p.start[c], 0.0
            for r in range(i, p.start[c + 1]):
                against += (before[r] - y[r]) * (y[r] - x[r])
            beta[i] = 0.0 if against > 0.0 else min(MOST, beta[i] + GROWTH * (1.0 - beta[i]))
            for r in range(i, p.start[c + 1]):
                push = beta[i] * (y[r] - x[r])
                x[r] = y[r]
                if push != 0.0 and pair < count - 1:
                    y[r] += push
                    for e in range(p.row_begin[r], p.row_begin[r + 1]):
                        p.velocity[p.column[e]] += w.KL[e] * push
    evaluate(p, w, k, k + 1)


@part
def begin_sweeps(p, w, k):
    """What sweeps of island k need: Y in KL, L Y + Σ in K, momentum in the room of the central path."""
    x = w.change
    copy_rows(p, w, k, p.impulse, w.dual)
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i = p.start[c]
        size, begin = p.start[c + 1] - i, p.row_begin[i]
        width = p.row_begin[i + 1] - begin
        w.upper[i] = 0.0
        for r in range(size):
            e, end = begin + r * width, begin + (r + 1) * width
            while e < end:
                t = w.tree_of[p.column[e]]
                first, n = p.tree_start[t], p.tree_start[t + 1] - p.tree_start[t]
                for j in range(n):
                    x[first + j] = p.value[e + j]
                solve_mass(n, w.factor, p.mass_start[t], x, first)
                for j in range(n):
                    w.KL[e + j] = x[first + j]
                e += n
        for r in range(size):
            for s in range(size):
                total = p.compliance[i + r] if r == s else 0.0
                for e in range(width):
                    total += p.left[begin + r * width + e] * w.KL[begin + s * width + e]
                w.K[c, r, s] = total


@part
def _solve_one(p, w, c):
    """The impulse of constraint c for the velocities at this time, which change with it."""
    x, v, Y = p.impulse, p.velocity, w.KL
    i, cohesion = p.start[c], p.parameter[c, 5]
    begin = p.row_begin[i]
    width = p.row_begin[i + 1] - begin
    columns, L, W = p.column[begin : begin + width], p.left[begin:], w.K[c].reshape(MOST_ROWS * MOST_ROWS)
    b0 = p.bias[i] + p.compliance[i] * x[i]
    for e in range(width):
        b0 += L[e] * v[columns[e]]
    if p.kind[c] < COULOMB:
        low, high = bounds(p.kind[c], p.parameter[c])
        change = min(max(x[i] - b0 / W[0] if W[0] > 0.0 else x[i], low), high) - x[i]
        if change != 0.0:
            x[i] += change
            for e in range(width):
                v[columns[e]] += Y[begin + e] * change
        return
    n, t1, t2 = x[i] + cohesion, x[i + 1], x[i + 2]
    if n == 0.0 and t1 == 0.0 and t2 == 0.0 and b0 >= 0.0:
        return
    b1 = p.bias[i + 1] + p.compliance[i + 1] * t1
    b2 = p.bias[i + 2] + p.compliance[i + 2] * t2
    for e in range(width):
        b1 += L[width + e] * v[columns[e]]
        b2 += L[2 * width + e] * v[columns[e]]
    b0 -= W[0] * n + W[1] * t1 + W[2] * t2
    b1 -= W[MOST_ROWS] * n + W[MOST_ROWS + 1] * t1 + W[MOST_ROWS + 2] * t2
    b2 -= W[2 * MOST_ROWS] * n + W[2 * MOST_ROWS + 1] * t1 + W[2 * MOST_ROWS + 2] * t2
    new, f1, f2 = solve_coulomb(0, MOST_ROWS, W, (b0, b1, b2), p.parameter[c, 0], (t1, t2))
    x[i], x[i + 1], x[i + 2] = new - cohesion, f1, f2
    new, f1, f2 = new - n, f1 - t1, f2 - t2
    for e in range(width):
        v[columns[e]] += Y[begin + e] * new + Y[begin + width + e] * f1 + Y[begin + 2 * width + e] * f2
