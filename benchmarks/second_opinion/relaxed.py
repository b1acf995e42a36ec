"""The relaxed law of a contact, for `second_opinion`: λ in its cone, u in the dual one, λ ⊥ u.

An answer is judged by its distance from a pair (λ, u) at which the law holds. Such a pair is looked for at
the apex of the cone, at rest, and by splitting λ − u into two parts (Moreau); whatever was found counts only
if the inequalities of the law hold for it, in all digits.
"""

from __future__ import annotations

from decimal import Decimal, getcontext, localcontext

from second_opinion.discs import ENDLESS, ONE, ZERO, Disc, length, times

# Relative to the pair's own size: far below doubles, far above the last of 60 digits.
HOLDS = Decimal("1e-30")
# Roots of ellipses: where they are looked for, and until when.
LEAST, MOST, ROOT_STEPS = Decimal("1e-400"), Decimal("1e400"), 3000


def relaxed_violation(push: list[Decimal], speed: list[Decimal], discs: list[Disc]) -> Decimal:
    """Distance of (λ, u) from the nearest pair that was found at which the law holds."""
    mu, nothing = [disc.mu for disc in discs], [ZERO] * len(push)
    # squares of steep and flat coefficients cost digits
    steepest = max((abs(m.adjusted()) for axes in mu for m in axes if 0 < m < ENDLESS), default=0)
    with localcontext() as context:
        context.prec = getcontext().prec + 4 * steepest
        pairs = [(push, nothing), (nothing, speed), _split(push, speed, mu)]
        return min(_distance(pair, (push, speed), mu) for pair in pairs)


def _distance(
    pair: tuple[list[Decimal], list[Decimal]],
    answer: tuple[list[Decimal], list[Decimal]],
    mu: list[list[Decimal]],
) -> Decimal:
    """How far an answer is from a pair; the pair's own distance from its cones counts as well."""
    impulse, velocity = pair
    apart = max(length(a - b for a, b in zip(x, y, strict=True)) for x, y in zip(pair, answer, strict=True))
    outside = max(_outside(impulse, mu), _outside_dual(velocity, mu))
    power = abs(sum((a * b for a, b in zip(impulse, velocity, strict=True)), ZERO))
    if power > HOLDS * length(impulse) * length(velocity):
        return ENDLESS
    return max(apart, outside)


def _outside(impulse: list[Decimal], mu: list[list[Decimal]]) -> Decimal:
    """How far an impulse is from ‖λ_T/μ‖ ≤ λ_N: by λ_N that it lacks, or by λ_T that is too much."""
    worst, first = max(ZERO, -impulse[0]), 1
    for axes in mu:
        part = impulse[first : first + len(axes)]
        first += len(axes)
        worst = max(worst, length(p for m, p in zip(axes, part, strict=True) if m == 0))
        needed = length(p / m for m, p in zip(axes, part, strict=True) if 0 < m < ENDLESS)
        lacking = needed - max(impulse[0], ZERO)
        if lacking > 0:
            carried = length(p for m, p in zip(axes, part, strict=True) if 0 < m < ENDLESS)
            worst = max(worst, min(lacking, carried * lacking / needed))
    return worst


def _outside_dual(velocity: list[Decimal], mu: list[list[Decimal]]) -> Decimal:
    """How far a velocity is from u_N ≥ Σ ‖μ u_T‖: by u_N that it lacks, or by u_T that is too much."""
    worst, needed, slipping, first = max(ZERO, -velocity[0]), ZERO, ZERO, 1
    for axes in mu:
        part = velocity[first : first + len(axes)]
        first += len(axes)
        worst = max(worst, length(v for m, v in zip(axes, part, strict=True) if m == ENDLESS))
        needed += length(m * v for m, v in zip(axes, part, strict=True) if m < ENDLESS)
        slipping += length(v for m, v in zip(axes, part, strict=True) if 0 < m < ENDLESS)
    lacking = needed - max(velocity[0], ZERO)
    return max(worst, min(lacking, slipping * lacking / needed)) if lacking > 0 else worst


def _split(
    push: list[Decimal], speed: list[Decimal], mu: list[list[Decimal]]
) -> tuple[list[Decimal], list[Decimal]]:
    """λ − u as the difference of an impulse in the cone and a velocity in the dual one, at right angles."""
    y = [a - b for a, b in zip(push, speed, strict=True)]
    part = _nearest_on_ellipse(y, mu[0]) if len(mu) == 1 else _nearest_on_discs(y, mu[0][0], mu[1][0])
    return part, [a - b for a, b in zip(part, y, strict=True)]


def _nearest_on_discs(y: list[Decimal], mu: Decimal, mu_r: Decimal) -> list[Decimal]:
    """Two round discs: λ_N is the largest that one of them, both or none of them ask for."""
    lengths = (length(y[1:3]), length(y[3:5]))
    bound = [(m, size) for m, size in zip((mu, mu_r), lengths, strict=True) if m < ENDLESS]
    normal = ZERO
    for chosen in ([], bound[:1], bound[1:], bound):
        asked = (y[0] + sum((m * x for m, x in chosen), ZERO)) / (1 + sum((m * m for m, _ in chosen), ZERO))
        normal = max(normal, asked)
    shares = [
        ONE if times(m, normal) >= size or m == ENDLESS else m * normal / size
        for m, size in zip((mu, mu_r), lengths, strict=True)
    ]
    return [normal, *(shares[0] * v for v in y[1:3]), *(shares[1] * v for v in y[3:5])]


def _nearest_on_ellipse(y: list[Decimal], mu: list[Decimal]) -> list[Decimal]:
    """One disc with any axes: y_i μ_i² / (μ_i² + ν), where ν makes (1 − ν) λ_N = y_N."""
    axes = [(m, v) for m, v in zip(mu, y[1:], strict=True) if 0 < m < ENDLESS]
    used, against = length(v / m for m, v in axes), length(m * v for m, v in axes)
    if used <= max(y[0], ZERO):
        nu, normal = ZERO, max(y[0], ZERO)
    elif against <= -y[0]:
        return [ZERO, *(v if m == ENDLESS else ZERO for m, v in zip(mu, y[1:], strict=True))]
    else:
        nu = _root(y[0], axes)
        normal = length(v * m / (m * m + nu) for m, v in axes)
    friction = [
        v if m == ENDLESS else ZERO if m == 0 else v * m * m / (m * m + nu)
        for m, v in zip(mu, y[1:], strict=True)
    ]
    return [normal, *friction]


def _root(normal: Decimal, axes: list[tuple[Decimal, Decimal]]) -> Decimal:
    """The ν of an ellipse: Newton's steps within bounds, which are halved in digits where one leads out."""
    low, high = LEAST, MOST
    nu = ONE
    for _ in range(ROOT_STEPS):
        parts = [(m * m + nu, v * m / (m * m + nu)) for m, v in axes]
        top = length(part for _, part in parts)
        value = (1 - nu) * top - normal
        if value > 0:
            low = nu
        else:
            high = nu
        slope = -top - (1 - nu) * sum((part * part / weight for weight, part in parts), ZERO) / top
        step = nu - value / slope if slope < 0 else ZERO
        following = step if low < step < high else (low * high).sqrt()
        if following == nu or high - low <= high * HOLDS * HOLDS:
            break
        nu = following
    return nu
