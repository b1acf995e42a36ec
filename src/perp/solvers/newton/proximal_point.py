"""Proximal point around semismooth Newton, for contact problems of any rank, exact and relaxed.

The problem with W + σ D and q − σ D x⁰ around a centre x⁰ has an invertible matrix; Newton steps solve it,
the centre moves on and σ falls, island by island (see `kernels.tree_newton`). A few sweeps between rounds of
steps lead to other sides of the kinks; where that does not end it, central paths do, from whose ends Newton's
method begins again.

Reference: Acary, Brémond and Huber, On solving contact problems with Coulomb friction (2018), section 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.problems import ContactProblem, Status
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

# Newton steps of an island where central paths are allowed; what a path and the steps after it may add up to.
STEPS, ALL_STEPS = 100, 1000
# Rounds of so many Newton steps, with so many sweeps after them, before a central path; how often the test is
# made sharper.
ROUNDS, SMOOTHING, SHARPER = (6, 6, 6, 20), 10, 3
# What is left to do for the shared test, whose measure is another; where it misses it is made sharper.
MARGIN = 0.1
# From impulses that hold everything: Newton steps, and the residual that they have to reach; walls of bricks
# have 1e-2 to 1e-11 after them.
HELD_STEPS, HELD_NEAR = 2, 0.1
# Newton steps between two looks where somebody waits for them.
LOOK = 4


@dataclass(frozen=True)
class ProximalOptions:
    """Options of proximal-point.

    Attributes:
        sweeps: Gauss–Seidel sweeps before the first step.
        held: Begin with the least impulses that hold everything, one linear solve, and give up soon where
            they do not lead to an answer: for what is built of blocks and stands.
        rounds: Short rounds of Newton steps, with sweeps between them, before a central path.
    """

    sweeps: int = 20
    held: bool = False
    rounds: bool = True


@register(
    "proximal-point",
    takes=ContactProblem,
    options=ProximalOptions,
    summary="proximal point around Newton; rank-deficient W, every set, exact and relaxed",
)
def proximal(problem: ContactProblem, control: Control, options: ProximalOptions) -> Attempt:
    """Solve a contact problem by proximal point iterations; iterations count Newton steps."""
    from perp.kernels.packed import pack
    from perp.kernels.packed_trees import trees_of
    from perp.kernels.sweep import sweeps
    from perp.kernels.tree_held import hold_all
    from perp.kernels.tree_newton import EXACT, solve_trees
    from perp.kernels.tree_workspace import tree_workspace

    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    packed = pack(problem)
    x = packed.unknowns(control.begin(problem.size))
    stop = control.check(0, packed.impulse(x))
    if not stop and options.sweeps:
        start, near = x.copy(), control.last
        sweeps(packed.struct, x, options.sweeps)
        stop = control.check(0, packed.impulse(x))
        # heavy on light: sweeps lead away from a start that Newton's method finishes in a step
        if control.start is not None and control.last > near:
            x = start
    if stop:
        return control.attempt(packed.impulse(x), 0)
    trees = trees_of(packed, x, MARGIN * control.tol)
    workspace, info, worst = tree_workspace(trees), np.zeros(4, np.int64), np.zeros(1)
    # convex problems need no other sides
    rounds = len(ROUNDS) if problem.relaxed or not options.rounds else 0
    steps, sharper, limit = 0, 0, control.limit(ALL_STEPS)
    if options.held:
        hold_all(trees.struct, workspace)
        steps, stop = 1, control.check(1, packed.impulse(trees.impulse))
        if not stop:
            solve_trees(trees.struct, workspace, HELD_STEPS, EXACT, info, worst)
            steps += int(info[2])
            stop = control.check(steps, packed.impulse(trees.impulse))
        if stop or steps >= limit or control.last > HELD_NEAR:
            return control.attempt(packed.impulse(trees.impulse), steps)
    while True:
        most = ROUNDS[rounds] if rounds < len(ROUNDS) else STEPS
        few = min(most, LOOK) if control.watched and most < STEPS else most
        solve_trees(trees.struct, workspace, min(few, limit - steps), EXACT, info, worst)
        steps += int(info[2])
        if control.check(steps, packed.impulse(trees.impulse)):
            break
        if steps >= limit:
            control.reason = Status.ITERATION_LIMIT
            break
        if not info[1] and sharper < SHARPER:
            sharper += 1
            trees.unit *= MARGIN
            continue
        rounds += 1
        if rounds > len(ROUNDS):
            control.reason = Status.STALLED
            break
        sweeps(packed.struct, trees.impulse, SMOOTHING)
    return control.attempt(packed.impulse(trees.impulse), steps, islands=int(info[0]))
