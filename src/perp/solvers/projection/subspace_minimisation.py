"""Projected Gauss–Seidel with subspace minimisation.

A few sweeps guess which rows sit at a bound; the linear system of the others, friction at its moving bounds
included, is then solved exactly. Where the solution leaves the box it is pulled back and the rows that hit a
bound join it, until nothing changes; the next sweeps correct the guess. Ends after finitely many rounds once
the guess is right, with the accuracy of a direct solve; a round costs the sweeps and a few factorisations.

Reference: Silcowitz-Hansen, Niebe and Erleben, Projected Gauss–Seidel subspace minimization method for
interactive rigid body dynamics, GRAPP (2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.problems.validation import Vector
from perp.solvers.active_set import classify, minimise_on_face
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import RowProblem, refuses_no_diagonal, register_rows, rows_of_problem
from perp.solvers.projection.sweeps import Sweeper

ROUNDS = 2_000
LARGEST_SWEEPS = 1000


@dataclass(frozen=True)
class SubspaceOptions:
    """Options of subspace-minimisation.

    Attributes:
        sweeps: Sweeps before each linear solve; doubled whenever a solve did not help.
        reductions: Linear solves in a row, each with the rows that hit a bound removed.
    """

    sweeps: int = 8
    reductions: int = 5


@register_rows(
    "subspace-minimisation",
    refuses=refuses_no_diagonal,
    options=SubspaceOptions,
    summary="projected sweeps and exact solves on the rows inside their bounds; symmetric positive matrices",
)
def subspace_minimisation(problem: RowProblem, control: Control, options: SubspaceOptions) -> Attempt:
    """Solve a boxed problem by sweeps and subspace minimisation; an iteration is one round."""
    rows = rows_of_problem(problem)
    sweeper = Sweeper(problem)
    w, F = np.empty(rows.size), np.empty(rows.size)
    sweeps = options.sweeps
    last = np.full(rows.size, np.nan)  # the point of the last round: to return to it would be a cycle

    def error(z: Vector) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.linalg.norm(rows.natural_map(z, rows.slack(z, w), F)))

    def advance(z: Vector, count: int) -> None:
        nonlocal sweeps
        for _ in range(count):
            sweeper.sweep(z, sweeps)
            swept = error(z)
            side = classify(rows, z, w, rows.divisor)
            found = minimise_on_face(rows, side, z, error, options.reductions)
            if found is None or found[1] >= swept or np.array_equal(found[0], last):
                sweeps = min(2 * sweeps, LARGEST_SWEEPS)
            else:
                sweeps = options.sweeps
                last[:] = z[:] = found[0]

    z = control.begin(rows.size)
    work = options.sweeps * sweeper.work + float(rows.size) ** 2
    return control.iterate(advance, z, default_limit=ROUNDS, work=work)
