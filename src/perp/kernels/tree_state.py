"""Velocities of a problem by trees at its impulses, and small pieces of work on islands."""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.small_systems import solve_small
from perp.kernels.tree_algebra import solve_mass


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
    begin = p.row_begin[i]
    width = p.row_begin[i + 1] - begin
    base = begin
    while i < last:
        if i + 3 <= last:
            a, b, d = x[i], x[i + 1], x[i + 2]
            if a != 0.0 or b != 0.0 or d != 0.0:
                for e in range(w.own[c], w.own_end[c]):
                    v[p.column[begin + e]] += (
                        a * value[base + e] + b * value[base + width + e] + d * value[base + 2 * width + e]
                    )
            i, base = i + 3, base + 3 * width
        else:
            if x[i] != 0.0:
                for e in range(w.own[c], w.own_end[c]):
                    v[p.column[begin + e]] += x[i] * value[base + e]
            i, base = i + 1, base + width


@part
def measure_rows(p, c):
    """u = L v + b + Σ λ of constraint c; no product is fused with its sum, as in `stepping.step.look`."""
    v, left, i, last = p.velocity, p.left, p.start[c], p.start[c + 1]
    begin = p.row_begin[i]
    width = p.row_begin[i + 1] - begin
    base = begin
    while i < last:
        a = p.bias[i] + p.compliance[i] * p.impulse[i]
        if i + 3 <= last:
            b = p.bias[i + 1] + p.compliance[i + 1] * p.impulse[i + 1]
            d = p.bias[i + 2] + p.compliance[i + 2] * p.impulse[i + 2]
            for e in range(width):
                speed = v[p.column[begin + e]]
                a += left[base + e] * speed
                b += left[base + width + e] * speed
                d += left[base + 2 * width + e] * speed
            p.row_velocity[i], p.row_velocity[i + 1], p.row_velocity[i + 2] = a, b, d
            i, base = i + 3, base + 3 * width
        else:
            for e in range(width):
                a += left[base + e] * v[p.column[begin + e]]
            p.row_velocity[i] = a
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
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        for i in range(p.start[c], p.start[c + 1]):
            off = 0.0
            for e in range(p.row_begin[i], p.row_begin[i + 1]):
                j = p.column[e]
                off += p.left[e] * (p.velocity[j] - w.change[j])
            if not abs(off) <= steady * p.unit[i]:
                return False
    return True
