"""Sweeps as long as they pay, in one compiled call: their own rate must promise the tolerance soon enough."""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.kernels.packed import view
from perp.kernels.residual import norm, residual_at, workspace
from perp.kernels.sweep import sweep

# Sweeps between two looks at the residual, which cost about one sweep.
LOOK = 10
# A Newton stage costs about as much as this many sweeps on the problems of the literature.
WORTH = 100


@part(shared=True)
def sweep_while_it_pays(blocks, x, tol, least, most):
    """Sweeps in place until the residual is at most `tol`, or until their rate promises nothing.

    A single contact takes one sweep. The residual of the start is measured only where the first look does not
    find a solution.

    Args:
        blocks: The problem.
        x: Impulses, changed in place.
        tol: The residual to reach.
        least: Sweeps to make before their rate is judged.
        most: Sweeps at most.

    Returns:
        The residual, the number of sweeps, and whether more of them would pay.
    """
    size = norm(blocks.q)
    u, work, best = np.empty(x.size), workspace(), x.copy()
    alone = blocks.start.size == 2
    value = least_value = math.inf
    done, pays = 0, True
    while pays and done < most:
        for k in range(min(LOOK, most - done)):
            moved = sweep(blocks, x, work)
            done += 1
            if (moved <= tol * size or (alone and done == 1)) and k < LOOK - 1:
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
            pays = new < 0.9 * value and LOOK * math.log(tol / new) / math.log(new / value) <= WORTH
        value = new
    x[:] = best
    return least_value, done, pays


@kernel(nogil=True)
def paying_sweeps(packed, x, tol, least, most):
    """`sweep_while_it_pays` of a packed problem."""
    return sweep_while_it_pays(view(packed), x, tol, least, most)
