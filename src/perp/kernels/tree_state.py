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
def solve_small(A, size, columns):
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
