"""A process that runs cells.

A vendor that prints, hangs or brings its interpreter down does so here, not in the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perp.comparison.processes import serve


def main() -> None:
    """Serve cells until the input ends."""

    def prepare() -> Callable[[dict[str, Any]], Any]:
        from perp.comparison.verdict import run_cell

        warm_up()
        return lambda request: run_cell(**request)

    serve(prepare)


def warm_up() -> None:
    """Load solvers and compiled code before the clock runs."""
    from perp.models.box_on_slope import box_on_slope
    from perp.solvers import solve

    problem = box_on_slope(angle=25.0, mu=0.3).problem
    for solver, formulation in (("cone-interior", "primal"), ("mcp-newton", "equations_of_motion")):
        solve(problem, solver, formulation=formulation, throw=False)


if __name__ == "__main__":
    main()
