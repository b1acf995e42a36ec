"""Notices motion that no contact detection can follow, in place of numbers that mean nothing."""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.dynamics.state import State
from perp.scenes import Model
from perp.stepping.record import StepFailed, StepRecord

# A body that moves a million times its own size in a step has been pushed by mistake.
LARGEST_TRAVEL = 1e6


@njit(cache=True)
def _within(x, new_x, u, reach):
    """Whether no coordinate moves further and every velocity is finite."""
    for b in range(x.shape[0]):
        for k in range(3):
            if not abs(new_x[b, k] - x[b, k]) <= reach:
                return False
        for k in range(6):
            if not abs(u[b, k]) < np.inf:
                return False
    return True


def check_travel(model: Model, before: State, after: State, record: StepRecord) -> None:
    """Whether every body stayed within reach and every number is finite.

    Raises:
        StepFailed: The message names the body and the step.
    """
    size = model.size
    reach = LARGEST_TRAVEL * (size if 0.0 < size < np.inf else 1.0)
    if _within(before.position, after.position, after.velocity, reach):
        return
    moved = np.abs(after.position - before.position).max(axis=1, initial=0.0)
    body = int(np.argmax(np.where(np.isfinite(moved), moved, np.inf)))
    raise StepFailed(
        f"the step at t = {before.time:g} s: body {model.body_names[body]!r} moves by {moved[body]:.3g} m "
        "in one step; look at the forces, controls and gains that act on it",
        record,
    )
