"""A contact problem in dynamics form as structs of flat arrays: mass by trees, Jacobian by rows.

    M (v − v̂) = Jᵀ λ,   u = L v + b + Σ λ,   −(u + Γ(u)) ∈ N_K(λ)

J is what impulses act along and L what velocities are measured along: the same, except where a time step has
taken its rows again at its end. A struct is one pointer for the compiled code; arrays may be longer than what
is in use, which `count` tells, so that a world keeps one struct from step to step.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.experimental import structref

_I, _F, _F2 = types.int64[::1], types.float64[::1], types.float64[:, ::1]

PROBLEM_FIELDS = [
    # constraints and rows in use, shape (2,)
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


@structref.register
class StructType(types.StructRef):
    """A struct of arrays whose types are given, never inferred: one variant of each kernel."""


class _Struct(structref.StructRefProxy):
    """The Python side of a struct: it is only passed on."""


structref.define_boxing(StructType, _Struct)
TreeProblemType = StructType(PROBLEM_FIELDS)


@njit(cache=True)
def pack_tree_problem(
    count, tree_start, mass_start, mass, free_velocity, kind, start, parameter, row_begin, column, value, left,
    bias, compliance, unit, impulse, velocity, row_velocity,
):  # fmt: skip
    """The struct of these arrays; nothing is copied."""
    problem = structref.new(TreeProblemType)
    problem.count = count
    problem.tree_start = tree_start
    problem.mass_start = mass_start
    problem.mass = mass
    problem.free_velocity = free_velocity
    problem.kind = kind
    problem.start = start
    problem.parameter = parameter
    problem.row_begin = row_begin
    problem.column = column
    problem.value = value
    problem.left = left
    problem.bias = bias
    problem.compliance = compliance
    problem.unit = unit
    problem.impulse = impulse
    problem.velocity = velocity
    problem.row_velocity = row_velocity
    return problem


class TreeProblem:
    """The arrays of a problem, by name, and the struct that kernels take.

    Args:
        tree_size: Freedoms of each tree.
        constraints: Room for so many constraints.
        rows: Room for so many rows.
        entries: Room for so many entries of J.
    """

    def __init__(self, tree_size: np.ndarray, constraints: int, rows: int, entries: int) -> None:
        n = int(tree_size.sum())
        sizes = {
            "count": 2, "free_velocity": n, "kind": constraints, "start": constraints + 1,
            "row_begin": rows + 1, "column": entries, "value": entries, "left": entries, "bias": rows,
            "compliance": rows, "unit": rows, "impulse": rows, "velocity": n, "row_velocity": rows,
        }  # fmt: skip
        self.tree_start = np.concatenate([[0], np.cumsum(tree_size)]).astype(np.int64)
        self.mass_start = np.concatenate([[0], np.cumsum(tree_size**2)]).astype(np.int64)
        self.mass = np.zeros(int(self.mass_start[-1]))
        self.parameter = np.zeros((constraints, 6))
        for name, kind in PROBLEM_FIELDS:
            if name in sizes:
                setattr(self, name, np.zeros(sizes[name], np.int64 if kind is _I else np.float64))
        self.struct = pack_tree_problem(*(getattr(self, name) for name, _ in PROBLEM_FIELDS))
