"""The convex cone program: what the dual and the primal of a contact problem are, and what vendors take.

    minimise ½ xᵀ P x + cᵀ x   subject to   s = G x + h in {0}^zero × ℝ₊^nonnegative × second-order cones

At the optimum there are multipliers y in the dual cone with P x + c = Gᵀ y and sᵀ y = 0. An answer is the
vector (x, y): one of the two formulations needs x, the other y. It is no public problem type: its answers are
judged in the contact problem that it came from.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from perp.problems.validation import Vector

# One row of G and h: columns, their values, the constant.
Row: TypeAlias = tuple[list[int], list[float], float]


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """A convex quadratic program over cones."""

    P: Any  # symmetric positive semidefinite, scipy.sparse.csc_array, shape (n, n)
    c: Vector  # shape (n,)
    G: Any  # scipy.sparse.csc_array, shape (m, n), rows in the order zero, nonnegative, second-order
    h: Vector  # shape (m,)
    zero: int  # how many rows must vanish
    nonnegative: int  # how many rows must not be negative
    second_order: tuple[int, ...]  # rows of each second-order cone: the first bounds the norm of the others
    start: Vector  # where to begin, shape (n,)
    # whether the caller reads y: solvers that have none of their own then recover them
    needs_multipliers: bool = False
    # what a solver's tolerance is multiplied with, where its stopping test is coarser than ours
    accuracy: float = 1.0

    @property
    def variable_count(self) -> int:
        """Number n of unknowns x."""
        return self.c.size

    @property
    def row_count(self) -> int:
        """Number m of rows of G."""
        return self.h.size

    @property
    def size(self) -> int:
        """Length of an answer (x, y)."""
        return self.c.size + self.h.size

    @property
    def cone_starts(self) -> np.ndarray:
        """First row of each second-order cone, and the end, shape (cones + 1,)."""
        first = self.zero + self.nonnegative
        return first + np.concatenate([[0], np.cumsum(np.array(self.second_order, dtype=np.int64))])

    def slack(self, x: Vector) -> Vector:
        """s = G x + h, shape (m,)."""
        return self.G @ x + self.h


class QuadraticProgram(ConeProgram):
    """A cone program without second-order cones: what QP solvers take."""


def sparse_rows(rows: list[Row], columns: int) -> tuple[Any, Vector]:
    """G (scipy.sparse.csc_array) and h of a list of rows."""
    from scipy.sparse import csc_array

    values = np.array([value for _, row, _ in rows for value in row])
    i = np.repeat(np.arange(len(rows)), [len(row) for _, row, _ in rows])
    j = np.array([column for row, _, _ in rows for column in row], dtype=np.int64)
    G = csc_array((values, (i, j)), shape=(len(rows), columns))
    return G, np.array([constant for _, _, constant in rows], dtype=np.float64)
