"""A problem by trees before it is solved: factors of its masses, its islands, mobilities of its rows."""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.borrowed import onward
from perp.kernels.friction_laws import ANGULAR
from perp.kernels.tree_algebra import factor_mass, half_solve, mobility_of_six

# Normal rows are taken to move at least so much of what the tangential ones do: hulls that overlap about the
# axis of their joint hardly move at all, and would have a proximal weight of nothing.
_LEAST_MOBILITY = 0.03


@part
def root_of(parent, t):
    """The tree that stands for all that tree t is joined with."""
    while parent[t] != t:
        parent[t] = parent[parent[t]]
        t = parent[t]
    return t


@part
def _own_columns(p, w, c):
    """The columns between the first and the last that an impulse of constraint c acts on."""
    i = p.start[c]
    width = p.row_begin[i + 1] - p.row_begin[i]
    first, last = width, 0
    for r in range(i, p.start[c + 1]):
        begin = p.row_begin[r]
        e = 0
        while e < first and p.value[begin + e] == 0.0:
            e += 1
        first = min(first, e)
        e = width
        while e > last and p.value[begin + e - 1] == 0.0:
            e -= 1
        last = max(last, e)
        if first == 0 and last == width:
            break
    w.own[c], w.own_end[c] = first, last


@part
def _after_tree(p, t, k, end):
    """The entry after those of tree t, which begin at k, of a row that ends at `end`."""
    last = p.tree_start[t + 1]
    if k + 6 <= end and p.column[k + 5] < last:
        k += 6
    while k < end and p.column[k] < last:
        k += 1
    return k


@part
def _factor(p, w, t):
    """The factor of the mass of tree t, if that is another one; whether it is positive definite."""
    at, n = p.mass_start[t], p.tree_start[t + 1] - p.tree_start[t]
    mass, before, same = onward(p.mass, at), onward(w.factored, at), True
    for k in range(n * n):
        same = same and mass[k] == before[k]
    if same:
        return True
    if not factor_mass(n, p.mass, at, w.factor):
        before[0] = np.nan
        return False
    for k in range(n * n):
        before[k] = mass[k]
    return True


@part(shared=True)
def prepare(p, w):
    """Factor the masses, list constraints by trees and islands, measure mobilities; returns the islands.

    −1 where a mass is not positive definite. What was prepared for the same masses and rows is kept.
    """
    if w.prepared[0] >= 0:
        return w.prepared[0]
    trees, constraints = p.tree_start.size - 1, p.count[0]
    for t in range(trees):
        if not _factor(p, w, t):
            return -1
        w.parent[t] = t
        w.touch_start[t] = 0
        w.island_of[t] = -1
    w.touch_start[trees] = 0
    for c in range(constraints):
        _own_columns(p, w, c)
        begin, end = p.row_begin[p.start[c]], p.row_begin[p.start[c] + 1]
        own, last, k, first = begin + w.own[c], begin + w.own_end[c], begin, -1
        while k < end:
            t = w.tree_of[p.column[k]]
            after = _after_tree(p, t, k, end)
            w.island_of[t] = 0
            if first < 0:
                first = t
            else:
                a, b = root_of(w.parent, first), root_of(w.parent, t)
                if a != b:
                    w.parent[max(a, b)] = min(a, b)
            if after > own and k < last:
                w.touch_start[t + 1] += 1
            k = after
    for t in range(trees):
        w.touch_start[t + 1] += w.touch_start[t]
    for c in range(constraints):
        begin = p.row_begin[p.start[c]]
        k, last = begin + w.own[c], begin + w.own_end[c]
        while k < last:
            t = w.tree_of[p.column[k]]
            w.touch[w.touch_start[t]] = c
            w.touch_start[t] += 1
            k = _after_tree(p, t, k, last)
    for t in range(trees, 0, -1):
        w.touch_start[t] = w.touch_start[t - 1]
    w.touch_start[0] = 0
    _measure(p, w)
    w.prepared[0] = _islands(p, w)
    return w.prepared[0]


