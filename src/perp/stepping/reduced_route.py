"""The route of `reduced_newton` for the stepper."""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.stepping.outcome import Outcome
from perp.stepping.reduced_newton import solve_tree
from perp.stepping.settings import Level

# Digits in hand: the error of reused impulses adds up from step to step.
WITHIN = (0.5, 0.1)
"""Shares of the tolerance to reach, for positions and velocities."""
FIRST_WEIGHT = (1e-8, 1e-11, 1e-4)
"""First proximal weight: least, per residual over what is allowed, and largest."""
# A Newton step here costs about as much as a pass over the rows: more of them than of the other routes.
STEPS = 2
# Equalities, tendons and ball limits are linearised anew this often at most.
_ROUNDS = 20
# Their change that is left over, as a share of the tolerance.
_SHARE = 0.25
LARGEST_NV = 150
"""Dense algebra over the degrees of freedom pays up to this many."""


def solve_by_trees(system: Any, start: np.ndarray, limit: int) -> Outcome:
    """Solve a step from the impulses `start`, shape (rows,), with so many Newton steps at most a round."""
    tree, found, settings, h = system.tree, system.contacts, system.settings, system.h
    (begin, count, column), d, at_end = tree.rows, tree.start, settings.level is Level.POSITION
    impulse, v, bias = start.copy(), np.empty(tree.nv), np.empty(system.rows)
    info, steps = np.empty(2, dtype=np.int64), 0
    tolerance, m = settings.tolerance, system.joint_rows
    curved = at_end and system.table.curved and m > 0
    joint_bias = system.joint_bias(system.body_velocity(start) if curved else (start if at_end else None))
    allowed = _SHARE * tolerance * min(system.length_scale / h, system.speed_scale)
    message = ""
    for _ in range(_ROUNDS):
        solve_tree(
            tree.links, system.arrays, begin, count, column, d.M, system.extra, system.factor,
            system.predicted, joint_bias, found.frame, found.gap, found.accuracy, found.restitution,
            found.body, system.state.qpos, d.xpos, d.xquat, h, at_end, 1.0 if at_end else settings.correction,
            settings.recovery_speed, system.rest_speed, WITHIN[0] * tolerance * system.length_scale,
            WITHIN[1] * tolerance * system.speed_scale, FIRST_WEIGHT, STEPS * limit, impulse, v, bias,
            info,
        )  # fmt: skip
        steps += int(info[0])
        message = f"unsolved after {steps} Newton steps in the velocities" if info[1] else ""
        if not curved or message:
            break
        last, joint_bias = joint_bias, system.joint_bias(v)
        bias[:m] = joint_bias
        if not np.abs(joint_bias - last).max() > allowed:
            break
        # `joint_bias` compares the positions of one and the same velocity by its identity
        v = v.copy()
    else:
        message = f"{_ROUNDS} rounds of linearised joints did not converge"
    return Outcome(impulse, v, steps, 0, bias, message)
