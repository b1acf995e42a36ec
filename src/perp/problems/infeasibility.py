"""Proofs that a problem has no solution, apart from the solver that claims it, in arithmetic that cannot err.

For an LCP, a vector v ≥ 0 with Mᵀ v ≤ 0 and qᵀ v < 0 proves that no z ≥ 0 has w = M z + q ≥ 0:
0 ≤ vᵀ w = (Mᵀ v)ᵀ z + qᵀ v < 0 would be a contradiction. For a box, the entries of Mᵀ v and v may have either
sign where the bound on that side is finite or absent respectively; the same sum must still be impossible.

An LCP may have z and w ≥ 0 and still no complementary ones. Then a proof needs a vector for each of the 2ⁿ
choices of columns C from I and −M: Cᵀ y ≥ 0 and qᵀ y < 0 show that q is no nonnegative sum of them.

All of it has to hold for the doubles as they stand. A matrix that is singular up to round-off is regular, and
the problem then has a solution, however large; what is 1e-17 in place of 0 proves nothing. Entries of Mᵀ v
whose rounded value exceeds a rigorous bound of its error have a sign; the others are summed exactly. Since a
solver's v is rounded, vectors of small whole numbers near it are tried as well, and one that leaves a margin.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from perp.problems.boxed import BoxedLCP
from perp.problems.lcp import LCP
from perp.problems.validation import Vector, is_sparse

# Half a unit in the last place; a sum of k products errs by at most 1.01 k times this, relative to the sum of
# their magnitudes.
UNIT = 2.0**-53
# Entries below this fraction of the largest are round-off of zero in the vectors that are tried.
SUPPORT = 1e-9
DENOMINATORS = (1, 12, 1000, 10**6)
# Beyond this size no linear program is solved for a vector with a margin.
LARGEST_PROGRAM = 400
# 2ⁿ vectors are checked for n up to this.
LARGEST_ENUMERATION = 16


def proves_infeasible(problem: Any, certificate: Any) -> bool:
    """Whether a vector at or near `certificate` proves without any rounding that there is no solution.

    Quick enough for every step of an iteration: `exact_certificate` looks further.
    """
    return exact_certificate(problem, certificate, thorough=False) is not None


def exact_certificate(problem: Any, certificate: Any, *, thorough: bool = True) -> Vector | None:
    """A vector near a solver's rounded one that proves beyond doubt that there is no solution, or None.

    Only LCPs and boxed LCPs without friction index can have a proof. A thorough search may solve a linear
    program for a vector that leaves a margin to rounding.
    """
    if certificate is None or not isinstance(problem, (LCP, BoxedLCP)):
        return None
    v = np.asarray(certificate, dtype=np.float64)
    if v.ndim == 2:
        return separating_every_cone(problem, v) if isinstance(problem, LCP) else None
    if v.shape != (problem.size,) or not np.isfinite(v).all() or not v.any():
        return None
    if isinstance(problem, BoxedLCP) and problem.friction_index is not None:
        return None
    if not _plausible(problem, v):
        return None
    for candidate in _candidates(problem, v, thorough):
        if _holds(problem, candidate):
            return candidate
    return None


def _candidates(problem: LCP | BoxedLCP, v: Vector, thorough: bool) -> Iterator[Vector]:
    """The vectors to try: v, whole numbers near multiples of it, one with a margin."""
    v = v / np.abs(v).max()
    yield v
    # w_i ≥ 0 is forced only where z_i has no upper bound, w_i ≤ 0 only where it has no lower one
    kept = np.where(np.isfinite(problem.hi), np.minimum(v, 0.0), v)
    kept = np.where(np.isfinite(problem.lo), np.maximum(kept, 0.0), kept)
    kept[np.abs(kept) < SUPPORT] = 0.0
    if not kept.any() or problem.size > 10 * LARGEST_PROGRAM:
        return
    yield kept
    for whole in _whole_numbers(kept, 1.0):
        if 0 < max(map(abs, whole)) < 2**53:
            yield np.array(whole, dtype=np.float64)
    if thorough and problem.size <= LARGEST_PROGRAM:
        found = _with_margin(problem)
        if found is not None:
            yield found


def _whole_numbers(v: Vector, unit: float) -> Iterator[list[int]]:
    """Small whole numbers near multiples of v: of v over a unit, and over its least entry."""
    for denominator in DENOMINATORS:
        for size in (unit, float(np.abs(v[v != 0]).min())):
            parts = [Fraction(float(x)).limit_denominator(denominator) for x in v / size]
            common = math.lcm(*(x.denominator for x in parts))
            yield [int(x * common) for x in parts]


def _plausible(problem: LCP | BoxedLCP, v: Vector) -> bool:
    """Whether v would be a proof if entries that are small beside their terms were zero: a first look."""
    v = v / np.abs(v).max()
    v = np.where(np.abs(v) < SUPPORT, 0.0, v)
    if (v[np.isfinite(problem.hi)] > 0).any() or (v[np.isfinite(problem.lo)] < 0).any():
        return False
    with np.errstate(all="ignore"):
        product, magnitude = problem.M.T @ v, abs(problem.M).T @ np.abs(v)
        used = np.abs(product) > SUPPORT * magnitude
        bound = np.where(product > 0, problem.hi, problem.lo)[used]
        total = float(product[used] @ bound) + float(problem.q @ v)
    return not np.isinf(bound).any() and not total > 0


def _with_margin(problem: LCP | BoxedLCP) -> Vector | None:
    """The v of largest margin t: Mᵀ v ≤ −t where z_j may grow, ≥ t where it may fall, −1 ≤ v ≤ 1."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack

    n, M, lo, hi = problem.size, csr_array(problem.M), problem.lo, problem.hi
    with np.errstate(over="ignore"):
        unit = np.asarray(abs(M).sum(axis=0)).ravel()
    unit[unit == 0.0] = 1.0
    if not ((unit > 1e-290) & (unit < 1e290)).all():
        return None  # scaling would overflow
    q = problem.q / (np.abs(problem.q).max(initial=0.0) or 1.0)
    scaled, margin = (M.T / unit[:, None]).tocsr(), np.where(unit > 0, 1.0, 0.0)[:, None]
    rows = [hstack([csr_array(q[None, :]), csr_array([[1.0]])])]
    if np.isinf(hi).any():
        rows.append(hstack([scaled[np.isinf(hi)], csr_array(margin[np.isinf(hi)])]))
    if np.isinf(lo).any():
        rows.append(hstack([-scaled[np.isinf(lo)], csr_array(margin[np.isinf(lo)])]))
    A: Any = vstack(rows).tocsr()
    lowest, highest = np.where(np.isfinite(lo), 0.0, -1.0), np.where(np.isfinite(hi), 0.0, 1.0)
    bounds = [*zip(lowest, highest, strict=True), (None, 1.0)]
    # columns that are both unbounded above and below can have no margin: the program then says t ≤ 0
    result = linprog(
        np.r_[np.zeros(n), -1.0], A_ub=A, b_ub=np.zeros(A.shape[0]), bounds=bounds, method="highs"
    )
    found = np.asarray(result.x[:n]) if result.status == 0 and result.x[-1] > 0 else np.zeros(n)
    return found if found.any() else None


