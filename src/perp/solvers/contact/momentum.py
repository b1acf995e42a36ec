"""Symmetric sweeps with momentum, for many contacts.

A sweep forwards and one backwards take the point y to x; the next y continues the way of each constraint,
y_c = x_c + β_c (x_c − x_c'), where x' is the result before. Each constraint has its own β_c: it grows towards
`MOST` while the steps of the constraint agree and falls to zero when momentum and step point apart, so that
a contact that slips or opens does not disturb the others. The cost of an iteration is that of two sweeps; on
piles a few hundred replace thousands of plain sweeps.

Reference: O'Donoghue and Candès, Adaptive restart for accelerated gradient schemes (2015), whose test is made
here for each constraint by itself.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.solvers.contact.sweep import WORKSPACE, directed_sweep

# Momentum at most, and the part of what is left to 1 that an iteration adds. More than 0.95 is not stable
# where contacts slip.
MOST, GROWTH = 0.9, 0.2


@njit(cache=True, nogil=True)
def momentum_iterations(blocks, x, y, beta, count):
    """`count` iterations in place: results x, points y, and the momentum `beta` of each constraint."""
    work, start = np.zeros(WORKSPACE), blocks.start
    before = np.empty(y.size)
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
