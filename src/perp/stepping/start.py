"""Compiled change of a step into a projection onto positions that contradict nothing.

With no velocity, no forces, no drives and no friction a step moves a scene by the least amount, in the
measure of its mass, that satisfies joints, limits and gaps at its end.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.dynamics.rows import DRIVE, HOLD, LIMIT
from perp.kernels.arrays import fill
from perp.problems.sets import BOX, COULOMB
from perp.stepping.world import CONTACTS, JOINTS


@part
def quieten_forces(w):
    """No velocities and no forces; between `collect` and `assemble`."""
    fill(w.v, 0.0)
    fill(w.force, 0.0)
    fill(w.old_joint, 0.0)
    w.old_count[0] = 0
    fill(w.undoing, np.inf)


@part
def quieten_rows(w):
    """No drives, no friction, no restitution; after `assemble`."""
    p = w.problem
    for k in range(w.count[JOINTS]):
        p.impulse[k] = 0.0
        if w.law[k] == DRIVE:
            p.kind[k], p.parameter[k, 0], p.parameter[k, 1] = BOX, 0.0, 0.0
    for c in range(w.count[CONTACTS]):
        k = w.count[JOINTS] + c
        w.start.restitution[c] = 0.0
        if p.kind[k] >= COULOMB:
            p.parameter[k] = 0.0
    w.speed = max(w.speed, w.scene.size / w.h)


@kernel
def contradiction(w):
    """Largest error of a joint, overshoot of a limit and overlap at the start, [m or rad] each."""
    joint = limit = overlap = 0.0
    for k in range(w.count[JOINTS]):
        if w.law[k] == HOLD:
            joint = max(joint, abs(w.value[k]))
        elif w.law[k] == LIMIT:
            limit = max(limit, -w.value[k])
    for c in range(w.count[CONTACTS]):
        if not w.left_out[c]:
            overlap = max(overlap, -w.start.gap[c] - w.start.accuracy[c])
    return joint, limit, overlap