@part
def _islands(p, w):
    """Trees and constraints of each island; trees without constraints are in none."""
    trees, islands = p.tree_start.size - 1, 0
    at, tree_start, constraint_start = w.island_of, w.island_tree_start, w.island_constraint_start
    for t in range(trees):
        root = root_of(w.parent, t)
        if root < t:
            at[t] = at[root]
        elif at[t] >= 0:
            at[t] = islands
            islands += 1
    for k in range(islands + 1):
        tree_start[k] = constraint_start[k] = 0
    for t in range(trees):
        if at[t] >= 0:
            tree_start[at[t] + 1] += 1
    for c in range(p.count[0]):
        constraint_start[at[w.tree_of[p.column[p.row_begin[p.start[c]]]]] + 1] += 1
    for k in range(islands):
        tree_start[k + 1] += tree_start[k]
        constraint_start[k + 1] += constraint_start[k]
    for t in range(trees):
        if at[t] >= 0:
            w.island_tree[tree_start[at[t]]] = t
            tree_start[at[t]] += 1
    for c in range(p.count[0]):
        k = at[w.tree_of[p.column[p.row_begin[p.start[c]]]]]
        w.island_constraint[constraint_start[k]] = c
        constraint_start[k] += 1
    for k in range(islands, 0, -1):
        tree_start[k], constraint_start[k] = tree_start[k - 1], constraint_start[k - 1]
    tree_start[0] = constraint_start[0] = 0
    return islands


@part
def _own_mobility(p, w, j):
    """Velocity of freedom j per impulse along it."""
    x, t = w.change, w.tree_of[j]
    first, total = p.tree_start[t], 0.0
    for k in range(first, j):
        x[k] = 0.0
    x[j] = 1.0
    half_solve(p.tree_start[t + 1] - first, w.factor, p.mass_start[t], x, first, j - first + 1)
    for k in range(first, j + 1):
        total += x[k] * x[k]
    return total


@part
def _measure(p, w):
    """Mobilities: means of J M⁻¹ Jᵀ + Σ over the normal, tangential and angular rows of each constraint."""
    x, column, value, tree_start, mass_start = w.change, p.column, p.value, p.tree_start, p.mass_start
    alone = np.zeros(p.velocity.size)  # mobilities of single freedoms, which have several rows as a rule
    for c in range(p.count[0]):
        w.which_block[c] = 0
        begin, end = p.start[c], p.start[c + 1]
        normal = tangent = turning = 0.0
        for i in range(begin, end):
            k, last, total = p.row_begin[i], p.row_begin[i + 1], p.compliance[i]
            if last - k == 1:
                j = column[k]
                if alone[j] == 0.0:
                    alone[j] = _own_mobility(p, w, j)
                total += value[k] * value[k] * alone[j]
                k = last
            while k < last:
                t = w.tree_of[column[k]]
                a, b = tree_start[t], tree_start[t + 1]
                if b - a == 6 and k + 6 <= last and column[k + 5] == b - 1:
                    total += mobility_of_six(w.factor, mass_start[t], value, k)
                    k += 6
                    continue
                for j in range(a, b):
                    x[j] = 0.0
                while k < last and column[k] < b:
                    x[column[k]] = value[k]
                    k += 1
                furthest = column[k - 1] + 1
                half_solve(b - a, w.factor, mass_start[t], x, a, furthest - a)
                for j in range(a, furthest):
                    total += x[j] * x[j]
            if i == begin:
                normal = total
            elif i < begin + ANGULAR:
                tangent += total
            else:
                turning += total
        if end > begin + 1:
            tangent /= min(end - begin, ANGULAR) - 1
        if end > begin + ANGULAR:
            turning /= end - begin - ANGULAR
        largest = max(normal, tangent)
        # rows that hardly move at all would have a weight of nothing
        floor = _LEAST_MOBILITY * largest if largest > 0.0 else 1.0
        w.mobility[c, 0], w.mobility[c, 1] = max(normal, floor), max(tangent, floor)
        w.mobility[c, 2] = turning if turning > 0.0 else w.mobility[c, 1]
