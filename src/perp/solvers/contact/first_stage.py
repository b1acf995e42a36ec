"""The first stage of the default contact solver: sweeps while they pay, in one compiled call.

They go on as long as their own rate promises the tolerance within about the price of the Newton stage.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.solvers.contact.canonical import build, build_dense, to_canonical
from perp.solvers.contact.residual import norm, residual_at
from perp.solvers.contact.sweep import WORKSPACE, sweep

# Sweeps between two looks at the residual, which cost about one sweep, or half of one of the relaxation.
LOOK, LOOK_RELAXED = 10, 5
# A Newton stage costs about as much as this many sweeps on the problems of the literature.
WORTH = 100
# The central path of a relaxation costs as much as this many of its sweeps.
WORTH_RELAXED = 40
# What is left to do for the test of `solve`, which measures elliptic rows in other units.
MARGIN = 0.5
# More sweeps than this are never cheaper than the Newton stage.
SWEEPS = 400


@njit(cache=True, nogil=True)
def look(relaxed):
    """Sweeps between two looks."""
    return LOOK_RELAXED if relaxed else LOOK


@njit(cache=True, nogil=True)
def sweep_while_it_pays(blocks, x, tol, least, most):
    """Sweeps in place until the residual is at most `tol`, or until their rate promises nothing.

    A single contact takes one sweep. The residual of the start is measured only where the first look does not
    find a solution.

    Returns:
        The residual, the number of sweeps, and whether more of them would pay.
    """
    size = norm(blocks.q)
    u, work, best = np.empty(x.size), np.zeros(WORKSPACE), x.copy()
    alone, every, worth = blocks.start.size == 2, look(blocks.relaxed), WORTH
    if blocks.relaxed:
        worth = WORTH_RELAXED
    value = least_value = math.inf
    done, pays = 0, True
    while pays and done < most:
        for k in range(every):
            moved = sweep(blocks, x, work)
            done += 1
            if (moved <= tol * size or (alone and done == 1)) and k < every - 1:
                break
        new = residual_at(blocks, x, u, size, work)
        if value == math.inf and not new <= tol:
            value = least_value = residual_at(blocks, best, u, size, work)
        if new < least_value:
            least_value = new
            best[:] = x
        if new <= tol or not new < 1e3 * least_value:
            pays = False
        elif done >= least:
            pays = new < 0.9 * value and every * math.log(tol / new) / math.log(new / value) <= worth
        value = new
    x[:] = best
    return least_value, done, pays


@njit(cache=True, nogil=True)
def sweep_from(blocks, impulse, tol):
    """The first stage from `impulse`, which receives its answer; returns its residual and the sweeps."""
    to_canonical(blocks.scale, impulse, impulse)
    value, done, _ = sweep_while_it_pays(blocks, impulse, MARGIN * tol, 2 * look(blocks.relaxed), SWEEPS)
    for i in range(impulse.size):
        impulse[i] *= blocks.scale[i]
    return value, done


@njit(cache=True, nogil=True)
def sweep_sparse(data, indices, indptr, q, kind, start, a, b, length, relaxed, impulse, tol):
    """The first stage for W in compressed rows: `sweep_from`."""
    return sweep_from(build(data, indices, indptr, q, kind, start, a, b, length, relaxed), impulse, tol)


@njit(cache=True, nogil=True)
def sweep_dense(W, q, kind, start, a, b, length, relaxed, impulse, tol):
    """The first stage for a dense W: `sweep_from`."""
    return sweep_from(build_dense(W, q, kind, start, a, b, length, relaxed), impulse, tol)
