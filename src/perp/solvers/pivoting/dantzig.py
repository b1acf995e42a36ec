"""Dantzig's principal pivoting for boxed LCPs with symmetric positive semidefinite matrices.

Rows are taken in order, those without bounds first. Each is driven until its sign is right while the earlier
ones keep theirs (see `incremental`), so that after the last row every sign is right; what round-off has
spoilt by then is found by a fresh look and driven again. Bounds that follow other rows (friction index) are
solved for together with the unknowns, see `friction`. One row costs O(n k) for k free rows, all of them about
n³ / 4 on a typical problem; it needs n² + O(n) numbers.

Reference: Cottle and Dantzig, Complementary pivot theory of mathematical programming, Linear Algebra and its
Applications 1 (1968); Cottle, Pang and Stone, The Linear Complementarity Problem, section 4.2.
"""

from __future__ import annotations

from perp.problems import LCP, BoxedLCP
from perp.solvers.attempt import Attempt, Control
from perp.solvers.pivoting.friction import solve_moving_bounds
from perp.solvers.pivoting.incremental import drive
from perp.solvers.pivoting.rows import PivotOptions, dense_memory, has_moving_bounds, needs_symmetry
from perp.solvers.registry import register


@register(
    "dantzig",
    takes=(LCP, BoxedLCP),
    summary="principal pivoting row by row; symmetric semidefinite, any bounds, friction index",
    options=PivotOptions,
    memory=dense_memory(1),
    refuses=needs_symmetry,
)
def dantzig(problem: LCP | BoxedLCP, control: Control, options: PivotOptions) -> Attempt:
    """Solve a (boxed) LCP by driving its rows in order."""
    if isinstance(problem, BoxedLCP) and has_moving_bounds(problem):
        return solve_moving_bounds(problem, control)
    return drive(problem, control, options, worst_first=False)
