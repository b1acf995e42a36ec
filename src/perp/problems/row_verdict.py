"""The verdict on an answer of a dense LCP or boxed LCP in one compiled call: the kernels of `residual`.

For solvers of small problems, where the calls from Python would take longer than the solve.
"""

from __future__ import annotations

import math

from perp.compilation.kernel import part
from perp.problems.accurate_slack import improve_dense
from perp.problems.boxed_kernels import boxed_verdict, dense_slack


@part
def judge_rows(M, q, lo, hi, limiting_row, mobility, size, z, w):
    """The residual of z; w = M z + q is written. Infinite where z or w is not finite."""
    for value in z:
        if not math.isfinite(value):
            return math.inf
    dense_slack(M, q, z, w)
    for value in w:
        if not math.isfinite(value):
            return math.inf
    unknown = improve_dense(M, q, z, mobility, size, w)
    return max(boxed_verdict(lo, hi, limiting_row, mobility, size, z, w), unknown)
