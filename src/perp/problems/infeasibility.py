"""Checks a certificate that a problem has no solution, apart from the solver that found it.

For an LCP, a vector v ≥ 0 with Mᵀ v ≤ 0 and qᵀ v < 0 proves that no z ≥ 0 has w = M z + q ≥ 0:
0 ≤ vᵀ w = (Mᵀ v)ᵀ z + qᵀ v < 0 would be a contradiction. For a box, the entries of Mᵀ v and v may have either
sign where the bound on that side is finite or absent respectively; the same sum must still be impossible.

An LCP may have z and w ≥ 0 and still no complementary ones. Then a proof needs a vector for each of the 2ⁿ
choices of columns C from I and −M: Cᵀ y ≥ 0 and qᵀ y < 0 show that q is no nonnegative sum of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.problems.boxed import BoxedLCP
from perp.problems.lcp import LCP

# Entries this small against the sum of magnitudes that made them are round-off of zero.
ROUND_OFF = 1e-12
# 2ⁿ vectors are checked for n up to this.
LARGEST_ENUMERATION = 16


def proves_infeasible(problem: Any, certificate: Any) -> bool:
    """Whether `certificate` is a proof, up to round-off, that the problem has no solution."""
    if certificate is None or not isinstance(problem, (LCP, BoxedLCP)):
        return False
    v = np.asarray(certificate, dtype=np.float64)
    if v.ndim == 2:
        return isinstance(problem, LCP) and _separates_every_cone(problem, v)
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


def _separates_every_cone(problem: LCP, vectors: np.ndarray) -> bool:
    """Whether row c of `vectors` separates q from cone c, whose bit j takes column j from −M instead of I."""
    n = problem.size
    if n > LARGEST_ENUMERATION or vectors.shape != (1 << n, n) or not np.isfinite(vectors).all():
        return False
    from_matrix = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1
    magnitude = np.abs(vectors) @ abs(problem.M)
    against = np.where(from_matrix, -(vectors @ problem.M), vectors)
    noise = ROUND_OFF * np.where(from_matrix, magnitude, np.abs(vectors).max(axis=1, initial=0.0)[:, None])
    distance = vectors @ problem.q
    beyond = distance < -ROUND_OFF * (np.abs(vectors) @ np.abs(problem.q))
    return bool((against >= -noise).all() and beyond.all())
