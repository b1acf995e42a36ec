"""A packed problem as one by trees, so that Newton's method and central paths exist once.

    v = D λ,   u = W D⁻¹ v + q

Constraints are trees whose velocities are their impulses in units of their own mobility: M = D⁻¹ with D the
diagonal of W, J the identity, and W what velocities are measured along. The block elimination by trees is
then that of W by constraints; neighbours in the list that W couples with the same others, as the contacts
of two boxes, are one tree.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.friction_laws import RELAXED
from perp.kernels.packed import Packed, view
from perp.kernels.tree_problem import TreeProblem, problem_view
from perp.kernels.tree_state import own_mass
from perp.problems.set_kernels import BOX, COULOMB, ROLLING

# Rows of a tree at most: larger blocks of the elimination are not faster.
_MOST = 24


@kernel(nogil=True)
def _tree_of(packed, tree):
    """The tree of each constraint; returns how many there are."""
    b = view(packed)
    last, rows = -1, _MOST
    for c in range(b.mu.size):
        first, count, size = b.first[c], b.first[c + 1] - b.first[c], b.start[c + 1] - b.start[c]
        same = c > 0 and rows + size <= _MOST and b.first[c] - b.first[c - 1] == count
        k = 0
        while same and k < count:
            same = b.column[first + k] == b.column[first - count + k]
            k += 1
        if not same:
            last, rows = last + 1, 0
        tree[c] = last
        rows += size
    return last + 1


@kernel(nogil=True)
def _fill(packed, tree, problem):
    """The arrays of the tree problem from those of the packed one."""
    b, p = view(packed), problem_view(problem)
    count = b.mu.size
    p.count[0], p.count[1], p.count[2] = count, b.q.size, 1
    p.start[count] = b.start[count]
    for c in range(count):
        i, size = b.start[c], b.start[c + 1] - b.start[c]
        p.start[c], at = i, b.at[b.diagonal[c]]
        if b.mu[c] < 0.0:
            p.kind[c], p.parameter[c, 0], p.parameter[c, 1] = BOX, b.low[c], b.high[c]
        else:
            p.kind[c] = (ROLLING if b.mu_r[c] >= 0.0 else COULOMB) + (RELAXED if b.relaxed else 0)
            p.parameter[c, 0], p.parameter[c, 1] = b.mu[c], b.mu_r[c]
        for r in range(size):
            own = b.data[at + r * (size + 1)]
            p.mass[own_mass(p, tree[c], i + r)] = 1.0 / (own if own > 0.0 else b.d[c])
            p.bias[i + r] = b.q[i + r]
    end = 0
    for c in range(count):
        i, size = b.start[c], b.start[c + 1] - b.start[c]
        for r in range(size):
            p.row_begin[i + r] = end
            for k in range(b.first[c], b.first[c + 1]):
                o = b.column[k]
                width = b.start[o + 1] - b.start[o]
                for s in range(width):
                    unit = p.mass[own_mass(p, tree[o], b.start[o] + s)]
                    p.column[end] = b.start[o] + s
                    p.value[end] = 1.0 if o == c and s == r else 0.0
                    p.left[end] = b.data[b.at[k] + r * width + s] * unit
                    end += 1
    p.row_begin[b.start[count]] = end


def tree_count(packed: Packed) -> int:
    """How many trees `trees_of` makes."""
    return _tree_of(packed.struct, np.empty(packed.blocks.mu.size, np.int64))


def trees_of(packed: Packed, impulse: np.ndarray, unit: float) -> TreeProblem:
    """The tree problem of a packed one.

    Args:
        packed: The problem.
        impulse: Packed impulses to start from, shape (rows,).
        unit: What the residual is held against, in units of what is at work at a constraint.
    """
    blocks = packed.blocks
    size = np.diff(blocks.start)
    tree = np.empty(size.size, np.int64)
    count = _tree_of(packed.struct, tree)
    trees = TreeProblem(
        np.bincount(tree, size, count).astype(np.int64), size.size, packed.rows, blocks.data.size
    )
    _fill(packed.struct, tree, trees.struct)
    trees.unit[:] = np.repeat(unit * blocks.size, size)
    trees.impulse[:] = impulse
    return trees
