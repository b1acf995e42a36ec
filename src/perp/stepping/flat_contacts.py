"""Compiled: contacts of two shapes that lie in a face of one of them act there.

Points of a rigid body that lie in one plane across the normal can all stick while it turns about a line of
that plane. Midway between surfaces that are not parallel they are at different heights; as their distances
do not change one of them would have to slip, whatever the friction: with μ = 1e8 a box that falls onto a
plane was jammed by impulses of 370 N·s, or thrown.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part

# Normals of contacts that are one, and the spread of their heights on a face over that on what touches it.
_PARALLEL, _FLAT = 1e-9, 1e-3
# Friction from which contacts lie flat. With less of it the one that has to slip does so at little cost, and
# Newton's method is better off without rows that depend on each other exactly (an arch that falls at 50 ms;
# tumbling cubes at 50 ms and heaps of cylinders would gain).
_ROUGH = 10.0
# Heights that do not differ, as a share of the largest body: midway is flat as well.
_NONE = 1e-6


@part
def lay_flat(w, first, end):
    """Let the contacts first … end − 1 of two shapes act on the surface that they lie flat on."""
    place = w.start
    n, low, high = place.frame[first, 0], np.full(2, np.inf), np.full(2, -np.inf)
    for c in range(first, end):
        lean = along = 0.0
        for k in range(3):
            lean += n[k] * place.frame[c, 0, k]
            along += n[k] * place.point[c, k]
        if lean < 1.0 - _PARALLEL or not place.friction[c, 0] > _ROUGH:
            return
        for side in range(2):
            height = along + (-0.5 if side == 0 else 0.5) * place.gap[c]
            low[side], high[side] = min(low[side], height), max(high[side], height)
    one, other = high[0] - low[0], high[1] - low[1]
    if max(one, other) <= _NONE * w.scene.size or min(one, other) > _FLAT * max(one, other):
        return
    share = -0.5 if one < other else 0.5
    for c in range(first, end):
        w.height[c] = share
        for side in range(2):
            for k in range(3):
                w.acts[c, side, k] += share * place.gap[c] * n[k]
