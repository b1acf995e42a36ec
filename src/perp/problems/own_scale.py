"""What is at work at each row itself, in the row's own unit: the size of its terms at an answer.

Coupled rows may have units that differ by any factor (M → D M D, q → D q, z → D⁻¹ z), and the data of an
island would hide a row whose unit is small. A row is judged by the least of what is at work on its island
(`data_size`) and its own terms |q_i| + Σ |M_ij z_j|, or what round-off leaves of its neighbours if that is
more; an impulse by the largest of what it does to any row in that row's size. Terms that are huge and cancel
excuse nothing: the island's data stay the upper bound, and all that counts where a row has no terms at all
and nothing is at work beside it.
Formulas: docs/theory/residual.md.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.problems.matrix_entries import column, diagonal_entry, row_ends, rows_of

# What is at work at a row itself counts this many times: rows of an island that differ by less than a tenth
# share what is at work there, and solvers that aim at that are not asked twice.
SHARED = 10.0
# A symmetric elimination, and data computed from masses and Jacobians, have errors of 2⁻⁵³ √(M_ii M_jj) |z_j|
# in row i, however small M_ij is. With the usual tolerance of 1e-8 this share, ten times, allows 1e-15.
ROUND_OFF_SHARE = 1e-8
# Round-off leaves entries of at least about this share of √(M_ii M_jj); what is smaller was meant so.
_COUPLED = 1e-20
# What is within this by its rows' own terms needs no look at their neighbours.
ENOUGH = 1e-10
# Smaller sizes are not told apart: their inverses would overflow.
LEAST = 1e-290


@part
def _left_over(entry, root, other, z):
    """What round-off leaves of a neighbour in a row: a share of √(M_ii M_jj) |z_j|."""
    return SHARED * ROUND_OFF_SHARE * root * (other * abs(z)) if abs(entry) > _COUPLED * root * other else 0.0


@part
def _terms(A, q, z, i, most):
    """|q_i| + Σ |M_ij z_j|, or a number of at least `most`."""
    data, terms = A[0], abs(q[i])
    first, last = row_ends(A, z.size, i)
    k = first
    while terms < most and k + 3 < last:
        terms += (abs(data[k] * z[column(A, k, first)]) + abs(data[k + 1] * z[column(A, k + 1, first)])) + (
            abs(data[k + 2] * z[column(A, k + 2, first)]) + abs(data[k + 3] * z[column(A, k + 3, first)])
        )
        k += 4
    while terms < most and k < last:
        terms += abs(data[k] * z[column(A, k, first)])
        k += 1
    return terms


@part
def own_terms(A, q, z, size, start, length, own):
    """What is at work at each constraint itself into `own`, at most `size`; whether that is less anywhere.

    Args:
        A: The entries of the matrix.
        q: Its right side, shape (n,).
        z: The answer, shape (n,).
        size: What is at work on the islands, shape (count,).
        start: Where the rows of each constraint begin, shape (count + 1,); empty where each has one row.
        length: What brings the rows from the fourth on to the unit of the others, shape (count,).
        own: Is filled, shape (count,).
    """
    less, root, most, n = False, own[:0], 0.0, q.size
    for c in range(size.size):
        terms, (begin, end) = 0.0, rows_of(start, c)
        for i in range(begin, end):
            unit = SHARED * (length[c] if i - begin >= 3 else 1.0)
            terms = max(terms, unit * _terms(A, q, z, i, size[c] / unit))
            if terms >= size[c]:
                break
        own[c] = size[c]
        if terms < size[c]:
            if not less:
                less, root = True, np.empty(n)
                for j in range(n):
                    root[j] = math.sqrt(max(diagonal_entry(A, n, j), 0.0))
                    most = max(most, SHARED * ROUND_OFF_SHARE * root[j] * abs(z[j]))
            for i in range(begin, end):
                unit = length[c] if i - begin >= 3 else 1.0
                if unit * root[i] * most <= terms:
                    continue
                first, last = row_ends(A, n, i)
                for k in range(first, last):
                    j = column(A, k, first)
                    terms = max(terms, unit * _left_over(A[0][k], root[i], root[j], z[j]))
            own[c] = min(max(terms, LEAST), size[c])
    return less


@part
def _pass(A, diagonal, size, start, length, owner, order, reach):
    """One pass over the constraints: what the data of each one's neighbours would cause at it."""
    for c in order:
        begin, end = rows_of(start, c)
        for i in range(begin, end):
            unit = length[c] if i - begin >= 3 else 1.0
            first, last = row_ends(A, owner.size, i)
            for k in range(first, last):
                j = column(A, k, first)
                b = owner[j]
                if b != c and diagonal[b] > 0.0:
                    other = length[b] if start.size and j - start[b] >= 3 else 1.0
                    caused = reach[b] * (unit * other * abs(A[0][k]) / diagonal[b])
                    reach[c] = max(reach[c], min(size[c], caused))


@part
def beside(A, q, size, start, length, own):
    """What the data of neighbours, and of theirs, would cause at each constraint, into `own` if it is more.

    The impulse that stops constraint b causes |M_cb| / M_bb of its velocity at c. Passes forth and back carry
    that along chains, never beyond `size`; where it fades on long ones, the terms of the answer count.
    Returns whether it is more anywhere.
    """
    count, n = size.size, q.size
    reach, diagonal, owner = np.zeros(count), np.zeros(count), np.empty(n, dtype=np.int64)
    for c in range(count):
        begin, end = rows_of(start, c)
        for i in range(begin, end):
            unit = length[c] if i - begin >= 3 else 1.0
            owner[i] = c
            reach[c] = max(reach[c], unit * abs(q[i]))
            diagonal[c] = max(diagonal[c], unit * unit * diagonal_entry(A, n, i))
    _pass(A, diagonal, size, start, length, owner, range(count), reach)
    _pass(A, diagonal, size, start, length, owner, range(count - 1, -1, -1), reach)
    more = False
    for c in range(count):
        value = min(SHARED * reach[c], size[c])
        if own[c] <= LEAST and value == 0.0:
            value = size[c]  # nothing is at work at it or beside it
        if value > own[c]:
            own[c], more = value, True
    return more


@part
def effects(A, size, effect):
    """The largest of what a unit of each z does to any row in that row's size, into `effect`."""
    effect[:], sparse = 0.0, A[2].size > 0
    for i in range(size.size):
        weight = 1.0 / size[i]
        first, last = row_ends(A, size.size, i)
        if not sparse:  # by itself: it becomes vector instructions
            for j in range(size.size):
                effect[j] = max(effect[j], abs(A[0][first + j]) * weight)
        for k in range(first, last if sparse else first):
            effect[A[1][k]] = max(effect[A[1][k]], abs(A[0][k]) * weight)
