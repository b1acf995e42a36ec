"""Velocities of a problem by trees at its impulses, and small pieces of work on islands."""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.small_systems import solve_small
from perp.kernels.tree_algebra import solve_mass
from perp.kernels.tree_rows import add, add_three, times, times_three


@part
def evaluate(p, w, first_island, end_island):
    """v = v̂ + M⁻¹ Jᵀ λ and u = L v + b + Σ λ over some islands."""
    v = p.velocity
    begin, end = w.island_tree_start[first_island], w.island_tree_start[end_island]
    listed, listed_end = w.island_constraint_start[first_island], w.island_constraint_start[end_island]
    for a in range(begin, end):
        t = w.island_tree[a]
        for j in range(p.tree_start[t], p.tree_start[t + 1]):
            v[j] = 0.0
    for a in range(listed, listed_end):
        push_trees(p, w, w.island_constraint[a])
    for a in range(begin, end):
        t = w.island_tree[a]
        first, last = p.tree_start[t], p.tree_start[t + 1]
        solve_mass(last - first, w.factor, p.mass_start[t], v, first)
        for j in range(first, last):
            v[j] += p.free_velocity[j]
    for a in range(listed, listed_end):
        measure_rows(p, w.island_constraint[a])


@part
def push_trees(p, w, c):
    """Add Jᵀ λ of constraint c to the velocities; its rows have the same columns, and go by threes."""
    v, value, x, i, last = p.velocity, p.value, p.impulse, p.start[c], p.start[c + 1]
    begin = base = p.row_begin[i]
    width = p.row_begin[i + 1] - begin
    while i < last:
        if i + 3 <= last:
            a, b, d = x[i], x[i + 1], x[i + 2]
            if a != 0.0 or b != 0.0 or d != 0.0:
                add_three(p.column, value, (base, width, w.own[c], w.own_end[c]), (a, b, d), v)
            i, base = i + 3, base + 3 * width
        else:
            if x[i] != 0.0:
                add(p.column, value, base + w.own[c], base + w.own_end[c], x[i], v)
            i, base = i + 1, base + width


@part
def measure_rows(p, c):
    """u = L v + b + Σ λ of constraint c.

    A drive's bias and compliance are large and cancel: they come first.
    """
    i, last, x, u = p.start[c], p.start[c + 1], p.impulse, p.row_velocity
    base = p.row_begin[i]
    width = p.row_begin[i + 1] - base
    while i < last:
        given = p.bias[i] + p.compliance[i] * x[i]
        if i + 3 <= last:
            other = p.bias[i + 1] + p.compliance[i + 1] * x[i + 1]
            third = p.bias[i + 2] + p.compliance[i + 2] * x[i + 2]
            u[i], u[i + 1], u[i + 2] = times_three(
                p.column, p.left, (base, base + width), p.velocity, (given, other, third)
            )
            i, base = i + 3, base + 3 * width
        else:
            for e in range(base, base + width):
                given += p.left[e] * p.velocity[p.column[e]]
            u[i] = given
            i, base = i + 1, base + width


@part
def copy_rows(p, w, k, source, target):
    """The rows of island k from one array into another."""
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        for i in range(p.start[c], p.start[c + 1]):
            target[i] = source[i]


@part
def weigh_rows(p, w, c):
    """K L of constraint c, from its K."""
    i, size, K = p.start[c], p.start[c + 1] - p.start[c], w.K[c]
    at = p.row_begin[i]
    width = p.row_begin[i + 1] - at
    for r in range(size):
        for e in range(width):
            total = 0.0
            for s in range(size):
                total += K[r, s] * p.left[at + s * width + e]
            w.KL[at + r * width + e] = total


@part
def own_mass(p, t, j):
    """Where the diagonal entry of freedom j of tree t is in `mass`."""
    first = p.tree_start[t]
    return p.mass_start[t] + (j - first) * (p.tree_start[t + 1] - first + 1)


@part
def impulse_step(p, w, c, i):
    """Δλ of row i of constraint c: −f − K L Δv, or M Δv where freedoms are impulses."""
    if p.count[2]:
        return p.mass[own_mass(p, w.tree_of[i], i)] * w.change[i]
    total = w.f[i]
    if w.K[c, 0, 0] != 0.0:
        for e in range(p.row_begin[i], p.row_begin[i + 1]):
            total += w.KL[e] * w.change[p.column[e]]
    return -total


@part
def hold_row(p, w, c, r, weight, u):
    """Equation of row r of constraint c for no velocity but that of a compliance: weight Δλ + L Δv = −u."""
    i, K = p.start[c] + r, w.K[c]
    for s in range(p.start[c + 1] - p.start[c]):
        K[r, s] = 0.0
    if p.count[2]:
        clear_row(p, w, c, r)
        w.A[c, r, r], K[r, r] = weight, 1.0
    else:
        K[r, r] = 1.0 / weight
    w.f[i] = u * K[r, r]
    for e in range(p.row_begin[i], p.row_begin[i + 1]):
        w.KL[e] = K[r, r] * p.left[e]


@part
def clear_row(p, w, c, r):
    """Row r of A that of the identity, where there is an A."""
    if p.count[2]:
        for s in range(p.start[c + 1] - p.start[c]):
            w.A[c, r, s] = 1.0 if r == s else 0.0


@part
def keep_equations(p, w, c, A, size):
    """K, f and A of constraint c from [A | K | f]; solved for Δλ unless freedoms are impulses.

    Returns whether that is possible.
    """
    if p.count[2]:
        for r in range(size):
            for s in range(size):
                w.A[c, r, s] = A[r, s]
    elif not solve_small(A, size, size + 1, 0.0):
        return False
    for r in range(size):
        w.f[p.start[c] + r] = A[r, 2 * size]
        for s in range(size):
            w.K[c, r, s] = A[r, size + s]
    return True


@part
def goes_on(p, w, k, steady):
    """Whether island k moves at its start as before, with the velocities in `change`, but for `steady` units.

    Impulses that push too much, if within what is allowed, let a scene at rest drift until it is pushed back.
    """
    if steady == np.inf:
        return True
    change, moves = w.change, False
    for a in range(w.island_tree_start[k], w.island_tree_start[k + 1]):
        t = w.island_tree[a]
        for j in range(p.tree_start[t], p.tree_start[t + 1]):
            change[j] = p.velocity[j] - change[j]
            moves = moves or change[j] != 0.0
    if not moves:
        return True
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i, last = p.start[c], p.start[c + 1]
        while i < last:
            begin, end, off = p.row_begin[i], p.row_begin[i + 1], 0.0
            if i + 3 <= last:
                one, two, three = times_three(p.column, p.left, (begin, end), change, (0.0, 0.0, 0.0))
                off = max(abs(one) / p.unit[i], abs(two) / p.unit[i + 1], abs(three) / p.unit[i + 2])
                i += 3
            else:
                off = abs(times(p.column, p.left, begin, end, change)) / p.unit[i]
                i += 1
            if not off <= steady:
                return False
    return True
