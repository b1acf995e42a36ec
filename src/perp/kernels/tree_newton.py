"""Exact friction by Newton's method in the velocities of trees, under a proximal weight that adapts.

The law of a constraint as equations F(λ, u) = 0 has dF = B Δλ + C Δu (`friction_laws`). With a proximal
compliance σ d around a centre λ⁰ the impulses follow from the velocities whatever the rank of J,

    Δλ = −f − K L Δv,   K = A⁻¹ C,  f = A⁻¹ F,  A = B + C (Σ + σ d),      (M + Jᵀ K L) Δv = −Jᵀ f

so that redundant contacts and closed loops cost nothing. An island (trees coupled by constraints) keeps its
centre while Newton steps lower its residual; the centre moves on when the proximal problem is solved well
enough, and the weight falls; where steps wander it grows. From the impulses of the last time step the active
set is as a rule right: one or two steps. Cost of a step: a pass over J and the elimination by trees.

Reference: Alart and Curnier (1991) for the equations; Acary, Brémond and Huber (2018), section 6, for the
proximal term.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.kernels.elimination import eliminate
from perp.kernels.friction_laws import (
    ANGULAR,
    MOST_ROWS,
    OPEN,
    STICKING,
    bounds,
    linearise,
    row_group,
    violation,
)
from perp.kernels.tree_algebra import (
    factor_block,
    factor_mass,
    half_solve,
    mobility_of_six,
    solve_block,
    solve_block_transposed,
    solve_mass,
)
from perp.kernels.tree_problem import problem_view
from perp.kernels.tree_workspace import workspace_view
from perp.problems.set_kernels import COULOMB

# Proximal weights in units of a constraint's mobility: first with a warm start and without, the least and the
# heaviest.
_WARM, _COLD, _LEAST, _HEAVIEST = 1e-8, 1e-6, 1e-9, 1.0
# A proximal problem is solved when its merit has fallen to this share.
_INNER = 0.1
# Newton steps that a proximal problem may take, and those after which each has to lower its merit.
_PATIENCE, _DETOUR = 8, 3
# Weights within this factor are the same.
_NEAR = 3.0
# A step that makes the merit so much larger is halved, unless it is near the answer.
_HALVINGS, _RISE, _FAR = 4, 100.0, 1e3
_IDLE = 8
# Growth of the weight after wandering, and the least weight then.
_GROWTH, _HEAVY = 30.0, 1e-2
# What is left of the weight after a proximal problem: less after those solved in one step, more after a
# failure.
_SHRINK, _LEAST_SHRINK, _MOST_SHRINK = 0.1, 0.01, 0.5
_LEAST_MOBILITY = 0.03

SOLVED, LIMIT, BREAKDOWN = 0, 1, 2


@njit(cache=True, nogil=True, error_model="numpy")
def _root(parent, t):
    while parent[t] != t:
        parent[t] = parent[parent[t]]
        t = parent[t]
    return t


@njit(cache=True, nogil=True, error_model="numpy")
def prepare(p, w):
    """Factor the masses, list constraints by trees and islands, measure mobilities; returns the islands.

    −1 where a mass is not positive definite.
    """
    trees, constraints = p.tree_start.size - 1, p.count[0]
    for t in range(trees):
        if not factor_mass(p.tree_start[t + 1] - p.tree_start[t], p.mass, p.mass_start[t], w.factor):
            return -1
        w.parent[t] = t
        w.touch_start[t] = 0
    w.touch_start[trees] = 0
    for c in range(constraints):
        i = p.start[c]
        last = first = -1
        for k in range(p.row_begin[i], p.row_begin[i + 1]):
            t = w.tree_of[p.column[k]]
            if t != last:
                last = t
                w.touch_start[t + 1] += 1
                if first < 0:
                    first = t
                else:
                    a, b = _root(w.parent, first), _root(w.parent, t)
                    if a != b:
                        w.parent[max(a, b)] = min(a, b)
    for t in range(trees):
        w.touch_start[t + 1] += w.touch_start[t]
    for c in range(constraints):
        i = p.start[c]
        last = -1
        for k in range(p.row_begin[i], p.row_begin[i + 1]):
            t = w.tree_of[p.column[k]]
            if t != last:
                last = t
                w.touch[w.touch_start[t]] = c
                w.touch_start[t] += 1
    for t in range(trees, 0, -1):
        w.touch_start[t] = w.touch_start[t - 1]
    w.touch_start[0] = 0
    _measure(p, w)
    return _islands(p, w)


@njit(cache=True, nogil=True, error_model="numpy")
def _islands(p, w):
    """Trees and constraints of each island; trees without constraints have their free velocity."""
    trees, islands = p.tree_start.size - 1, 0
    at, tree_start, constraint_start = w.island_of, w.island_tree_start, w.island_constraint_start
    for t in range(trees):
        root = _root(w.parent, t)
        if root < t:
            at[t] = at[root]
        elif w.touch_start[t] == w.touch_start[t + 1]:
            at[t] = -1
            for j in range(p.tree_start[t], p.tree_start[t + 1]):
                p.velocity[j] = p.free_velocity[j]
        else:
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


@njit(cache=True, nogil=True, error_model="numpy")
def _measure(p, w):
    """Mobilities: means of J M⁻¹ Jᵀ + Σ over the normal, tangential and angular rows of each constraint."""
    x, column, value, tree_start, mass_start = w.change, p.column, p.value, p.tree_start, p.mass_start
    for c in range(p.count[0]):
        begin, end = p.start[c], p.start[c + 1]
        normal = tangent = turning = 0.0
        for i in range(begin, end):
            k, last, total = p.row_begin[i], p.row_begin[i + 1], p.compliance[i]
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
                half_solve(b - a, w.factor, mass_start[t], x, a)
                for j in range(a, b):
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


@njit(cache=True, nogil=True, error_model="numpy")
def _evaluate(p, w, first_island, end_island):
    """v = v̂ + M⁻¹ Jᵀ λ and u = L v + b + Σ λ over some islands."""
    v = p.velocity
    begin, end = w.island_tree_start[first_island], w.island_tree_start[end_island]
    listed, listed_end = w.island_constraint_start[first_island], w.island_constraint_start[end_island]
    for a in range(begin, end):
        t = w.island_tree[a]
        for j in range(p.tree_start[t], p.tree_start[t + 1]):
            v[j] = 0.0
    for a in range(listed, listed_end):
        c = w.island_constraint[a]
        for i in range(p.start[c], p.start[c + 1]):
            push = p.impulse[i]
            if push != 0.0:
                for e in range(p.row_begin[i], p.row_begin[i + 1]):
                    v[p.column[e]] += p.value[e] * push
    for a in range(begin, end):
        t = w.island_tree[a]
        first, last = p.tree_start[t], p.tree_start[t + 1]
        solve_mass(last - first, w.factor, p.mass_start[t], v, first)
        for j in range(first, last):
            v[j] += p.free_velocity[j]
    for a in range(listed, listed_end):
        c = w.island_constraint[a]
        for i in range(p.start[c], p.start[c + 1]):
            total = p.bias[i] + p.compliance[i] * p.impulse[i]
            for e in range(p.row_begin[i], p.row_begin[i + 1]):
                total += p.left[e] * v[p.column[e]]
            p.row_velocity[i] = total


@njit(cache=True, nogil=True, error_model="numpy")
def _judge_starts(p, w, islands, g):
    """Worst residual and merit of each island at its start, into `outcome`; velocities of its first step."""
    x, u = p.impulse, p.row_velocity
    for k in range(islands):
        worst = merit = 0.0
        for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
            c = w.island_constraint[a]
            i = p.start[c]
            size = p.start[c + 1] - i
            for r in range(i, i + size):
                w.pulled[r] = u[r]
            value, square = violation(
                p.kind[c], p.parameter[c], size, w.mobility[c], x[i:], u[i:], p.unit[i:], g
            )
            if not value <= worst:
                worst = value
            merit += square
        w.outcome[k, 0], w.outcome[k, 1] = worst, merit


@njit(cache=True, nogil=True, error_model="numpy")
def _judge(p, w, k, sigma, g):
    """Worst residual and merit of island k, and the same of its proximal problem."""
    worst = merit = inner_worst = inner = 0.0
    x, u = p.impulse, p.row_velocity
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i, mobility = p.start[c], w.mobility[c]
        size = p.start[c + 1] - i
        kind, parameter, unit = p.kind[c], p.parameter[c], p.unit[i:]
        for r in range(size):
            weight = sigma * mobility[row_group(r)]
            w.pulled[i + r] = u[i + r] + weight * (x[i + r] - w.centre[i + r])
        value, square = violation(kind, parameter, size, mobility, x[i:], u[i:], unit, g)
        if not value <= worst:
            worst = value
        merit += square
        value, square = violation(kind, parameter, size, mobility, x[i:], w.pulled[i:], unit, g)
        if not value <= inner_worst:
            inner_worst = value
        inner += square
    return worst, merit, inner_worst, inner


@njit(cache=True, nogil=True, error_model="numpy")
def _condense(p, w, k, sigma, room):
    """K, f and K L of the constraints of island k; False where a constraint's equations are singular."""
    g, F, A = room[0], room[1], room[2 : 2 + MOST_ROWS]
    B, C = room[8:14, :MOST_ROWS], room[14:20, :MOST_ROWS]
    x, u = p.impulse, w.pulled
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i, mobility, kind = p.start[c], w.mobility[c], p.kind[c]
        d = mobility[0]
        size = p.start[c + 1] - i
        width, at = p.row_begin[i + 1] - p.row_begin[i], p.row_begin[i]
        K = w.K[c]
        if kind < COULOMB:
            low, high = bounds(kind, p.parameter[c])
            y = d * x[i] - u[i]
            if y <= d * low or y >= d * high:
                K[0, 0] = 0.0
                w.f[i] = x[i] - (low if y <= d * low else high)
                continue
            K[0, 0] = 1.0 / (p.compliance[i] + sigma * d)
            w.f[i] = u[i] * K[0, 0]
            for e in range(at, at + width):
                w.KL[e] = K[0, 0] * p.left[e]
            continue
        state = linearise(kind, p.parameter[c], size, mobility, x[i:], u[i:], g, F, B, C)
        if state == OPEN:
            K[0, 0] = 0.0
            w.f[i] = x[i] + p.parameter[c, 5]
            for r in range(1, size):
                w.f[i + r] = x[i + r]
            continue
        if state == STICKING:
            for r in range(size):
                K[r, r] = 1.0 / (p.compliance[i + r] + sigma * mobility[row_group(r)])
                w.f[i + r] = u[i + r] * K[r, r]
                for e in range(width):
                    w.KL[at + r * width + e] = K[r, r] * p.left[at + r * width + e]
                for s in range(size):
                    if s != r:
                        K[r, s] = 0.0
            continue
        for r in range(size):
            for s in range(size):
                weight = p.compliance[i + s] + sigma * mobility[row_group(s)]
                A[r, s] = B[r, s] + C[r, s] * weight
                A[r, size + s] = C[r, s]
            A[r, 2 * size] = F[r]
        if not _solve_small(A, size, size + 1):
            return False
        for r in range(size):
            w.f[i + r] = A[r, 2 * size]
            for s in range(size):
                K[r, s] = A[r, size + s]
        for r in range(size):
            for e in range(width):
                total = 0.0
                for s in range(size):
                    total += K[r, s] * p.left[at + s * width + e]
                w.KL[at + r * width + e] = total
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_small(A, size, columns):
    """Gauss–Jordan with row pivoting on [A | right sides], in place."""
    for k in range(size):
        best = k
        for r in range(k + 1, size):
            if abs(A[r, k]) > abs(A[best, k]):
                best = r
        if best != k:
            for s in range(k, size + columns):
                A[k, s], A[best, s] = A[best, s], A[k, s]
        if A[k, k] == 0.0:
            return False
        pivot = 1.0 / A[k, k]
        for s in range(k, size + columns):
            A[k, s] *= pivot
        for r in range(size):
            factor = A[r, k]
            if r != k and factor != 0.0:
                for s in range(k, size + columns):
                    A[r, s] -= factor * A[k, s]
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _assemble_tree(p, w, t):
    """The rows of tree t of M + Jᵀ K L into the panel, and −Jᵀ f into `change`."""
    first, last = p.tree_start[t], p.tree_start[t + 1]
    n, at = last - first, p.mass_start[t]
    panel, change = w.panel, w.change
    for r in range(n):
        for s in range(n):
            panel[r, first + s] = p.mass[at + r * n + s]
        change[first + r] = 0.0
    for k in range(w.touch_start[t], w.touch_start[t + 1]):
        c = w.touch[k]
        i = p.start[c]
        size = p.start[c + 1] - i
        begin = p.row_begin[i]
        width = p.row_begin[i + 1] - begin
        own, end = 0, width
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


