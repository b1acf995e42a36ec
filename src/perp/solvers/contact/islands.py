"""Independent groups of contacts, solved apart.

Constraints that no entry of W couples, not even through others, are separate problems. Sweeps do not care,
but Newton steps, their line search and their restarts do: one hard island would make all others repeat. Each
island that the sweeps have left unsolved goes through the later stages on its own. The residual of the whole
is that of its worst island. The search costs one pass over the blocks of W.

Reference: Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1 (1972).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from perp.problems import ContactProblem, Status
from perp.problems.residual import judge
from perp.problems.validation import is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.contact.stages import Stages


def find_islands(first: np.ndarray, column: np.ndarray) -> tuple[int, np.ndarray]:
    """Number of islands, and which one each constraint is on, shape (count,).

    Args:
        first: Offsets of the blocks of each constraint in `column`, shape (count + 1,).
        column: The constraints that it meets.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count = first.size - 1
    graph = csr_array((np.ones(column.size, dtype=np.int8), column, first), shape=(count, count))
    return connected_components(graph, directed=True, connection="weak")


def solve_apart(stages: Stages, count: int, island: np.ndarray) -> Attempt:
    """The later stages on each island that the sweeps have left unsolved.

    Args:
        stages: The whole problem after its sweeps.
        count: Number of islands.
        island: Which one each constraint is on.
    """
    problem, control = stages.problem, stages.control
    impulse = stages.blocks.scale * stages.best
    reasons: list[Status | None] = []
    for rows, part in _parts(problem, island, np.arange(count)):
        if judge(part, impulse[rows])[0] <= control.tol:
            continue
        if control.out_of_time() or stages.exhausted():
            break
        inner = Control(
            lambda z, part=part: judge(part, z)[0],
            tol=control.tol,
            max_iterations=None if control.max_iterations is None else stages.limit - stages.iterations,
            time_limit=control.remaining(),
        )
        alone = Stages(part, inner)
        alone.begin(impulse[rows])
        attempt = alone.finish(alone.check() or alone.after_sweeps())
        impulse[rows] = attempt.z
        stages.steps += attempt.iterations
        stages.starts = max(stages.starts, alone.starts)
        reasons.append(attempt.reason)
        if control.watched:
            control.check(stages.iterations, impulse)
    stages.continue_from(impulse)
    stop = stages.check()
    if not stop and not any(reasons) and not stages.exhausted():
        stop = stages.after_sweeps()
    attempt = stages.finish(stop)
    attempt.info.update(islands=count, solved_apart=len(reasons))
    return attempt


def _parts(
    problem: ContactProblem, island: np.ndarray, wanted: np.ndarray
) -> Iterator[tuple[np.ndarray, ContactProblem]]:
    """Each wanted island with its rows and its problem."""
    W: Any = problem.W
    sets = problem.sets
    order = np.argsort(island, kind="stable")
    begin = np.searchsorted(island[order], np.arange(island.max() + 2))
    dimension = sets.dimension[order]
    row_begin = np.concatenate([[0], np.cumsum(dimension)])
    rows = np.repeat(sets.start[order] - row_begin[:-1], dimension) + np.arange(problem.size)
    if is_sparse(W):
        W = W[rows][:, rows]
    for k in wanted:
        low, high = int(row_begin[begin[k]]), int(row_begin[begin[k + 1]])
        chosen = rows[low:high]
        block = _diagonal_block(W, low, high) if is_sparse(W) else W[np.ix_(chosen, chosen)]
        members = sets.subset(order[begin[k] : begin[k + 1]])
        yield chosen, ContactProblem(block, problem.q[chosen], members, relaxed=problem.relaxed)


def _diagonal_block(W: Any, low: int, high: int) -> Any:
    """Rows and columns low … high − 1 of a matrix whose other entries in these rows are zero."""
    from scipy.sparse import csr_array

    first, last = W.indptr[low], W.indptr[high]
    parts = (W.data[first:last], W.indices[first:last] - low, W.indptr[low : high + 1] - first)
    return csr_array(parts, shape=(high - low, high - low))
