"""Block Gauss–Seidel sweeps over a packed contact problem, plain and with momentum."""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.kernels.local_solve import (
    solve_coulomb,
    solve_disc,
    solve_many_tangents,
    solve_planar,
    solve_relaxed,
)
from perp.kernels.packed import view
from perp.kernels.residual import MOST_ROWS, workspace

# Momentum at most, and the part of what is left to 1 that an iteration adds. More than 0.95 is not stable
# where contacts slip.
MOST, GROWTH = 0.9, 0.2
# Rounds between the two discs of a rolling contact: more gain nothing while the other contacts still move.
_ROLLING_ROUNDS = 5


@part
def _rest3(blocks, c, x):
    """Velocity of a constraint with three rows, its own impulse left out."""
    start, column, at, data = blocks.start, blocks.column, blocks.at, blocks.data
    i = start[c]
    s0, s1, s2 = blocks.q[i], blocks.q[i + 1], blocks.q[i + 2]
    for k in range(blocks.first[c], blocks.first[c + 1]):
        if k == blocks.diagonal[c]:
            continue
        p, j = at[k], start[column[k]]
        width = start[column[k] + 1] - j
        if width == 3:
            # constant indices into short views: no test for negative ones is left
            B, X = data[p : p + 9], x[j : j + 3]
            s0 += B[0] * X[0] + B[1] * X[1] + B[2] * X[2]
            s1 += B[3] * X[0] + B[4] * X[1] + B[5] * X[2]
            s2 += B[6] * X[0] + B[7] * X[1] + B[8] * X[2]
        else:
            for m in range(width):
                s0 += data[p + m] * x[j + m]
                s1 += data[p + width + m] * x[j + m]
                s2 += data[p + 2 * width + m] * x[j + m]
    return s0, s1, s2


@part
def _without_own(blocks, c, r, x):
    """Velocity of row r of constraint c, the constraint's own impulse left out."""
    start, column, at, data = blocks.start, blocks.column, blocks.at, blocks.data
    total = blocks.q[start[c] + r]
    for k in range(blocks.first[c], blocks.first[c + 1]):
        if k == blocks.diagonal[c]:
            continue
        j = start[column[k]]
        width = start[column[k] + 1] - j
        p = at[k] + r * width
        for m in range(width):
            total += data[p + m] * x[j + m]
    return total


@part
def rolling(c, start, mu, mu_r, data, p, b, x):
    """A rolling contact: normal and sliding with rolling fixed, then rolling, each exact.

    Half steps if they fight.
    """
    i = start[c]
    r1, r2 = x[i + 3], x[i + 4]
    weight, last = 1.0, math.inf
    for _ in range(_ROLLING_ROUNDS):
        b0 = b[0] + data[p + 3] * r1 + data[p + 4] * r2
        b1 = b[1] + data[p + 8] * r1 + data[p + 9] * r2
        b2 = b[2] + data[p + 13] * r1 + data[p + 14] * r2
        n, t1, t2 = solve_coulomb(p, 5, data, (b0, b1, b2), mu[c], (x[i + 1], x[i + 2]))
        b3 = b[3] + data[p + 15] * n + data[p + 16] * t1 + data[p + 17] * t2
        b4 = b[4] + data[p + 20] * n + data[p + 21] * t1 + data[p + 22] * t2
        s1, s2 = solve_disc(p + 18, 5, data, (b3, b4), mu_r[c] * n, (r1, r2))
        change = math.hypot(s1 - r1, s2 - r2)
        if change > 0.7 * last:
            weight *= 0.5
        last = change
        r1 += weight * (s1 - r1)
        r2 += weight * (s2 - r2)
        x[i], x[i + 1], x[i + 2] = n, t1, t2
        if change <= 1e-15 * (abs(n) + abs(s1) + abs(s2)):
            break
    x[i + 3], x[i + 4] = r1, r2


