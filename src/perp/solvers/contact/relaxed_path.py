"""The relaxation by its central path, one independent group of contacts after the other.

A convex problem has a path that always leads to its answer, in some twenty block eliminations whatever the
rank of W, where Newton's method without it cycles and sweeps crawl; plain Newton steps are tried first, since
they are fewer where they work. A group apart from the others goes its own length of steps and stops when it
is solved; those that sweeps have solved are left alone.

Reference: Andersen, Roos and Terlaky, On implementing a primal-dual interior-point method for conic quadratic
optimization, Math. Program. 95 (2003).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.kernels.elimination import eliminate
from perp.solvers.contact.central_path import advance, begin
from perp.solvers.contact.plain_newton import plain_newton
from perp.solvers.contact.proximal import newton_scale
from perp.solvers.contact.residual import norm, residual_at
from perp.solvers.contact.restricted import groups, restrict
from perp.solvers.contact.sweep import WORKSPACE

PATH_STEPS = 60
# Newton steps before that: the first may lead astray, each other one must lower the residual to this part.
NEWTON_STEPS, RATE = 8, 0.5
# Newton steps off the path: below this residual, then whenever it has fallen to this part again; how many;
# the proximal weight of all Newton steps.
POLISH, POLISH_AGAIN, POLISHING_STEPS = 1e-3, 0.03, 5
WEIGHT = 1e-6


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_group(blocks, x, tol, limit):
    """One group from x in place; the number of iterations and Newton steps.

    The residual falls with √τ where contacts touch without pressing, but the path shows early which contacts
    are open, stick and slide: Newton steps from there reach the end at once.
    """
    order, rho = eliminate(blocks.first, blocks.column), newton_scale(blocks)
    best, steps = plain_newton(blocks, order, rho, WEIGHT, 0, x, tol, min(NEWTON_STEPS, limit), RATE, 1)
    path, point, threshold = begin(blocks, x, math.inf), np.zeros(x.size), POLISH
    while best > tol and steps < limit:
        most = min(PATH_STEPS, limit - steps)
        value, taken = advance(blocks, order, path, point, max(tol, threshold), math.inf, most)
        steps += taken
        ended, threshold = value > threshold, POLISH_AGAIN * value
        if value < best:
            best = value
            x[:] = point
        if best > tol:
            most = min(POLISHING_STEPS, limit - steps)
            polished = point.copy()
            value, taken = plain_newton(blocks, order, rho, WEIGHT, 0, polished, tol, most, math.inf, 0)
            steps += taken
            if value < best:
                best = value
                x[:] = polished
        if ended:
            break
    return steps


@njit(cache=True, nogil=True, error_model="numpy")
def follow_groups(blocks, x, tol, limit):
    """Solve every group that x leaves unsolved, in place; the number of iterations, at most `limit`."""
    start = blocks.start
    group, total = groups(blocks.first, blocks.column)
    begin = np.zeros(total + 1, np.int64)
    for g in group:
        begin[g + 1] += 1
    begin = np.cumsum(begin)
    members, filled = np.empty(group.size, np.int64), begin.copy()
    for c in range(group.size):
        members[filled[group[c]]] = c
        filled[group[c]] += 1
    work, steps = np.zeros(WORKSPACE), 0
    for g in range(total):
        chosen = members[begin[g] : begin[g + 1]]
        part = restrict(blocks, chosen)
        y, u = np.empty(part.q.size), np.empty(part.q.size)
        for k in range(chosen.size):
            for i in range(part.start[k], part.start[k + 1]):
                y[i] = x[start[chosen[k]] + i - part.start[k]]
        if not residual_at(part, y, u, norm(part.q), work) > tol:
            continue
        steps += _solve_group(part, y, tol, limit - steps)
        for k in range(chosen.size):
            for i in range(part.start[k], part.start[k + 1]):
                x[start[chosen[k]] + i - part.start[k]] = y[i]
    return steps
