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
from perp.stepping.body_newton import find_islands
from perp.stepping.contact_rows import carried_points
from perp.stepping.scales import relative_travel
from perp.stepping.system import StepSystem

# Overlap of this share of a body's size counts as none: a micrometre of a body of 0.1 m, the roughness of a
# polished surface.
OVERLAP = 1e-5
# Work of contacts beyond this share of the kinetic energy is worth solving the step again.
GAIN = 1e-9


@njit(cache=True)
def _carry_back(body, frame, x, R, new_x, new_R, carried, point, gap, at):
    """Carried points and gaps of the rows at the start of the step, in place of those at its end.

    `at` is where the impulse acts: as far from the carried point as at the end.
    """
    local = np.empty(3)
    for c in range(gap.size):
        for side in range(2):
            b, p = body[c, side], carried[c, side]
            for k in range(3):
                at[c, side, k] = point[c, k] - p[k]
            if b >= 0:
                sign = -1.0 if side == 0 else 1.0
                for k in range(3):
                    local[k] = 0.0
                    for r in range(3):
                        local[k] += new_R[b, r, k] * (p[r] - new_x[b, r])
                for k in range(3):
                    back = x[b, k]
                    for r in range(3):
                        back += R[b, k, r] * local[r]
                    gap[c] += sign * frame[c, 0, k] * (back - p[k])
                    p[k] = back
            for k in range(3):
                at[c, side, k] += p[k]


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
) -> tuple[float, tuple[Contacts, np.ndarray, np.ndarray] | None]:
    """Contacts at the end of the step with velocities u that its rows should have forbidden.

    Returns:
        The deepest overlap at the end [m], and None, or the contacts as rows of the step with their carried
        points and points of action at its start.
    """
    if relative_travel(finder.bound, u, system.h) <= OVERLAP:
        return 0.0, None
    state, model = system.state, system.model
    x, quat = system.pose_after(u)
    R = np.empty((model.body_count, 3, 3))
    rotation_matrices(quat, R)
    found = finder.find(x, R, np.zeros(model.body_count))
    deepest = -float(found.gap.min(initial=0.0))
    if not deepest:
        return 0.0, None
    carried, at, gap = np.empty((found.count, 2, 3)), np.empty((found.count, 2, 3)), found.gap.copy()
    carried_points(found.point, found.frame, gap, found.roundness, carried)
    _carry_back(found.body, found.frame, state.position, system.rotation, x, R, carried, found.point, gap, at)
    size = np.where(found.body >= 0, finder.bound[found.body], np.inf).min(axis=1)
    which = np.empty(found.count, np.bool_)
    accuracy = np.maximum(found.accuracy, OVERLAP * size)
    if not _forbidden(found.gap, gap, accuracy, system.h * system.settings.recovery_speed, which):
        return deepest, None
    found.gap = gap
    return deepest, (found.taken(which), carried[which], at[which])


@njit(cache=True)
def contact_work(rows, count, gap, accuracy, restitution, predicted, u, impulse):
    """Largest work of the contacts of an island that neither bounce nor undo overlap [J].

    An impulse does its work on the mean of the velocities before and after it.
    """
    islands, _, island = find_islands(rows, u.shape[0])
    work, joints = np.zeros(islands), rows.kind.size - count.size
    for c in range(count.size):
        first = rows.first[c]
        if impulse[first] <= 0.0 or restitution[c] > 0.0 or gap[c] < -accuracy[c]:
            continue
        for i in range(first, first + count[c]):
            for side in range(2):
                b = rows.bodies[i, side]
                if b >= 0:
                    for k in range(6):
                        mean = 0.5 * (u[b, k] + predicted[b, k])
                        work[island[joints + c]] += impulse[i] * rows.jacobian[i, 6 * side + k] * mean
    return work.max() if islands else 0.0


def gained(system: StepSystem, impulse: np.ndarray, u: np.ndarray) -> bool:
    """Whether contacts of the step feed bodies that turn: their impulses act where they were at its start."""
    found = system.contacts
    if not found.count:
        return False
    work = contact_work(
        system.arrays, found.rows, found.gap, system.frame.accuracy, found.restitution, system.predicted, u,
        impulse,
    )  # fmt: skip
    return bool(work > GAIN * system.kinetic_energy)
