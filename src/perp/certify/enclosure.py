"""Proofs of large answers in ball arithmetic: the free rows are solved with rigorous error bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.certify.basis import Sides, bounds, dense_matrix
from perp.certify.certificate import ENCLOSED, Certificate, not_proved
from perp.problems import LCP, BoxedLCP, Solution

# Bits of the balls' midpoints: about three times a double, enough for condition numbers far beyond double's.
PRECISION = 192


def enclose_solution(problem: LCP | BoxedLCP, solution: Solution, sides: Sides) -> Certificate:
    """Enclose the solution of these sides and check that every sign is beyond doubt."""
    import flint

    before = flint.ctx.prec
    flint.ctx.prec = PRECISION
    try:
        return _enclose(problem, solution, sides)
    finally:
        flint.ctx.prec = before


def _enclose(problem: LCP | BoxedLCP, solution: Solution, sides: Sides) -> Certificate:
    from flint import arb, arb_mat

    n = problem.size
    lo, hi, index = bounds(problem)
    dense = dense_matrix(problem)
    active = tuple(int(i) for i in np.flatnonzero(sides.free))
    bound = np.where(sides.upper, hi, lo)
    resting = ~sides.free
    if not np.isfinite(bound[resting]).all():
        return not_proved("solution", ["a row rests at a bound that is infinite"], active)
    # z = E y + c; the products of doubles are exact in balls of this precision or enclosed by them
    E: list[list[Any]] = []
    constant = [arb(0)] * n
    free = np.flatnonzero(sides.free)
    place = {int(i): a for a, i in enumerate(free)}
    for i in range(n):
        row = [arb(0)] * free.size
        if sides.free[i]:
            row[place[i]] = arb(1)
        elif index[i] < 0:
            constant[i] = arb(float(bound[i]))
        E.append(row)
    for i in np.flatnonzero(resting & (index >= 0)):
        j = int(index[i])
        if sides.free[j]:
            E[i][place[j]] = arb(float(bound[i]))
        elif bool(constant[j] > 0):
            constant[i] = arb(float(bound[i])) * constant[j]
    M = arb_mat(n, n, [arb(float(x)) for x in dense.ravel()])
    q = arb_mat(n, 1, [arb(float(x)) for x in problem.q])
    c = arb_mat(n, 1, constant)
    base = M * c + q
    if free.size:
        basis = arb_mat(n, free.size, [x for row in E for x in row])
        product = M * basis
        A = arb_mat(free.size, free.size, [product[int(i), a] for i in free for a in range(free.size)])
        b = arb_mat(free.size, 1, [-base[int(i), 0] for i in free])
        try:
            y = A.solve(b)
        except ZeroDivisionError:
            return not_proved("solution", ["the block of free rows may be singular"], active)
        z, w = basis * y + c, product * y + base
    else:
        z, w = c, base
    failures = _doubtful_signs(z, w, lo, hi, index, sides)
    if failures:
        return not_proved("solution", failures, active)
    return Certificate(
        ENCLOSED,
        "solution",
        active_set=active,
        center=np.array([float(z[i, 0].mid()) for i in range(n)]),
        radius=np.array([float(z[i, 0].rad()) for i in range(n)]),
        distance=max((abs(float(z[i, 0].mid()) - float(solution.z[i])) for i in range(n)), default=0.0),
    )


def _doubtful_signs(
    z: Any, w: Any, lo: np.ndarray, hi: np.ndarray, index: np.ndarray, sides: Sides
) -> list[str]:
    """Every condition that does not hold for all numbers within the balls."""
    from flint import arb

    failures = []
    for i in range(lo.size):
        j = int(index[i])
        factor = arb(1) if j < 0 else z[j, 0]
        if j >= 0 and not bool(factor >= 0):
            failures.append(f"z[{j}], which limits row {i}, may be negative")
            continue
        if sides.free[i]:
            if np.isfinite(lo[i]) and not bool(z[i, 0] >= arb(float(lo[i])) * factor):
                failures.append(f"z[{i}] may be below its lower bound")
            if np.isfinite(hi[i]) and not bool(z[i, 0] <= arb(float(hi[i])) * factor):
                failures.append(f"z[{i}] may be above its upper bound")
        elif lo[i] == hi[i] or (j >= 0 and bool(factor == 0)):
            continue
        elif sides.upper[i] and not bool(w[i, 0] <= 0):
            failures.append(f"w[{i}] may be positive at the upper bound")
        elif not sides.upper[i] and not bool(w[i, 0] >= 0):
            failures.append(f"w[{i}] may be negative at the lower bound")
    return failures
