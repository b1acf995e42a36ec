"""The block of a friction set by itself, with which its law is linearised (`friction_laws`).

It is S = J M⁻¹ Jᵀ + Σ of the tangential rows times their stretches. The block of a closed contact is that
with the normal velocity held, S − n W_NN nᵀ with n = W_TN / W_NN, which is kept in the first column. That one
finds answers where normal and friction of a contact depend on each other and Newton's steps go round in
circles; elsewhere it needs more of them (dumped problems of a robot on casters: 2,900 in place of 930).
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.friction_laws import MOST_ROWS, closes, disc, is_definite, row_group
from perp.kernels.tree_algebra import half_solve
from perp.kernels.tree_state import own_mass

# Added to the diagonal as a share of the mobility: rows of hinges and of fixed bodies depend on each other.
# Newton steps of dumped problems of three robots on casters with 1e-6, 1e-3, 0.1 and 1: 10,700, 8,100, 7,200
# and 7,700, of seven others 4,800, 4,800, 4,300 and 4,600.
_SOFT = 0.1


@part
def find_block(p, w, c, u, g):
    """The block of friction set c, unless it is there or the set stays open; u are its velocities."""
    i = p.start[c]
    size, kind = p.start[c + 1] - i, p.kind[c]
    if w.which_block[c] == 1 + w.closed[0]:
        return
    if closes(kind, p.parameter[c], size, w.mobility[c], p.impulse[i:], u)[0] > 0.0:
        _measure_block(p, w, c, g)


@part
def _measure_block(p, w, c, g):
    """The block that is asked for."""
    i, last = p.start[c], p.start[c + 1]
    size, block = last - i, w.block[c]
    for r in range(size):
        for s in range(size):
            block[r, s] = 0.0
    if p.count[2]:
        for r in range(size):
            for e in range(p.row_begin[i + r], p.row_begin[i + r + 1]):
                j = p.column[e]
                if i <= j < last:
                    block[r, j - i] = p.left[e] / p.mass[own_mass(p, w.tree_of[j], j)]
    else:
        _add_trees(p, w, c)
    first = 1
    while first < size:
        first, _ = disc(p.kind[c], p.parameter[c], size, first, g)
    closed = w.closed[0] == 1 and block[0, 0] > 0.0
    for r in range(1, size):
        block[r, 0] *= g[r] / block[0, 0] if closed else 0.0
        for s in range(1, size):
            block[r, s] *= g[r] * g[s]
    for r in range(1, size):
        for s in range(1, size):
            block[r, s] -= block[r, 0] * block[s, 0] * block[0, 0]
        soft = g[r] * g[r] * (p.compliance[i + r] + _SOFT * w.mobility[c, row_group(r)])
        block[r, r] += soft if g[r] > 0.0 else 1.0
    if p.count[2] and not is_definite(block[1:, 1:], size - 1, w.room):
        # W of a sliding rod may be anything: by itself such a set comes to rest nowhere
        for r in range(1, size):
            for s in range(size):
                block[r, s] = 0.0
            block[r, r] = g[r] * g[r] * w.mobility[c, row_group(r)] if g[r] > 0.0 else 1.0
    w.which_block[c] = 1 + w.closed[0]


@part
def _add_trees(p, w, c):
    """J M⁻¹ Jᵀ of the rows, tree by tree."""
    i, block = p.start[c], w.block[c]
    size, begin = p.start[c + 1] - i, p.row_begin[i]
    width = p.row_begin[i + 1] - begin
    e, end = w.own[c], w.own_end[c]
    while e < end:
        t = w.tree_of[p.column[begin + e]]
        first, n = p.tree_start[t], p.tree_start[t + 1] - p.tree_start[t]
        stop = e
        while stop < end and p.column[begin + stop] < first + n:
            stop += 1
        furthest = p.column[begin + stop - 1] + 1 - first
        half = np.zeros((MOST_ROWS, furthest))
        for r in range(size):
            row = half[r]
            for k in range(e, stop):
                row[p.column[begin + k] - first] = p.value[begin + r * width + k]
            half_solve(n, w.factor, p.mass_start[t], row, 0, furthest)
            for s in range(r + 1):
                total = 0.0
                for k in range(furthest):
                    total += row[k] * half[s, k]
                block[r, s] += total
                if s < r:
                    block[s, r] += total
        e = stop
