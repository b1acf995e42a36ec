"""Dantzig's principal pivoting for LCPs and boxed LCPs, with any matrix as far as the method goes.

Rows are taken in order, those without bounds first. Each is driven until its sign is right while the earlier
ones keep theirs, so that after the last row every sign is right. For a symmetric positive semidefinite matrix
every push lowers the row's error (see `incremental`; one row costs O(n k) for k free rows, all of them about
n³ / 4 on a typical problem, n² + O(n) numbers); for any other the path is followed where it leads, and may
end in a ray (`general_driving`), which is reported as such.

Bounds that follow other rows (friction index) follow in rounds, as in ODE and DART: every row is driven with
the friction bounds of the last round, until they no longer change (the formulation `fixed-bounds`). Where
that does not contract it stops as stalled; `moving-bounds` solves for bounds and unknowns together.

Reference: Cottle and Dantzig, Complementary pivot theory of mathematical programming, Linear Algebra and its
Applications 1 (1968); Cottle, Pang and Stone, The Linear Complementarity Problem, section 4.2.
"""

from __future__ import annotations

from copy import copy

from perp.formulations.fixed_bounds import fixed_bounds
from perp.problems import LCP, BoxedLCP
from perp.problems.active_sets import active_rows
from perp.solvers.attempt import Attempt, Control
from perp.solvers.outer_iterations import run_formulation
from perp.solvers.pivoting.incremental import drive
from perp.solvers.pivoting.rows import PivotOptions, dense_memory, has_moving_bounds
from perp.solvers.registry import find, register

# Rounds that contract cost little more to go this far: pivoting is exact, and so should its answer be.
SHARP = 1e-11


@register(
    "dantzig",
    takes=(LCP, BoxedLCP),
    summary="principal pivoting row by row; any matrix as far as it goes, any bounds, friction in rounds",
    options=PivotOptions,
    memory=dense_memory(2),
)
def dantzig(problem: LCP | BoxedLCP, control: Control, options: PivotOptions) -> Attempt:
    """Solve a (boxed) LCP by driving its rows in order."""
    if isinstance(problem, BoxedLCP) and has_moving_bounds(problem):
        return _in_rounds(problem, control, options)
    return drive(problem, control, options, worst_first=False)


def _in_rounds(problem: BoxedLCP, control: Control, options: PivotOptions) -> Attempt:
    """Drive with the friction bounds of the last round until they no longer change."""
    sharp = copy(control)
    sharp.tol = min(control.tol, SHARP)
    attempt, _ = run_formulation(find("dantzig"), fixed_bounds(problem), sharp, options)
    active, upper = active_rows(problem, attempt.z, problem.evaluate(attempt.z))
    rounds = 1 + attempt.info.pop("outer_iterations", 0)
    attempt.info.update(rounds=rounds, pivots=attempt.iterations, active_set=active, at_upper=upper)
    return attempt
