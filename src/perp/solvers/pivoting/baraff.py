"""Baraff's incremental active sets for LCPs with symmetric positive semidefinite matrices.

The row whose w is most negative is driven to zero while the rows that were driven before keep their state
(see `incremental`); rows that are never in the wrong are never touched. Redundant contacts, whose row depends
on the free ones, are recognised by their Schur complement and left at rest. A pivot costs O(n k) for k free
rows thanks to the updated factor; it needs n² + O(n) numbers.

Reference: Baraff, Fast contact force computation for nonpenetrating rigid bodies, SIGGRAPH 1994.
"""

from __future__ import annotations

from perp.problems import LCP, BoxedLCP
from perp.solvers.attempt import Attempt, Control
from perp.solvers.pivoting.incremental import drive
from perp.solvers.pivoting.rows import PivotOptions, dense_memory, moving_bounds, needs_symmetry
from perp.solvers.registry import register


@register(
    "baraff",
    takes=(LCP, BoxedLCP),
    summary="incremental active sets, worst row first; symmetric semidefinite, redundant contacts",
    options=PivotOptions,
    memory=dense_memory(1),
    refuses=lambda problem: moving_bounds(problem) or needs_symmetry(problem),
)
def baraff(problem: LCP | BoxedLCP, control: Control, options: PivotOptions) -> Attempt:
    """Solve a (boxed) LCP by driving its worst row until none is wrong."""
    return drive(problem, control, options, worst_first=True)
