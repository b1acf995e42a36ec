"""Friction of one kind in a contact, for `second_opinion`: inside its limit, and all of it where it slips."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from itertools import product
from typing import NamedTuple

# Until a point is on an ellipse to this part of its axes; what is left is scaled away.
NEAREST, NEAREST_STEPS = Decimal("1e-30"), 200
ZERO, ONE, ENDLESS = Decimal(0), Decimal(1), Decimal("Infinity")
# Shares of an ellipse that friction along its thin axes may take from the others.
LEFT = (ZERO, Decimal("1e-30"), Decimal("1e-20"), Decimal("1e-10"))
# Of a double, relative to it.
LAST_DIGIT = Decimal("2.3e-16")


class Disc(NamedTuple):
    """Friction of one kind: coefficients, impulses and velocities along its axes."""

    mu: list[Decimal]
    push: list[Decimal]
    speed: list[Decimal]


def length(x: Iterable[Decimal]) -> Decimal:
    """Euclidean."""
    return sum((value * value for value in x), ZERO).sqrt()


def times(mu: Decimal, x: Decimal) -> Decimal:
    """A coefficient times an impulse; ∞ · 0 is nothing."""
    return mu * x if x != 0 else ZERO


def slip_violation(push: Decimal, disc: Disc) -> Decimal:
    """Friction inside its limit; all of it, against the slip, where something slips."""
    axes = [times(mu, push) for mu in disc.mu]
    # what even the exact friction loses when it is written as doubles
    rounded = LAST_DIGIT * length(disc.push)
    excess = max(beyond_ellipse(axes, disc.push) - rounded, ZERO)
    # an axis without friction slips as it likes, one without a limit not at all
    endless = length(v for v, axis in zip(disc.speed, axes, strict=True) if axis == ENDLESS)
    bounded = [k for k, axis in enumerate(axes) if 0 < axis < ENDLESS]
    if len(bounded) < len(axes):
        part = Disc(
            [disc.mu[k] for k in bounded], [disc.push[k] for k in bounded], [disc.speed[k] for k in bounded]
        )
        return max(excess, endless, slip_violation(push, part) if bounded else ZERO)
    slip = length(disc.speed)
    if slip <= excess:
        return excess
    # friction that resists this slip most: −a² u / ‖a u‖ on an ellipse with the semi-axes a
    strength = length(axis * v for axis, v in zip(axes, disc.speed, strict=True))
    most = [-axis * axis * v / strength for axis, v in zip(axes, disc.speed, strict=True)]
    missing = length(a - b for a, b in zip(disc.push, most, strict=True))
    best = min(slip, max(missing - rounded, ZERO))
    # or the slip is a little turned: along the normal of the ellipse at the friction there is
    normal = [p / (axis * axis) for p, axis in zip(disc.push, axes, strict=True)]
    size = length(normal)
    if size > 0:
        along = -sum((n * v for n, v in zip(normal, disc.speed, strict=True)), ZERO) / size
        across = length(v + max(along, ZERO) * n / size for n, v in zip(normal, disc.speed, strict=True))
        best = min(best, max(across, _shortfall(axes, disc.push)))
    return max(excess, min([best, *_both_a_little(axes, disc)]))


def _both_a_little(axes: list[Decimal], disc: Disc) -> Iterable[Decimal]:
    """How far points are at which the law holds: friction changed along thin axes, slip along the others.

    The slip is −κ x_i / a_i². Along thin axes x_i follows from the slip there is, along the others the slip
    from the friction there is; κ is what puts the friction onto the ellipse. Where the others leave nothing
    to the thin axes they are shortened first: a share of 1e-20 is much beside an axis of 1e-300.
    """
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    for count, least in product(range(1, len(order)), LEFT):
        thin, others = order[:count], order[count:]
        used = sum(((disc.push[i] / axes[i]) ** 2 for i in others), ZERO)
        strength = length(axes[i] * disc.speed[i] for i in thin)
        if strength == 0 or (least == 0 and used >= 1):
            continue
        shorter = min(ONE, ((1 - least) / used).sqrt()) if used > 0 else ONE
        kept = [disc.push[i] * shorter for i in range(len(axes))]
        kappa = strength / max(1 - used * shorter**2, least).sqrt()
        friction = length(
            [disc.push[i] + axes[i] ** 2 * disc.speed[i] / kappa for i in thin]
            + [disc.push[i] - kept[i] for i in others]
        )
        slip = length(disc.speed[i] + kappa * kept[i] / axes[i] ** 2 for i in others)
        yield max(friction, slip)


def beyond_ellipse(axes: list[Decimal], x: list[Decimal]) -> Decimal:
    """How far x is outside of an ellipse: its distance from a point of it that is as near as can be."""
    flat = length(v for v, axis in zip(x, axes, strict=True) if axis == 0)
    pairs = [(axis, abs(v)) for v, axis in zip(x, axes, strict=True) if 0 < axis < ENDLESS]
    if length(v / axis for axis, v in pairs) <= 1:
        return flat
    nu = ZERO
    # the nearest point is a² x / (a² + ν) with the ν that puts it onto the ellipse; 1/‖·‖ is concave in ν
    for _ in range(NEAREST_STEPS):
        parts = [axis * v / (axis * axis + nu) for axis, v in pairs]
        used = length(parts)
        slope = sum((t * t / (axis * axis + nu) for t, (axis, _) in zip(parts, pairs, strict=True)), ZERO)
        if used <= 1 + NEAREST:
            break
        nu += (used - 1) * used * used / slope
    point = [axis * axis * v / (axis * axis + nu) for axis, v in pairs]
    used = max(length(v / axis for v, (axis, _) in zip(point, pairs, strict=True)), ONE)
    outside = length(v - near / used for near, (_, v) in zip(point, pairs, strict=True))
    return length((flat, outside))


def _shortfall(axes: list[Decimal], x: list[Decimal]) -> Decimal:
    """How far x is inside of an ellipse, at most, in the same ways."""
    pairs = [(axis, abs(v)) for v, axis in zip(x, axes, strict=True)]
    used = length(v / axis for axis, v in pairs)
    if not 0 < used < 1:
        return ZERO
    ways = [length(x) * (1 / used - 1)]
    return min(ways + [abs(v - end) for v, end in _along_axes(pairs)])


def _along_axes(pairs: list[tuple[Decimal, Decimal]]) -> Iterable[tuple[Decimal, Decimal]]:
    """Each coordinate, and what it would be on the ellipse with the others left alone."""
    for k, (axis, v) in enumerate(pairs):
        others = sum(((w / a) ** 2 for j, (a, w) in enumerate(pairs) if j != k), ZERO)
        if others <= 1 and axis < ENDLESS:
            yield v, axis * (1 - others).sqrt()
