"""The verdict on an answer of an LCP or boxed LCP in one compiled call: slack, scales, residual.

In one call because of small problems, where calls from Python would take longer than the solve.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.problems.accurate_slack import improve
from perp.problems.boxed_kernels import boxed_verdict
from perp.problems.data_size import mobility_within
from perp.problems.matrix_entries import slack
from perp.problems.own_scale import ENOUGH, beside, effects, own_terms

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


@kernel(nogil=True)
def judge_entries(A, q, lo, hi, limiting_row, mobility, size, z, w):
    """The residual of z; w = A z + q is written. Infinite where z or w is not finite."""
    if not _finite(z):
        return math.inf
    slack(A, q, z, w)
    if not _finite(w):
        return math.inf
    push, own, d, alone = 0.0, np.empty(z.size), np.empty(z.size), limiting_row[:0]
    for j in range(z.size):
        push = max(push, mobility[j] * abs(z[j]))
    unknown = improve(A, q, z, push, size, alone, w)
    if not own_terms(A, q, z, size, alone, own[:0], own):
        return max(boxed_verdict(lo, hi, limiting_row, mobility, size, z, w), unknown)
    value = math.inf
    for look in range(2):
        if look and not (value > ENOUGH and beside(A, q, size, alone, own[:0], own)):
            break
        effects(A, own, d)
        _own_mobility(lo, hi, limiting_row, own, d, mobility)
        value = boxed_verdict(lo, hi, limiting_row, d, own, z, w)
    return max(value, unknown)


@part
def judge_rows(M, q, lo, hi, limiting_row, mobility, size, z, w):
    """The same for a dense M, shape (n, n)."""
    none = limiting_row[:0]
    return judge_entries((M.reshape(M.size), none, none), q, lo, hi, limiting_row, mobility, size, z, w)
