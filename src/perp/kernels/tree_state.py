"""Velocities of a problem by trees at its impulses, and small pieces of work on islands."""

from __future__ import annotations

from perp.compilation.kernel import kernel
from perp.kernels.tree_algebra import solve_mass


@kernel(nogil=True, error_model="numpy")
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


@kernel(nogil=True, error_model="numpy")
def copy_rows(p, w, k, source, target):
    """The rows of island k from one array into another."""
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        for i in range(p.start[c], p.start[c + 1]):
            target[i] = source[i]


@kernel(nogil=True, error_model="numpy")
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
