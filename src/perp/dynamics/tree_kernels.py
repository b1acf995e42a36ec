"""Compiled factorisation of the joint-space inertia of kinematic trees, in mujoco's layout.

M has an entry (k, i) only where degree of freedom i lies on the path from k to the root. Eliminated from the
leaves
to the roots, M = Lᵀ D L fills nothing in: the row of i is the beginning of the row of k.
Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.5.
"""

from __future__ import annotations

from perp.compilation.kernel import part


@part
def factorise(s, M, extra, L):
    """Lᵀ D L of M + diag(extra), in M's own layout: diagonals last in each row."""
    begin, count, column = s.M_begin, s.M_count, s.M_column
    L[:] = M
    for k in range(begin.size):
        L[begin[k] + count[k] - 1] += extra[k]
    for k in range(begin.size - 1, -1, -1):
        a, n = begin[k], count[k] - 1
        pivot = L[a + n]
        for t in range(n - 1, -1, -1):
            share = L[a + t] / pivot
            b = begin[column[a + t]]
            for s in range(t + 1):
                L[b + s] -= share * L[a + s]
            L[a + t] = share


@part
def multiply(s, M, x, out):
    """M x for a symmetric M stored as its lower rows."""
    begin, count, column = s.M_begin, s.M_count, s.M_column
    out[:] = 0.0
    for k in range(begin.size):
        a, n = begin[k], count[k] - 1
        out[k] += M[a + n] * x[k]
        for t in range(n):
            out[k] += M[a + t] * x[column[a + t]]
            out[column[a + t]] += M[a + t] * x[k]


@part
def solve(s, L, x):
    """(Lᵀ D L)⁻¹ x in place."""
    begin, count, column = s.M_begin, s.M_count, s.M_column
    for k in range(begin.size - 1, -1, -1):
        a, n = begin[k], count[k] - 1
        for t in range(n):
            x[column[a + t]] -= L[a + t] * x[k]
    for k in range(begin.size):
        a, n = begin[k], count[k] - 1
        x[k] /= L[a + n]
        for t in range(n):
            x[k] -= L[a + t] * x[column[a + t]]
