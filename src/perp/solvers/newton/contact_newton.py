"""Semismooth Newton for contact problems with every set.

The conditions are written as equations (Alart and Curnier's form; the natural map for the relaxation),
linearised, and solved by block elimination; open constraints drop out of the system. σ D with σ tied to the
residual is added to W, so that a singular W is no obstacle. A halving line search on the size of the
equations guards each step.

Reference: Alart and Curnier, A mixed formulation for frictional contact problems prone to Newton like methods
(1991).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.problems import ContactProblem, Status
from perp.problems.validation import freeze
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

STEPS = 200
HALVINGS = 10


@dataclass(frozen=True)
class NewtonOptions:
    """Options of newton.

    Attributes:
        regularisation: σ as a multiple of the current residual; 0 for the plain method.
        sweeps: Gauss–Seidel sweeps before the first step: the method needs a start that is not too far away.
    """

    regularisation: float = 0.1
    sweeps: int = 20


@register(
    "newton",
    takes=ContactProblem,
    options=NewtonOptions,
    summary="semismooth Newton with line search; every set, exact and relaxed",
)
def newton(problem: ContactProblem, control: Control, options: NewtonOptions) -> Attempt:
    """Solve a contact problem by Newton steps."""
    from perp.kernels.elimination import eliminate
    from perp.solvers.contact.canonical import blocks_of, to_canonical, velocity
    from perp.solvers.contact.newton_system import newton_step
    from perp.solvers.contact.proximal import merit, newton_scale
    from perp.solvers.contact.residual import norm
    from perp.solvers.contact.sweep import WORKSPACE, sweeps

    n = problem.size
    if n == 0:
        return Attempt(np.zeros(0), 0)
    blocks = blocks_of(problem)
    x, u, dx, work = np.empty(n), np.empty(n), np.zeros(n), np.zeros(WORKSPACE)
    to_canonical(blocks.scale, freeze(control.begin(n)), x)
    stop = control.check(0, blocks.scale * x)
    if not stop:
        sweeps(blocks, x, options.sweeps)
        stop = control.check(0, blocks.scale * x)
    factors, rho, size = eliminate(blocks.first, blocks.column), newton_scale(blocks), norm(blocks.q)
    limit, steps = control.limit(STEPS), 0
    value = merit(blocks, rho, x, u, size, work)
    while not stop:
        if steps >= limit:
            control.reason = Status.ITERATION_LIMIT
            break
        velocity(blocks, x, u)
        sigma = min(max(options.regularisation * value, 1e-12), 1e-2) if options.regularisation else 0.0
        newton_step(blocks, factors, rho, sigma, x, u, dx)
        steps += 1
        t = 1.0
        for _ in range(HALVINGS):
            point = x + t * dx
            new = merit(blocks, rho, point, u, size, work)
            if new < (1.0 - 0.01 * t) * value:
                break
            t *= 0.5
        else:
            control.reason = Status.STALLED
            break
        x[:] = point
        value = new
        stop = control.check(steps, blocks.scale * x)
    return control.attempt(blocks.scale * x, steps, sweeps=options.sweeps)