def _holds(problem: LCP | BoxedLCP, v: Vector) -> bool:
    """Whether v is a proof, for the doubles as they stand."""
    lo, hi, M = problem.lo, problem.hi, problem.M
    if (v[np.isfinite(hi)] > 0).any() or (v[np.isfinite(lo)] < 0).any():
        return False
    with np.errstate(all="ignore"):
        product = M.T @ v
        # the last term stands for products that underflow
        error = 1.01 * (problem.size + 2) * UNIT * (abs(M).T @ np.abs(v)) + problem.size * 5e-324
    doubtful = ~(np.abs(product) > error)
    columns = M.tocsc() if is_sparse(M) else M
    for j in np.flatnonzero(doubtful):
        exact = _exact_dot(_column(columns, int(j)), v)
        product[j] = _rounded(exact)
        error[j] = 1.01 * _rounded(abs(Fraction(product[j]) - exact)) if math.isfinite(product[j]) else np.inf
        if product[j] == 0.0 and exact != 0:  # too small for a double, but not zero
            product[j] = 5e-324 if exact > 0 else -5e-324
    used = product != 0
    bound = np.where(product > 0, hi, lo)
    if np.isinf(bound[used]).any():
        return False
    with np.errstate(all="ignore"):
        terms = np.concatenate([product[used] * bound[used], problem.q * v])
        magnitude = float(np.abs(terms).sum())
        slack = 1.01 * (terms.size + 3) * UNIT * magnitude + float(error[used] @ np.abs(bound[used]))
        total = float(terms.sum())
    if math.isfinite(slack) and abs(total) > slack + 5e-324 * terms.size:
        return total < 0
    return _exact_total(problem, columns, v, bound) < 0