@njit(cache=True, nogil=True, error_model="numpy")
def _factor_alone(p, w, t):
    """Newton step of an island of one tree."""
    first, last = p.tree_start[t], p.tree_start[t + 1]
    n, at = last - first, p.mass_start[t]
    _assemble_tree(p, w, t)
    for r in range(n):
        for s in range(n):
            w.diagonal[at + r * n + s] = w.panel[r, first + s]
            w.panel[r, first + s] = 0.0
    factor_block(n, w.diagonal, at, w.pivot, first)
    solve_block(n, w.diagonal, at, w.pivot, first, w.change, first)


@njit(cache=True, nogil=True, error_model="numpy")
def _structure(p, w, k):
    """Order of the trees of island k and the pattern of the factors, in numbers within the island."""
    begin, count = w.island_tree_start[k], w.island_tree_start[k + 1] - w.island_tree_start[k]
    local = np.empty(p.tree_start.size - 1, np.int64)
    for a in range(count):
        local[w.island_tree[begin + a]] = a
    pairs = 0
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        i = p.start[w.island_constraint[a]]
        trees, last = 0, -1
        for e in range(p.row_begin[i], p.row_begin[i + 1]):
            t = w.tree_of[p.column[e]]
            trees += t != last
            last = t
        pairs += trees * (trees - 1) // 2
    one, two, filled = np.empty(pairs, np.int64), np.empty(pairs, np.int64), 0
    some = np.empty(count, np.int64)
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        i = p.start[w.island_constraint[a]]
        trees, last = 0, -1
        for e in range(p.row_begin[i], p.row_begin[i + 1]):
            t = w.tree_of[p.column[e]]
            if t != last:
                some[trees] = local[t]
                trees += 1
                last = t
        for r in range(trees):
            for s in range(r):
                one[filled], two[filled] = some[r], some[s]
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


