"""A second opinion on an answer: the inequalities of the law, one by one, in 60 digits.

Nothing of the residual's code is used, and none of its maps: every sentence of the law (nothing approaches,
nothing pulls, friction stays inside its limit, what is open carries nothing, what slips is resisted by all
the friction there is and in the right direction) is checked as it stands. The answer is the largest amount by
which one of them fails, or the distance of a point at which all hold if that is less: velocities relative to
what is at work at the constraint, impulses relative to what would cause such a velocity. An answer called
solved for which it is large is a false SOLVED. It is slow, and for benchmarks and tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal, localcontext
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from perp.problems import BoxedLCP, ContactProblem
from perp.problems.lcp import LCP
from perp.problems.sets import Box, Coulomb, Elliptic, Free, Nonnegative
from second_opinion.data import DecimalRows, read
from second_opinion.discs import ENDLESS, LAST_DIGIT, ZERO, Disc, length, slip_violation
from second_opinion.relaxed import relaxed_violation
from second_opinion.scales import Scale, Work

DIGITS = 60
ONE = Decimal(1)


def law_violation(problem: LCP | BoxedLCP | ContactProblem, z: Any) -> float:
    """By how much z misses the law, relative to what is at work; infinite where z is not finite."""
    return Law(problem).violation(z)


class Law:
    """The law of a problem for many answers: its data are read once."""

    def __init__(self, problem: LCP | BoxedLCP | ContactProblem) -> None:
        self._problem = problem
        self._read: dict[int, tuple[DecimalRows, Work]] = {}

    def violation(self, z: Any) -> float:
        """By how much z misses the law, relative to what is at work; infinite where z is not finite."""
        z = np.asarray(z, dtype=np.float64)
        problem = self._problem
        if z.shape != (problem.size,) or not np.isfinite(z).all():
            return float("inf")
        digits = DIGITS + _cancelled(problem, z)
        with localcontext(Context(prec=digits, Emax=10**9, Emin=-(10**9))):
            if digits not in self._read:
                rows = read(problem)
                self._read[digits] = rows, _work(problem, rows)
            rows, work = self._read[digits]
            impulse = [Decimal(float(value)) for value in z]
            answer = Answer(rows, work.scales(impulse), impulse, rows.velocity(impulse))
            worst = (
                _contact(problem, answer) if isinstance(problem, ContactProblem) else _boxed(problem, answer)
            )
            return float(max(worst, default=ZERO))


class Answer(NamedTuple):
    """An answer with what it is judged by: data, what is at work at each constraint, impulses, velocities."""

    rows: DecimalRows
    scales: list[Scale]
    impulse: list[Decimal]
    velocity: list[Decimal]


def _work(problem: LCP | BoxedLCP | ContactProblem, rows: DecimalRows) -> Work:
    if isinstance(problem, ContactProblem):
        start = [int(i) for i in problem.sets.start]
        groups = [list(range(first, last)) for first, last in pairwise(start)]
        demand = [
            _demand(Decimal(member.lo), Decimal(member.hi)) if isinstance(member, Box) else ZERO
            for member in problem.sets
        ]
        return Work(rows, groups, demand, ())
    lo, hi, index = _bounds(problem)
    demand = [ZERO if j >= 0 else _demand(a, b) for a, b, j in zip(lo, hi, index, strict=True)]
    return Work(rows, [[i] for i in range(len(lo))], demand, [(i, j) for i, j in enumerate(index) if j >= 0])


def _bounds(problem: LCP | BoxedLCP) -> tuple[list[Decimal], list[Decimal], list[int]]:
    lo, hi = ([Decimal(float(x)) for x in bound] for bound in (problem.lo, problem.hi))
    index = getattr(problem, "friction_index", None)
    return lo, hi, [-1] * len(lo) if index is None else [int(j) for j in index]


def _cancelled(problem: LCP | BoxedLCP | ContactProblem, z: np.ndarray) -> int:
    """Digits that cancel at most when the terms of a huge answer sum up to its velocities."""
    q = np.abs(problem.q[problem.q != 0])
    push = float(problem.column_scale.max(initial=0.0)) or 1.0
    largest = float(np.abs(z).max(initial=0.0))
    if largest == 0.0 or q.size == 0 or not np.isfinite(push):
        return 0
    return max(0, int(np.log10(largest) + np.log10(push) - np.log10(q.min())))


def _demand(lo: Decimal, hi: Decimal) -> Decimal:
    """The least impulse that bounds allow."""
    return max(lo, -hi, ZERO)


def _boxed(problem: LCP | BoxedLCP, answer: Answer) -> Iterable[Decimal]:
    (lo, hi, index), z, w, scales = _bounds(problem), answer.impulse, answer.velocity, answer.scales
    for i in range(len(z)):
        if index[i] < 0:
            yield _bounded(z[i], w[i], lo[i], hi[i], _within(scales[i], lo[i], hi[i]))
            continue
        j = index[i]
        normal, limit = scales[j], max(z[j], ZERO)
        least, most = lo[i] * limit, hi[i] * limit
        follows = _bounded(_rounded(z[i], least, most), w[i], least, most, scales[i])
        if lo[j] == 0 and hi[j] == ENDLESS:
            # what is open rubs on nothing
            closed = max(abs(w[j]) / normal.velocity, follows)
            follows = min(closed, max(abs(z[j]) / normal.impulse, abs(z[i]) / scales[i].impulse))
        yield follows


def _rounded(z: Decimal, *bounds: Decimal) -> Decimal:
    """The bound that z is in doubles, else z: a bound that follows another row has more digits than those."""
    return next((bound for bound in bounds if float(bound) == float(z)), z)


def _within(scale: Scale, lo: Decimal, hi: Decimal) -> Scale:
    """An impulse with bounds counts on their scale."""
    extents = [x for x in (hi - lo, lo, -hi) if 0 < x < ENDLESS]
    return Scale(scale.velocity, min([scale.impulse, *extents]))


def _bounded(z: Decimal, w: Decimal, lo: Decimal, hi: Decimal, scale: Scale) -> Decimal:
    """lo ≤ z ≤ hi, w ≤ 0 unless z is at lo, w ≥ 0 unless z is at hi."""
    below, above = (lo - z) / scale.impulse, (z - hi) / scale.impulse
    pushed_up = min(w / scale.velocity, -below)
    pushed_down = min(-w / scale.velocity, -above)
    return max(below, above, pushed_up, pushed_down, ZERO)


def _contact(problem: ContactProblem, answer: Answer) -> Iterable[Decimal]:
    start, (rows, scales, impulse, velocity) = [int(i) for i in problem.sets.start], answer
    for c, (member, scale) in enumerate(zip(problem.sets, scales, strict=True)):
        group = range(start[c], start[c + 1])
        push = [impulse[i] / rows.unit[i] / scale.impulse for i in group]
        speed = [velocity[i] * rows.unit[i] / scale.velocity for i in group]
        if isinstance(member, Free):
            yield abs(speed[0])
        elif isinstance(member, Nonnegative):
            yield _bounded(push[0], speed[0], ZERO, ENDLESS, Scale(ONE, ONE))
        elif isinstance(member, Box):
            lo, hi = Decimal(member.lo), Decimal(member.hi)
            yield _bounded(impulse[group[0]], velocity[group[0]], lo, hi, _within(scale, lo, hi))
        else:
            # a cohesive contact is open at the apex of its cone
            push[0] += Decimal(float(problem.sets.cohesion[c])) / scale.impulse
            discs = _discs(member, push, speed, [rows.unit[i] for i in group])
            yield (
                relaxed_violation(push, speed, discs)
                if problem.relaxed
                else _friction(push[0], speed[0], discs)
            )


def _discs(member: Any, push: list[Decimal], speed: list[Decimal], unit: list[Decimal]) -> list[Disc]:
    if isinstance(member, Coulomb):
        parts = [[member.mu] * (len(push) - 1)]
    elif isinstance(member, Elliptic):
        parts = [list(member.mu)]
    else:
        parts = [[member.mu] * 2, [member.mu_r] * 2]
    discs, first = [], 1
    for values in parts:
        rows = slice(first, first + len(values))
        mu = [Decimal(value) / length for value, length in zip(values, unit[rows], strict=True)]
        discs.append(Disc(mu, push[rows], speed[rows]))
        first += len(values)
    return discs


def _friction(push: Decimal, speed: Decimal, discs: list[Disc]) -> Decimal:
    """Signorini's and Coulomb's law for the normal impulse there is, or for the same up to its last digit.

    On a steep disc that digit decides about friction of any size.
    """
    ways = [_friction_at(push, speed, discs)]
    for disc in discs:
        if all(m > 0 or p == 0 for m, p in zip(disc.mu, disc.push, strict=True)):
            limit = length(p / m for m, p in zip(disc.mu, disc.push, strict=True) if p != 0)
            if abs(limit - push) <= LAST_DIGIT * push:
                ways.append(max(abs(limit - push), _friction_at(limit, speed, discs)))
    return min(ways)


def _friction_at(push: Decimal, speed: Decimal, discs: list[Disc]) -> Decimal:
    """The largest amount by which one of the law's sentences fails."""
    worst = max(ZERO, -speed, -push, min(push, speed))
    for disc in discs:
        carried = length(disc.push)
        # friction where nothing touches
        open_contact = max(abs(push), carried)
        closed = max(abs(speed), slip_violation(max(push, ZERO), disc))
        worst = max(worst, min(closed, open_contact))
    return worst
