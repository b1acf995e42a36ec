"""A small contact problem in two flat arrays: all that a compiled solve needs, made once.

One array of whole numbers and one of reals hold the problem in canonical form, for the sweeps, and as it was
given, for the verdict. Every array that is passed into compiled code costs some 50 ns and every allocation
about as much, so that one contact is solved in less time than its canonical form takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from perp.problems.data_size import set_mobilities
from perp.problems.set_kernels import ROLLING
from perp.solvers.contact.canonical import Blocks, build, build_dense

# The front of the whole numbers: constraints, rows, blocks, entries of the blocks, entries of W (−1: dense).
_FRONT = 5


class Given(NamedTuple):
    """A problem as it was given, with the scales of its residual: what `judge_sparse` takes.

    d is `ContactProblem.mobility`, size its `data_size`.

    W is in `entries`: those of a dense matrix row by row, or of compressed rows with `indices` and `indptr`.
    """

    entries: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    q: np.ndarray
    size: np.ndarray
    kind: np.ndarray
    start: np.ndarray
    a: np.ndarray
    b: np.ndarray
    d: np.ndarray
    length: np.ndarray


@njit(cache=True, nogil=True)
def _rolls(kind):
    found = False
    for k in kind:
        found = found or k == ROLLING
    return found


@njit(cache=True, nogil=True)
def _widest(largest, start):
    """`ContactProblem.column_scale` from the largest entry of each column, for problems without rolling."""
    overall = 0.0
    for value in largest:
        overall = max(overall, value)
    if overall == 0.0:
        overall = 1.0
    d = np.zeros(start.size - 1)
    for c in range(d.size):
        for j in range(start[c], start[c + 1]):
            d[c] = max(d[c], largest[j] if largest[j] > 0.0 else overall)
    return d


@njit(cache=True, nogil=True)
def _put(target, at, values):
    for k in range(values.size):
        target[at + k] = values[k]
    return at + values.size


@njit(cache=True, nogil=True)
def _pack(blocks, entries, indices, indptr, q, kind, a, b, d, length):
    d = d.copy()
    set_mobilities(kind, a, b, blocks.size, d)
    count, n, number = kind.size, q.size, blocks.column.size
    integers = np.empty(_FRONT + 4 * count + 3 + 2 * number + indices.size + indptr.size, np.int64)
    integers[0], integers[1], integers[2], integers[3] = count, n, number, blocks.data.size
    integers[4] = entries.size if indptr.size else -1
    at = _FRONT
    for whole in (blocks.start, blocks.first, blocks.column, blocks.at, blocks.diagonal):
        at = _put(integers, at, whole)
    at = _put(integers, at, kind)
    at = _put(integers, at, indices)
    _put(integers, at, indptr)
    numbers = np.empty(12 * count + 3 * n + blocks.data.size + entries.size)
    at = 0
    for real in (
        blocks.low, blocks.high, blocks.mu, blocks.mu_r, blocks.t1, blocks.t2, blocks.d, blocks.scale,
        blocks.q, blocks.data,
    ):  # fmt: skip
        at = _put(numbers, at, real)
    at = _put(numbers, _put(numbers, at, q), blocks.size)
    at = _put(numbers, _put(numbers, at, a), b)
    at = _put(numbers, _put(numbers, at, d), length)
    _put(numbers, at, entries)
    return integers, numbers


@njit(cache=True, nogil=True)
def pack_sparse(data, indices, indptr, q, kind, start, a, b, d, length):
    """The two arrays of a problem with W in compressed rows.

    The scales of rolling contacts are the problem's own: without them the answer is empty.

    Args:
        data: Entries of W; with `indices` and `indptr` in compressed rows.
        indices: Their columns.
        indptr: Where rows begin.
        q: Free velocity, shape (rows,).
        kind: As in `Sets`, and so are `start`, `a` and `b`.
        start: Row offsets.
        a: Parameters.
        b: Parameters.
        d: `ContactProblem.column_scale`, or empty.
        length: `ContactProblem.rolling_length`, or empty.
    """
    if d.size == 0:
        if _rolls(kind):
            return np.empty(0, np.int64), np.empty(0)
        largest = np.zeros(q.size)
        for k in range(data.size):
            largest[indices[k]] = max(largest[indices[k]], abs(data[k]))
        d, length = _widest(largest, start), np.ones(kind.size)
    blocks = build(data, indices, indptr, q, kind, start, a, b, length, False)
    return _pack(blocks, data, indices, indptr, q, kind, a, b, d, length)


@njit(cache=True, nogil=True)
def pack_dense(W, q, kind, start, a, b, d, length):
    """The same for a dense W."""
    n = q.size
    if d.size == 0:
        if _rolls(kind):
            return np.empty(0, np.int64), np.empty(0)
        largest = np.zeros(n)
        for i in range(n):
            for j in range(n):
                largest[j] = max(largest[j], abs(W[i, j]))
        d, length = _widest(largest, start), np.ones(kind.size)
    blocks = build_dense(W, q, kind, start, a, b, length, False)
    none = np.empty(0, np.int64)
    return _pack(blocks, W.reshape(n * n), none, none, q, kind, a, b, d, length)


@njit(cache=True, nogil=True)
def unpack(integers, numbers, relaxed):
    """The problem in canonical form and as given: views, nothing is copied."""
    count, n, number, size, entries = integers[0], integers[1], integers[2], integers[3], integers[4]
    i = integers[_FRONT:]
    start, i = i[: count + 1], i[count + 1 :]
    first, i = i[: count + 1], i[count + 1 :]
    column, i = i[:number], i[number:]
    at, i = i[: number + 1], i[number + 1 :]
    diagonal, i = i[:count], i[count:]
    kind, i = i[:count], i[count:]
    indices, indptr = i[: max(entries, 0)], i[max(entries, 0) :]
    x = numbers[7 * count :]
    scale, q, x = x[:n], x[n : 2 * n], x[2 * n :]
    data, x = x[:size], x[size:]
    blocks = Blocks(
        start, numbers[:count], numbers[count : 2 * count], numbers[2 * count : 3 * count],
        numbers[3 * count : 4 * count], numbers[4 * count : 5 * count], numbers[5 * count : 6 * count],
        scale, q, first, column, at, diagonal, data, numbers[6 * count : 7 * count], x[n : n + count],
        relaxed,
    )  # fmt: skip
    free, sizes, x = x[:n], x[n : n + count], x[n + count :]
    a, b, d, length = x[:count], x[count : 2 * count], x[2 * count : 3 * count], x[3 * count : 4 * count]
    return blocks, Given(x[4 * count :], indices, indptr, free, sizes, kind, start, a, b, d, length)
