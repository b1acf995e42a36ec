"""The relaxed law of a contact, for `second_opinion`: λ in its cone, u in the dual one, along the normal."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from itertools import product

from perp.bench.second_opinion_discs import ENDLESS, ZERO, Disc, beyond_ellipse, length, slip_violation, times


def relaxed_violation(push: list[Decimal], speed: list[Decimal], discs: list[Disc]) -> Decimal:
    """The relaxation: λ in its cone, u in the dual cone, u = 0 inside, u along the normal on the surface."""
    parts = [(length(disc.push), disc) for disc in discs]
    outside = max(ZERO, -push[0])
    for _, disc in parts:
        mu = min(disc.mu)
        room = max(push[0], ZERO)
        excess = beyond_ellipse([times(m, room) for m in disc.mu], disc.push)
        # a steep cone is left by the normal impulse that is missing
        outside = max(outside, min(excess, _lacking(disc, room)) if mu < ENDLESS else ZERO)
    # what friction at its limit makes of the normal velocity: u_N = Σ ‖μ u_T‖, u_T against λ_T
    resting = length(speed)
    apex = max(length(push), _outside_dual(speed[0], discs))
    return max(outside, min(resting, apex, _on_surface(push[0], speed[0], discs)))


def _lacking(disc: Disc, room: Decimal) -> Decimal:
    """The normal impulse that is missing for the friction of a disc; endless on an axis without friction."""
    if any(m == 0 and p != 0 for m, p in zip(disc.mu, disc.push, strict=True)):
        return ENDLESS
    needed = length(p / m for m, p in zip(disc.mu, disc.push, strict=True) if p != 0)
    return max(needed - room, ZERO)


def _outside_dual(normal: Decimal, discs: list[Disc]) -> Decimal:
    """How far a velocity is from u_N ≥ Σ ‖μ u_T‖.

    By u_N that is missing, by u_T that is too much, or by all of it along the axes with the most friction.
    """
    ways = [max(-normal, length(v for d in discs for v in d.speed))]
    for steepest in {m for d in discs for m in d.mu if m < ENDLESS}:
        stopped = length(v for d in discs for m, v in zip(d.mu, d.speed, strict=True) if m > steepest)
        needed = sum(
            (length(m * v for m, v in zip(d.mu, d.speed, strict=True) if m <= steepest) for d in discs),
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
            limit = length(p / m for m, p in zip(disc.mu, disc.push, strict=True) if p != 0)
            ways.append(max(abs(limit - push), _surface(limit, speed, discs)))
    if len(discs) == 1:
        ways += [*_along_normals(push, speed, discs[0]), *_carried_by_steep_axes(push, speed, discs[0])]
    else:
        ways += _carried_by_a_steep_disc(push, speed, discs)
    return min(ways)


def _carried_by_a_steep_disc(push: Decimal, speed: Decimal, discs: list[Disc]) -> Iterable[Decimal]:
    """The same of cones with round discs: one of them carries friction, the other one rolls or rests."""
    for steep, other in (discs, discs[::-1]):
        mu, nu = steep.mu[0], other.mu[0]
        carried, rolls = length(steep.push), length(other.speed)
        if mu == 0:
            continue
        limit = carried / mu
        for gliding in {ZERO, nu * rolls if nu < ENDLESS else ZERO}:
            if speed < gliding:
                continue
            # u_N is what both discs make of their slips: the steep one's is against its friction
            against = (speed - gliding) / (mu * carried) if mu < ENDLESS and carried > 0 else ZERO
            slip = length(v + against * p for v, p in zip(steep.speed, steep.push, strict=True))
            if gliding > 0:
                share = nu * limit / rolls
                off = length(p + share * v for p, v in zip(other.push, other.speed, strict=True))
            else:
                off = max(rolls, beyond_ellipse([times(m, limit) for m in other.mu], other.push))
            yield max(abs(limit - push), slip, off)


def _carried_by_steep_axes(push: Decimal, speed: Decimal, disc: Disc) -> Iterable[Decimal]:
    """Distances of points where next to no λ_N lets steep axes carry friction without slip, and u_N > 0."""
    rows = list(zip(disc.mu, disc.push, disc.speed, strict=True))
    for edge in {ZERO, *(m for m in disc.mu if m < ENDLESS)}:
        gliding = length(m * v for m, _, v in rows if m <= edge)
        if speed <= gliding:
            continue
        limit = length(p / m for m, p, _ in rows if edge < m < ENDLESS)
        kappa = (speed * speed - gliding * gliding).sqrt() / limit if limit > 0 else ENDLESS
        slip = [v + (kappa * p / (m * m) if m < ENDLESS and p != 0 else ZERO) for m, p, v in rows if m > edge]
        friction = [p + (m * m * v / kappa if limit > 0 else ZERO) for m, p, v in rows if m <= edge]
        needed = speed / kappa if limit > 0 else ZERO
        yield max(abs(needed - push), length(slip), length(friction))


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
        limit = length(p / m for m, p in zip(disc.mu, friction, strict=True) if m > 0)
        yield max(
            abs(limit - push),
            _off_normal(speed, [(kappa * limit, steep)]),
            length(a - b for a, b in zip(friction, disc.push, strict=True)),
            length(a - b for a, b in zip(slip, disc.speed, strict=True)),
        )


def _surface(push: Decimal, speed: Decimal, discs: list[Disc]) -> Decimal:
    """u = Σ ‖μ u_T‖ on the normal row, with each slipping disc at its limit and against its slip."""
    best = ENDLESS
    for ways in product(*(list(_ways_to_slip(max(push, ZERO), disc)) for disc in discs)):
        off = _off_normal(speed, [(needed, steep) for _, needed, steep in ways])
        best = min(best, max(off, -push, *(missed for missed, _, _ in ways)))
    return max(best, ZERO)


def _off_normal(speed: Decimal, discs: list[tuple[Decimal, Decimal]]) -> Decimal:
    """Change of u_N and of slips that makes u_N = Σ ‖μ u_T‖; a slip can become nothing, but no less.

    `discs` has ‖μ u_T‖ of each and its change with the slip.
    """
    missing = sum((needed for needed, _ in discs), ZERO) - speed
    left, off = discs, ZERO
    while True:
        off = abs(missing) / (1 + sum((steep for _, steep in left), ZERO))
        stopped = [disc for disc in left if missing > 0 and disc[0] < disc[1] * off]
        if not stopped:
            return off
        missing -= sum((needed for needed, _ in stopped), ZERO)
        left = [disc for disc in left if disc not in stopped]


def _ways_to_slip(push: Decimal, disc: Disc) -> Iterable[tuple[Decimal, Decimal, Decimal]]:
    """Friction and slip of a disc at which its law holds: how far they are, ‖μ u‖ there, and its change."""
    axes = [times(mu, push) for mu in disc.mu]
    yield max(beyond_ellipse(axes, disc.push), length(disc.speed)), ZERO, ZERO
    if all(mu < ENDLESS for mu in disc.mu):
        yield (
            slip_violation(push, disc),
            length(m * v for m, v in zip(disc.mu, disc.speed, strict=True)),
            max(disc.mu),
        )
    order = sorted((i for i in range(len(axes)) if 0 < axes[i] < ENDLESS), key=lambda i: axes[i])
    none = length(p for p, axis in zip(disc.push, axes, strict=True) if axis == 0)
    held = length(v for v, axis in zip(disc.speed, axes, strict=True) if axis == ENDLESS)
    for count in range(1, len(order) + 1):
        thin, others = order[:count], order[count:]
        left = 1 - sum(((disc.push[i] / axes[i]) ** 2 for i in others), ZERO)
        strength = length(axes[i] * disc.speed[i] for i in thin)
        if left <= 0 or strength == 0:
            continue
        kappa = strength / left.sqrt()
        friction = length([none, *(disc.push[i] + axes[i] ** 2 * disc.speed[i] / kappa for i in thin)])
        follows = {i: -kappa * disc.push[i] / axes[i] ** 2 for i in others}
        slip = length([held, *(disc.speed[i] - follows[i] for i in others)])
        needed = length(disc.mu[i] * (follows[i] if i in follows else disc.speed[i]) for i in order)
        yield max(friction, slip), needed, max(disc.mu[i] for i in thin)
