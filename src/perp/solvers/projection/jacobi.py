"""Projected Jacobi, damped so that it converges.

All rows move at once: z ← clip(z − ω w / D) with D_i = Σ_j |M_ij|. For a symmetric positive semidefinite M
that choice makes D − M positive semidefinite, so that every step with ω < 2 lowers ½ zᵀMz + qᵀz; the plain
diagonal would not. An iteration costs one product with M and depends on no order, which is what parallel
codes want.

Reference: Baker, Falgout, Kolev and Yang, Multigrid smoothers for ultraparallel computing, SIAM J. Sci.
Comput. 33 (2011), for the ℓ1 diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import RowProblem, refuses_no_diagonal, register_rows, rows_of_problem

ITERATIONS = 200_000


@dataclass(frozen=True)
class JacobiOptions:
    """Options of jacobi.

    Attributes:
        damping: ω between 0 and 2; 1.6 is near the largest that the proof allows and leaves room for
            round-off.
    """

    damping: float = 1.6

    def __post_init__(self) -> None:
        if not 0.0 < self.damping < 2.0:
            raise ValueError(f"damping = {self.damping}: a number between 0 and 2 is needed")


@register_rows(
    "jacobi",
    refuses=refuses_no_diagonal,
    options=JacobiOptions,
    summary="damped projected Jacobi; symmetric positive semidefinite matrices",
)
def jacobi(problem: RowProblem, control: Control, options: JacobiOptions) -> Attempt:
    """Solve a boxed problem by damped projected Jacobi."""
    rows = rows_of_problem(problem)
    total = np.asarray(abs(rows.M).sum(axis=1)).ravel()
    step = options.damping / np.where(total > 0, total, rows.column_scale)
    w = np.empty(rows.size)

    def advance(z: Vector, count: int) -> None:
        for _ in range(count):
            z[:] = rows.clip(z - step * rows.slack(z, w))

    z = control.begin(rows.size)
    return control.iterate(advance, z, default_limit=ITERATIONS, work=2.0 * rows.nonzeros)