@njit(cache=True, nogil=True, error_model="numpy")
def _block_offsets(p, w, k, upper, upper_index):
    """Where the blocks of U begin, one a pair of trees; the last entry is their size."""
    begin = w.island_tree_start[k]
    offset = np.zeros(upper_index.size + 1, np.int64)
    for a in range(upper.size - 1):
        t = w.island_tree[begin + a]
        n = p.tree_start[t + 1] - p.tree_start[t]
        for q in range(upper[a], upper[a + 1]):
            o = w.island_tree[begin + upper_index[q]]
            offset[q + 1] = n * (p.tree_start[o + 1] - p.tree_start[o])
    return np.cumsum(offset)


@njit(cache=True, nogil=True, error_model="numpy")
def _eliminate_trees(p, w, k, pattern, offset, blocks, row):
    """Newton step of an island of several trees; `blocks` is room for U, `row` for one row of a block."""
    order, upper, upper_index, lower, lower_index = pattern
    trees = w.island_tree[w.island_tree_start[k] : w.island_tree_start[k + 1]]
    panel, change = w.panel, w.change
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
            for r in range(n):
                some = False
                for s in range(m):
                    row[s] = panel[r, there + s]
                    some = some or row[s] != 0.0
                    panel[r, there + s] = 0.0
                if not some:
                    continue
                solve_block_transposed(m, w.diagonal, p.mass_start[o], w.pivot, there, row)
                for s in range(m):
                    weight = row[s]
                    if weight == 0.0:
                        continue
                    change[first + r] -= weight * change[there + s]
                    for q in range(upper[b], upper[b + 1]):
                        other = trees[upper_index[q]]
                        begin = p.tree_start[other]
                        size = p.tree_start[other + 1] - begin
                        base = offset[q] + s * size
                        for z in range(size):
                            panel[r, begin + z] -= weight * blocks[base + z]
        for r in range(n):
            for s in range(n):
                w.diagonal[at + r * n + s] = panel[r, first + s]
                panel[r, first + s] = 0.0
        factor_block(n, w.diagonal, at, w.pivot, first)
        for q in range(upper[a], upper[a + 1]):
            other = trees[upper_index[q]]
            begin = p.tree_start[other]
            size = p.tree_start[other + 1] - begin
            for r in range(n):
                for s in range(size):
                    blocks[offset[q] + r * size + s] = panel[r, begin + s]
                    panel[r, begin + s] = 0.0
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
        solve_block(n, w.diagonal, p.mass_start[t], w.pivot, first, change, first)


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(p, w, k):
    """λ − f − K L Δv on island k."""
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i = p.start[c]
        closed = w.K[c, 0, 0] != 0.0
        for r in range(i, p.start[c + 1]):
            total = w.f[r]
            if closed:
                for e in range(p.row_begin[r], p.row_begin[r + 1]):
                    total += w.KL[e] * w.change[p.column[e]]
            p.impulse[r] -= total


