"""The verdict on an answer of an LCP or boxed LCP in one compiled call: slack, scales, residual.

In one call because of small problems, where calls from Python would take longer than the solve.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.problems.accurate_slack import improve_dense, improve_sparse
from perp.problems.boxed_kernels import boxed_verdict, dense_slack, sparse_slack
from perp.problems.data_size import mobility_within
from perp.problems.own_scale import (
    ENOUGH,
    beside_dense,
    beside_sparse,
    effect_dense,
    effect_sparse,
    own_dense,
    own_sparse,
)

# Impulses are told apart by what they do, up to this.
_MOST_MOBILE = 1e300


@part
def _finite(x):
    total = 0.0
    for value in x:
        total += value * 0.0
    return total == 0.0


@part
def _own_mobility(lo, hi, limiting_row, size, effect, mobility):
    """What makes a velocity of an impulse, for rows of their own size, into `effect`."""
    for i in range(size.size):
        d = min(effect[i] * size[i], _MOST_MOBILE) if effect[i] > 0.0 else mobility[i]
        effect[i] = mobility_within(lo[i], hi[i], d, size[i]) if limiting_row[i] == -1 else d


@part
def judge_rows(M, q, lo, hi, limiting_row, mobility, size, z, w):
    """The residual of z; w = M z + q is written. Infinite where z or w is not finite."""
    if not _finite(z):
        return math.inf
    dense_slack(M, q, z, w)
    if not _finite(w):
        return math.inf
    unknown = improve_dense(M, q, z, mobility, size, w)
    own, alone = np.empty(z.size), limiting_row[:0]
    if not own_dense(M, q, z, size, alone, own[:0], own):
        return max(boxed_verdict(lo, hi, limiting_row, mobility, size, z, w), unknown)
    d = np.empty(z.size)
    effect_dense(M, own, d)
    _own_mobility(lo, hi, limiting_row, own, d, mobility)
    value = boxed_verdict(lo, hi, limiting_row, d, own, z, w)
    if value > ENOUGH and beside_dense(M, q, size, alone, own[:0], own):
        effect_dense(M, own, d)
        _own_mobility(lo, hi, limiting_row, own, d, mobility)
        value = boxed_verdict(lo, hi, limiting_row, d, own, z, w)
    return max(value, unknown)


@kernel(nogil=True)
def judge_dense_rows(M, q, lo, hi, limiting_row, mobility, size, z, w):
    """`judge_rows` for calls from Python."""
    return judge_rows(M, q, lo, hi, limiting_row, mobility, size, z, w)


@kernel(nogil=True)
def judge_sparse_rows(data, indices, indptr, q, lo, hi, limiting_row, mobility, size, z, w):
    """The same for M in compressed rows."""
    if not _finite(z):
        return math.inf
    sparse_slack(data, indices, indptr, q, z, w)
    if not _finite(w):
        return math.inf
    unknown = improve_sparse(data, indices, indptr, q, z, mobility, size, w)
    own, alone = np.empty(z.size), limiting_row[:0]
    if not own_sparse(data, indices, indptr, q, z, size, alone, own[:0], own):
        return max(boxed_verdict(lo, hi, limiting_row, mobility, size, z, w), unknown)
    d = np.empty(z.size)
    effect_sparse(data, indices, indptr, own, d)
    _own_mobility(lo, hi, limiting_row, own, d, mobility)
    value = boxed_verdict(lo, hi, limiting_row, d, own, z, w)
    if value > ENOUGH and beside_sparse(data, indices, indptr, q, size, alone, own[:0], own):
        effect_sparse(data, indices, indptr, own, d)
        _own_mobility(lo, hi, limiting_row, own, d, mobility)
        value = boxed_verdict(lo, hi, limiting_row, d, own, z, w)
    return max(value, unknown)
