"""How fast each tree undoes overlap in a step: not at all for a while where its island had no answer to that.

Shapes that nothing can separate and limits that contradict each other leave an island without an answer as
long as it is to undo them. It alone goes on without; after pauses of 1, 2, 4, … steps it is asked to again.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part
from perp.dynamics.rows import LIMIT
from perp.kernels.arrays import fill
from perp.stepping.world import JOINTS, LAST_PAUSES, PAUSES

# Steps of the longest pause.
_LONGEST = 256


@part
def begin_pauses(w):
    """Speeds at which the trees undo overlap in the step that begins."""
    for t in range(w.undoing.size):
        w.undoing[t] = 0.0 if w.count[PAUSES + 2 * t] else w.recovery_speed


@part
def recovery_of(w, k):
    """How fast constraint k may undo an error [m/s]: as the slower one of its trees."""
    p, tree = w.problem, w.workspace.tree_of
    first, last = p.row_begin[p.start[k]], p.row_begin[p.start[k] + 1] - 1
    return min(w.undoing[tree[p.column[first]]], w.undoing[tree[p.column[last]]])


@part
def recovery_between(w, bodies):
    """The same of two bodies that touch at the end."""
    speed = np.inf
    for b in bodies:
        t = w.body_tree[b] if b >= 0 else -1
        if t >= 0:
            speed = min(speed, w.undoing[t])
    return speed


@part
def mark_stuck(w, enough):
    """Mark the trees of islands that a solve left without an answer, off by more than `enough` units."""
    work = w.workspace
    fill(w.stuck, 0)
    if not w.solve_info[1] or work.prepared[0] < 0:
        return
    for k in range(w.solve_info[0]):
        if work.outcome[k, 0] <= enough:
            continue
        for a in range(work.island_tree_start[k], work.island_tree_start[k + 1]):
            w.stuck[work.island_tree[a]] = 1


@part
def _is_off(w, c):
    """Whether the shapes of constraint c overlap at the start, or its limit is exceeded, beyond tolerance."""
    if c < w.count[JOINTS]:
        return w.law[c] == LIMIT and w.value[c] < 0.0
    c -= w.count[JOINTS]
    return w.start.gap[c] < -w.start.accuracy[c] and not w.left_out[c]


@part
def tries_again(w):
    """Whether anything that had no answer is asked to undo its overlap again."""
    p, tree = w.problem, w.workspace.tree_of
    for c in range(p.count[0]):
        t = tree[p.column[p.row_begin[p.start[c]]]]
        if w.undoing[t] > 0.0 and w.count[LAST_PAUSES + 2 * t] and _is_off(w, c):
            return True
    return False


@part
def pause_stuck(w):
    """Islands without an answer do not undo overlap in this step; returns whether any had some to undo."""
    p, work, some = w.problem, w.workspace, False
    for c in range(p.count[0]):
        t = work.tree_of[p.column[p.row_begin[p.start[c]]]]
        if not w.stuck[t] or w.undoing[t] == 0.0 or not _is_off(w, c):
            continue
        some = True
        k = work.island_of[t]
        for a in range(work.island_tree_start[k], work.island_tree_start[k + 1]):
            w.undoing[work.island_tree[a]] = 0.0
    return some


@part
def lengthen_pauses(w):
    """Islands that were not to undo overlap in this step, and have an answer now, pause twice as long."""
    count = w.count
    for t in range(w.undoing.size):
        if w.undoing[t] == 0.0 and not count[PAUSES + 2 * t] and not w.stuck[t]:
            count[LAST_PAUSES + 2 * t] = min(max(2 * count[LAST_PAUSES + 2 * t], 1), _LONGEST)
            count[PAUSES + 2 * t] = count[LAST_PAUSES + 2 * t] + 1


@part
def count_down(w):
    """A step of each pause is over; where there was none the next one is shorter."""
    for t in range(w.undoing.size):
        if w.count[PAUSES + 2 * t]:
            w.count[PAUSES + 2 * t] -= 1
        else:
            w.count[LAST_PAUSES + 2 * t] //= 2
