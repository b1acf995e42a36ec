"""Newton's method with a line search on the islands of a problem by trees.

Steps are those of `tree_newton`, halved until the merit falls. It comes near an answer where plain steps
wander, and takes more of them where they would not. Cost of a step: as there, and a pass over J for each
halving.

Reference: Qi and Sun, A nonsmooth version of Newton's method (1993).
"""

from __future__ import annotations

import math

from perp.compilation.kernel import kernel, part
from perp.kernels.arrays import fill
from perp.kernels.tree_elimination import newton_step, plan_of
from perp.kernels.tree_islands import prepare
from perp.kernels.tree_newton import advance_impulses, condense, judge, judge_starts
from perp.kernels.tree_problem import problem_view
from perp.kernels.tree_state import copy_rows, evaluate
from perp.kernels.tree_workspace import workspace_view

# The least and the heaviest proximal weight, and how often a step is halved.
_LEAST, _HEAVIEST, _HALVINGS = 1e-12, 1e-2, 10


@part
def _halve(p, w, k):
    """Half of the last step back."""
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        for i in range(p.start[c], p.start[c + 1]):
            p.impulse[i] = 0.5 * (p.impulse[i] + w.before[i])


@part
def _damped_step(p, w, k, plan, weight, room):
    """One Newton step on island k, halved until the merit falls; False where it does not.

    The proximal weight is `weight` times the root of the merit, within bounds; none where that is zero.
    """
    _, merit, _, _ = judge(p, w, k, 0.0, room[0])
    sigma = min(max(weight * math.sqrt(merit), _LEAST), _HEAVIEST) if weight > 0.0 else 0.0
    copy_rows(p, w, k, p.impulse, w.before)
    if not condense(p, w, k, sigma, room, False):
        return False
    newton_step(p, w, plan)
    advance_impulses(p, w, k)
    share = 1.0
    for _ in range(_HALVINGS):
        evaluate(p, w, k, k + 1)
        _, new, _, _ = judge(p, w, k, 0.0, room[0])
        if math.sqrt(new) < (1.0 - 0.01 * share) * math.sqrt(merit):
            return True
        _halve(p, w, k)
        share *= 0.5
    copy_rows(p, w, k, w.before, p.impulse)
    evaluate(p, w, k, k + 1)
    return False


@kernel(nogil=True)
def damped_newton(problem, workspace, weight, limit, info):
    """Newton steps with a line search on every island, in place.

    Args:
        problem: `TreeProblem.struct`.
        workspace: Of `tree_workspace`.
        weight: Proximal weight in units of the root of the merit; 0 for none.
        limit: Steps an island may take.
        info: Out: islands, islands that got stuck, steps of the longest island, all steps.
    """
    fill(info, 0)
    p, w = problem_view(problem), workspace_view(workspace)
    info[0] = islands = prepare(p, w)
    room = w.room
    evaluate(p, w, 0, islands)
    judge_starts(p, w, 0, islands, room[0])
    for k in range(islands):
        if w.outcome[k, 0] <= 1.0:
            continue
        plan, steps = plan_of(p, w, k), 0
        while steps < limit:
            steps += 1
            if not _damped_step(p, w, k, plan, weight, room):
                info[1] += 1
                break
            if judge(p, w, k, 0.0, room[0])[0] <= 1.0:
                break
        info[2] = max(info[2], steps)
        info[3] += steps
