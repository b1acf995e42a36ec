"""A second opinion on an answer: the inequalities of the law, one by one, in 60 digits.

Nothing of the residual's code is used, and none of its maps: every sentence of the law (nothing approaches,
nothing pulls, friction stays inside its limit, what is open carries nothing, what slips is resisted by all
the friction there is and in the right direction) is checked as it stands. The answer is the largest amount by
which one of them fails, or the distance of a point at which all hold if that is less: velocities relative to
the largest free velocity of the island, impulses relative to what would cause that velocity. An answer called
solved for which it is large is a false SOLVED. It is slow, and for benchmarks and tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal, localcontext
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from perp.bench.second_opinion_data import Rows, islands, read
from perp.problems import BoxedLCP, ContactProblem
from perp.problems.lcp import LCP
from perp.problems.sets import Box, Coulomb, Elliptic, Free, Nonnegative

DIGITS = 60
# Until a point is on an ellipse to this part of its axes; what is left is scaled away.
NEAREST, NEAREST_STEPS = Decimal("1e-30"), 200
ZERO, ONE, ENDLESS = Decimal(0), Decimal(1), Decimal("Infinity")


class Scale(NamedTuple):
    """What is at work at a constraint: a velocity, and the impulse that causes it."""

    velocity: Decimal
    impulse: Decimal


def law_violation(problem: LCP | BoxedLCP | ContactProblem, z: Any) -> float:
    """By how much z misses the law, relative to what is at work; infinite where z is not finite."""
    return Law(problem).violation(z)


class Law:
    """The law of a problem for many answers: its data are read once."""

    def __init__(self, problem: LCP | BoxedLCP | ContactProblem) -> None:
        self._problem = problem
        self._read: dict[int, tuple[Rows, list[Scale]]] = {}

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
                self._read[digits] = rows, _scales_of(problem, rows)
            rows, scales = self._read[digits]
            impulse = [Decimal(float(value)) for value in z]
            answer = Answer(rows, scales, impulse, rows.velocity(impulse))
            worst = (
                _contact(problem, answer) if isinstance(problem, ContactProblem) else _boxed(problem, answer)
            )
            return float(max(worst, default=ZERO))


class Answer(NamedTuple):
    """An answer with what it is judged by: data, what is at work at each constraint, impulses, velocities."""

    rows: Rows
    scales: list[Scale]
    impulse: list[Decimal]
    velocity: list[Decimal]


def _scales_of(problem: LCP | BoxedLCP | ContactProblem, rows: Rows) -> list[Scale]:
    if isinstance(problem, ContactProblem):
        start = [int(i) for i in problem.sets.start]
        groups = [list(range(first, last)) for first, last in pairwise(start)]
        demand = [
            _demand(Decimal(member.lo), Decimal(member.hi)) if isinstance(member, Box) else ZERO
            for member in problem.sets
        ]
        return _scales(rows, groups, demand, ())
    lo, hi, index = _bounds(problem)
    demand = [ZERO if j >= 0 else _demand(a, b) for a, b, j in zip(lo, hi, index, strict=True)]
    return _scales(
        rows, [[i] for i in range(len(lo))], demand, [(i, j) for i, j in enumerate(index) if j >= 0]
    )


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


def _scales(
    rows: Rows, groups: list[list[int]], demand: list[Decimal], coupled: Iterable[Any]
) -> list[Scale]:
    """What is at work at each group of rows; `demand` is the impulse that each must carry in any case."""
    strength = [ZERO] * len(rows.q)
    for i, row in enumerate(rows.matrix):
        for j, value in row.items():
            strength[j] = max(strength[j], abs(rows.unit[i] * value * rows.unit[j]))
    strongest = max(strength, default=ZERO) or ONE
    mobility = [max(strength[i] or strongest for i in group) for group in groups]
    own = [
        max([abs(rows.q[i] * rows.unit[i]) for i in group] + [mobility[g] * demand[g]])
        for g, group in enumerate(groups)
    ]
    largest = [ZERO] * len(groups)
    for island in islands(rows.matrix, groups, coupled):
        size = max(own[g] for g in island)
        for g in island:
            largest[g] = size
    least = min((size for size in largest if size > 0), default=ONE)
    return [Scale(size or least, (size or least) / m) for size, m in zip(largest, mobility, strict=True)]


def _boxed(problem: LCP | BoxedLCP, answer: Answer) -> Iterable[Decimal]:
    (lo, hi, index), z, w, scales = _bounds(problem), answer.impulse, answer.velocity, answer.scales
    for i in range(len(z)):
        if index[i] < 0:
            yield _bounded(z[i], w[i], lo[i], hi[i], _within(scales[i], lo[i], hi[i]))
            continue
        j = index[i]
        normal, limit = scales[j], max(z[j], ZERO)
        follows = _bounded(z[i], w[i], lo[i] * limit, hi[i] * limit, scales[i])
        if lo[j] == 0 and hi[j] == ENDLESS:
            # what is open rubs on nothing
            closed = max(abs(w[j]) / normal.velocity, follows)
            follows = min(closed, max(abs(z[j]) / normal.impulse, abs(z[i]) / scales[i].impulse))
        yield follows


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
            yield _relaxed(push, speed, discs) if problem.relaxed else _friction(push[0], speed[0], discs)


class Disc(NamedTuple):
    """Friction of one kind: coefficients, impulses and velocities along its axes."""

    mu: list[Decimal]
    push: list[Decimal]
    speed: list[Decimal]


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


def _length(x: Iterable[Decimal]) -> Decimal:
    return sum((value * value for value in x), ZERO).sqrt()


def _times(mu: Decimal, x: Decimal) -> Decimal:
    return mu * x if x != 0 else ZERO


def _friction(push: Decimal, speed: Decimal, discs: list[Disc]) -> Decimal:
    """Signorini's and Coulomb's law: the largest amount by which one of its sentences fails."""
    worst = max(ZERO, -speed, -push, min(push, speed))
    for disc in discs:
        carried = _length(disc.push)
        # friction where nothing touches
        open_contact = max(abs(push), carried)
        closed = max(abs(speed), _slip(max(push, ZERO), disc))
        worst = max(worst, min(closed, open_contact))
    return worst


def _slip(push: Decimal, disc: Disc) -> Decimal:
    """Friction inside its limit; all of it, against the slip, where something slips."""
    axes = [_times(mu, push) for mu in disc.mu]
    excess = _excess(axes, disc.push)
    # an axis without friction slips as it likes, one without a limit not at all
    endless = _length(v for v, axis in zip(disc.speed, axes, strict=True) if axis == ENDLESS)
    rest = [k for k, axis in enumerate(axes) if 0 < axis < ENDLESS]
    if len(rest) < len(axes):
        part = Disc([disc.mu[k] for k in rest], [disc.push[k] for k in rest], [disc.speed[k] for k in rest])
        return max(excess, endless, _slip(push, part) if rest else ZERO)
    slip = _length(disc.speed)
    if slip <= excess:
        return excess
    # friction that resists this slip most: −a² u / ‖a u‖ on an ellipse with the semi-axes a
    strength = _length(axis * v for axis, v in zip(axes, disc.speed, strict=True))
    most = [-axis * axis * v / strength for axis, v in zip(axes, disc.speed, strict=True)]
    missing = _length(a - b for a, b in zip(disc.push, most, strict=True))
    best = min(slip, missing)
    # or the slip is a little turned: along the normal of the ellipse at the friction there is
    normal = [p / (axis * axis) for p, axis in zip(disc.push, axes, strict=True)]
    size = _length(normal)
    if size > 0:
        along = -sum((n * v for n, v in zip(normal, disc.speed, strict=True)), ZERO) / size
        across = _length(v + max(along, ZERO) * n / size for n, v in zip(normal, disc.speed, strict=True))
        best = min(best, max(across, _shortfall(axes, disc.push)))
    return max(excess, min([best, *_both_a_little(axes, disc)]))


def _both_a_little(axes: list[Decimal], disc: Disc) -> Iterable[Decimal]:
    """How far points are at which the law holds: friction changed along thin axes, slip along the others.

    The slip is −κ x_i / a_i². Along thin axes x_i follows from the slip there is, along the others the slip
    from the friction there is; κ is what puts the friction onto the ellipse.
    """
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    for count in range(1, len(order)):
        thin, others = order[:count], order[count:]
        left = 1 - sum(((disc.push[i] / axes[i]) ** 2 for i in others), ZERO)
        strength = _length(axes[i] * disc.speed[i] for i in thin)
        if left <= 0 or strength == 0:
            continue
        kappa = strength / left.sqrt()
        friction = _length(disc.push[i] + axes[i] ** 2 * disc.speed[i] / kappa for i in thin)
        slip = _length(disc.speed[i] + kappa * disc.push[i] / axes[i] ** 2 for i in others)
        yield max(friction, slip)


def _excess(axes: list[Decimal], x: list[Decimal]) -> Decimal:
    """How far x is outside of an ellipse: its distance from a point of it that is as near as can be."""
    flat = _length(v for v, axis in zip(x, axes, strict=True) if axis == 0)
    pairs = [(axis, abs(v)) for v, axis in zip(x, axes, strict=True) if 0 < axis < ENDLESS]
    if _length(v / axis for axis, v in pairs) <= 1:
        return flat
    nu = ZERO
    # the nearest point is a² x / (a² + ν) with the ν that puts it onto the ellipse; 1/‖·‖ is concave in ν
    for _ in range(NEAREST_STEPS):
        parts = [axis * v / (axis * axis + nu) for axis, v in pairs]
        used = _length(parts)
        slope = sum((t * t / (axis * axis + nu) for t, (axis, _) in zip(parts, pairs, strict=True)), ZERO)
        if used <= 1 + NEAREST:
            break
        nu += (used - 1) * used * used / slope
    point = [axis * axis * v / (axis * axis + nu) for axis, v in pairs]
    used = max(_length(v / axis for v, (axis, _) in zip(point, pairs, strict=True)), ONE)
    outside = _length(v - near / used for near, (_, v) in zip(point, pairs, strict=True))
    return _length((flat, outside))


def _shortfall(axes: list[Decimal], x: list[Decimal]) -> Decimal:
    """How far x is inside of an ellipse, at most, in the same ways."""
    pairs = [(axis, abs(v)) for v, axis in zip(x, axes, strict=True)]
    used = _length(v / axis for axis, v in pairs)
    if not 0 < used < 1:
        return ZERO
    ways = [_length(x) * (1 / used - 1)]
    return min(ways + [abs(v - end) for v, end in _along_axes(pairs)])


def _along_axes(pairs: list[tuple[Decimal, Decimal]]) -> Iterable[tuple[Decimal, Decimal]]:
    """Each coordinate, and what it would be on the ellipse with the others left alone."""
    for k, (axis, v) in enumerate(pairs):
        others = sum(((w / a) ** 2 for j, (a, w) in enumerate(pairs) if j != k), ZERO)
        if others <= 1 and axis < ENDLESS:
            yield v, axis * (1 - others).sqrt()


def _relaxed(push: list[Decimal], speed: list[Decimal], discs: list[Disc]) -> Decimal:
    """The relaxation: λ in its cone, u in the dual cone, u = 0 inside, u along the normal on the surface."""
    parts = [(_length(disc.push), disc) for disc in discs]
    outside = max(ZERO, -push[0])
    for _, disc in parts:
        mu = min(disc.mu)
        room = max(push[0], ZERO)
        excess = _excess([_times(m, room) for m in disc.mu], disc.push)
        # a steep cone is left by the normal impulse that is missing
        outside = max(outside, min(excess, _lacking(disc, room)) if mu < ENDLESS else ZERO)
    # what friction at its limit makes of the normal velocity: u_N = Σ ‖μ u_T‖, u_T against λ_T
    resting = _length(speed)
    apex = max(_length(push), _outside_dual(speed[0], discs))
    return max(outside, min(resting, apex, _on_surface(push[0], speed[0], discs)))


def _lacking(disc: Disc, room: Decimal) -> Decimal:
    """The normal impulse that is missing for the friction of a disc; endless on an axis without friction."""
    if any(m == 0 and p != 0 for m, p in zip(disc.mu, disc.push, strict=True)):
        return ENDLESS
    needed = _length(p / m for m, p in zip(disc.mu, disc.push, strict=True) if p != 0)
    return max(needed - room, ZERO)


def _outside_dual(normal: Decimal, discs: list[Disc]) -> Decimal:
    """How far a velocity is from u_N ≥ Σ ‖μ u_T‖.

    By u_N that is missing, by u_T that is too much, or by all of it along the axes with the most friction.
    """
    ways = [max(-normal, _length(v for d in discs for v in d.speed))]
    for steepest in {m for d in discs for m in d.mu if m < ENDLESS}:
        stopped = _length(v for d in discs for m, v in zip(d.mu, d.speed, strict=True) if m > steepest)
        needed = sum(
            (_length(m * v for m, v in zip(d.mu, d.speed, strict=True) if m <= steepest) for d in discs),
            ZERO,
        )
        lacking = max(needed - normal, ZERO) / (1 + steepest * len(discs))
        ways.append(max(-normal, stopped, lacking))
    return min(ways)


def _on_surface(push: Decimal, speed: Decimal, discs: list[Disc]) -> Decimal:
    """On the surface of the cone, for the normal impulse there is or one for which a disc is at its limit."""
    ways = [_surface(push, speed, discs)]
    for disc in discs:
        if all(m > 0 or p == 0 for m, p in zip(disc.mu, disc.push, strict=True)):
            limit = _length(p / m for m, p in zip(disc.mu, disc.push, strict=True) if p != 0)
            ways.append(max(abs(limit - push), _surface(limit, speed, discs)))
    if len(discs) == 1:
        ways += [*_along_normals(push, speed, discs[0]), *_carried_by_steep_axes(push, speed, discs[0])]
    return min(ways)


def _carried_by_steep_axes(push: Decimal, speed: Decimal, disc: Disc) -> Iterable[Decimal]:
    """Distances of points where next to no λ_N lets steep axes carry friction without slip, and u_N > 0."""
    rows = list(zip(disc.mu, disc.push, disc.speed, strict=True))
    for edge in {ZERO, *(m for m in disc.mu if m < ENDLESS)}:
        gliding = _length(m * v for m, _, v in rows if m <= edge)
        if speed <= gliding:
            continue
        limit = _length(p / m for m, p, _ in rows if edge < m < ENDLESS)
        kappa = (speed * speed - gliding * gliding).sqrt() / limit if limit > 0 else ENDLESS
        slip = [v + (kappa * p / (m * m) if m < ENDLESS and p != 0 else ZERO) for m, p, v in rows if m > edge]
        friction = [p + (m * m * v / kappa if limit > 0 else ZERO) for m, p, v in rows if m <= edge]
        needed = speed / kappa if limit > 0 else ZERO
        yield max(abs(needed - push), _length(slip), _length(friction))


def _along_normals(push: Decimal, speed: Decimal, disc: Disc) -> Iterable[Decimal]:
    """Distances of points of the surface where u is along the normal, as one axis k tells: u = −κ λ / μ².

    Friction follows from the slip where there is less of it than along axis k, slip from friction where more.
    """
    for k, steep in enumerate(disc.mu):
        if not 0 < steep < ENDLESS or disc.push[k] * disc.speed[k] >= 0:
            continue
        kappa = -(steep**2) * disc.speed[k] / disc.push[k]
        friction = [
            -m * m * v / kappa if m < steep else p
            for m, p, v in zip(disc.mu, disc.push, disc.speed, strict=True)
        ]
        slip = [
            v if m <= steep else -kappa * p / (m * m)
            for m, p, v in zip(disc.mu, disc.push, disc.speed, strict=True)
        ]
        limit = _length(p / m for m, p in zip(disc.mu, friction, strict=True) if m > 0)
        yield max(
            abs(limit - push),
            abs(speed - kappa * limit) / (1 + steep),
            _length(a - b for a, b in zip(friction, disc.push, strict=True)),
            _length(a - b for a, b in zip(slip, disc.speed, strict=True)),
        )


def _surface(push: Decimal, speed: Decimal, discs: list[Disc]) -> Decimal:
    """u = Σ ‖μ u_T‖ on the normal row, with each slipping disc at its limit and against its slip."""
    best = ENDLESS
    for ways in product(*(list(_ways_to_slip(max(push, ZERO), disc)) for disc in discs)):
        off = abs(speed - sum((needed for _, needed, _ in ways), ZERO))
        off /= 1 + sum((steep for _, _, steep in ways), ZERO)
        best = min(best, max(off, -push, *(missed for missed, _, _ in ways)))
    return max(best, ZERO)


def _ways_to_slip(push: Decimal, disc: Disc) -> Iterable[tuple[Decimal, Decimal, Decimal]]:
    """Friction and slip of a disc at which its law holds: how far they are, ‖μ u‖ there, and its change."""
    axes = [_times(mu, push) for mu in disc.mu]
    yield max(_excess(axes, disc.push), _length(disc.speed)), ZERO, ZERO
    if all(mu < ENDLESS for mu in disc.mu):
        yield (
            _slip(push, disc),
            _length(m * v for m, v in zip(disc.mu, disc.speed, strict=True)),
            max(disc.mu),
        )
    order = sorted((i for i in range(len(axes)) if 0 < axes[i] < ENDLESS), key=lambda i: axes[i])
    none = _length(p for p, axis in zip(disc.push, axes, strict=True) if axis == 0)
    held = _length(v for v, axis in zip(disc.speed, axes, strict=True) if axis == ENDLESS)
    for count in range(1, len(order) + 1):
        thin, others = order[:count], order[count:]
        left = 1 - sum(((disc.push[i] / axes[i]) ** 2 for i in others), ZERO)
        strength = _length(axes[i] * disc.speed[i] for i in thin)
        if left <= 0 or strength == 0:
            continue
        kappa = strength / left.sqrt()
        friction = _length([none, *(disc.push[i] + axes[i] ** 2 * disc.speed[i] / kappa for i in thin)])
        follows = {i: -kappa * disc.push[i] / axes[i] ** 2 for i in others}
        slip = _length([held, *(disc.speed[i] - follows[i] for i in others)])
        needed = _length(disc.mu[i] * (follows[i] if i in follows else disc.speed[i]) for i in order)
        yield max(friction, slip), needed, max(disc.mu[i] for i in thin)
