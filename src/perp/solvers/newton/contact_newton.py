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
    from perp.kernels.packed import pack
    from perp.kernels.proximal import damped_newton
    from perp.kernels.sweep import sweeps

    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    packed = pack(problem)
    x = packed.unknowns(control.begin(problem.size))
    stop = control.check(0, packed.impulse(x))
    if not stop:
        sweeps(packed.struct, x, options.sweeps)
        stop = control.check(0, packed.impulse(x))
    limit, steps = control.limit(STEPS), 0
    while not stop:
        if steps >= limit:
            control.reason = Status.ITERATION_LIMIT
            break
        if not damped_newton(packed.struct, packed.order, packed.rho, x, options.regularisation, HALVINGS):
            control.reason = Status.STALLED
            break
        steps += 1
        stop = control.check(steps, packed.impulse(x))
    return control.attempt(packed.impulse(x), steps, sweeps=options.sweeps)
