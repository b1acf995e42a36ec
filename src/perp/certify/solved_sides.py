"""Proofs of answers of LCPs and boxed LCPs: rows of given sides solved rigorously, every sign checked.

In rational arithmetic every double is a fraction and nothing is rounded. In ball arithmetic, for large
problems, every number has a rigorous bound of its error, and a sign holds where it does for the whole ball.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from perp.certify.basis import Sides, bounds, dense_matrix
from perp.certify.certificate import ENCLOSED, PROVED, Certificate, not_proved
from perp.problems import LCP, BoxedLCP, Solution

# Bits of the balls' midpoints: about three times a double, enough for condition numbers far beyond double's.
PRECISION = 192


def prove_sides(problem: LCP | BoxedLCP, solution: Solution, sides: Sides, *, exact: bool) -> Certificate:
    """Solve for these sides, exactly or enclosed in balls, and check every sign."""
    import flint

    before, flint.ctx.prec = flint.ctx.prec, PRECISION
    try:
        return _prove(problem, solution, sides, exact)
    finally:
        flint.ctx.prec = before


def _prove(problem: LCP | BoxedLCP, solution: Solution, sides: Sides, exact: bool) -> Certificate:
    from flint import arb, arb_mat, fmpq, fmpq_mat

    def number(x: float) -> Any:
        return fmpq(*float(x).as_integer_ratio()) if exact else arb(float(x))

    matrix: Any = fmpq_mat if exact else arb_mat
    n = problem.size
    lo, hi, index = bounds(problem)
    active = tuple(int(i) for i in np.flatnonzero(sides.free))
    bound = np.where(sides.upper, hi, lo)
    missing = np.flatnonzero(~sides.free & ~np.isfinite(bound))
    if missing.size:
        return not_proved("solution", [f"row {missing[0]} rests at a bound that is infinite"], active)
    # resting rows have constants, or follow a free row
    constant, follows = [number(0.0)] * n, []
    for i in np.flatnonzero(~sides.free & (index < 0)):
        constant[i] = number(bound[i])
    for i in np.flatnonzero(~sides.free & (index >= 0)):
        j = int(index[i])
        if sides.free[j]:
            follows.append((int(i), j, number(bound[i])))
        elif constant[j] > 0:
            constant[i] = number(bound[i]) * constant[j]
    M = matrix(n, n, [number(x) for x in dense_matrix(problem).ravel()])
    q = matrix(n, 1, [number(x) for x in problem.q])
    z, k = list(constant), len(active)
    if k:
        base, place = M * matrix(n, 1, constant) + q, {i: a for a, i in enumerate(active)}
        A, b = matrix(k, k, [M[i, j] for i in active for j in active]), matrix(k, 1)
        for a, i in enumerate(active):
            b[a, 0] = -base[i, 0]
            for j, limiting, factor in follows:
                A[a, place[limiting]] += factor * M[i, j]
        try:
            y = A.solve(b)
            solved = [y[a, 0] for a in range(k)]
        except ZeroDivisionError:
            solved = _dependent(A, b, [number(solution.z[i]) for i in active]) if exact else None
        if solved is None:
            return not_proved("solution", ["the equations of the free rows may have no solution"], active)
        for i, value in zip(active, solved, strict=True):
            z[i] = value
        for i, j, factor in follows:
            z[i] = factor * z[j]
    product = M * matrix(n, 1, z) + q
    w = [product[i, 0] for i in range(n)]
    value: Any = _fraction if exact else lambda x: float(x.mid())
    # by construction, where balls leave a width
    failures = _doubtful(z, [number(0.0) if free else x for x, free in zip(w, sides.free, strict=True)],
                         (lo, hi, index), sides, number, lambda x: float(value(x)))  # fmt: skip
    if failures:
        return not_proved("solution", failures, active)
    middle = [value(x) for x in z]
    distance = max((abs(float(x) - float(y)) for x, y in zip(middle, solution.z, strict=True)), default=0.0)
    if exact:
        z, w = tuple(middle), tuple(_fraction(x) for x in w)
        return Certificate(PROVED, "solution", z, w, active_set=active, distance=distance)
    radius = np.array([float(x.rad()) for x in z])
    center = np.array(middle)
    return Certificate(
        ENCLOSED, "solution", active_set=active, center=center, radius=radius, distance=distance
    )


def _fraction(x: Any) -> Fraction:
    return Fraction(int(x.p), int(x.q))


def _dependent(A: Any, b: Any, near: list[Any]) -> list[Any] | None:
    """A solution where columns are dependent: some keep the value of the answer; None where there is none."""
    from flint import fmpq_mat

    k = len(near)
    augmented = fmpq_mat(k, k + 1, [x for a in range(k) for x in (*(A[a, c] for c in range(k)), b[a, 0])])
    reduced, rank = augmented.rref()
    pivots = [next(c for c in range(k + 1) if reduced[a, c] != 0) for a in range(rank)]
    if k in pivots:
        return None
    values = list(near)
    for a, c in enumerate(pivots):
        values[c] = reduced[a, k] - sum(reduced[a, d] * near[d] for d in range(k) if d not in pivots)
    return values


def _doubtful(
    z: list[Any], w: list[Any], limits: tuple[Any, Any, Any], sides: Sides, number: Any, value: Any
) -> list[str]:
    """Every condition that does not hold beyond doubt."""
    failures = []
    for i, (low, high, index) in enumerate(zip(*limits, strict=True)):
        factor = number(1.0) if index < 0 else z[int(index)]
        if index >= 0 and not sides.free[index] and factor < 0:
            factor = number(0.0)  # what rests below zero allows nothing
        if not factor >= 0:
            failures.append(f"z[{index}] = {value(factor):.3g}, which limits row {i}, may be negative")
        elif sides.free[i]:
            for bound, inside, where in ((low, z[i].__ge__, "below"), (high, z[i].__le__, "above")):
                if np.isfinite(bound) and not inside(number(bound) * factor):
                    failures.append(f"z[{i}] = {value(z[i]):.3g} is {where} its bound {bound:.3g}")
        elif low == high or factor == 0:
            continue
        elif sides.upper[i] and not w[i] <= 0:
            failures.append(f"w[{i}] = {value(w[i]):.3g} is positive off the lower bound")
        elif not sides.upper[i] and not w[i] >= 0:
            failures.append(f"w[{i}] = {value(w[i]):.3g} is negative off the upper bound")
    return failures
