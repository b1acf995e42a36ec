"""One view of LCPs, boxed LCPs and contact problems of single rows, for solvers that work row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any

import numpy as np

from perp.formulations.contact_as_boxed import not_scalar, rows_of
from perp.problems import LCP, BoxedLCP, ContactProblem
from perp.problems.boxed_kernels import boxed_natural_map
from perp.problems.matrix_entries import entries_of, slack
from perp.problems.validation import Matrix, Vector, freeze, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import Algorithm, NoOptions, register
from perp.solvers.symmetry import is_symmetric
from perp.solvers.unsatisfiable_row import explained

RowProblem = LCP | BoxedLCP | ContactProblem


@dataclass(frozen=True)
class Rows:
    """w = M z + q with bounds per row that may follow another row.

    Attributes:
        M, q: The data, read-only.
        lo, hi: Bounds, or factors of the limiting row.
        limiting_row: The row that each row's bounds follow, −1 for none, −2 − j for the magnitude of row j.
        column_scale: What the shared residual multiplies z with, shape (n,).
    """

    M: Matrix
    q: Vector
    lo: Vector
    hi: Vector
    limiting_row: np.ndarray
    column_scale: Vector

    @property
    def size(self) -> int:
        return self.q.size

    @property
    def nonzeros(self) -> int:
        return self.M.nnz if is_sparse(self.M) else self.M.size

    @cached_property
    def follows(self) -> bool:
        """Whether any bound follows another row."""
        return bool((self.limiting_row != -1).any())

    @cached_property
    def divisor(self) -> Vector:
        """The diagonal of M, or the column's scale where it is not positive."""
        diagonal = self.M.diagonal()
        return freeze(np.where(diagonal > 0, diagonal, self.column_scale))

    @cached_property
    def symmetric(self) -> bool:
        """Whether M is symmetric up to round-off; needs no memory beyond M."""
        return is_symmetric(self.M)

    def slack(self, z: Vector, out: Vector) -> Vector:
        """The slack w = M z + q into `out`."""
        slack(entries_of(self.M), self.q, z, out)
        return out

    def natural_map(self, z: Vector, w: Vector, out: Vector) -> Vector:
        """The natural map of the shared residual into `out`."""
        boxed_natural_map(self.lo, self.hi, self.limiting_row, self.column_scale, z, w, out)
        return out

    def bounds(self, z: Vector) -> tuple[Vector, Vector]:
        """The bounds in force at z, read-only."""
        if not self.follows:
            return self.lo, self.hi
        limited = self.limiting_row != -1
        magnitude = self.limiting_row < -1
        leader = np.where(magnitude, -2 - self.limiting_row, self.limiting_row)
        factor = np.where(magnitude, np.abs(z[leader]), np.where(limited, np.maximum(z[leader], 0.0), 1.0))
        lo, hi = self.lo.copy(), self.hi.copy()
        lo[limited] *= factor[limited]
        hi[limited] *= factor[limited]
        return freeze(lo), freeze(hi)

    def clip(self, z: Vector) -> Vector:
        """The point of the box near z: rows with bounds of their own first, then those that follow them."""
        own = self.limiting_row == -1
        z = np.where(own, np.clip(z, self.lo, self.hi), z)
        return np.clip(z, *self.bounds(z)) if self.follows else z


def rows_of_problem(problem: RowProblem) -> Rows:
    """The rows of a problem; a contact problem in dynamics form has its W formed."""
    if isinstance(problem, ContactProblem):
        lo, hi, index = rows_of(problem.sets)
        scale = freeze(np.repeat(problem.column_scale, problem.sets.dimension))
        return Rows(problem.W, problem.q, freeze(lo), freeze(hi), freeze(index), scale)
    if isinstance(problem, BoxedLCP):
        return Rows(problem.M, problem.q, problem.lo, problem.hi, problem.limiting_row, problem.column_scale)
    none = freeze(np.full(problem.size, -1, dtype=np.int64))
    return Rows(problem.M, problem.q, problem.lo, problem.hi, none, problem.column_scale)


def register_rows(
    name: str, *, summary: str, refuses: Callable[[Any], str | None], options: type = NoOptions
) -> Callable[[Algorithm], Algorithm]:
    """`register` for solvers of rows.

    They take the same types, and where a single row shows why nothing could be found, it explains a failure.
    """

    def decorate(algorithm: Algorithm) -> Algorithm:
        @wraps(algorithm)
        def run(problem: RowProblem, control: Control, settings: Any) -> Attempt:
            return explained(problem, algorithm(problem, control, settings))

        takes = (LCP, BoxedLCP, ContactProblem)
        return register(name, takes=takes, summary=summary, refuses=refuses, options=options)(run)

    return decorate


def refuses_cones(problem: RowProblem) -> str | None:
    """For solvers of every boxed problem: contact problems must consist of single rows."""
    return not_scalar(problem) if isinstance(problem, ContactProblem) else None


def refuses_no_diagonal(problem: RowProblem) -> str | None:
    """For sweeps, which divide by the diagonal: a row with other entries and none there is out of reach."""
    objection = refuses_cones(problem)
    if objection is not None or isinstance(problem, ContactProblem):
        return objection
    empty = np.flatnonzero(problem.M.diagonal() <= 0.0)
    empty = empty[problem.lo[empty] < problem.hi[empty]]
    other = np.asarray(abs(problem.M[empty]).sum(axis=1)).ravel() > 0.0
    if other.any():
        row = int(empty[other][0])
        return f"sweeps divide by the diagonal, and that of row {row} is {problem.M[row, row]:g}"
    return None


def refuses_following(problem: RowProblem) -> str | None:
    """For solvers of boxes that stay where they are."""
    if isinstance(problem, ContactProblem):
        if (problem.sets.dimension > 1).any():
            return "its friction bounds follow their normals"
    elif isinstance(problem, BoxedLCP) and (problem.limiting_row != -1).any():
        return "its friction bounds follow their normals"
    return None


def refuses_nonsymmetric(problem: RowProblem) -> str | None:
    """For solvers of convex quadratic programs over boxes."""
    objection = refuses_following(problem)
    if objection is None and not is_symmetric(
        problem.W if isinstance(problem, ContactProblem) else problem.M
    ):
        objection = "its matrix is not symmetric"
    return objection
