"""Proximal point around semismooth Newton, for contact problems of any rank.

Each outer iteration solves the problem with W + σ D and q − σ D x⁰ around the current x⁰, whose matrix is
invertible, by a few Newton steps from the last answer; σ falls by ten after each success and rises after a
failure (see `kernels.proximal`). The limit solves the problem itself.

Reference: Acary, Brémond and Huber, On solving contact problems with Coulomb friction (2018), section 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.problems import ContactProblem, Status
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

STEPS = 1000
# What is left to do for the shared test, whose velocities have twice the digits.
MARGIN = 0.5
# It is given up when so many outer iterations do not lower the residual to this part.
STALL_AFTER, STALL_FACTOR = 6, 0.3
# Up to this many rows six outer iterations take milliseconds.
ONE_CALL = 400
# Plain steps: how many, their proximal weight, factor on the scales, sweeps after each, what they must gain.
PLAIN = (6, 1e-10, 1.0, 2, 0.5, 0)
# Sweeps after a Newton step at most: while they cost little beside it, and where progress stalls.
AFFORDABLE, MOST_SMOOTHING = 30.0, 50


@dataclass(frozen=True)
class ProximalOptions:
    """Options of proximal-point.

    Attributes:
        weight: The first σ, relative to the diagonal of W.
        sweeps: Gauss–Seidel sweeps before the first step.
        smoothing: Sweeps after each Newton step.
        plain: Newton steps without the proximal term first, as long as each halves the residual.
        scale: Factor on the scales by which Newton tells open, stick and slip apart.
    """

    weight: float = 1e-2
    sweeps: int = 20
    smoothing: int = 10
    plain: bool = True
    scale: float = 1.0


@register(
    "proximal-point",
    takes=ContactProblem,
    options=ProximalOptions,
    summary="proximal point around Newton; rank-deficient W, every set, exact and relaxed",
)
def proximal(problem: ContactProblem, control: Control, options: ProximalOptions) -> Attempt:
    """Solve a contact problem by proximal point iterations; iterations count Newton steps."""
    from perp.kernels.packed import pack
    from perp.kernels.plain_newton import Steps, plain_newton
    from perp.kernels.proximal import proximal_point
    from perp.kernels.sweep import sweeps

    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    packed = pack(problem)
    x = packed.unknowns(control.begin(problem.size))
    stop = control.check(0, packed.impulse(x))
    if not stop and options.sweeps:
        sweeps(packed.struct, x, options.sweeps)
        stop = control.check(0, packed.impulse(x))
    best, rho = x.copy(), options.scale * packed.rho
    order = packed.order
    if not stop and options.plain and problem.size <= ONE_CALL:
        _, taken = plain_newton(packed.struct, order, rho, best, Steps(MARGIN * control.tol, *PLAIN))
        stop = control.check(taken, packed.impulse(best))
    # as many sweeps as cost about a fifth of a Newton step repair more where steps are dear
    sweep = 2.0 * (problem.size / problem.contact_count) ** 3 * packed.blocks.column.size
    smoothing = max(options.smoothing, int(min(AFFORDABLE, 0.6 * packed.work / sweep)))
    # a history and limits want a look after each outer iteration; one call is cheaper for small problems
    chunk = STALL_AFTER if control.plain and problem.size <= ONE_CALL else 1
    sigma, steps, limit, outer, earlier = options.weight, 0, control.limit(STEPS), 0, np.inf
    while not stop:
        if steps >= limit:
            control.reason = Status.ITERATION_LIMIT
            break
        value, sigma, taken = proximal_point(
            packed.struct, order, rho, x, best, MARGIN * control.tol, sigma, chunk, smoothing
        )
        steps, outer = steps + taken, outer + chunk
        stop = control.check(steps, packed.impulse(best))
        if not stop and outer % STALL_AFTER == 0:
            if not value < STALL_FACTOR * earlier:
                if smoothing >= MOST_SMOOTHING or taken == 0:
                    control.reason = Status.STALLED
                    break
                # more sweeps lead to other sides of the kinks
                smoothing, x[:] = MOST_SMOOTHING, best
            earlier = value
    return control.attempt(packed.impulse(best), steps, weight=sigma)
