"""Compiled: impulses of contacts from step to step, as a start, by the shapes and points they belong to."""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.arrays import fill
from perp.kernels.borrowed import numbers_of, onward
from perp.stepping.contact_rows import pair_of
from perp.stepping.world import CONTACTS, JOINTS, LATE

# Contacts that have moved by less of the largest body's size are those of the last step.
_STAYED = 1e-3
# How much softer than now a contact may have been a step ago.
_FALLS = 4.0


@part
def recall(w):
    """Impulses of matched contacts of the last step as a start; see `remember`.

    Contacts of the same two shapes are paired where they have stayed, then the others, nearest points first.
    """
    old, n = w.old_count[0], w.count[CONTACTS]
    used, paired = np.zeros(old, np.bool_), np.zeros(n, np.bool_)
    stayed = (_STAYED * w.scene.size) ** 2
    if _pair(w, stayed, used, paired) < min(old, n):
        _pair(w, np.inf, used, paired)


@part
def _pair(w, furthest, used, paired):
    """Pair contacts with unused ones of the last step that are no further than this; returns how many."""
    place, low, old, found = w.start, 0, w.old_count[0], 0
    geom, first, last, sought = place.geom, 0, 0, -1
    for c in range(paired.size):
        if paired[c]:
            continue
        # contacts of a pair follow each other, and pairs come in the same order at every step as a rule
        if sought < 0 or geom[c, 0] != geom[sought, 0] or geom[c, 1] != geom[sought, 1]:
            first, last = pair_of(w.old_geom, geom[c], max(last, low), old)
            sought = c
        if first == last:
            continue
        low, best, nearest = first, -1, np.inf
        at = 3 if place.body[c, 1] >= 0 else 0
        point = onward(numbers_of(w.local, c), at)
        for j in range(first, last):
            if not used[j]:
                distance, before = 0.0, onward(numbers_of(w.old_local, j), at)
                for r in range(3):
                    distance += (point[r] - before[r]) ** 2
                if distance < nearest:
                    best, nearest = j, distance
        if best >= 0 and nearest <= furthest:
            used[best] = paired[c] = True
            found += 1
            if not w.left_out[c]:
                _recall_one(w, c, best)
    return found


@part
def _recall_one(w, c, old):
    """The impulse of a contact of the last step for contact c."""
    p, place, i = w.problem, w.start, w.problem.start[w.count[JOINTS] + c]
    force, frame = numbers_of(w.old_force, old), numbers_of(place.frame, c)
    for r in range(p.start[w.count[JOINTS] + c + 1] - i):
        f, axis = (force, onward(frame, 3 * r)) if r < 3 else (onward(force, 3), onward(frame, 3 * r - 9))
        p.impulse[i + r] = w.h * (f[0] * axis[0] + f[1] * axis[1] + f[2] * axis[2])
    if w.gives:
        # compliance of a file falls with the gap, so that the last step's was another one
        soft = _FALLS * (w.contact_compliance + place.soft[c])
        w.sag[c] = min(max(-place.gap[c], 0.0), max(0.0, soft * p.impulse[i] / w.h))


@part
def remember(w):
    """Keep the impulses of a finished step, as forces in the world; those of late contacts too."""
    p, place, n = w.problem, w.start, w.count[CONTACTS]
    if n > w.old_local.shape[0]:
        w.old_geom = np.zeros((2 * n, 2), np.int64)
        w.old_local, w.old_force = np.zeros((2 * n, 2, 3)), np.zeros((2 * n, 2, 3))
    w.old_count[0] = n
    for c in range(n):
        i = p.start[w.count[JOINTS] + c]
        rows = 0 if w.left_out[c] else p.start[w.count[JOINTS] + c + 1] - i
        w.old_geom[c, 0], w.old_geom[c, 1] = place.geom[c, 0], place.geom[c, 1]
        points, local = numbers_of(w.old_local, c), numbers_of(w.local, c)
        force, frame = numbers_of(w.old_force, c), numbers_of(place.frame, c)
        for k in range(6):
            points[k], force[k] = local[k], 0.0
        for r in range(rows):
            push, at, axis = p.impulse[i + r] / w.h, 0 if r < 3 else 3, 3 * r if r < 3 else 3 * r - 9
            for k in range(3):
                force[at + k] += push * frame[axis + k]
    fill(w.old_joint, 0.0)
    for k in range(w.count[JOINTS]):
        w.old_joint[w.scene.identity_base[w.group[k]] + w.index[k]] = p.impulse[k] / w.h
    w.count[LATE] = 0
