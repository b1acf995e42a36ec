"""A process that runs cells: pickled requests on its standard input, pickled results on its standard output.

A vendor that prints, hangs or brings its interpreter down does so here, not in the table.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any


def main() -> None:
    """Serve until the input ends. What others print goes nowhere."""
    answers = os.fdopen(os.dup(1), "wb")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    from perp.comparison.verdict import run_cell

    warm_up()
    pickle.dump("ready", answers)
    answers.flush()
    while True:
        try:
            request: dict[str, Any] = pickle.load(sys.stdin.buffer)  # noqa: S301
        except EOFError:
            return
        pickle.dump(run_cell(**request), answers)
        answers.flush()


def warm_up() -> None:
    """Load solvers and compiled code before the clock runs."""
    from perp.models.box_on_slope import box_on_slope
    from perp.solvers import solve

    problem = box_on_slope(angle=25.0, mu=0.3).problem
    for solver, formulation in (("cone-interior", "primal"), ("mcp-newton", "equations_of_motion")):
        solve(problem, solver, formulation=formulation, throw=False)


if __name__ == "__main__":
    main()
