"""Restitution that creates no energy: Newton's law, scaled down in islands where it would.

A contact that closes faster than a fall of two steps leaves with e times its speed of approach. With
friction, or several contacts at once, that law can create energy (Kane's paradox). The coefficients of an
island are therefore multiplied by the largest s in [0, 1] for which its step gains none,

    P(s) = ½ v⁺ᵀ M v⁺ − ½ v⁻ᵀ M v⁻ − h fᵀ v⁺ ≤ 0

with f all forces but the constraints' and v⁺ the velocity after the impulses, found by regula falsi and only
at impacts. s = 1 where Newton's law is consistent: a frictionless ball, a row of balls. The scaling is that
of the energetic coefficient of Stronge, applied to all contacts of an impact together.

References: Stronge, Impact Mechanics (2000), chapter 3; Glocker and Pfeiffer, Multiple impacts with
friction in rigid multibody systems (1995).
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part
from perp.stepping.contact_rows import bounces
from perp.stepping.feeding import power
from perp.stepping.world import JOINTS

# The scale is found to this accuracy, from below: energies are convex in it where nothing else changes, and
# the chord is then on the safe side. The least part of a bracket that is left behind.
_ACCURACY, _LEAST = 1e-3, 0.1
_SOLVES = 8
# Energy that is round-off, as a share of the kinetic energy.
_ROUND_OFF = 1e-9


@part
def too_lively(w, solves):
    """Whether restitution was lowered somewhere because the step would gain energy.

    To be called after each solve.
    """
    work, joints, changed = w.workspace, w.count[JOINTS], False
    for k in range(w.solve_info[0]):
        begin, end = work.island_constraint_start[k], work.island_constraint_start[k + 1]
        some = -1
        for a in range(begin, end):
            c = work.island_constraint[a] - joints
            if c >= 0 and w.start.restitution[c] > 0.0 and bounces(w, c):
                some = c
                break
        if some < 0:
            continue
        low, low_gain, high, high_gain, scale = w.lively[some]
        gain, kinetic = power(w, k)
        gains = gain > _ROUND_OFF * kinetic
        if scale == (0.0 if gains else 1.0):
            continue
        if gains:
            high, high_gain = scale, gain
        else:
            low, low_gain = scale, gain
        share = -low_gain / (high_gain - low_gain) if high_gain > low_gain else 0.5
        new = low + min(max(share, _LEAST), 1.0 - _ACCURACY) * (high - low)
        if low_gain == np.inf:
            new = 0.0
        elif new - low <= _ACCURACY or solves >= _SOLVES:
            new = low
        if new == scale:
            continue
        changed = True
        for a in range(begin, end):
            c = work.island_constraint[a] - joints
            if c >= 0:
                w.bounce[c] = new * w.start.restitution[c]
                line = w.lively[c]
                line[0], line[1], line[2], line[3], line[4] = low, low_gain, high, high_gain, new
    return changed
