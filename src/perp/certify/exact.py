"""Exact proofs in rational arithmetic: every double is a fraction, and nothing is rounded."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from perp.certify.basis import Sides, bounds, dense_matrix
from perp.certify.certificate import PROVED, Certificate, not_proved
from perp.problems import LCP, BoxedLCP, Solution


def rational(x: float) -> Any:
    """A double as an exact flint rational."""
    from flint import fmpq

    return fmpq(*float(x).as_integer_ratio())


def matrix(rows: np.ndarray) -> Any:
    """An array of doubles as an exact flint matrix."""
    from flint import fmpq_mat

    return fmpq_mat(rows.shape[0], rows.shape[1], [rational(x) for x in rows.ravel()])


def fraction(x: Any) -> Fraction:
    """A flint rational as a Python fraction."""
    return Fraction(int(x.p), int(x.q))


def prove_solution(problem: LCP | BoxedLCP, solution: Solution, sides: Sides) -> Certificate:
    """Solve for these sides exactly and check every sign."""
    n = problem.size
    lo, hi, index = bounds(problem)
    zero = rational(0.0)
    active = tuple(int(i) for i in np.flatnonzero(sides.free))
    bound = [hi[i] if sides.upper[i] else lo[i] for i in range(n)]
    missing = [i for i in range(n) if not sides.free[i] and not np.isfinite(bound[i])]
    if missing:
        return not_proved("solution", [f"row {missing[0]} rests at a bound that is infinite"], active)
    M = matrix(dense_matrix(problem))
    free, place = list(active), {i: a for a, i in enumerate(active)}
    # constant parts, then the columns of the free rows with what follows them
    constant = [zero] * n
    follows: list[tuple[int, int, Any]] = []
    for i in range(n):
        if not sides.free[i] and index[i] < 0:
            constant[i] = rational(bound[i])
    for i in range(n):
        if not sides.free[i] and index[i] >= 0:
            j = int(index[i])
            if sides.free[j]:
                follows.append((i, j, rational(bound[i])))
            elif constant[j] > 0:
                constant[i] = rational(bound[i]) * constant[j]
    z = constant
    if free:
        solved = _solve_free(M, problem.q, constant, free, place, follows, solution.z)
        if solved is None:
            return not_proved("solution", ["the equations of the free rows have no solution"], active)
        for a, i in enumerate(free):
            z[i] = solved[a]
        for i, j, factor in follows:
            z[i] = factor * max(z[j], zero)
    w = [sum((M[i, j] * z[j] for j in range(n) if z[j] != 0), rational(problem.q[i])) for i in range(n)]
    failures = _wrong_signs(z, w, lo, hi, index)
    if failures:
        return not_proved("solution", failures, active)
    exact = tuple(fraction(x) for x in z)
    distance = max((abs(float(x) - float(y)) for x, y in zip(exact, solution.z, strict=True)), default=0.0)
    return Certificate(
        PROVED, "solution", exact, tuple(fraction(x) for x in w), active_set=active, distance=distance
    )


def _solve_free(
    M: Any,
    q: np.ndarray,
    constant: list[Any],
    free: list[int],
    place: dict[int, int],
    follows: list[tuple[int, int, Any]],
    near: np.ndarray,
) -> list[Any] | None:
    """The free rows' exact values; of dependent columns, some keep the value of the answer that is proved."""
    from flint import fmpq_mat

    k = len(free)
    A, b = fmpq_mat(k, k), fmpq_mat(k, 1)
    for a, i in enumerate(free):
        total = -rational(q[i])
        for j, value in enumerate(constant):
            if value != 0:
                total -= M[i, j] * value
        b[a, 0] = total
        for c, j in enumerate(free):
            A[a, c] = M[i, j]
        for j, limiting, factor in follows:
            A[a, place[limiting]] += factor * M[i, j]
    try:
        y = A.solve(b)
        return [y[a, 0] for a in range(k)]
    except ZeroDivisionError:
        pass
    augmented = fmpq_mat(k, k + 1)
    for a in range(k):
        for c in range(k):
            augmented[a, c] = A[a, c]
        augmented[a, k] = b[a, 0]
    reduced, rank = augmented.rref()
    pivots = [next(c for c in range(k + 1) if reduced[a, c] != 0) for a in range(rank)]
    if k in pivots:
        return None
    values = [rational(near[i]) for i in free]
    for a, c in enumerate(pivots):
        values[c] = reduced[a, k]
        for d in range(k):
            if d not in pivots and reduced[a, d] != 0:
                values[c] -= reduced[a, d] * rational(near[free[d]])
    return values


def _wrong_signs(z: list[Any], w: list[Any], lo: np.ndarray, hi: np.ndarray, index: np.ndarray) -> list[str]:
    """Every condition that the exact z and w do not meet."""
    failures = []
    for i in range(len(z)):
        factor = rational(1.0) if index[i] < 0 else max(z[int(index[i])], rational(0.0))
        low = rational(lo[i]) * factor if np.isfinite(lo[i]) else None
        high = rational(hi[i]) * factor if np.isfinite(hi[i]) else None
        if low is not None and z[i] < low:
            failures.append(
                f"z[{i}] = {float(fraction(z[i])):.3g} is below its bound {float(fraction(low)):.3g}"
            )
        if high is not None and z[i] > high:
            failures.append(
                f"z[{i}] = {float(fraction(z[i])):.3g} is above its bound {float(fraction(high)):.3g}"
            )
        if w[i] > 0 and (low is None or z[i] > low):
            failures.append(f"w[{i}] = {float(fraction(w[i])):.3g} is positive off the lower bound")
        if w[i] < 0 and (high is None or z[i] < high):
            failures.append(f"w[{i}] = {float(fraction(w[i])):.3g} is negative off the upper bound")
    return failures
