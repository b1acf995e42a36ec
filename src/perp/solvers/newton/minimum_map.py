"""Newton's method on the minimum map, for LCPs and boxed LCPs.

F_i(z) = min(z_i, w_i), for a box the median of z_i − lo_i, w_i and z_i − hi_i, vanishes exactly at a
solution. A step fixes the rows where z_i − lo_i (or hi_i − z_i) is the smaller one at their bound and solves
w = 0 for the others, with a line search on ‖F‖ and a regularised system where that block is rank-deficient.
Finite for M with positive principal minors once the guess is right; a step costs one factorisation of the
rows inside.

Reference: Erleben, Numerical methods for linear complementarity problems in physics-based animation, SIGGRAPH
Courses (2013), section 5.
"""

from __future__ import annotations

import numpy as np

from perp.problems.validation import freeze
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import RowProblem, refuses_following, register_rows, rows_of_problem
from perp.solvers.newton.natural_map_newton import newton_on_natural_map
from perp.solvers.projection.sweeps import Sweeper


@register_rows(
    "minimum-map",
    refuses=refuses_following,
    summary="semismooth Newton on min(z, w); positive semidefinite and P matrices",
)
def minimum_map(problem: RowProblem, control: Control, options: object) -> Attempt:
    """Solve a boxed problem by Newton's method on the minimum map."""
    rows = rows_of_problem(problem)
    # one scale for all rows: the plain minimum map, in units that follow those of the problem
    scale = float(np.max(rows.column_scale, initial=0.0)) or 1.0
    rho = freeze(np.full(rows.size, scale))
    z = rows.clip(control.begin(rows.size))
    sweep = Sweeper(problem).sweep
    return newton_on_natural_map(rows, rho, control, z, sweep)
