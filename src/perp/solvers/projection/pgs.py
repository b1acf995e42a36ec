"""Projected Gauss–Seidel for LCPs, boxed LCPs with friction index, and contact problems of single rows.

Each sweep visits the rows in order, solves row i for z_i with all others fixed, and clips it to its bounds
(which follow the limiting row where there is a friction index). Dense problems keep w = M z + q up to date,
so that rows which do not change cost nothing; problems in dynamics form keep the bodies' velocities and
never form W. Converges for symmetric positive semidefinite M with a solution and for H-matrices with a
positive diagonal; a sweep costs one pass over the nonzeros.

Reference: Cottle, Pang and Stone, The Linear Complementarity Problem, section 5.2.
"""

from __future__ import annotations

from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import RowProblem, refuses_no_diagonal, register_rows
from perp.solvers.projection.sweeps import Sweeper

# Slow convergence on stiff stacks is the method's nature; more sweeps than this call for another solver.
SWEEPS = 100_000


@register_rows(
    "pgs",
    refuses=refuses_no_diagonal,
    summary="projected Gauss–Seidel sweeps; symmetric positive matrices, friction index",
)
def pgs(problem: RowProblem, control: Control, options: object) -> Attempt:
    """Solve a boxed problem by projected Gauss–Seidel."""
    sweeper = Sweeper(problem)
    z = control.begin(problem.size)
    return control.iterate(sweeper.sweep, z, default_limit=SWEEPS, work=sweeper.work)
