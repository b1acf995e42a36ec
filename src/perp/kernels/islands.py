"""Islands: independent groups of constraints of a packed problem, found and cut out in compiled code."""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.packed import Blocks


@kernel(nogil=True)
def groups(first, column):
    """The group of each constraint, numbered in the order of their first members, and how many there are.

    Args:
        first: Offsets of the blocks of each constraint in `column`, shape (count + 1,).
        column: The constraints that it meets; a pattern that is not symmetric couples both ways.
    """
    count = first.size - 1
    parent = np.arange(count)
    for c in range(count):
        for k in range(first[c], first[c + 1]):
            a, b = c, column[k]
            while parent[a] != a:
                parent[a] = parent[parent[a]]
                a = parent[a]
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = parent[b]
            # the smaller number is the root: a group is met first at its root
            parent[max(a, b)] = min(a, b)
    group, total = np.empty(count, np.int64), 0
    for c in range(count):
        root = c
        while parent[root] != root:
            root = parent[root]
        if root == c:
            group[c] = total
            total += 1
        else:
            group[c] = group[root]
    return group, total


@kernel(nogil=True)
def restrict(blocks, members):
    """The problem of some constraints, ascending, that no other one acts on."""
    count = members.size
    place = np.empty(blocks.start.size - 1, np.int64)
    start, first = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    for k in range(count):
        c = members[k]
        place[c] = k
        start[k + 1] = start[k] + blocks.start[c + 1] - blocks.start[c]
        first[k + 1] = first[k] + blocks.first[c + 1] - blocks.first[c]
    column, diagonal = np.empty(first[count], np.int64), np.empty(count, np.int64)
    at = np.zeros(first[count] + 1, np.int64)
    for k in range(count):
        c = members[k]
        diagonal[k] = first[k] + blocks.diagonal[c] - blocks.first[c]
        for j in range(first[k], first[k + 1]):
            old = blocks.first[c] + j - first[k]
            column[j] = place[blocks.column[old]]
            at[j + 1] = at[j] + blocks.at[old + 1] - blocks.at[old]
    data, scale, q = np.empty(at[first[count]]), np.empty(start[count]), np.empty(start[count])
    row, stretch = np.empty(start[count], np.int64), np.empty(start[count])
    for k in range(count):
        c = members[k]
        for i in range(start[k + 1] - start[k]):
            old = blocks.start[c] + i
            row[start[k] + i], scale[start[k] + i] = blocks.row[old], blocks.scale[old]
            stretch[start[k] + i], q[start[k] + i] = blocks.stretch[old], blocks.q[old]
        shift = blocks.at[blocks.first[c]] - at[first[k]]
        for p in range(at[first[k]], at[first[k + 1]]):
            data[p] = blocks.data[p + shift]
    return Blocks(
        start, row, blocks.low[members], blocks.high[members], blocks.mu[members], blocks.mu_r[members],
        stretch, scale, q, first, column, at, diagonal, data, blocks.d[members],
        blocks.size[members], blocks.relaxed,
    )  # fmt: skip
