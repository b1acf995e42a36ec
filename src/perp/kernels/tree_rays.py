"""How far impulses may go along a ray before a constraint changes its state.

Where rows depend on each other a proximal problem may be solved again and again while its centre moves on by
the same step and the residual stays: impulses are to be shifted between contacts until one of them opens or
slips. A lighter weight goes further, past several such events at once, and Newton's steps wander after it.
The ray is followed to its first event instead.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.friction_laws import bounds, disc
from perp.problems.set_kernels import COULOMB

# Friction within this share of its limit is at it.
_AT_LIMIT = 1e-9
# The longest way, in steps of the proximal problem.
_FURTHEST = 1e6


@part(nogil=True, error_model="numpy")
def follow_ray(p, w, k, g):
    """Impulses of island k go on along what they have moved from their centre, to the first event.

    Returns whether there is one.
    """
    far = np.inf
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i = p.start[c]
        size = p.start[c + 1] - i
        x, centre = p.impulse[i:], w.centre[i:]
        if p.kind[c] < COULOMB:
            low, high = bounds(p.kind[c], p.parameter[c])
            far = min(far, _until_bound(x[0], x[0] - centre[0], low, high))
            continue
        push, rise = x[0] + p.parameter[c, 5], x[0] - centre[0]
        if push <= 0.0:
            continue
        far = min(far, _until_bound(push, rise, 0.0, np.inf))
        first = 1
        while first < size:
            last, mu = disc(p.kind[c], p.parameter[c], size, first, g)
            far = min(far, _until_slip(x, centre, (first, last), (mu * push, mu * rise), g))
            first = last
    if not far < _FURTHEST:
        return False
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        for i in range(p.start[c], p.start[c + 1]):
            p.impulse[i] += far * (p.impulse[i] - w.centre[i])
    return True


@part(nogil=True, error_model="numpy")
def _until_bound(x, dx, low, high):
    """How far x may go along dx within its bounds; infinitely far where it is at one already."""
    if x <= low or x >= high or dx == 0.0:
        return np.inf
    return (high - x) / dx if dx > 0.0 else (low - x) / dx


@part(nogil=True, error_model="numpy")
def _until_slip(x, centre, rows, limit, g):
    """How far friction of a disc may go until it is at its limit, which changes as well."""
    square = mixed = change = 0.0
    for i in range(rows[0], rows[1]):
        if g[i] > 0.0:
            one, two = x[i] / g[i], (x[i] - centre[i]) / g[i]
            square += one * one
            mixed += one * two
            change += two * two
    # ‖t + a dt‖² = (r + a dr)² as A a² + 2 B a + C = 0, with C < 0 inside
    r, dr = limit
    A, B, C = change - dr * dr, mixed - r * dr, square - r * r
    if r == np.inf or -_AT_LIMIT * r * r <= C:
        return np.inf
    root = B * B - A * C
    if root < 0.0:
        return np.inf
    root = math.sqrt(root)
    # of the two the smallest positive one, without cancellation
    if B + root > 0.0:
        return -C / (B + root)
    return (root - B) / A if A > 0.0 else np.inf
