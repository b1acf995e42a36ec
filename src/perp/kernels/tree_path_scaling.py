"""The small workspace of central paths by trees, and Nesterov–Todd scaling of the cones in it."""

from __future__ import annotations

import math

from perp.compilation.kernel import part
from perp.kernels.cone_scaling import divide, scale, scaling, unscale
from perp.kernels.friction_laws import MOST_ROWS

# Lines of the small workspace: stretches, C, s, z, direction of the scaling, changes of s and z, right-hand
# side, gap, room, derivative of the shift.
G, CONE, S, Z, W, DS, DZ, R, GAP, WORK, TURN = range(11)
# From here on a matrix.
MATRIX = 11
INFINITE = 1e300


@part
def scaled_goal(target, corrected, at, size, small):
    """Scaling of the cone of `size` rows at `at`; r of V Δz + V⁻¹ Δs = r into line R, from MOST_ROWS + at.

    For s ∘ z = target e, with the products of the last changes in DS and DZ where `corrected`. Returns the
    scale η, not a number outside the cones.
    """
    direction, work = small[W], small[WORK]
    eta = scaling(small[S], small[Z], at, size, direction)
    if not (eta > 0.0 and eta < INFINITE):
        return math.nan
    scale(direction, eta, at, size, small[Z], at, work, 0)
    goal = MOST_ROWS
    work[goal] = target
    for r in range(size):
        work[goal] -= work[r] * work[r]
        if r > 0:
            work[goal + r] = -2.0 * work[0] * work[r]
    if corrected:
        first = MOST_ROWS + at
        ds, dz = small[DS], small[DZ]
        unscale(direction, eta, at, size, ds, at, ds, first)
        scale(direction, eta, at, size, dz, at, dz, first)
        for r in range(size):
            work[goal] -= ds[first + r] * dz[first + r]
            if r > 0:
                work[goal + r] -= ds[first] * dz[first + r] + dz[first] * ds[first + r]
    divide(work, 0, work, goal, size, small[R], MOST_ROWS + at)
    return eta
