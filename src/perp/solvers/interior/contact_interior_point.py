"""Interior point for contact problems: central paths of exact friction and of the relaxation.

The impulses of the relaxation minimise ½ λᵀ W λ + qᵀ λ over the friction cones, and exact friction adds De
Saxcé's shift to the same conditions; `kernels.tree_path` follows the path of either, island by island, and a
few Newton steps sharpen the end. 10 to 30 iterations a path, each one block elimination; W of any rank,
symmetric or not. Where the path of exact friction leads nowhere, relaxations with the shift of the answer
before are solved one after the other: that their fixed point exists is how answers are proved to exist.

Reference: Acary, Cadoux, Lemaréchal and Malick, A formulation of the linear discrete Coulomb friction problem
via convex optimization, ZAMM 91 (2011); Acary, Armand, Nguyen and Shpakovych, Second-order cone programming
for frictional contact mechanics using interior point algorithm (2022); De Saxcé and Feng (1998).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perp.problems import ContactProblem, Status
from perp.problems.sets import COULOMB
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

if TYPE_CHECKING:
    from perp.kernels.packed import Packed
    from perp.kernels.tree_problem import TreeProblem

# Newton steps after a path.
STEPS = 100
# What is left to do for the shared test, whose measure is another; how often it is made sharper.
MARGIN, SHARPER = 0.1, 4
# Relaxations at most, how many in a row may bring nothing, Newton steps on the exact equations from each.
SHIFTS, PATIENCE, NEWTON_STEPS = 30, 6, 20


@register(
    "interior-point",
    takes=ContactProblem,
    summary="central paths of exact friction and of the relaxation; W of any rank, every set",
)
def interior_point(problem: ContactProblem, control: Control, options: object) -> Attempt:
    """Solve a contact problem along central paths; iterations count steps of the longest island."""
    from perp.kernels.packed import pack
    from perp.kernels.packed_trees import trees_of
    from perp.kernels.tree_newton import AT_ONCE, EXACT, solve_islands
    from perp.kernels.tree_workspace import tree_workspace

    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    packed = pack(problem)
    x = packed.unknowns(control.begin(problem.size))
    if control.check(0, packed.impulse(x)):
        return control.attempt(packed.impulse(x), 0)
    trees = trees_of(packed, x, MARGIN * control.tol)
    workspace, info, worst, steps = tree_workspace(trees), np.zeros(4, np.int64), np.zeros(1), 0
    for _ in range(SHARPER):
        limit = min(STEPS, control.limit(STEPS))
        solve_islands(trees.struct, workspace, AT_ONCE, limit, EXACT, info, worst)
        steps += int(info[2])
        if control.check(steps, packed.impulse(trees.impulse)) or info[1]:
            break
        trees.unit *= MARGIN
    if control.best > control.tol and not problem.relaxed:
        steps = _fixed_point(packed, trees, control, steps)
    if control.best > control.tol and control.reason is None:
        over = steps >= control.limit(10**9)
        control.reason = Status.ITERATION_LIMIT if over else Status.STALLED
    return control.attempt(packed.impulse(trees.impulse), steps, islands=int(info[0]))


def _fixed_point(packed: Packed, trees: TreeProblem, control: Control, steps: int) -> int:
    """The sequence of relaxations, with Newton steps on the exact equations; all steps so far."""
    from perp.kernels.friction_laws import RELAXED
    from perp.kernels.packed_trees import trees_of
    from perp.kernels.shifts import packed_shifts
    from perp.kernels.tree_newton import AT_ONCE, EXACT, solve_islands, solve_trees
    from perp.kernels.tree_workspace import tree_workspace

    relaxed = trees_of(packed, trees.impulse, MARGIN * control.tol)
    relaxed.kind[relaxed.kind >= COULOMB] += RELAXED
    rooms, info, worst = (tree_workspace(relaxed), tree_workspace(trees)), np.zeros(4, np.int64), np.zeros(1)
    u, shift, least, since, first = np.empty(packed.rows), np.zeros(packed.rows), np.inf, 0, True
    reached = trees.impulse.copy()
    for _ in range(SHIFTS):
        if control.out_of_time() or steps >= control.limit(10**9) or (since > PATIENCE and not first):
            break
        if since > PATIENCE:
            # once more from the sliding speeds where the path ended
            first, since, least = False, 0, np.inf
            packed_shifts(packed.struct, reached, u, shift)
        relaxed.bias[:] = packed.blocks.q + shift
        solve_islands(relaxed.struct, rooms[0], AT_ONCE, STEPS, EXACT, info, worst)
        steps += int(info[2])
        trees.impulse[:] = relaxed.impulse
        solve_trees(trees.struct, rooms[1], NEWTON_STEPS, (*EXACT[:3], MARGIN * control.tol), info, worst)
        steps += int(info[2])
        if control.check(steps, packed.impulse(trees.impulse)):
            break
        packed_shifts(packed.struct, relaxed.impulse, u, shift)
        value = control.measure(packed.impulse(relaxed.impulse))
        since = 0 if value < 0.9 * least else since + 1
        least = min(value, least)
    return steps
