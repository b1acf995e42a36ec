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

from perp.solvers.contact.central_path import POLISHING_WEIGHT, follow_path
from perp.solvers.contact.elimination import eliminate
from perp.solvers.contact.plain_newton import plain_newton
from perp.solvers.contact.proximal import newton_scale
from perp.solvers.contact.residual import norm, residual_at
from perp.solvers.contact.restricted import groups, restrict
from perp.solvers.contact.sweep import WORKSPACE

PATH_STEPS = 60
# Newton steps before that: the first may lead astray, each other one must lower the residual to this part.
NEWTON_STEPS, RATE = 8, 0.5
# The residual below which Newton steps are tried.
POLISH = 1e-3


@njit(cache=True, nogil=True, error_model="numpy")
def follow_groups(blocks, x, tol, limit):
    """Solve every group that x leaves unsolved, in place; the number of iterations, at most `limit`.

    A group has done its part when its error is below tol / √2 times the larger of its own ‖q‖ and its share
    of the whole ‖q‖ by its rows: the squares of these add up to at most (tol ‖q‖)².
    """
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
    whole, work, steps = norm(blocks.q), np.zeros(WORKSPACE), 0
    for g in range(total):
        chosen = members[begin[g] : begin[g + 1]]
        part = restrict(blocks, chosen)
        y, u = np.empty(part.q.size), np.empty(part.q.size)
        for k in range(chosen.size):
            for i in range(part.start[k], part.start[k + 1]):
                y[i] = x[start[chosen[k]] + i - part.start[k]]
        size = norm(part.q)
        share = whole * math.sqrt(part.q.size / x.size)
        allowed = tol * max(size, share) / (math.sqrt(2.0) * (size if size > 0.0 else 1.0))
        if not residual_at(part, y, u, size, work) > allowed:
            continue
        order, rho = eliminate(part.first, part.column), newton_scale(part)
        most = min(NEWTON_STEPS, limit - steps)
        value, taken = plain_newton(part, order, rho, POLISHING_WEIGHT, 0, y, allowed, most, RATE, 1)
        steps += taken
        if value > allowed:
            most = min(PATH_STEPS, limit - steps)
            steps += follow_path(part, order, y, allowed, math.inf, math.inf, most, POLISH)[1]
        for k in range(chosen.size):
            for i in range(part.start[k], part.start[k + 1]):
                x[start[chosen[k]] + i - part.start[k]] = y[i]
    return steps
