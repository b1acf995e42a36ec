"""Islands that are at rest for long enough are frozen until something touches them.

A sleeping tree has no weight, no contacts and no velocity: it stays where it is, to the last bit. Its
island wakes as a whole when a tree that is awake comes within reach of it, when a force on one of its
bodies changes or someone moves one. Contacts among sleepers cost nothing and are not in the record.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from perp.collision.finding import copy_line
from perp.compilation.kernel import kernel, part
from perp.kernels.arrays import fill

# A body whose surface moves by less than this share of its size in a second is at rest.
_AT_REST = 1e-6


def trees_of(m: Any, reduced: bool, bodies: int) -> dict[str, np.ndarray]:
    """Tree of each movable body, and where the coordinates of each tree begin, with their number."""
    if not reduced:
        return {"body_tree": np.arange(bodies), "tree_q": 7 * np.arange(bodies + 1)}
    movable = np.flatnonzero(m.body_weldid > 0)
    first = np.full(int(m.ntree) + 1, int(m.nq))
    for j in range(m.njnt - 1, -1, -1):
        first[m.body_treeid[m.jnt_bodyid[j]]] = m.jnt_qposadr[j]
    return {
        "body_tree": np.array(m.body_treeid[movable], dtype=np.int64), "tree_q": first.astype(np.int64),
    }  # fmt: skip


@part
def wake_island(w, tree):
    """Wake a tree and all that fell asleep with it."""
    time, island = w.still_time, w.sleep_island
    if time[tree] < np.inf:
        time[tree] = 0.0
        return
    number = island[tree]
    for t in range(time.size):
        if time[t] == np.inf and island[t] == number:
            time[t] = 0.0


@part
def disturb(w):
    """Wake those that were moved, that another force acts on, or that trees awake may touch.

    Contacts among sleepers are dropped. Between `collect` and `assemble`.
    """
    p, place = w.problem, w.start
    time, body_tree, wrench = w.still_time, w.body_tree, w.sleep_wrench
    for t in range(time.size):
        for j in range(p.tree_start[t], p.tree_start[t + 1]):
            if w.v[j] != 0.0 and time[t] == np.inf:
                wake_island(w, t)
    for b in range(wrench.shape[0]):
        for k in range(6):
            if wrench[b, k] != w.wrench[b, k] and time[body_tree[b]] == np.inf:
                wake_island(w, body_tree[b])
            wrench[b, k] = w.wrench[b, k]
    again = True
    while again:
        again = False
        for c in range(place.count[0]):
            a, b = place.body[c, 0], place.body[c, 1]
            if a < 0 or b < 0:
                continue
            s, t = body_tree[a], body_tree[b]
            if (time[s] == np.inf) != (time[t] == np.inf):
                wake_island(w, s if time[s] == np.inf else t)
                again = True
    for t in range(time.size):
        if time[t] == np.inf:
            for j in range(p.tree_start[t], p.tree_start[t + 1]):
                w.force[j] = 0.0
    kept = 0
    for c in range(place.count[0]):
        awake = False
        for side in range(2):
            b = place.body[c, side]
            awake = awake or (b >= 0 and time[body_tree[b]] < np.inf)
        if awake:
            copy_line(place, kept, place, c)
            place.gap[kept] = place.gap[c]
            kept += 1
    place.count[0] = kept


@part
def fall_asleep(w):
    """How long trees have rested after a step; those asleep stay to the last bit. Before `finish`."""
    p, s = w.problem, w.scene
    time, island, body_tree, tree_q = w.still_time, w.sleep_island, w.body_tree, w.tree_q
    trees = time.size
    moving = np.zeros(trees, np.bool_)
    for b in range(body_tree.size):
        u = w.body_velocity[b]
        speed = math.sqrt(u[0] ** 2 + u[1] ** 2 + u[2] ** 2)
        speed += s.bound[b] * math.sqrt(u[3] ** 2 + u[4] ** 2 + u[5] ** 2)
        if not speed <= _AT_REST * (s.bound[b] if s.bound[b] > 0.0 else 1.0):
            moving[body_tree[b]] = True
    parent = np.arange(trees)
    tree_of = w.workspace.tree_of
    for c in range(p.count[0]):
        i = p.start[c]
        first = tree_of[p.column[p.row_begin[i]]]
        for e in range(p.row_begin[i], p.row_begin[i + 1]):
            a, b = first, tree_of[p.column[e]]
            while parent[a] != a:
                a = parent[a]
            while parent[b] != b:
                b = parent[b]
            parent[max(a, b)] = min(a, b)
    least = np.full(trees, np.inf)
    for t in range(trees):
        if time[t] < np.inf:
            time[t] = 0.0 if moving[t] else time[t] + w.h
        root = t
        while parent[root] != root:
            root = parent[root]
        least[root] = min(least[root], time[t])
    for t in range(trees):
        root = t
        while parent[root] != root:
            root = parent[root]
        if time[t] < np.inf and least[root] >= w.sleep:
            time[t], island[t] = np.inf, root
        if time[t] == np.inf:
            for j in range(p.tree_start[t], p.tree_start[t + 1]):
                w.v_end[j] = 0.0
            for k in range(tree_q[t], tree_q[t + 1]):
                w.q_end[k] = w.q[k]
    for b in range(body_tree.size):
        if time[body_tree[b]] == np.inf:
            w.body_velocity[b] = 0.0
            w.end.x[b], w.end.quat[b], w.end.R[b] = w.start.x[b], w.start.quat[b], w.start.R[b]


@kernel
def wake(w, body):
    """Wake the island of a body, or all where it is negative."""
    if body < 0:
        fill(w.still_time, 0.0)
    else:
        wake_island(w, w.body_tree[body])
