"""Islands: groups of contacts that nothing couples, solved apart.

Constraints that no entry of W couples, not even through others, are separate problems. Sweeps do not care,
but Newton steps and their line search do: one hard island would make all others repeat. The residual of the
whole is that of its worst island. The search costs one pass over the blocks of W.

Reference: Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1 (1972).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.problems import ContactProblem
from perp.problems.residual import judge
from perp.problems.validation import Vector, freeze, is_sparse


def find_islands(problem: ContactProblem) -> tuple[int, np.ndarray]:
    """Number of islands, and which one each constraint is on, shape (count,)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    from perp.kernels.packed import pack

    blocks, count = pack(problem).blocks, problem.contact_count
    entries = np.ones(blocks.column.size, dtype=np.int8)
    graph = csr_array((entries, blocks.column, blocks.first), shape=(count, count))
    return connected_components(graph, directed=True, connection="weak")


def unsolved_islands(
    problem: ContactProblem, impulse: Vector, tol: float
) -> list[tuple[np.ndarray, ContactProblem]] | None:
    """Rows and problem of each island that the impulses leave unsolved; None where there is one only."""
    count, island = find_islands(problem)
    if count == 1:
        return None
    W: Any = problem.W
    sets = problem.sets
    order = np.argsort(island, kind="stable")
    begin = np.searchsorted(island[order], np.arange(count + 1))
    dimension = sets.dimension[order]
    row_begin = np.concatenate([[0], np.cumsum(dimension)])
    rows = np.repeat(sets.start[order] - row_begin[:-1], dimension) + np.arange(problem.size)
    if is_sparse(W):
        W = W[rows][:, rows]
    error = constraint_residuals(problem, impulse)
    parts = []
    for k in np.flatnonzero(np.maximum.reduceat(error[order], begin[:-1]) > tol):
        low, high = int(row_begin[begin[k]]), int(row_begin[begin[k + 1]])
        chosen = rows[low:high]
        block = _diagonal_block(W, low, high) if is_sparse(W) else W[np.ix_(chosen, chosen)]
        members = sets.subset(order[begin[k] : begin[k + 1]])
        part = ContactProblem(block, problem.q[chosen], members, relaxed=problem.relaxed, copy=False)
        parts.append((chosen, part))
    return parts


def constraint_residuals(problem: ContactProblem, impulse: Vector) -> Vector:
    """The residual of each constraint by itself, shape (count,); the largest is that of the problem."""
    from perp.problems.law_kernels import violation

    _, u = judge(problem, impulse)
    sets, values = problem.sets, np.empty(problem.size)
    violation(
        sets.kind, sets.start, sets.parameters, problem.mobility, problem.rolling_length, problem.relaxed,
        freeze(impulse.copy()), u, np.empty(problem.size), values,
    )  # fmt: skip
    return np.sqrt(np.add.reduceat(values**2, sets.start[:-1])) / problem.data_size


def _diagonal_block(W: Any, low: int, high: int) -> Any:
    """Rows and columns low … high − 1 of a matrix whose other entries in these rows are zero."""
    from scipy.sparse import csr_array

    first, last = W.indptr[low], W.indptr[high]
    parts = (W.data[first:last], W.indices[first:last] - low, W.indptr[low : high + 1] - first)
    return csr_array(parts, shape=(high - low, high - low))
