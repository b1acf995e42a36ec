"""Exact proofs that there is no solution.

A vector v that is nonnegative where z has no upper bound, nonpositive where it has no lower one and zero
where it has both, with (Mᵀ v)ᵀ z + qᵀ v < 0 for every z within its bounds, contradicts vᵀ w ≥ 0. A solver's v
is rounded; the exact one is looked for among the fractions near it and in the null space of the rows where it
is not zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from perp.certify.basis import bounds, dense_matrix
from perp.certify.certificate import PROVED, Certificate, not_proved
from perp.certify.exact import fraction, matrix, rational
from perp.problems import LCP, BoxedLCP

# Entries of a certificate below this fraction of the largest are round-off.
SUPPORT = 1e-9
# Denominators tried for the fractions near a rounded certificate.
DENOMINATORS = (1, 10**3, 10**6)


def prove_infeasible(problem: LCP | BoxedLCP, certificate: Any) -> Certificate:
    """Prove from a rounded certificate that no solution exists."""
    _, _, index = bounds(problem)
    if (index >= 0).any():
        return not_proved("no solution", ["bounds that follow other rows have no such certificate"])
    v = np.asarray(certificate, dtype=np.float64)
    if v.shape != (problem.size,) or not np.isfinite(v).all() or not v.any():
        return not_proved("no solution", ["the certificate is not a vector of finite numbers that fits"])
    M = matrix(dense_matrix(problem))
    failures: list[str] = []
    for candidate in _candidates(M, v):
        failures = _objections(problem, M, candidate)
        if not failures:
            return Certificate(PROVED, "no solution", tuple(fraction(x) for x in candidate))
    return not_proved("no solution", failures)


def _candidates(M: Any, v: np.ndarray) -> Iterator[list[Any]]:
    """Exact vectors near v."""
    from flint import fmpq, fmpq_mat

    n = v.size
    scaled = v / np.abs(v).max()
    scaled[np.abs(scaled) < SUPPORT] = 0.0
    yield [rational(x) for x in v]
    for largest in DENOMINATORS:
        near = [
            Fraction(float(x)).limit_denominator(largest) for x in scaled / np.abs(scaled[scaled != 0]).min()
        ]
        yield [fmpq(x.numerator, x.denominator) for x in near]
        near = [Fraction(float(x)).limit_denominator(largest) for x in scaled]
        yield [fmpq(x.numerator, x.denominator) for x in near]
    support = [int(i) for i in np.flatnonzero(scaled)]
    # vᵀ M = 0 on the support: a null vector of those columns, with its last free entry that of v
    block = fmpq_mat(n, len(support), [M[j, i] for i in range(n) for j in support])
    reduced, rank = block.rref()
    pivots = [next(c for c in range(len(support)) if reduced[a, c] != 0) for a in range(rank)]
    if rank < len(support):
        values = [rational(scaled[i]) for i in support]
        for a, c in enumerate(pivots):
            values[c] = sum(
                (-reduced[a, d] * values[d] for d in range(len(support)) if d not in pivots), rational(0.0)
            )
        out = [rational(0.0)] * n
        for i, value in zip(support, values, strict=True):
            out[i] = value
        yield out


def _objections(problem: LCP | BoxedLCP, M: Any, v: list[Any]) -> list[str]:
    """Why v proves nothing; empty when it does."""
    n = problem.size
    lo, hi, _ = bounds(problem)
    failures = []
    total = rational(0.0)
    for i in range(n):
        if v[i] > 0 and np.isfinite(hi[i]):
            failures.append(f"v[{i}] is positive where z has an upper bound")
        if v[i] < 0 and np.isfinite(lo[i]):
            failures.append(f"v[{i}] is negative where z has a lower bound")
        total += rational(problem.q[i]) * v[i]
    for j in range(n):
        entry = sum((M[i, j] * v[i] for i in range(n) if v[i] != 0), rational(0.0))
        bound = hi[j] if entry > 0 else lo[j]
        if entry == 0:
            continue
        if not np.isfinite(bound):
            failures.append(f"(Mᵀ v)[{j}] = {float(fraction(entry)):.3g} lets the sum grow without bound")
        else:
            total += entry * rational(bound)
    if not failures and not total < 0:
        failures.append("the sum over the box is not negative")
    return failures
