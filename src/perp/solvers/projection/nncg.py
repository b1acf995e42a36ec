"""Nonsmooth nonlinear conjugate gradients around projected Gauss–Seidel.

A sweep is read as a step along a negative gradient g = z − sweep(z), and consecutive steps are combined by
the Fletcher–Reeves rule β = ‖g_k‖² / ‖g_{k−1}‖²; the direction is dropped whenever the gradient grows. Needs
a handful of vector operations beside the sweep, and far fewer sweeps on stacks and on mass ratios.

Reference: Silcowitz, Niebe and Erleben, A nonsmooth nonlinear conjugate gradient method for interactive
contact force problems, The Visual Computer 26 (2010).
"""

from __future__ import annotations

import numpy as np

from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import RowProblem, refuses_no_diagonal, register_rows
from perp.solvers.projection.sweeps import Sweeper

SWEEPS = 100_000


@register_rows(
    "nncg",
    refuses=refuses_no_diagonal,
    summary="conjugate gradients over projected sweeps; symmetric positive matrices, friction index",
)
def nncg(problem: RowProblem, control: Control, options: object) -> Attempt:
    """Solve a boxed problem by nonsmooth nonlinear conjugate gradients."""
    sweeper = Sweeper(problem)
    z = control.begin(problem.size)
    ahead, direction = z.copy(), np.zeros(problem.size)
    previous = np.inf

    def advance(z: Vector, count: int) -> None:
        nonlocal previous
        for _ in range(count):
            z[:] = ahead
            sweeper.sweep(z)
            gradient = ahead - z
            size = float(gradient @ gradient)
            beta = size / previous if previous > 0.0 else np.inf
            if beta > 1.0:
                direction[:] = 0.0
                ahead[:] = z
            else:
                ahead[:] = z + beta * direction
                direction[:] = beta * direction - gradient
            previous = size

    return control.iterate(advance, z, default_limit=SWEEPS, work=sweeper.work)
