"""Compiled: how far a constraint of the file gives way to a force, by mujoco's `solref` and `solimp`.

There a constraint has the regulariser R = (1 − d)/d times the inverse mass at it, and the force f obeys R f =
−b v − d k r − a, with the impedance d(r) and the stiffness k [1/s²]. At rest a = 0 and d k r = R f: what it
gives way per force is the inverse mass times (1 − d) / (d² k).

Reference: MuJoCo documentation, chapters Computation (constraint model) and Modeling (solver parameters).
"""

from __future__ import annotations

from perp.compilation.kernel import kernel, part

_LEAST, _MOST = 1e-4, 0.9999


@kernel
def file_compliance(solref, solimp, r):
    """Displacement per force and inverse mass [m kg / N] at a violation r [m or rad]."""
    d_most = min(max(solimp[1], _LEAST), _MOST)
    d = impedance(solimp, r)
    stiffness = 1.0 / (solref[0] * solref[1]) ** 2 if solref[0] > 0.0 else -solref[0]
    stiffness /= d_most**2
    return (1.0 - d) / (d * d * stiffness) if stiffness > 0.0 else 0.0


@part
def pyramid_share(dim, mu):
    """How much softer a contact of `dim` rows is as mujoco's pyramid of edges n ± μ t than as a cone.

    All 2 (dim − 1) edges have the regulariser 2 μ² R of one with the inverse mass (1 + μ²) of n + μ t, and
    share the force.
    """
    return mu * mu * (1.0 + mu * mu) / (dim - 1) if dim > 1 and mu > 0.0 else 1.0


@part
def impedance(solimp, r):
    """The impedance d(r): from the first to the second number of solimp along a power, over its width."""
    low, high = min(max(solimp[0], _LEAST), _MOST), min(max(solimp[1], _LEAST), _MOST)
    width, middle, power = solimp[2], min(max(solimp[3], _LEAST), _MOST), max(solimp[4], 1.0)
    if low == high or width <= 1e-15:
        return 0.5 * (low + high)
    x = min(abs(r) / width, 1.0)
    if power > 1.0:
        if x <= middle:
            x = x**power / middle ** (power - 1.0)
        else:
            x = 1.0 - (1.0 - x) ** power / (1.0 - middle) ** (power - 1.0)
    return low + x * (high - low)
