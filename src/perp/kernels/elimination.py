"""The order in which constraints are eliminated, and where the factors will have entries.

Exact minimum degree on the graph of constraints that act on each other, with rows of bits as the adjacency:
the vertex with the fewest neighbours goes first, and its neighbours become neighbours of each other. Costs
count² / 64 words for each neighbour of each constraint, and is done once per problem.

Reference: George and Liu, The Evolution of the Minimum Degree Ordering Algorithm (1989).
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part


@part
def _bits(word):
    """How many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@part
def _members(words, out):
    """The positions of set bits, ascending, and their number."""
    count = 0
    for w in range(words.size):
        word = words[w]
        while word != np.uint64(0):
            lowest = word & (~word + np.uint64(1))
            out[count] = 64 * w + _bits(lowest - np.uint64(1))
            count += 1
            word ^= lowest
    return count


@part
def eliminate(first, column):
    """Order and structure of the factors of a block matrix with a symmetric pattern.

    Returns:
        order: Constraints in the order of elimination.
        upper, upper_index: For constraint v, those later ones that its row of U reaches.
        lower, lower_index: For constraint v, those earlier ones that reach it, in the order of elimination.
    """
    n = first.size - 1
    words = (n + 63) // 64
    one = np.uint64(1)
    near = np.zeros((n, words), np.uint64)
    for c in range(n):
        for k in range(first[c], first[c + 1]):
            o = column[k]
            if o != c:
                near[c, o >> 6] |= one << np.uint64(o & 63)
                near[o, c >> 6] |= one << np.uint64(c & 63)
    degree = np.zeros(n, np.int64)
    for c in range(n):
        for w in range(words):
            degree[c] += _bits(near[c, w])
    order = np.empty(n, np.int64)
    upper = np.zeros(n + 1, np.int64)
    reached = np.zeros(n + 1, np.int64)
    members = np.empty(n, np.int64)
    done = np.zeros(n, np.bool_)
    for step in range(n):
        v = -1
        for c in range(n):
            if not done[c] and (v < 0 or degree[c] < degree[v]):
                v = c
        order[step] = v
        done[v] = True
        count = _members(near[v], members)
        upper[v + 1] = count
        for m in range(count):
            u = members[m]
            total = 0
            for w in range(words):
                near[u, w] |= near[v, w]
            near[u, u >> 6] &= ~(one << np.uint64(u & 63))
            near[u, v >> 6] &= ~(one << np.uint64(v & 63))
            for w in range(words):
                total += _bits(near[u, w])
            degree[u] = total
            reached[u + 1] += 1
    upper, lower = np.cumsum(upper), np.cumsum(reached)
    upper_index, lower_index = np.empty(upper[n], np.int64), np.empty(lower[n], np.int64)
    filled = lower[:n].copy()
    for step in range(n):
        v = order[step]
        # the bits of an eliminated constraint are no longer changed: they are its row of U
        count = _members(near[v], members)
        for m in range(count):
            u = members[m]
            upper_index[upper[v] + m] = u
            lower_index[filled[u]] = v
            filled[u] += 1
    return order, upper, upper_index, lower, lower_index
