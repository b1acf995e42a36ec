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

from perp.problems import LCP, BoxedLCP, ContactProblem
from perp.problems.validation import Vector
from perp.solvers.active_set import classify, solve_piece
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import refuses_cones, rows_of_problem
from perp.solvers.projection.sweeps import Sweeper
from perp.solvers.registry import register
from perp.solvers.unsatisfiable_row import explained

ROUNDS = 2_000


@dataclass(frozen=True)
class SubspaceOptions:
    """Options of subspace-minimisation.

    Attributes:
        sweeps: Sweeps before each linear solve; doubled whenever a solve did not help.
        reductions: Linear solves in a row, each with the rows that hit a bound removed.
    """

    sweeps: int = 8
    reductions: int = 5


@register(
    "subspace-minimisation",
    takes=(LCP, BoxedLCP, ContactProblem),
    refuses=refuses_cones,
    options=SubspaceOptions,
    summary="projected sweeps and exact solves on the rows inside their bounds; symmetric positive matrices",
)
def subspace_minimisation(
    problem: LCP | BoxedLCP | ContactProblem, control: Control, options: SubspaceOptions
) -> Attempt:
    """Solve a boxed problem by sweeps and subspace minimisation; an iteration is one round."""
    rows = rows_of_problem(problem)
    sweeper = Sweeper(problem)
    w, F = np.empty(rows.size), np.empty(rows.size)
    sweeps = options.sweeps
    last = np.full(rows.size, np.nan)  # the point of the last round: to return to it would be a cycle

    def error(z: Vector) -> float:
        return float(np.linalg.norm(rows.natural_map(z, rows.slack(z, w), F)))

    def advance(z: Vector, count: int) -> None:
        nonlocal sweeps
        for _ in range(count):
            sweeper.sweep(z, sweeps)
            best = error(z)
            point, found = z.copy(), None
            side = classify(rows, z, rows.slack(z, w), rows.divisor)
            for _ in range(options.reductions):
                solved = solve_piece(rows, side, point)
                if solved is None:
                    break
                point = rows.clip(solved)
                value = error(point)
                if value < best and not np.array_equal(point, last):
                    best, found = value, point
                lo, hi = rows.bounds(point)
                hit = np.where(solved > hi, 1, np.where(solved < lo, -1, 0)).astype(np.int8)
                if not hit[side == 0].any():
                    break
                side = np.where(side == 0, hit, side)
            sweeps = min(2 * sweeps, 1000) if found is None else options.sweeps
            if found is not None:
                last[:] = z[:] = found

    z = control.begin(rows.size)
    work = options.sweeps * sweeper.work + float(rows.size) ** 2
    return explained(problem, control.iterate(advance, z, default_limit=ROUNDS, work=work))
