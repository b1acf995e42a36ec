"""The relaxation by its central path, one island after the other.

A convex problem has a path that always leads to its answer, in some twenty block eliminations whatever the
rank of W, where Newton's method without it cycles and sweeps crawl; plain Newton steps are tried first, since
they are fewer where they work. An island goes its own length of steps and stops when it is solved; those that
are solved already are left alone.

Reference: Andersen, Roos and Terlaky, On implementing a primal-dual interior-point method for conic quadratic
optimization, Math. Program. 95 (2003).
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.central_path import advance, begin
from perp.kernels.elimination import eliminate
from perp.kernels.islands import groups, restrict
from perp.kernels.packed import newton_scales, view
from perp.kernels.plain_newton import Steps, newton_steps
from perp.kernels.residual import norm, residual_at, workspace

PATH_STEPS = 60
# Newton steps before that: the first may lead astray, each other one must lower the residual to this part.
NEWTON_STEPS, RATE = 8, 0.5
# Newton steps off the path: below this residual, then whenever it has fallen to this part again; how many;
# the proximal weight of all Newton steps.
POLISH, POLISH_AGAIN, POLISHING_STEPS = 1e-3, 0.03, 5
WEIGHT = 1e-6


@kernel(nogil=True, error_model="numpy")
def follow(blocks, order, rho, x, tol, limit):
    """One island from x in place; the residual and the number of iterations and Newton steps.

    The residual falls with √τ where contacts touch without pressing, but the path shows early which contacts
    are open, stick and slide: Newton steps from there reach the end at once.
    """
    first = Steps(tol, min(NEWTON_STEPS, limit), WEIGHT, 1.0, 0, RATE, 1)
    best, steps = newton_steps(blocks, order, rho, x, first)
    path, point, threshold = begin(blocks, x), np.zeros(x.size), POLISH
    while best > tol and steps < limit:
        most = min(PATH_STEPS, limit - steps)
        value, taken = advance(blocks, order, path, point, max(tol, threshold), most)
        steps += taken
        ended, threshold = value > threshold, POLISH_AGAIN * value
        if value < best:
            best = value
            x[:] = point
        if best > tol:
            polished = point.copy()
            again = Steps(tol, min(POLISHING_STEPS, limit - steps), WEIGHT, 1.0, 0, math.inf, 0)
            value, taken = newton_steps(blocks, order, rho, polished, again)
            steps += taken
            if value < best:
                best = value
                x[:] = polished
        if ended:
            break
    return best, steps


@kernel(nogil=True, error_model="numpy")
def follow_path(packed, order, rho, x, tol, limit):
    """`follow` of a packed problem as a whole."""
    return follow(view(packed), order, rho, x, tol, limit)


@kernel(nogil=True, error_model="numpy")
def follow_islands(packed, order, rho, x, tol, limit):
    """Solve every island that x leaves unsolved, in place; the number of iterations, at most `limit`."""
    blocks = view(packed)
    start = blocks.start
    group, total = groups(blocks.first, blocks.column)
    if total == 1:
        return follow(blocks, order, rho, x, tol, limit)[1]
    begin = np.zeros(total + 1, np.int64)
    for g in group:
        begin[g + 1] += 1
    begin = np.cumsum(begin)
    members, filled = np.empty(group.size, np.int64), begin.copy()
    for c in range(group.size):
        members[filled[group[c]]] = c
        filled[group[c]] += 1
    work, steps = workspace(), 0
    for g in range(total):
        chosen = members[begin[g] : begin[g + 1]]
        part = restrict(blocks, chosen)
        y, u = np.empty(part.q.size), np.empty(part.q.size)
        for k in range(chosen.size):
            for i in range(part.start[k], part.start[k + 1]):
                y[i] = x[start[chosen[k]] + i - part.start[k]]
        if not residual_at(part, y, u, norm(part.q), work) > tol:
            continue
        steps += follow(part, eliminate(part.first, part.column), newton_scales(part), y, tol, limit - steps)[
            1
        ]
        for k in range(chosen.size):
            for i in range(part.start[k], part.start[k + 1]):
                x[start[chosen[k]] + i - part.start[k]] = y[i]
    return steps
