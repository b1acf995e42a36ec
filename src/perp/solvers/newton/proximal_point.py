"""Proximal point around semismooth Newton, for contact problems of any rank.

Each outer iteration solves the problem with W + σ D and q − σ D x⁰ around the current x⁰, whose matrix is
invertible, by a few Newton steps from the last answer; σ falls by ten after each success and rises after a
failure (see `contact.proximal`). The limit solves the problem itself.

Reference: Acary, Brémond and Huber, On solving contact problems with Coulomb friction (2018), section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from perp.problems import ContactProblem, ProblemError, Status
from perp.problems.validation import freeze
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

STEPS = 1000


@dataclass(frozen=True)
class ProximalOptions:
    """Options of proximal-point.

    Attributes:
        weight: The first σ, relative to the diagonal of W.
        sweeps: Gauss–Seidel sweeps before the first step.
        smoothing: Sweeps after each Newton step.
        work_on: "delassus" to eliminate W by constraints, "bodies" for Newton's method in the velocities of
            the bodies, which a problem in dynamics form with small bodies has; "auto" for the cheaper one.
    """

    weight: float = 1e-2
    sweeps: int = 20
    smoothing: int = 10
    work_on: Literal["auto", "delassus", "bodies"] = "auto"

    def __post_init__(self) -> None:
        if self.work_on not in ("auto", "delassus", "bodies"):
            raise ProblemError(f"work_on = {self.work_on!r}: 'auto', 'delassus' or 'bodies' is needed")


@register(
    "proximal-point",
    takes=ContactProblem,
    options=ProximalOptions,
    summary="proximal point around Newton; rank-deficient W, every set, exact and relaxed",
)
def proximal(problem: ContactProblem, control: Control, options: ProximalOptions) -> Attempt:
    """Solve a contact problem by proximal point iterations; iterations count Newton steps."""
    from perp.solvers.contact.canonical import blocks_of, to_canonical
    from perp.solvers.contact.linear_system import choose_order
    from perp.solvers.contact.proximal import newton_scale, proximal_point
    from perp.solvers.contact.sweep import sweeps

    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    blocks = blocks_of(problem)
    x = np.empty(problem.size)
    to_canonical(blocks.scale, freeze(control.begin(problem.size)), x)
    stop = control.check(0, blocks.scale * x)
    if not stop:
        sweeps(blocks, x, options.sweeps)
        stop = control.check(0, blocks.scale * x)
    best = x.copy()
    (factors, _), rho = choose_order(problem, blocks, options.work_on), newton_scale(blocks)
    sigma, steps, limit = options.weight, 0, control.limit(STEPS)
    while not stop:
        if steps >= limit:
            control.reason = Status.ITERATION_LIMIT
            break
        _, sigma, taken = proximal_point(
            blocks, factors, rho, x, best, 0.5 * control.tol, sigma, 1, options.smoothing
        )
        steps += taken
        if taken == 0:
            control.reason = Status.STALLED
            break
        stop = control.check(steps, blocks.scale * best)
    return control.attempt(blocks.scale * best, steps, weight=sigma)