@part(shared=True)
def directed_sweep(blocks, x, b, backwards):
    """One sweep over all constraints, first to last or backwards, changing x in place; `b` is workspace.

    Returns:
        ‖d Δx‖: how far the sweep moved, as a velocity.
    """
    start, mu, mu_r, d, data = blocks.start, blocks.mu, blocks.mu_r, blocks.d, blocks.data
    moved = 0.0
    count = start.size - 1
    for k in range(count):
        c = count - 1 - k if backwards else k
        i, size, p = start[c], start[c + 1] - start[c], blocks.at[blocks.diagonal[c]]
        change = 0.0
        if mu[c] < 0.0:
            others = _without_own(blocks, c, 0, x)
            own = data[p] if data[p] > 0.0 else d[c]
            new = (-others if data[p] > 0.0 else own * x[i] - others - data[p] * x[i]) / own
            new = min(max(new, blocks.low[c]), blocks.high[c])
            change = (new - x[i]) ** 2
            x[i] = new
        elif size == 3 and not blocks.relaxed:
            n, f1, f2 = solve_coulomb(p, 3, data, _rest3(blocks, c, x), mu[c], (x[i + 1], x[i + 2]))
            change = (n - x[i]) ** 2 + (f1 - x[i + 1]) ** 2 + (f2 - x[i + 2]) ** 2
            x[i], x[i + 1], x[i + 2] = n, f1, f2
        else:
            if size == 3:
                b[0], b[1], b[2] = _rest3(blocks, c, x)
            for m in range(size):
                if size != 3:
                    b[m] = _without_own(blocks, c, m, x)
                b[MOST_ROWS + m] = x[i + m]
            if blocks.relaxed:
                solve_relaxed(p, size, data, b, mu[c], mu_r[c], x, i)
            elif size == 2:
                x[i], x[i + 1] = solve_planar(p, data, b[0], b[1], mu[c])
            elif mu_r[c] >= 0.0:
                rolling(c, start, mu, mu_r, data, p, b, x)
            else:
                solve_many_tangents(p, size, data, b, mu[c], x, i)
            for m in range(size):
                change += (x[i + m] - b[MOST_ROWS + m]) ** 2
        moved += d[c] * d[c] * change
    return math.sqrt(moved)


@part
def sweep(blocks, x, b):
    """One sweep over all constraints in order, as `directed_sweep`."""
    return directed_sweep(blocks, x, b, False)


@kernel(nogil=True)
def sweeps(packed, x, count):
    """`count` sweeps in place."""
    blocks, b = view(packed), workspace()
    for _ in range(count):
        sweep(blocks, x, b)


@kernel(nogil=True)
def momentum_sweeps(packed, x, y, beta, count):
    """`count` symmetric sweeps with momentum, in place.

    A sweep forwards and one backwards take the point y to x; the next y continues the way of each constraint,
    y_c = x_c + β_c (x_c − x_c'), where x' is the result before. Each constraint has its own β_c: it grows
    towards `MOST` while the steps of the constraint agree and falls to zero when momentum and step point
    apart, so that a contact that slips or opens does not disturb the others. On piles a few hundred replace
    thousands of plain sweeps.

    Reference: O'Donoghue and Candès, Adaptive restart for accelerated gradient schemes (2015), whose test is
    made here for each constraint by itself.
    """
    blocks, work = view(packed), workspace()
    start, before = blocks.start, np.empty(y.size)
    for _ in range(count):
        before[:] = y
        directed_sweep(blocks, y, work, False)
        directed_sweep(blocks, y, work, True)
        for c in range(start.size - 1):
            against = 0.0
            for i in range(start[c], start[c + 1]):
                against += (before[i] - y[i]) * (y[i] - x[i])
            beta[c] = 0.0 if against > 0.0 else min(MOST, beta[c] + GROWTH * (1.0 - beta[c]))
            for i in range(start[c], start[c + 1]):
                new = y[i]
                y[i] = new + beta[c] * (new - x[i])
                x[i] = new
