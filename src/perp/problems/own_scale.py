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
def _root(diagonal):
    return math.sqrt(diagonal) if diagonal > 0.0 else 0.0


@part
def _left_over(entry, root, other, z):
    """What round-off leaves of a neighbour in a row: a share of √(M_ii M_jj) |z_j|."""
    return SHARED * ROUND_OFF_SHARE * root * (other * abs(z)) if abs(entry) > _COUPLED * root * other else 0.0


@part
def _rows(start, c):
    return (start[c], start[c + 1]) if start.size else (c, c + 1)


@part
def _terms_dense(M, q, z, i, most):
    """|q_i| + Σ |M_ij z_j|, or a number of at least `most`."""
    terms, n, j = abs(q[i]), z.size, 0
    while terms < most and j + 3 < n:
        terms += (abs(M[i, j] * z[j]) + abs(M[i, j + 1] * z[j + 1])) + (
            abs(M[i, j + 2] * z[j + 2]) + abs(M[i, j + 3] * z[j + 3])
        )
        j += 4
    while terms < most and j < n:
        terms += abs(M[i, j] * z[j])
        j += 1
    return terms


@part
def own_dense(M, q, z, size, start, length, own):
    """What is at work at each constraint itself into `own`, at most `size`; whether that is less anywhere.

    Args:
        M: The matrix, dense, shape (n, n).
        q: Its right side, shape (n,).
        z: The answer, shape (n,).
        size: What is at work on the islands, shape (count,).
        start: Where the rows of each constraint begin, shape (count + 1,); empty where each has one row.
        length: What brings the rows from the fourth on to the unit of the others, shape (count,).
        own: Is filled, shape (count,).
    """
    less, root, most = False, own[:0], 0.0
    for c in range(size.size):
        terms, (first, last) = 0.0, _rows(start, c)
        for i in range(first, last):
            unit = length[c] if i - first >= 3 else 1.0
            terms = max(terms, SHARED * unit * _terms_dense(M, q, z, i, size[c] / (SHARED * unit)))
            if terms >= size[c]:
                break
        own[c] = size[c]
        if terms < size[c]:
            if not less:
                less, root = True, np.empty(q.size)
                for j in range(q.size):
                    root[j] = _root(M[j, j])
                    most = max(most, SHARED * ROUND_OFF_SHARE * root[j] * abs(z[j]))
            for i in range(first, last):
                unit = length[c] if i - first >= 3 else 1.0
                if unit * root[i] * most <= terms:
                    continue
                for j in range(q.size):
                    terms = max(terms, unit * _left_over(M[i, j], root[i], root[j], z[j]))
            own[c] = min(max(terms, LEAST), size[c])
    return less


@part
def own_sparse(data, indices, indptr, q, z, size, start, length, own):
    """The same for M in compressed rows."""
    less = False
    root = own[:0]
    for c in range(size.size):
        terms, (first, last) = 0.0, _rows(start, c)
        for i in range(first, last):
            unit, total = length[c] if i - first >= 3 else 1.0, abs(q[i])
            for k in range(indptr[i], indptr[i + 1]):
                total += abs(data[k] * z[indices[k]])
            terms = max(terms, SHARED * unit * total)
            if terms >= size[c]:
                break
        own[c] = size[c]
        if terms < size[c]:
            if not less:
                less, root = True, np.zeros(q.size)
                for j in range(q.size):
                    for k in range(indptr[j], indptr[j + 1]):
                        if indices[k] == j:
                            root[j] = _root(data[k])
            for i in range(first, last):
                unit = length[c] if i - first >= 3 else 1.0
                for k in range(indptr[i], indptr[i + 1]):
                    j = indices[k]
                    terms = max(terms, unit * _left_over(data[k], root[i], root[j], z[j]))
            own[c] = min(max(terms, LEAST), size[c])
    return less


