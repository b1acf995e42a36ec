"""The verdict on an answer of a dense LCP or boxed LCP in one compiled call: the kernels of `residual`.

For solvers of small problems, where the calls from Python would take longer than the solve.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.problems.accurate_slack import improve_dense
from perp.problems.boxed_kernels import boxed_natural_map, dense_slack, relative_norm


@njit(cache=True)
def judge_rows(M, q, lo, hi, limiting_row, d, z, w):
    """The residual of z; w = M z + q is written. Infinite where z or w is not finite."""
    for value in z:
        if not math.isfinite(value):
            return math.inf
    dense_slack(M, q, z, w)
    size = 0.0
    for i in range(q.size):
        size = max(size, abs(q[i]))
        if not math.isfinite(w[i]):
            return math.inf
    improve_dense(M, q, z, d, size, w)
    out = np.empty(q.size)
    boxed_natural_map(lo, hi, limiting_row, d, z, w, out)
    value = relative_norm(out, q)
    return value if math.isfinite(value) else math.inf
