"""Semismooth Newton for contact problems with every set.

The conditions are written as equations (Alart and Curnier's form; the natural map for the relaxation),
linearised, and solved by block elimination; open constraints drop out of the system. σ D with σ tied to the
residual is added to W, so that a singular W is no obstacle. A halving line search on the size of the
equations guards each step, island by island (`kernels.tree_newton`); where it fails, sweeps move the iterate
on.

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
# What is left to do for the shared test, whose measure is another.
MARGIN = 0.1


@dataclass(frozen=True)
class NewtonOptions:
    """Options of newton.

    Attributes:
        regularisation: σ as a multiple of the current residual; 0 for the plain method.
        sweeps: Gauss–Seidel sweeps before the first step: the method needs a start that is not too far away.
        restarts: How often as many sweeps move on from where no step lowers the merit.
    """

    regularisation: float = 0.1
    sweeps: int = 20
    restarts: int = 10


@register(
    "newton",
    takes=ContactProblem,
    options=NewtonOptions,
    summary="semismooth Newton with line search; every set, exact and relaxed",
)
def newton(problem: ContactProblem, control: Control, options: NewtonOptions) -> Attempt:
    """Solve a contact problem by Newton steps."""
    from perp.kernels.packed import pack
    from perp.kernels.packed_trees import trees_of
    from perp.kernels.sweep import sweeps
    from perp.kernels.tree_damped import damped_newton
    from perp.kernels.tree_workspace import tree_workspace

    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    packed = pack(problem)
    x = packed.unknowns(control.begin(problem.size))
    stop = control.check(0, packed.impulse(x))
    if not stop:
        sweeps(packed.struct, x, options.sweeps)
        stop = control.check(0, packed.impulse(x))
    if stop:
        return control.attempt(packed.impulse(x), 0, sweeps=options.sweeps)
    unit = MARGIN * control.tol
    trees, info = trees_of(packed, x, unit), np.zeros(4, np.int64)
    workspace, limit, steps, restarts = tree_workspace(trees), control.limit(STEPS), 0, 0
    while not stop:
        if steps >= limit:
            control.reason = Status.ITERATION_LIMIT
            break
        most = limit - steps if control.plain else 1
        damped_newton(trees.struct, workspace, options.regularisation * unit, most, info)
        steps += int(info[2])
        stop = control.check(steps, packed.impulse(trees.impulse))
        if stop:
            break
        if info[1]:
            restarts += 1
            if restarts > options.restarts or not options.sweeps:
                control.reason = Status.STALLED
                break
            sweeps(packed.struct, trees.impulse, options.sweeps)
        elif not info[2]:
            # solved by its own measure
            trees.unit *= MARGIN
    return control.attempt(packed.impulse(trees.impulse), steps, sweeps=options.sweeps)