@part
def _pass_dense(M, size, start, length, order, reach):
    """One pass over the constraints: what the data of each one's neighbours would cause at it."""
    for c in order:
        first, last = _rows(start, c)
        for b in range(reach.size):
            begin, end = _rows(start, b)
            diagonal = entry = 0.0
            for j in range(begin, end):
                other = length[b] if j - begin >= 3 else 1.0
                diagonal = max(diagonal, other * other * M[j, j])
                for i in range(first, last):
                    unit = length[c] if i - first >= 3 else 1.0
                    entry = max(entry, unit * other * abs(M[i, j]))
            if diagonal > 0.0 and b != c:
                reach[c] = max(reach[c], min(size[c], reach[b] * (entry / diagonal)))


@part
def _pass_sparse(matrix, diagonal, size, start, length, owner, order, reach):
    """The same for M in compressed rows."""
    data, indices, indptr = matrix
    for c in order:
        first, last = _rows(start, c)
        for i in range(first, last):
            unit = length[c] if i - first >= 3 else 1.0
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                b = owner[j] if owner.size else j
                if b != c and diagonal[b] > 0.0:
                    other = length[b] if owner.size and j - start[b] >= 3 else 1.0
                    caused = reach[b] * (unit * other * abs(data[k]) / diagonal[b])
                    reach[c] = max(reach[c], min(size[c], caused))


@part
def _data(q, start, length, count):
    """The largest |q| of each constraint."""
    reach = np.zeros(count)
    for c in range(count):
        first, last = _rows(start, c)
        for i in range(first, last):
            reach[c] = max(reach[c], (length[c] if i - first >= 3 else 1.0) * abs(q[i]))
    return reach


@part
def _take(reach, size, own):
    """Whether what neighbours cause is more than `own` anywhere; it is taken, up to `size`."""
    more = False
    for c in range(own.size):
        value = min(SHARED * reach[c], size[c])
        if own[c] <= LEAST and value == 0.0:
            value = size[c]  # nothing is at work at it or beside it
        if value > own[c]:
            own[c], more = value, True
    return more


@part
def beside_dense(M, q, size, start, length, own):
    """What the data of neighbours, and of theirs, would cause at each constraint, into `own` if it is more.

    The impulse that stops constraint b causes |M_cb| / M_bb of its velocity at c. Passes forth and back carry
    that along chains, never beyond `size`; where it fades on long ones, the terms of the answer count.
    """
    reach = _data(q, start, length, size.size)
    _pass_dense(M, size, start, length, range(size.size), reach)
    _pass_dense(M, size, start, length, range(size.size - 1, -1, -1), reach)
    return _take(reach, size, own)


@part
def beside_sparse(data, indices, indptr, q, size, start, length, own):
    """The same for M in compressed rows."""
    count = size.size
    reach, diagonal = _data(q, start, length, count), np.zeros(count)
    owner = np.empty(q.size if start.size else 0, dtype=np.int64)
    for c in range(count):
        first, last = _rows(start, c)
        for i in range(first, last):
            unit = length[c] if i - first >= 3 else 1.0
            if owner.size:
                owner[i] = c
            for k in range(indptr[i], indptr[i + 1]):
                if indices[k] == i:
                    diagonal[c] = max(diagonal[c], unit * unit * data[k])
    matrix = (data, indices, indptr)
    _pass_sparse(matrix, diagonal, size, start, length, owner, range(count), reach)
    _pass_sparse(matrix, diagonal, size, start, length, owner, range(count - 1, -1, -1), reach)
    return _take(reach, size, own)


@part
def effect_dense(M, size, effect):
    """The largest of what a unit of each z does to any row in that row's size, into `effect`."""
    effect[:] = 0.0
    for i in range(size.size):
        weight = 1.0 / size[i]
        for j in range(size.size):
            effect[j] = max(effect[j], abs(M[i, j]) * weight)


@part
def effect_sparse(data, indices, indptr, size, effect):
    """The same for M in compressed rows."""
    effect[:] = 0.0
    for i in range(size.size):
        for k in range(indptr[i], indptr[i + 1]):
            effect[indices[k]] = max(effect[indices[k]], abs(data[k]) / size[i])
