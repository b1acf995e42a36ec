"""Compiled: the proximal weight with which the first solve of a step begins, learnt from step to step.

Redundant contacts, measured where a step is guessed to end, contradict each other by about what a rough solve
may leave. A light weight answers that with huge impulses, and Newton's steps go astray; a heavy one takes a
step more where nothing contradicts. Which of them it is changes little from step to step.
"""

from __future__ import annotations

from perp.compilation.kernel import part
from perp.stepping.world import HEAVY

# Newton steps of a first solve after which the next one begins with the heavy weight, what is left of the
# weight after solves of two or three, and how many weights there are with the usual one. Dumped first solves
# of a moving quadruped take 6.4 steps in place of 10.2, of eleven other robots 0.65 to 1.1 of what they took;
# 4 for _FEW, 1e-1 for _HEAVY and 1e-3 for _LIGHTER are no better.
_FEW, _HEAVY, _LIGHTER, _WEIGHTS = 3, 1e-2, 0.03, 5


@part
def first_weight(count):
    """The weight, or 0 for the usual one."""
    return _HEAVY * _LIGHTER ** (count[HEAVY] - 1) if count[HEAVY] else 0.0


@part
def learn_weight(count, steps):
    """Keep the weight of the next step, from the Newton steps that this one began with."""
    if steps > _FEW:
        count[HEAVY] = 1
    elif steps > 1 and count[HEAVY]:
        count[HEAVY] = (count[HEAVY] + 1) % _WEIGHTS
