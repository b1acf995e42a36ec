"""One Newton step over the trees of an island: (M + Jᵀ K L) Δv = −Jᵀ f by blocks, one a tree.

Trees go in the order of least degree. The rows of one are assembled when it is eliminated, in a panel over
the freedoms in that order, X times the rows Ũ of each earlier tree that it meets is subtracted, and what is
left are its diagonal block D and Ũ = D⁻¹ U. Rows of Ũ are kept without gaps, so that the work is on long
contiguous rows; those of trees that reach no later one, as open contacts do, are skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.borrowed import borrowed
from perp.kernels.elimination import eliminate
from perp.kernels.tree_algebra import factor_block, solve_block, solve_block_rows
from perp.kernels.tree_state import own_mass


class Plan(NamedTuple):
    """How Newton steps of an island are taken, by trees in the order of their elimination.

    Attributes:
        tree: The trees.
        lower: Where the earlier trees that reach each begin in `lower_index`; one more for the end.
        lower_index: Those, in their order.
        below: Where the block X of each of these pairs begins in `blocks`.
        row: Where Ũ of each begins in `blocks`: its rows one after the other.
        run: Where the runs of columns of Ũ begin in `run_begin`; one more for the end.
        run_begin: First column of a run in the panel.
        run_end: The one after its last.
        reaches: Whether Ũ is not zero.
        blocks: X and Ũ.
    """

    tree: Any
    lower: Any
    lower_index: Any
    below: Any
    row: Any
    run: Any
    run_begin: Any
    run_end: Any
    reaches: Any
    blocks: Any


@part
def _assemble_tree(p, w, t):
    """The rows of tree t of M + Jᵀ K L into the panel, and −Jᵀ f into `change`."""
    first, last = p.tree_start[t], p.tree_start[t + 1]
    n, at = last - first, p.mass_start[t]
    panel, change, place = w.panel, w.change, w.place
    for r in range(n):
        if not p.count[2]:
            for s in range(n):
                panel[r, place[first] + s] = p.mass[at + r * n + s]
        change[first + r] = 0.0
    for k in range(w.touch_start[t], w.touch_start[t + 1]):
        c = w.touch[k]
        i = p.start[c]
        size = p.start[c + 1] - i
        if p.count[2]:
            # rows are freedoms there
            for r in range(size):
                for s in range(size):
                    panel[i - first + r, place[i + s]] = w.A[c, r, s] * p.mass[own_mass(p, t, i + s)]
        begin = p.row_begin[i]
        width = p.row_begin[i + 1] - begin
        own, end = w.own[c], w.own_end[c]
        while p.column[begin + own] < first:
            own += 1
        while p.column[begin + end - 1] >= last:
            end -= 1
        r = 0
        while r < size:
            base = begin + r * width
            if r + 3 <= size:
                _add_three(p, w, (c, i + r, first), (base, begin), (own, end, width))
                r += 3
            else:
                _add_one(p, w, (c, i + r, first), (base, begin), (own, end, width))
                r += 1


@part(fastmath={"contract"})
def _add_three(p, w, row, at, columns):
    """Rows i to i + 2 of a constraint: −Jᵀ f and Jᵀ K L of the columns from `own` to `end`, all at once.

    Rows of a constraint have the same columns, so that each entry of the panel is read and written once.
    """
    (c, i, first), (base, begin), (own, end, width) = row, at, columns
    f0, f1, f2 = w.f[i], w.f[i + 1], w.f[i + 2]
    spot = w.spot[begin : begin + width]
    one, two, three = p.value[base:], p.value[base + width :], p.value[base + 2 * width :]
    k0, k1, k2 = w.KL[base:], w.KL[base + width :], w.KL[base + 2 * width :]
    closed = w.K[c, 0, 0] != 0.0
    for e in range(own, end):
        x, y, z = one[e], two[e], three[e]
        j = p.column[begin + e]
        w.change[j] -= x * f0 + y * f1 + z * f2
        if closed:
            line = w.panel[j - first]
            for s in range(width):
                line[spot[s]] += x * k0[s] + y * k1[s] + z * k2[s]


@part(fastmath={"contract"})
def _add_one(p, w, row, at, columns):
    """The same of one row."""
    (c, i, first), (base, begin), (own, end, width) = row, at, columns
    push, spot = w.f[i], w.spot[begin : begin + width]
    value, weights = p.value[base:], w.KL[base:]
    closed = w.K[c, 0, 0] != 0.0
    for e in range(own, end):
        a = value[e]
        if a == 0.0:
            continue
        j = p.column[begin + e]
        w.change[j] -= a * push
        if closed:
            line = w.panel[j - first]
            for s in range(width):
                line[spot[s]] += a * weights[s]


@part
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


@part
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


@part
def _pattern(p, w, k):
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


@part
def _find_spots(p, w, k):
    """Where the columns of the constraints of island k are in the panel."""
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        i = p.start[w.island_constraint[a]]
        for e in range(p.row_begin[i], p.row_begin[i + 1]):
            w.spot[e] = w.place[p.column[e]]


@part(shared=True)
def plan_of(p, w, k):
    """How Newton steps of island k are taken."""
    begin = w.island_tree_start[k]
    count = w.island_tree_start[k + 1] - begin
    if count == 1:
        t = w.island_tree[begin]
        for j in range(p.tree_start[t], p.tree_start[t + 1]):
            w.place[j] = j - p.tree_start[t]
        _find_spots(p, w, k)
        none = np.zeros(2, np.int64)
        tree = w.island_tree[begin : begin + 1]
        return Plan(tree, none, none, none, none, none, none, none, np.empty(1, np.bool_), np.empty(0))
    order, upper, upper_index, lower, lower_index = _pattern(p, w, k)
    number, tree = np.empty(count, np.int64), np.empty(count, np.int64)
    first = np.zeros(count + 1, np.int64)
    for a in range(count):
        number[order[a]] = a
        t = tree[a] = w.island_tree[begin + order[a]]
        first[a + 1] = first[a] + p.tree_start[t + 1] - p.tree_start[t]
        for j in range(p.tree_start[t], p.tree_start[t + 1]):
            w.place[j] = first[a] + j - p.tree_start[t]
    _find_spots(p, w, k)
    lower_start, earlier = np.zeros(count + 1, np.int64), np.empty(lower_index.size, np.int64)
    below, row = np.empty(lower_index.size, np.int64), np.empty(count, np.int64)
    run = np.zeros(count + 1, np.int64)
    run_begin, run_end = np.empty(upper_index.size, np.int64), np.empty(upper_index.size, np.int64)
    runs = filled = room = 0
    for a in range(count):
        v, n = order[a], first[a + 1] - first[a]
        for e in range(lower[v], lower[v + 1]):
            b = earlier[filled] = number[lower_index[e]]
            below[filled] = room
            room += n * (first[b + 1] - first[b])
            filled += 1
        lower_start[a + 1] = filled
        later = np.sort(number[upper_index[upper[v] : upper[v + 1]]])
        row[a] = room
        for b in later:
            if runs > run[a] and run_end[runs - 1] == first[b]:
                run_end[runs - 1] = first[b + 1]
            else:
                run_begin[runs], run_end[runs] = first[b], first[b + 1]
                runs += 1
            room += n * (first[b + 1] - first[b])
        run[a + 1] = runs
    reaches, blocks = np.empty(count, np.bool_), np.empty(room)
    return Plan(tree, lower_start, earlier, below, row, run, run_begin, run_end, reaches, blocks)


@part
def newton_step(p, w, plan):
    """Δv of (M + Jᵀ K L) Δv = −Jᵀ f on the island of the plan into `change`."""
    for a in range(plan.tree.size):
        t = plan.tree[a]
        _assemble_tree(p, w, t)
        _factor_tree(p, w, plan, a)
        _forward(p, w, plan, a)
    _back(p, w, plan)


@part
def newton_step_again(p, w, plan):
    """The same for another f, with the factors of the last step."""
    for a in range(plan.tree.size):
        _right_side(p, w, plan.tree[a])
        _forward(p, w, plan, a)
    _back(p, w, plan)


@part(fastmath={"contract"})
def _subtract(X, n, m, rows, width, panel, run_begin, run_end):
    """X times the rows of an earlier tree from the panel; X has n × m numbers, each of the m rows `width`."""
    at_run = 0
    for q in range(run_begin.size):
        size = run_end[q] - run_begin[q]
        for r in range(n):
            # slices, and several rows at a time: so the loop uses vectors and writes little
            target, at, s = panel[r, run_begin[q] : run_end[q]], at_run, 0
            while s + 3 <= m:
                x = X[r * m + s : r * m + m]
                a, b, c = x[0], x[1], x[2]
                one, two = rows[at : at + size], rows[at + width : at + width + size]
                three = rows[at + 2 * width : at + 2 * width + size]
                at += 3 * width
                if s + 6 > m:
                    for z in range(size):
                        target[z] -= a * one[z] + b * two[z] + c * three[z]
                    s += 3
                    continue
                d, e, f = x[3], x[4], x[5]
                four, five = rows[at : at + size], rows[at + width : at + width + size]
                six = rows[at + 2 * width : at + 2 * width + size]
                at += 3 * width
                for z in range(size):
                    target[z] -= (
                        a * one[z] + b * two[z] + c * three[z] + d * four[z] + e * five[z] + f * six[z]
                    )
                s += 6
            while s < m:
                a, one = X[r * m + s], rows[at : at + size]
                at += width
                s += 1
                for z in range(size):
                    target[z] -= a * one[z]
        at_run += size


@part
def _factor_tree(p, w, plan, a):
    """X, D and Ũ of a tree whose rows are in the panel, which is zero after it."""
    t, panel, place, blocks = plan.tree[a], w.panel, w.place, borrowed(plan.blocks)
    first = p.tree_start[t]
    n, at = p.tree_start[t + 1] - first, p.mass_start[t]
    for e in range(plan.lower[a], plan.lower[a + 1]):
        b = plan.lower_index[e]
        there = p.tree_start[plan.tree[b]]
        m, column = p.tree_start[plan.tree[b] + 1] - there, place[there]
        X, some = blocks[plan.below[e] : plan.below[e] + n * m], False
        for r in range(n):
            for s in range(m):
                X[r * m + s] = panel[r, column + s]
                some = some or panel[r, column + s] != 0.0
                panel[r, column + s] = 0.0
        if some and plan.reaches[b]:
            begin, end = plan.run[b], plan.run[b + 1]
            width = 0
            for q in range(begin, end):
                width += plan.run_end[q] - plan.run_begin[q]
            rows = blocks[plan.row[b] : plan.row[b] + m * width]
            _subtract(X, n, m, rows, width, panel, plan.run_begin[begin:end], plan.run_end[begin:end])
    for r in range(n):
        for s in range(n):
            w.diagonal[at + r * n + s] = panel[r, place[first] + s]
            panel[r, place[first] + s] = 0.0
    factor_block(n, w.diagonal, at)
    out, reaches = plan.row[a], False
    for r in range(n):
        for q in range(plan.run[a], plan.run[a + 1]):
            for z in range(plan.run_begin[q], plan.run_end[q]):
                blocks[out] = panel[r, z]
                reaches = reaches or panel[r, z] != 0.0
                panel[r, z] = 0.0
                out += 1
    plan.reaches[a] = reaches
    if reaches:
        solve_block_rows(n, w.diagonal, at, blocks[plan.row[a] : out], (out - plan.row[a]) // n)


@part
def _forward(p, w, plan, a):
    """z = D⁻¹ (right side − Σ X z) of a tree."""
    t, change = plan.tree[a], w.change
    first = p.tree_start[t]
    n = p.tree_start[t + 1] - first
    for e in range(plan.lower[a], plan.lower[a + 1]):
        o = plan.tree[plan.lower_index[e]]
        there = p.tree_start[o]
        m, at = p.tree_start[o + 1] - there, plan.below[e]
        for r in range(n):
            total = 0.0
            for s in range(m):
                total += plan.blocks[at + r * m + s] * change[there + s]
            change[first + r] -= total
    solve_block(n, w.diagonal, p.mass_start[t], change, first)


@part
def _back(p, w, plan):
    """z − Ũ Δv from the last tree to the first; Δv in that order is in the first row of the panel."""
    x, change = w.panel[0], w.change
    for a in range(plan.tree.size - 1, -1, -1):
        t = plan.tree[a]
        first, at = p.tree_start[t], plan.row[a]
        for j in range(first, p.tree_start[t + 1]):
            if plan.reaches[a]:
                for q in range(plan.run[a], plan.run[a + 1]):
                    for z in range(plan.run_begin[q], plan.run_end[q]):
                        change[j] -= plan.blocks[at] * x[z]
                        at += 1
            x[w.place[j]] = change[j]
    for a in range(plan.tree.size):
        t = plan.tree[a]
        for j in range(p.tree_start[t], p.tree_start[t + 1]):
            x[w.place[j]] = 0.0
