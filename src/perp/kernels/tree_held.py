"""The impulses that hold every constraint: the answer of what stands still, in one linear solve.

    (W + ε) λ = −q, then λ ← λ − (W + ε)⁻¹ (W λ + q) with the same factors

Of the impulses that leave no velocity these are the least, so that they are inside the cones of a stack that
stands, where sweeps carry its weight down one layer at a time. Nothing is said of what slips or opens.
"""

from __future__ import annotations

from perp.compilation.kernel import kernel
from perp.kernels.tree_elimination import newton_step, newton_step_again, plan_of
from perp.kernels.tree_islands import prepare
from perp.kernels.tree_problem import problem_view
from perp.kernels.tree_state import evaluate, hold_row, impulse_step
from perp.kernels.tree_workspace import workspace_view

# ε as a share of the mean mobility, and solves: each leaves ε over the least eigenvalue of what was left.
_SHARE, _SOLVES = 1e-6, 3


@kernel(nogil=True, error_model="numpy")
def hold_all(problem, workspace):
    """Replace the impulses of a problem by trees by those that hold it; its velocities are theirs then."""
    p, w = problem_view(problem), workspace_view(workspace)
    islands = prepare(p, w)
    if islands < 0:
        return
    weight = 0.0
    for c in range(p.count[0]):
        weight += _SHARE / p.count[0] * w.mobility[c, 0]
    for i in range(p.count[1]):
        p.impulse[i] = 0.0
    evaluate(p, w, 0, islands)
    for k in range(islands):
        plan = plan_of(p, w, k)
        for solve in range(_SOLVES):
            for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
                c = w.island_constraint[a]
                for i in range(p.start[c], p.start[c + 1]):
                    hold_row(p, w, c, i - p.start[c], p.compliance[i] + weight, p.row_velocity[i])
            if solve == 0:
                newton_step(p, w, plan)
            else:
                newton_step_again(p, w, plan)
            for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
                c = w.island_constraint[a]
                for i in range(p.start[c], p.start[c + 1]):
                    p.impulse[i] += impulse_step(p, w, c, i)
            evaluate(p, w, k, k + 1)
