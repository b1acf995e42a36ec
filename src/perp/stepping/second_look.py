"""A second look at a solved step: whether it has to be solved again, and as what."""

from __future__ import annotations

import numpy as np

from perp.collision import ContactFinder
from perp.stepping.late_contacts import gained, late_contacts
from perp.stepping.system import StepSystem
from perp.stepping.turning_normals import turned_normals


def look_again(
    finder: ContactFinder, system: StepSystem, impulse: np.ndarray, u: np.ndarray
) -> tuple[float, StepSystem | None]:
    """The overlap at the end of a step with velocities u [m], and the step to be solved in its place.

    It has other normals where round surfaces pass by, or contacts that appear at the end, or only arms
    averaged over the turn where its contacts did work; None if nothing is amiss.
    """
    contacts, carried, at = system.contacts, system.carried, system.before_turning
    turned = turned_normals(finder, system, impulse, u)
    overlap, late = late_contacts(finder, system, u)
    if turned is not None:
        contacts, at = turned
    elif late is not None:
        contacts = contacts.joined(late[0])
        carried, at = np.concatenate([carried, late[1]]), np.concatenate([at, late[2]])
    elif not gained(system, impulse, u):
        return overlap, None
    return overlap, system.again(u, contacts, carried, at)
