"""Contacts that a step reaches and its start did not foresee.

The contacts of a step are those near its start, with their normals. A corner that turns into another face, or
a body that another one pushes far, overlaps at the end although every row is met. Such overlaps are found at
the new poses and become rows of the same step: their points are carried back to the start with their bodies,
the normal stays, and the gap of the row at the present velocities is the overlap that was found.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.collision import ContactFinder, Contacts
from perp.dynamics.motion import rotation_matrices
from perp.stepping.contact_rows import carried_points
from perp.stepping.scales import travel
from perp.stepping.system import StepSystem

# Overlap of this share of a body's size is none: an atom's layers, and far below what a picture shows.
OVERLAP = 1e-5


@njit(cache=True)
def _carry_back(body, frame, x, R, new_x, new_R, inverse_mass, carried, point, gap):
    """Points at the start of the step, in place, and the gap of the row there, from that at its end."""
    local, back = np.empty(3), np.empty(3)
    for c in range(gap.size):
        weight = 0.0
        shift = np.zeros(3)
        for side in range(2):
            b = body[c, side]
            if b < 0:
                continue
            sign, p = -1.0 if side == 0 else 1.0, carried[c, side]
            for k in range(3):
                local[k] = 0.0
                for r in range(3):
                    local[k] += new_R[b, r, k] * (p[r] - new_x[b, r])
            for k in range(3):
                back[k] = x[b, k]
                for r in range(3):
                    back[k] += R[b, k, r] * local[r]
                gap[c] += sign * frame[c, 0, k] * (back[k] - p[k])
                shift[k] += inverse_mass[b] * (new_x[b, k] - x[b, k])
            weight += inverse_mass[b]
            for k in range(3):
                p[k] = back[k]
        # one point for both bodies keeps their angular momentum; the lighter one's arm is that of the end
        for k in range(3):
            point[c, k] -= shift[k] / weight


@njit(cache=True)
def _forbidden(gap, start, accuracy, recovered, out):
    """Which overlaps a row would forbid, given its gap at the start: overlap that was there may stay."""
    count = 0
    for c in range(gap.size):
        allowed = min(start[c] + recovered, 0.0) if start[c] < 0.0 else 0.0
        out[c] = gap[c] < allowed - accuracy[c]
        count += out[c]
    return count


def late_contacts(
    finder: ContactFinder, system: StepSystem, u: np.ndarray
) -> tuple[Contacts, np.ndarray] | None:
    """Contacts at the end of the step with velocities u that its rows should have forbidden.

    Returns:
        The contacts as rows of the step, and their carried points at its start; None if there are none.
    """
    if travel(finder.bound, u, system.h) <= OVERLAP:
        return None
    state, model = system.state, system.model
    x, quat = system.pose_after(u)
    R = np.empty((model.body_count, 3, 3))
    rotation_matrices(quat, R)
    found = finder.find(x, R, np.zeros(model.body_count))
    if not found.count:
        return None
    carried, gap = np.empty((found.count, 2, 3)), found.gap.copy()
    carried_points(found.point, found.frame, gap, found.roundness, carried)
    _carry_back(
        found.body, found.frame, state.position, system.rotation, x, R, 1.0 / model.mass, carried,
        found.point, gap,
    )  # fmt: skip
    size = np.where(found.body >= 0, finder.bound[found.body], np.inf).min(axis=1)
    which = np.empty(found.count, np.bool_)
    accuracy = np.maximum(found.accuracy, OVERLAP * size)
    if not _forbidden(found.gap, gap, accuracy, system.h * system.settings.recovery_speed, which):
        return None
    found.gap = gap
    return found.taken(which), carried[which]
