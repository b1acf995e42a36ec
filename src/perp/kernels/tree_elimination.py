"""One Newton step over the trees of an island: (M + Jᵀ K L) Δv = −Jᵀ f by blocks, one a tree.

A tree's rows of the matrix are assembled when it is eliminated, in a panel over all freedoms; trees go in the
order of least degree, and what they leave to later ones is kept by pairs.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.borrowed import borrowed
from perp.kernels.elimination import eliminate
from perp.kernels.tree_algebra import factor_block, solve_block, solve_block_transposed


@kernel(nogil=True, error_model="numpy")
def _assemble_tree(p, w, t):
    """The rows of tree t of M + Jᵀ K L into the panel, and −Jᵀ f into `change`."""
    first, last = p.tree_start[t], p.tree_start[t + 1]
    n, at = last - first, p.mass_start[t]
    panel, change = w.panel, w.change
    for r in range(n):
        for s in range(n):
            # constraints are trees where freedoms are impulses
            mass = w.A[t, r, s] * p.mass[at + s * (n + 1)] if p.count[2] else p.mass[at + r * n + s]
            panel[r, first + s] = mass
        change[first + r] = 0.0
    for k in range(w.touch_start[t], w.touch_start[t + 1]):
        c = w.touch[k]
        i = p.start[c]
        size = p.start[c + 1] - i
        begin = p.row_begin[i]
        width = p.row_begin[i + 1] - begin
        own, end = w.own[c], w.own_end[c]
        while p.column[begin + own] < first:
            own += 1
        while p.column[begin + end - 1] >= last:
            end -= 1
        closed = w.K[c, 0, 0] != 0.0
        for r in range(size):
            base, push = begin + r * width, w.f[i + r]
            for e in range(own, end):
                weight = p.value[base + e]
                if weight == 0.0:
                    continue
                j = p.column[base + e]
                change[j] -= weight * push
                if closed:
                    row = j - first
                    for s in range(width):
                        panel[row, p.column[base + s]] += weight * w.KL[base + s]


@kernel(nogil=True, error_model="numpy")
def _right_side(p, w, t):
    """−Jᵀ f of tree t into `change`."""
    first, last = p.tree_start[t], p.tree_start[t + 1]
    for j in range(first, last):
        w.change[j] = 0.0
    for k in range(w.touch_start[t], w.touch_start[t + 1]):
        c = w.touch[k]
        for i in range(p.start[c], p.start[c + 1]):
            push = w.f[i]
            if push == 0.0:
                continue
            for e in range(p.row_begin[i] + w.own[c], p.row_begin[i] + w.own_end[c]):
                j = p.column[e]
                if first <= j < last:
                    w.change[j] -= p.value[e] * push


@kernel(nogil=True, error_model="numpy")
def _factor_one_tree(p, w, t):
    """The matrix of an island of one tree, factored, and its right side."""
    first, last = p.tree_start[t], p.tree_start[t + 1]
    n, at = last - first, p.mass_start[t]
    _assemble_tree(p, w, t)
    for r in range(n):
        for s in range(n):
            w.diagonal[at + r * n + s] = w.panel[r, first + s]
            w.panel[r, first + s] = 0.0
    factor_block(n, w.diagonal, at)


@kernel(nogil=True, error_model="numpy")
def plan_of(p, w, k, small):
    """How Newton steps of island k are taken: pattern and offsets of the factors, columns of U, room."""
    none = np.empty(0, np.int64)
    if w.island_tree_start[k + 1] - w.island_tree_start[k] == 1:
        return (none, none, none, none, none), (none, none), none, small[20], small[21]
    pattern = elimination_pattern(p, w, k)
    upper = block_offsets(p, w, k, pattern[1], pattern[2])
    lower = block_offsets(p, w, k, pattern[3], pattern[4]) + upper[-1]
    columns = np.empty(pattern[2].size, np.int64)
    for q in range(columns.size):
        columns[q] = p.tree_start[w.island_tree[w.island_tree_start[k] + pattern[2][q]]]
    return pattern, (upper, lower), columns, np.empty(lower[-1]), np.empty(w.panel.shape[0])


@kernel(nogil=True, error_model="numpy")
def newton_step(p, w, k, plan):
    """Δv of (M + Jᵀ K L) Δv = −Jᵀ f on island k into `change`."""
    if w.island_tree_start[k + 1] - w.island_tree_start[k] == 1:
        t = w.island_tree[w.island_tree_start[k]]
        _factor_one_tree(p, w, t)
        first = p.tree_start[t]
        n = p.tree_start[t + 1] - first
        solve_block(n, w.diagonal, p.mass_start[t], w.change, first)
    else:
        _factor_trees(p, w, k, plan)
        _substitute(p, w, k, plan)


@kernel(nogil=True, error_model="numpy")
def newton_step_again(p, w, k, plan):
    """The same for another f, with the factors of the last step."""
    for a in range(w.island_tree_start[k], w.island_tree_start[k + 1]):
        _right_side(p, w, w.island_tree[a])
    if w.island_tree_start[k + 1] - w.island_tree_start[k] == 1:
        t = w.island_tree[w.island_tree_start[k]]
        first = p.tree_start[t]
        n = p.tree_start[t + 1] - first
        solve_block(n, w.diagonal, p.mass_start[t], w.change, first)
        return
    (order, _, _, lower, lower_index), (_, below), _, blocks, _ = plan
    trees = w.island_tree[w.island_tree_start[k] : w.island_tree_start[k + 1]]
    change = w.change
    for step in range(order.size):
        a = order[step]
        first = p.tree_start[trees[a]]
        n = p.tree_start[trees[a] + 1] - first
        for e in range(lower[a], lower[a + 1]):
            there = p.tree_start[trees[lower_index[e]]]
            m = p.tree_start[trees[lower_index[e]] + 1] - there
            for r in range(n):
                total = 0.0
                for s in range(m):
                    total += blocks[below[e] + r * m + s] * change[there + s]
                change[first + r] -= total
    _substitute(p, w, k, plan)


@kernel(nogil=True, error_model="numpy")
def _trees_of(p, w, c, some, own):
    """Trees that constraint c is measured along, and those that it acts on; how many they are."""
    begin = p.row_begin[p.start[c]]
    trees, acted, last, last_own = 0, 0, -1, -1
    for e in range(p.row_begin[p.start[c] + 1] - begin):
        t = w.tree_of[p.column[begin + e]]
        if t != last:
            some[trees], last = t, t
            trees += 1
        if t != last_own and w.own[c] <= e < w.own_end[c]:
            own[acted], last_own = t, t
            acted += 1
    return trees, acted


@kernel(nogil=True, error_model="numpy")
def elimination_pattern(p, w, k):
    """Order of the trees of island k and the pattern of the factors, in numbers within the island."""
    begin, count = w.island_tree_start[k], w.island_tree_start[k + 1] - w.island_tree_start[k]
    local = np.empty(p.tree_start.size - 1, np.int64)
    for a in range(count):
        local[w.island_tree[begin + a]] = a
    pairs = 0
    some, own = np.empty(count, np.int64), np.empty(count, np.int64)
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        trees, acted = _trees_of(p, w, w.island_constraint[a], some, own)
        pairs += trees * acted
    one, two, filled = np.empty(pairs, np.int64), np.empty(pairs, np.int64), 0
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        trees, acted = _trees_of(p, w, w.island_constraint[a], some, own)
        for r in range(acted):
            for s in range(trees):
                one[filled], two[filled] = local[own[r]], local[some[s]]
                filled += 1
    first = np.zeros(count + 1, np.int64)
    for e in range(pairs):
        first[one[e] + 1] += 1
    first = np.cumsum(first)
    column, fill = np.empty(pairs, np.int64), first[:count].copy()
    for e in range(pairs):
        column[fill[one[e]]] = two[e]
        fill[one[e]] += 1
    return eliminate(first, column)


@kernel(nogil=True, error_model="numpy")
def block_offsets(p, w, k, upper, upper_index):
    """Where the blocks of a factor begin, one a pair of trees; the last entry is their size."""
    begin = w.island_tree_start[k]
    offset = np.zeros(upper_index.size + 1, np.int64)
    for a in range(upper.size - 1):
        t = w.island_tree[begin + a]
        n = p.tree_start[t + 1] - p.tree_start[t]
        for q in range(upper[a], upper[a + 1]):
            o = w.island_tree[begin + upper_index[q]]
            offset[q + 1] = n * (p.tree_start[o + 1] - p.tree_start[o])
    return np.cumsum(offset)


@kernel(nogil=True, error_model="numpy", fastmath={"contract"})
def _subtract_rows(n, m, blocks, left, offsets, columns, first, last, panel):
    """L times the blocks first … last − 1 of U from the panel; L, n × m, is in `blocks` from `left`."""
    offset = offsets[0]
    if n == 3 and m == 3:
        L = blocks[left : left + 9]
        l0, l1, l2, l3, l4, l5, l6, l7, l8 = L[0], L[1], L[2], L[3], L[4], L[5], L[6], L[7], L[8]
        row0, row1, row2 = panel[0], panel[1], panel[2]
        for q in range(first, last):
            at, begin = offset[q], columns[q]
            size = (offset[q + 1] - at) // 3
            for z in range(size):
                a, b, c = blocks[at + z], blocks[at + size + z], blocks[at + 2 * size + z]
                row0[begin + z] -= l0 * a + l1 * b + l2 * c
                row1[begin + z] -= l3 * a + l4 * b + l5 * c
                row2[begin + z] -= l6 * a + l7 * b + l8 * c
        return
    for q in range(first, last):
        at, begin = offset[q], columns[q]
        size = (offset[q + 1] - at) // m
        for r in range(n):
            for s in range(m):
                weight = blocks[left + r * m + s]
                if weight != 0.0:
                    for z in range(size):
                        panel[r, begin + z] -= weight * blocks[at + s * size + z]


@kernel(nogil=True, error_model="numpy")
def _factor_trees(p, w, k, plan):
    """Factors of an island of several trees, and its right side as far as L goes."""
    (order, upper, upper_index, lower, lower_index), (offset, below), _, blocks, row = plan
    trees = w.island_tree[w.island_tree_start[k] : w.island_tree_start[k + 1]]
    panel, change, blocks = w.panel, w.change, borrowed(blocks)
    for step in range(order.size):
        a = order[step]
        t = trees[a]
        first = p.tree_start[t]
        n, at = p.tree_start[t + 1] - first, p.mass_start[t]
        _assemble_tree(p, w, t)
        for e in range(lower[a], lower[a + 1]):
            b = lower_index[e]
            o = trees[b]
            there = p.tree_start[o]
            m = p.tree_start[o + 1] - there
            some = False
            for r in range(n):
                touched = False
                for s in range(m):
                    row[s] = panel[r, there + s]
                    touched = touched or row[s] != 0.0
                    panel[r, there + s] = 0.0
                if touched:
                    some = True
                    solve_block_transposed(m, w.diagonal, p.mass_start[o], row)
                for s in range(m):
                    blocks[below[e] + r * m + s] = row[s]
                    change[first + r] -= row[s] * change[there + s]
            if some:
                _subtract_rows(n, m, blocks, below[e], plan[1], plan[2], upper[b], upper[b + 1], panel)
        for r in range(n):
            for s in range(n):
                w.diagonal[at + r * n + s] = panel[r, first + s]
                panel[r, first + s] = 0.0
        factor_block(n, w.diagonal, at)
        for q in range(upper[a], upper[a + 1]):
            other = trees[upper_index[q]]
            begin = p.tree_start[other]
            size = p.tree_start[other + 1] - begin
            for r in range(n):
                for s in range(size):
                    blocks[offset[q] + r * size + s] = panel[r, begin + s]
                    panel[r, begin + s] = 0.0


@kernel(nogil=True, error_model="numpy")
def _substitute(p, w, k, plan):
    """Back through U of an island of several trees."""
    (order, upper, upper_index, _, _), (offset, _), _, blocks, _ = plan
    trees = w.island_tree[w.island_tree_start[k] : w.island_tree_start[k + 1]]
    change = w.change
    for step in range(order.size - 1, -1, -1):
        a = order[step]
        t = trees[a]
        first = p.tree_start[t]
        n = p.tree_start[t + 1] - first
        for q in range(upper[a], upper[a + 1]):
            other = trees[upper_index[q]]
            begin = p.tree_start[other]
            size = p.tree_start[other + 1] - begin
            for r in range(n):
                total = 0.0
                for s in range(size):
                    total += blocks[offset[q] + r * size + s] * change[begin + s]
                change[first + r] -= total
        solve_block(n, w.diagonal, p.mass_start[t], change, first)
