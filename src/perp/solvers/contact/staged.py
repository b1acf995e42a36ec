"""The stages of the default contact solver in one compiled call: sweeps while they pay, then proximal Newton.

Sweeps go on as long as their own rate promises the tolerance within about the price of the Newton stage.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.solvers.contact.canonical import build, build_dense, to_canonical
from perp.solvers.contact.elimination import eliminate
from perp.solvers.contact.linearise import norm
from perp.solvers.contact.proximal import newton_scale, proximal_point, residual_at
from perp.solvers.contact.sweep import WORKSPACE, sweep

# Sweeps between two looks at the residual: a look costs about one sweep.
LOOK = 10
# A Newton stage costs about as much as this many sweeps on the problems of the literature.
WORTH = 100
# What is left to do for the test of `solve`, which measures elliptic rows in other units.
MARGIN = 0.5


@njit(cache=True, nogil=True)
def sweep_while_it_pays(blocks, x, tol, least, most):
    """Sweeps in place until the residual is at most `tol`, or until their rate promises nothing.

    Returns:
        The residual and the number of sweeps.
    """
    size = norm(blocks.q)
    u, work = np.empty(x.size), np.zeros(WORKSPACE)
    value = residual_at(blocks, x, u, size, work)
    done = 0
    while value > tol and done < most:
        for k in range(LOOK):
            moved = sweep(blocks, x, work)
            done += 1
            if moved <= tol * size and k < LOOK - 1:
                break
        new = residual_at(blocks, x, u, size, work)
        if not new > tol:
            return new, done
        if done >= least:
            if not new < 0.9 * value:
                return new, done
            if LOOK * math.log(tol / new) / math.log(new / value) > WORTH:
                return new, done
        value = new
    return value, done


@njit(cache=True, nogil=True)
def solve_stages(blocks, x, tol, least, most, outer_limit):
    """Both stages in place. Returns the residual, the number of sweeps and of Newton steps."""
    value, done = sweep_while_it_pays(blocks, x, tol, least, most)
    steps = 0
    if value > tol:
        factors = eliminate(blocks.first, blocks.column)
        rho = newton_scale(blocks)
        value, _, steps = proximal_point(blocks, factors, rho, x, tol, 1e-2, outer_limit, 10)
    return value, done, steps


@njit(cache=True, nogil=True)
def _from_start(blocks, first, tol, most, outer_limit):
    x = np.empty(blocks.q.size)
    to_canonical(blocks.scale, first, x)
    value, done, steps = solve_stages(blocks, x, MARGIN * tol, 20, most, outer_limit)
    for i in range(x.size):
        x[i] *= blocks.scale[i]
    return x, value, done, steps


@njit(cache=True, nogil=True)
def solve_sparse(data, indices, indptr, q, kind, start, a, b, length, relaxed, first, tol, most, outer_limit):
    """A whole problem with W in compressed rows: impulses, residual, sweeps, Newton steps."""
    blocks = build(data, indices, indptr, q, kind, start, a, b, length, relaxed)
    return _from_start(blocks, first, tol, most, outer_limit)


@njit(cache=True, nogil=True)
def solve_dense(W, q, kind, start, a, b, length, relaxed, first, tol, most, outer_limit):
    """A whole problem with a dense W: impulses, residual, sweeps, Newton steps."""
    blocks = build_dense(W, q, kind, start, a, b, length, relaxed)
    return _from_start(blocks, first, tol, most, outer_limit)
