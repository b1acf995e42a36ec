"""Semismooth Newton for boxed problems, with the derivative of friction bounds that move.

The natural map with ρ from the diagonal of M decides for every row whether it sits at lo, at hi or inside;
the linear system of that guess is solved exactly, with z_i = ±μ z_n substituted where a bound follows its
normal, so that friction and normal move together, and damped by a line search. A step costs one factorisation
of the rows inside; typically 3 to 8 steps after a few sweeps. Without bounds that follow these are the
exchanges of `principal`, which has them compiled.

Reference: Hintermüller, Ito and Kunisch, The primal-dual active set strategy as a semismooth Newton method,
SIAM J. Optim. 13 (2002).
"""

from __future__ import annotations

from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import RowProblem, refuses_cones, register_rows, rows_of_problem
from perp.solvers.newton.natural_map_newton import newton_on_natural_map
from perp.solvers.projection.sweeps import Sweeper

FIRST_SWEEPS = 6


@register_rows(
    "boxed-newton",
    refuses=refuses_cones,
    summary="semismooth Newton with moving friction bounds; positive semidefinite and P matrices",
)
def boxed_newton(problem: RowProblem, control: Control, options: object) -> Attempt:
    """Solve a boxed problem by semismooth Newton steps."""
    rows = rows_of_problem(problem)
    sweeper = Sweeper(problem)
    z = control.begin(rows.size)
    sweeper.sweep(z, FIRST_SWEEPS if control.start is None else 0)
    return newton_on_natural_map(rows, rows.divisor, control, rows.clip(z), sweeper.sweep)
