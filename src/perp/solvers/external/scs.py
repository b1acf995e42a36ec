"""SCS: operator splitting for quadratic programs over second-order cones."""

from __future__ import annotations

import numpy as np

from perp.problems import Status
from perp.problems.cone_program import ConeProgram
from perp.solvers.external.adapter import Reply, Request, begin, load, vendor
from perp.solvers.registry import Package

# A first-order method needs many cheap iterations; its own default of 1e5 is kept unless the user says
# otherwise.
ITERATIONS = 100_000


@vendor(
    "scs",
    takes=ConeProgram,
    needs=Package("scs", "pip install scs"),
    summary="operator splitting for cone programs, SCS",
    finest=1e-13,
)
def scs(request: Request) -> Reply:
    """Solve a cone program with SCS."""
    from scipy.sparse import csc_matrix, triu

    program: ConeProgram = request.program
    package = load("scs")
    data = {"P": csc_matrix(triu(program.P)), "A": csc_matrix(-program.G), "b": program.h, "c": program.c}
    cone = {"z": program.zero, "l": program.nonnegative, "q": list(program.second_order)}
    solver = package.SCS(
        data, cone, verbose=False, eps_abs=request.tolerance, eps_rel=request.tolerance,
        max_iters=request.max_iterations or ITERATIONS,
        time_limit_secs=request.time_limit or 0.0,
    )  # fmt: skip
    x = begin(request)
    answer = solver.solve(warm_start=True, x=x.copy(), y=np.zeros(program.row_count), s=program.slack(x))
    facts = answer["info"]
    words = facts["status"]
    reason = None
    if not words.startswith("solved"):
        reason = Status.FAILED
    elif "inaccurate" in words:
        reason = Status.TIME_LIMIT if "time" in words else Status.ITERATION_LIMIT
    return Reply(np.array(answer["x"]), np.array(answer["y"]), words, reason, int(facts["iter"]))