@njit(cache=True, nogil=True, error_model="numpy")
def _halve(p, w, k):
    """Half of the last step back."""
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        for i in range(p.start[c], p.start[c + 1]):
            p.impulse[i] = 0.5 * (p.impulse[i] + w.before[i])


@njit(cache=True, nogil=True, error_model="numpy")
def _copy_rows(p, w, k, source, target):
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        for i in range(p.start[c], p.start[c + 1]):
            target[i] = source[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_island(p, w, k, limit, room):
    """Newton steps on island k; returns the status, the steps and the worst residual."""
    g = room[0]
    worst, merit = w.outcome[k, 0], w.outcome[k, 1]
    _copy_rows(p, w, k, p.impulse, w.centre)
    warm = False
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        warm = warm or p.impulse[p.start[w.island_constraint[a]]] != 0.0
    alone = w.island_tree_start[k + 1] - w.island_tree_start[k] == 1
    none = np.empty(0, np.int64)
    pattern, offset, blocks, row = (none, none, none, none, none), none, room[20], room[21]
    if not alone:
        pattern = _structure(p, w, k)
        offset = _block_offsets(p, w, k, pattern[1], pattern[2])
        blocks, row = np.empty(offset[-1]), np.empty(w.panel.shape[0])
    sigma, shrink = _WARM if warm else _COLD, _SHRINK
    # the last weight that was borne, and one that was not
    borne, failed = np.inf, 0.0
    _copy_rows(p, w, k, p.impulse, w.best)
    best_merit, best_worst, reference, wander, last = merit, worst, merit, 0, np.inf
    current, idle = merit, 0
    for step in range(1, limit + 1):
        if not _condense(p, w, k, sigma, room):
            return BREAKDOWN, step, worst
        if alone:
            _factor_alone(p, w, w.island_tree[w.island_tree_start[k]])
        else:
            _eliminate_trees(p, w, k, pattern, offset, blocks, row)
        _copy_rows(p, w, k, p.impulse, w.before)
        _advance(p, w, k)
        _evaluate(p, w, k, k + 1)
        worst, merit, inner_worst, inner = _judge(p, w, k, sigma, g)
        for _ in range(_HALVINGS):
            if inner_worst <= _FAR or inner <= _RISE * max(current, reference):
                break
            _halve(p, w, k)
            _evaluate(p, w, k, k + 1)
            worst, merit, inner_worst, inner = _judge(p, w, k, sigma, g)
        current = inner
        if worst <= 1.0:
            return SOLVED, step, worst
        if merit < best_merit:
            best_merit, best_worst = merit, worst
            _copy_rows(p, w, k, p.impulse, w.best)
        if inner <= _INNER * reference or inner_worst <= 0.5:
            # solved again and again without an effect: no motion satisfies these rows
            idle = idle + 1 if merit > 0.9 * reference else 0
            if idle >= _IDLE:
                break
            shrink = max(0.3 * shrink, _LEAST_SHRINK) if wander == 0 else shrink
            wander, reference, last, borne = 0, merit, np.inf, sigma
            _copy_rows(p, w, k, p.impulse, w.centre)
            # a weight that was too light is approached half way, and forgotten when it is near
            sigma = max(shrink * sigma, math.sqrt(borne * failed), _LEAST)
            failed = failed if borne > _NEAR * failed else 0.0
        else:
            wander += 1
            stalls = wander >= _DETOUR and not inner <= last
            last = inner
            if stalls or wander >= _PATIENCE or not math.isfinite(inner):
                wander, last, failed = 0, np.inf, sigma
                if sigma >= _HEAVIEST:
                    break
                if borne > _NEAR * failed and borne < np.inf:
                    sigma = math.sqrt(borne * failed)
                else:
                    sigma = min(max(_GROWTH * sigma, _HEAVY), _HEAVIEST)
                    shrink = min(3.0 * shrink, _MOST_SHRINK)
                _copy_rows(p, w, k, w.centre, p.impulse)
                _evaluate(p, w, k, k + 1)
                current = reference
        # the next step starts from the proximal velocities
        _judge(p, w, k, sigma, g)
    _copy_rows(p, w, k, w.best, p.impulse)
    _evaluate(p, w, k, k + 1)
    return LIMIT, limit, best_worst


@njit(cache=True, nogil=True, error_model="numpy")
def solve_trees(problem, workspace, limit, info, worst):
    """Solve a problem in place from the impulses given.

    Args:
        problem: `TreeProblem.struct`.
        workspace: Of `tree_workspace`.
        limit: Newton steps an island may take.
        info: Out: islands, unsolved islands, Newton steps of the longest island, all Newton steps.
        worst: Out, shape (1,): the worst residual in units of what is allowed.
    """
    info[:] = 0
    worst[0] = 0.0
    p, w = problem_view(problem), workspace_view(workspace)
    islands = prepare(p, w)
    if islands < 0:
        info[1], worst[0] = 1, np.inf
        return
    room = np.empty((22, 16))
    info[0] = islands
    _evaluate(p, w, 0, islands)
    _judge_starts(p, w, islands, room[0])
    for k in range(islands):
        if w.outcome[k, 0] <= 1.0:
            worst[0] = max(worst[0], w.outcome[k, 0])
            continue
        status, steps, value = _solve_island(p, w, k, limit, room)
        info[1] += status != SOLVED
        info[2] = max(info[2], steps)
        info[3] += steps
        if not value <= worst[0]:
            worst[0] = value
