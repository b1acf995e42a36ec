"""What the rows of a step are held against: its speed and length, and from them the unit of each row."""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.dynamics.motions import body_velocities
from perp.kernels.tree_rows import times, times_three
from perp.stepping.verdict import SHARE
from perp.stepping.world import JOINTS

# A body that needs longer than this many seconds to move its own size counts as at rest.
_SLOWEST_SPEED = 1e-8
_STEPS_PER_LENGTH = 10.0
_SIZES = 10.0
_ROUND_OFF = 2e-15
# What contact problems may leave of the free velocity, over the tolerance.
_SOLVABLE = 0.2


@part
def scales(w):
    """What velocities [m/s] and positions [m] of the step are held against, and the units of the rows.

    Velocities: the free velocity of the rows, or of a fast body. Positions: the bodies' size; less in short
    steps, where a gap is a force: a gap error ε is a force error m ε / h², so ε is kept in proportion to the
    distance travelled in the step, down to what round-off of the coordinates allows.
    """
    s, p, h = w.scene, w.problem, w.h
    far = fast = squares = 0.0
    body_velocities(s, w.start, p.free_velocity, w.twist, w.body_velocity)
    for b in range(s.mass.size):
        for k in range(3):
            far = max(far, abs(w.start.x[b, k]))
            fast = max(fast, max(abs(w.body_velocity[b, k]), s.size * abs(w.body_velocity[b, 3 + k])))
    for c in range(p.count[0]):
        i, last = p.start[c], p.start[c + 1]
        while i < last:
            begin, end = p.row_begin[i], p.row_begin[i + 1]
            if i + 3 <= last:
                one, two, three = times_three(
                    p.column, p.value, (begin, end), p.free_velocity, (0.0, 0.0, 0.0)
                )
                squares += one * one + two * two + three * three
                i += 3
            else:
                squares += times(p.column, p.value, begin, end, p.free_velocity) ** 2
                i += 1
    g = s.gravity
    gained = h * math.sqrt(g[0] ** 2 + g[1] ** 2 + g[2] ** 2)
    speed = max(_SLOWEST_SPEED * s.size, fast, math.sqrt(squares), gained)
    wanted = _STEPS_PER_LENGTH * h * (gained if gained > 0.0 else speed)
    solvable = min(_SOLVABLE * h * speed, _SIZES * s.size)
    w.speed = speed
    w.length = max(min(s.size, wanted), solvable, _ROUND_OFF * (s.size + far) / w.tolerance)
    set_units(w)


@part
def set_units(w):
    """What a solve may leave of each row."""
    p = w.problem
    position, velocity = SHARE * w.tolerance * w.length / w.h, SHARE * w.tolerance * w.speed
    for c in range(p.count[0]):
        first = p.start[c]
        for i in range(first, p.start[c + 1]):
            if c < w.count[JOINTS]:
                p.unit[i] = position if w.gain[c] == np.inf and w.drive[c] == 0.0 else velocity
            else:
                p.unit[i] = (
                    position if i == first else (velocity if i - first < 3 else velocity / w.scene.size)
                )
