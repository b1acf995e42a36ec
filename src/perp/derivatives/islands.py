"""Compiled: trees that equations of a step couple are solved together, others apart."""

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.tree_islands import root_of
from perp.problems.data_size import join


@part
def find_islands(w, e):
    """Island of each freedom and of each constraint that can move."""
    p, tree_of, nv = w.problem, w.workspace.tree_of, e.Gq.shape[0]
    trees, count = p.tree_start.size - 1, e.kind.size
    above, number = np.arange(trees), np.full(trees, -1)
    for c in range(count):
        i = p.start[c]
        acts = e.moves[c] != 0
        for r in range(i, p.start[c + 1]):
            acts = acts or e.impulse[r] != 0.0
        if acts:
            for k in range(p.row_begin[i] + 1, p.row_begin[i + 1]):
                join(above, tree_of[p.column[k - 1]], tree_of[p.column[k]])
    if trees > 1:
        # motors and given forces may act between trees without a constraint
        for i in range(nv):
            for j in range(nv):
                if tree_of[i] != tree_of[j] and (e.Gq[i, j] != 0.0 or e.Go[i, j] != 0.0):
                    join(above, tree_of[i], tree_of[j])
    e.island, e.place, e.islands = np.empty(nv, np.int64), np.full(count, -1), 0
    for j in range(nv):
        root = root_of(above, tree_of[j])
        if number[root] < 0:
            number[root] = e.islands
            e.islands += 1
        e.island[j] = number[root]
    for c in range(count):
        if e.moves[c]:
            e.place[c] = e.island[p.column[p.row_begin[p.start[c]]]]
