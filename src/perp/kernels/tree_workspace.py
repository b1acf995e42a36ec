"""Room for `tree_newton`: one struct a world, so that a solve allocates next to nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from perp.compilation.kernel import kernel, part
from perp.kernels.friction_laws import MOST_ROWS, ROOM
from perp.kernels.structs import StructType
from perp.kernels.tree_problem import TreeProblem

_I, _F, _F2, _F3 = types.int64[::1], types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]

WORKSPACE_FIELDS = [
    # islands of what was prepared, −1 where masses or rows are others now
    ("prepared", _I),
    # factor of M, as mass
    ("factor", _F),
    # the masses that it is of, NaN where there is none
    ("factored", _F),
    # tree of each freedom
    ("tree_of", _I),
    # mobility of the normal row of a constraint, of its tangential and of its angular rows
    ("mobility", _F2),
    # columns that the impulses of a constraint act on: the first, and the one after the last, in its row
    ("own", _I),
    ("own_end", _I),
    # constraints that act on each tree, from touch_start
    ("touch_start", _I),
    ("touch", _I),
    # islands: trees and constraints in order, and where those of an island begin
    ("parent", _I),
    ("island_of", _I),
    ("island_tree", _I),
    ("island_tree_start", _I),
    ("island_constraint", _I),
    ("island_constraint_start", _I),
    # worst residual and merit of each island at its start
    ("outcome", _F2),
    # A, K and f of the constraints, A Δλ + K L Δv = −f, and K L; A is 1 but where freedoms are impulses
    ("A", _F3),
    ("K", _F3),
    ("f", _F),
    ("KL", _F),
    # Newton matrix: diagonal blocks as mass; right-hand side, change of the velocities
    ("diagonal", _F),
    ("change", _F),
    # rows of one tree over the freedoms of its island, zero between uses; the column of each freedom there
    ("panel", _F2),
    ("place", _I),
    # the same of the columns of each constraint, where those of its first row are in J
    ("spot", _I),
    # impulses: where the proximal term pulls to, the best so far, one step ahead
    ("centre", _F),
    ("best", _F),
    ("pulled", _F),
    ("before", _F),
    ("kept", _F),
    # central path: slack of each row against its lower bound or cone, against its upper bound, their changes
    # and that of the impulses
    ("dual", _F),
    ("upper", _F),
    ("step", _F),
    ("dual_step", _F),
    ("upper_step", _F),
    # block of each friction set by itself, which of the two it is (1, 2; 0 for none), and whether the second
    # one is asked for, see `tree_blocks`
    ("block", _F3),
    ("which_block", _I),
    ("closed", _I),
    # numbers of one constraint: its law and its equations
    ("room", _F2),
]
WorkspaceType = StructType(WORKSPACE_FIELDS)


@kernel
def _pack(integers, vectors, planes, blocks):
    w = structref.new(WorkspaceType)  # pyright: ignore[reportCallIssue]
    w.tree_of, w.touch_start, w.touch, w.parent, w.island_of, w.island_tree = integers[:6]
    w.island_tree_start, w.island_constraint, w.island_constraint_start = integers[6:9]
    w.own, w.own_end, w.place, w.spot, w.which_block, w.closed, w.prepared = integers[9:]
    w.factor, w.factored, w.diagonal, w.KL, w.f, w.change, w.centre, w.best, w.pulled = vectors[:9]
    w.before, w.kept, w.dual, w.upper, w.step, w.dual_step, w.upper_step = vectors[9:]
    w.mobility, w.outcome, w.panel, w.room = planes
    w.A, w.K, w.block = blocks
    return w


WorkspaceView: Any = NamedTuple("WorkspaceView", [(name, Any) for name, _ in WORKSPACE_FIELDS])  # pyright: ignore[reportArgumentType]


@part
def workspace_view(w):
    """The arrays of the struct, borrowed as in `problem_view`."""
    return WorkspaceView(
        w.prepared, w.factor, w.factored, w.tree_of, w.mobility, w.own, w.own_end, w.touch_start,
        w.touch, w.parent, w.island_of, w.island_tree,
        w.island_tree_start, w.island_constraint, w.island_constraint_start,
        w.outcome, w.A, w.K, w.f, w.KL, w.diagonal,
        w.change, w.panel, w.place, w.spot, w.centre, w.best,
        w.pulled, w.before, w.kept, w.dual, w.upper,
        w.step, w.dual_step, w.upper_step, w.block, w.which_block, w.closed, w.room,
    )  # fmt: skip


def tree_workspace(problem: TreeProblem) -> object:
    """A workspace as large as the arrays of a problem."""
    n, trees = problem.velocity.size, problem.tree_start.size - 1
    constraints, rows, entries = problem.kind.size, problem.bias.size, problem.column.size
    size = np.diff(problem.tree_start)
    integers = tuple(
        np.zeros(count, np.int64)
        for count in (
            n, trees + 1, entries, trees, trees, trees, trees + 1, constraints, trees + 1, constraints,
            constraints, n, entries, constraints, 1, 1,
        )
    )  # fmt: skip
    integers[-1][0] = -1
    integers[0][:] = np.repeat(np.arange(trees), size)
    masses = problem.mass.size
    vectors = tuple(np.zeros(count) for count in (masses, masses, masses, entries, rows, n, *(rows,) * 10))
    vectors[1][:] = np.nan
    shapes = (constraints, 3), (trees, 2), (int(size.max(initial=0)), n), ROOM
    planes = tuple(np.zeros(shape) for shape in shapes)
    A = np.zeros((constraints if problem.count[2] else 0, MOST_ROWS, MOST_ROWS))
    K = np.zeros((constraints, MOST_ROWS, MOST_ROWS))
    block = np.zeros((constraints, MOST_ROWS, MOST_ROWS))
    return _pack(integers, vectors, planes, (A, K, block))
