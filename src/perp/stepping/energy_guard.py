"""Notices steps in which joints do work: the sign that a step is too long for forces of its start.

Joints do none, and a step with forces of its start takes a little energy from what swings. When the motion of
a step is longer than its curvature allows, the equations still may have a root, in which joints throw bodies
about. The work of all rows is ½ (u + ũ)ᵀ Jᵀ λ; what motors gave is theirs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.stepping.laws import DRIVE
from perp.stepping.system import StepSystem

# Work of the rows that is worth other directions, as a share of the kinetic energy. A well resolved swing has
# none, and one whose links turn by a third of a radian a step a tenth.
_SHARE = 0.05


@njit(cache=True)
def _fed(bodies, jacobian, law, joints, predicted, u, impulse):
    """Work of all rows but what drives gave [J]."""
    total = 0.0
    for i in range(bodies.shape[0]):
        if impulse[i] == 0.0:
            continue
        mean = rate = 0.0
        for side in range(2):
            b = bodies[i, side]
            if b >= 0:
                for k in range(6):
                    mean += 0.5 * jacobian[i, 6 * side + k] * (u[b, k] + predicted[b, k])
                    rate += jacobian[i, 6 * side + k] * u[b, k]
        total += impulse[i] * mean
        if i < joints and law[i] == DRIVE:
            total -= max(impulse[i] * rate, 0.0)
    return total


def fed_by_joints(system: StepSystem, impulse: np.ndarray, u: np.ndarray) -> bool:
    """Whether the rows of a step with joints add energy that no motor gave."""
    if not isinstance(system, StepSystem) or not system.joint_rows or system.overlaps:
        return False
    work = _fed(
        system.bodies, system.jacobian, system.table.law, system.joint_rows, system.predicted, u, impulse
    )
    return bool(work > 0.0 and work > _SHARE * system.kinetic_energy)
