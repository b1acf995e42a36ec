"""Exact friction through a sequence of relaxations: the fixed point of De Saxcé's shift.

With the shift s of the normal rows held fixed the problem is a convex one, which the central path solves from
any start; its sliding gives the next shift s = Γ(u). That a fixed point exists is how solutions of the exact
problem are proved to exist; the iteration nears one where Newton steps cycle, and Newton steps end it. A
contact with a huge coefficient changes its sliding by u_N / μ in an iteration: where it lifts off and still
pulls, the change of its shift is doubled again and again. Cost: some twenty block eliminations an iteration.

Reference: Acary, Cadoux, Lemaréchal and Malick, A formulation of the linear discrete Coulomb friction problem
via convex optimization, ZAMM 91 (2011).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from perp.problems.validation import Vector

if TYPE_CHECKING:
    from perp.solvers.contact.stages import Stages

ITERATIONS = 120
# A relaxation is solved far below the tolerance: a coefficient of 10⁶ multiplies what is left.
INNER_TOLERANCE, INNER_STEPS = 1e-12, 60
# Coefficients above it hold a contact that lifts off; what counts as lifting off and as pulling, of ‖q‖.
LARGE, LIFTS, PULLS = 10.0, 1e-10, 1e-9
# Without a better residual for so many iterations the sequence has arrived or cycles.
PATIENCE = 60


def shift_iterates(stages: Stages, growth: float) -> Iterator[Vector]:
    """Answers of one relaxation after the other, impulses in canonical form.

    Args:
        stages: The problem, the best point so far, and where steps are counted.
        growth: By how much the change of a shift grows while its contact lifts off and pulls; 1 for never.
    """
    from perp.solvers.contact.canonical import blocks_of, velocity
    from perp.solvers.contact.central_path import follow_path
    from perp.solvers.contact.shifts import shifts

    blocks = stages.blocks
    relaxed = blocks_of(stages.problem.as_relaxed())
    normal, size = blocks.start[:-1], float(np.linalg.norm(blocks.q))
    large = np.maximum(blocks.mu, blocks.mu_r) > LARGE
    sets = stages.problem.sets
    s, growing = np.zeros(blocks.q.size), np.ones(normal.size)
    u, gamma = np.empty(s.size), np.empty(s.size)
    least, since = np.inf, 0
    for _ in range(ITERATIONS):
        x = np.zeros(s.size)
        _, taken = follow_path(
            relaxed._replace(q=blocks.q + s), stages.order, x, INNER_TOLERANCE, np.inf, np.inf, INNER_STEPS
        )
        stages.steps += taken
        yield x
        value = stages.control.measure(blocks.scale * x)
        since = 0 if value < 0.9 * least else since + 1
        least = min(value, least)
        if since > PATIENCE:
            return
        velocity(blocks, x, u)
        pull = blocks.d * np.add.reduceat(np.abs(x), normal)
        held = large & (u[normal] > LIFTS * size) & (pull > PULLS * size)
        growing = np.where(held, growing * growth, 1.0)
        shifts(sets.kind, sets.start, sets.a, sets.b, u / blocks.scale, gamma)
        s = gamma.copy()
        s[normal] += np.where(held, (growing - 1.0) * u[normal], 0.0)