def _exact_total(problem: LCP | BoxedLCP, columns: Any, v: Vector, bound: Vector) -> Fraction:
    """The largest value of (Mᵀ v)ᵀ z + qᵀ v over the box, without rounding."""
    total = _exact_dot(problem.q, v)
    for j in range(problem.size):
        if np.isfinite(bound[j]) and bound[j] != 0.0:
            total += _exact_dot(_column(columns, j), v) * Fraction(float(bound[j]))
    return total


def _rounded(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def _exact_dot(a: Vector, b: Vector) -> Fraction:
    used = np.flatnonzero((a != 0) & (b != 0))
    return sum((Fraction(float(a[i])) * Fraction(float(b[i])) for i in used), Fraction(0))


def _column(matrix: Any, j: int) -> Vector:
    return matrix[:, [j]].toarray().ravel() if is_sparse(matrix) else matrix[:, j]


def separating_every_cone(problem: LCP, vectors: np.ndarray) -> np.ndarray | None:
    """Vectors near the given ones of which row c separates q from cone c beyond doubt, or None.

    Bit j of c takes column j of the cone from −M in place of I.
    """
    n = problem.size
    if n > LARGEST_ENUMERATION or vectors.shape != (1 << n, n) or not np.isfinite(vectors).all():
        return None
    M = problem.M.toarray() if is_sparse(problem.M) else problem.M
    out = np.empty_like(vectors)
    for c in range(1 << n):
        cone = np.where((c >> np.arange(n)) & 1 == 1, -M, np.eye(n))
        found = next((y for y in _separators(cone, vectors[c]) if _separates(cone, problem.q, y)), None)
        if found is None:
            return None
        out[c] = found
    return out


def _separators(cone: np.ndarray, y: Vector) -> Iterator[Vector]:
    """The vector y, whole numbers near it, and neighbours that leave a margin where the cone is regular."""
    yield y
    largest = float(np.abs(y).max(initial=0.0))
    if largest == 0.0:
        return
    kept = np.where(np.abs(y) < SUPPORT * largest, 0.0, y)
    yield from (np.array(whole, dtype=np.float64) for whole in _whole_numbers(kept, largest))
    with np.errstate(all="ignore"):
        try:
            inward = np.linalg.solve(cone.T, np.ones(y.size))
        except np.linalg.LinAlgError:
            return
        if np.isfinite(inward).all() and inward.any():
            for margin in (1e-12, 1e-9, 1e-6):
                yield y / largest + margin / np.abs(inward).max() * inward


def _separates(cone: np.ndarray, q: Vector, y: Vector) -> bool:
    """Whether coneᵀ y ≥ 0 and qᵀ y < 0, for the doubles as they stand."""
    columns = np.column_stack([cone, -q])
    with np.errstate(all="ignore"):
        product = columns.T @ y
        error = 1.01 * (y.size + 2) * UNIT * (np.abs(columns).T @ np.abs(y)) + y.size * 5e-324
    if not np.isfinite(product).all() or (product < -error).any():
        return False
    exact = [_exact_dot(columns[:, j], y) for j in np.flatnonzero(~(product > error))]
    positive = product[-1] > error[-1] or _exact_dot(-q, y) > 0
    return bool(positive) and all(x >= 0 for x in exact)
