"""A contact problem in dynamics form as structs of flat arrays: mass by trees, Jacobian by rows.

    M (v − v̂) = Jᵀ λ,   u = L v + b + Σ λ,   −(u + Γ(u)) ∈ N_K(λ)

J is what impulses act along and L what velocities are measured along: the same, except where a time step has
taken its rows again at its end. A struct is one pointer for the compiled code; arrays may be longer than what
is in use, which `count` tells, so that a world keeps one struct from step to step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from perp.compilation.kernel import kernel, part
from perp.kernels.structs import StructType

_I, _F, _F2 = types.int64[::1], types.float64[::1], types.float64[:, ::1]

PROBLEM_FIELDS = [
    # how many constraints and rows are in use, and whether the freedoms are impulses (`packed_trees`)
    ("count", _I),
    # freedoms of tree t are tree_start[t] … tree_start[t + 1] − 1
    ("tree_start", _I),
    # M: one dense symmetric block a tree, row by row, from mass_start[t]
    ("mass_start", _I),
    ("mass", _F),
    # v̂: velocities without constraint impulses
    ("free_velocity", _F),
    # set of each constraint and its rows, as in `Sets`; parameters: Box lo, hi; friction μ₁ … μ₅, cohesion
    ("kind", _I),
    ("start", _I),
    ("parameter", _F2),
    # J by rows: columns ascending, the same for all rows of a constraint
    ("row_begin", _I),
    ("column", _I),
    ("value", _F),
    # L on the same columns
    ("left", _F),
    ("bias", _F),
    ("compliance", _F),
    # a row is good enough when its residual, a velocity, is at most this
    ("unit", _F),
    # λ: a start, replaced by the answer
    ("impulse", _F),
    # v and u at the answer
    ("velocity", _F),
    ("row_velocity", _F),
]


TreeProblemType = StructType(PROBLEM_FIELDS)


@kernel
def pack_tree_problem(arrays):
    """The struct of these arrays, in the order of the fields; nothing is copied."""
    p = structref.new(TreeProblemType)  # pyright: ignore[reportCallIssue]
    p.count, p.tree_start, p.mass_start, p.mass, p.free_velocity = arrays[:5]
    p.kind, p.start, p.parameter, p.row_begin, p.column = arrays[5:10]
    p.value, p.left, p.bias, p.compliance, p.unit = arrays[10:15]
    p.impulse, p.velocity, p.row_velocity = arrays[15:]
    return p


TreeView: Any = NamedTuple("TreeView", [(name, Any) for name, _ in PROBLEM_FIELDS])  # pyright: ignore[reportArgumentType]


@part
def problem_view(p):
    """The arrays of a struct inside compiled code, borrowed: the caller holds the struct meanwhile."""
    return TreeView(
        p.count, p.tree_start, p.mass_start, p.mass,
        p.free_velocity, p.kind, p.start, p.parameter,
        p.row_begin, p.column, p.value, p.left, p.bias,
        p.compliance, p.unit, p.impulse, p.velocity,
        p.row_velocity,
    )  # fmt: skip


class TreeProblem:
    """The arrays of a problem, by name as in `PROBLEM_FIELDS`, and the struct that kernels take.

    Args:
        tree_size: Freedoms of each tree.
        constraints: Room for so many constraints.
        rows: Room for so many rows.
        entries: Room for so many entries of J.
    """

    def __init__(self, tree_size: np.ndarray, constraints: int, rows: int, entries: int) -> None:
        n = int(tree_size.sum())
        self.count = np.zeros(3, np.int64)
        self.tree_start = np.concatenate([[0], np.cumsum(tree_size)]).astype(np.int64)
        self.mass_start = np.concatenate([[0], np.cumsum(tree_size**2)]).astype(np.int64)
        self.mass = np.zeros(int(self.mass_start[-1]))
        self.free_velocity = np.zeros(n)
        self.kind, self.start = np.zeros(constraints, np.int64), np.zeros(constraints + 1, np.int64)
        self.parameter = np.zeros((constraints, 6))
        self.row_begin, self.column = np.zeros(rows + 1, np.int64), np.zeros(entries, np.int64)
        self.value, self.left = np.zeros(entries), np.zeros(entries)
        self.bias, self.compliance, self.unit = np.zeros(rows), np.zeros(rows), np.zeros(rows)
        self.impulse, self.velocity, self.row_velocity = np.zeros(rows), np.zeros(n), np.zeros(rows)
        self.struct = pack_tree_problem(tuple(getattr(self, name) for name, _ in PROBLEM_FIELDS))
