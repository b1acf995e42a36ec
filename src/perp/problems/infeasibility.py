"""Checks a certificate that a problem has no solution, apart from the solver that found it.

For an LCP, a vector v ≥ 0 with Mᵀ v ≤ 0 and qᵀ v < 0 proves that no z ≥ 0 has w = M z + q ≥ 0:
0 ≤ vᵀ w = (Mᵀ v)ᵀ z + qᵀ v < 0 would be a contradiction. For a box, the entries of Mᵀ v and v may have either
sign where the bound on that side is finite or absent respectively; the same sum must still be impossible.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.problems.boxed import BoxedLCP
from perp.problems.lcp import LCP

# Entries this small against the sum of magnitudes that made them are round-off of zero.
ROUND_OFF = 1e-12


def proves_infeasible(problem: Any, certificate: Any) -> bool:
    """Whether `certificate` is a proof, up to round-off, that the problem has no solution."""
    if certificate is None or not isinstance(problem, (LCP, BoxedLCP)):
        return False
    v = np.asarray(certificate, dtype=np.float64)
    if v.shape != (problem.size,) or not np.isfinite(v).all() or not v.any():
        return False
    if isinstance(problem, BoxedLCP) and problem.friction_index is not None:
        return False
    v = v / np.abs(v).max()
    magnitude = np.abs(problem.M)
    transposed = problem.M.T @ v
    # little more than what the sums themselves can lose: M may be nearly singular and still solvable
    noise = 4 * (problem.size + 2) * 2.0**-53 * (magnitude.T @ np.abs(v))
    transposed = np.where(np.abs(transposed) <= noise, 0.0, transposed)
    # w_i ≥ 0 is forced only where z_i has no upper bound, w_i ≤ 0 only where it has no lower one
    lo, hi = problem.lo, problem.hi
    if (v[np.isfinite(hi)] > 0).any() or (v[np.isfinite(lo)] < 0).any():
        return False
    # the largest value of (Mᵀ v)ᵀ z over the box
    bound = np.where(transposed > 0, hi, lo)
    used = transposed != 0
    if np.isinf(bound[used]).any():
        return False
    largest = float(transposed[used] @ bound[used]) if used.any() else 0.0
    scale = float(np.abs(transposed[used]) @ np.abs(bound[used])) if used.any() else 0.0
    return largest + float(problem.q @ v) < -ROUND_OFF * (scale + float(np.abs(problem.q) @ np.abs(v)))
