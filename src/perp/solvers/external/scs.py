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
    A, b, rows = csc_matrix(-program.G), program.h, program.row_count
    cone = {"z": program.zero, "l": program.nonnegative, "q": list(program.second_order)}
    if not rows:  # it takes no program without rows: one that says nothing
        A, b, cone["l"] = csc_matrix((1, program.variable_count)), np.ones(1), 1
    data = {"P": csc_matrix(triu(program.P)), "A": A, "b": b, "c": program.c}
    solver = package.SCS(
        data, cone, verbose=False, eps_abs=request.tolerance, eps_rel=request.tolerance,
        max_iters=request.max_iterations or ITERATIONS,
        time_limit_secs=request.time_limit or 0.0,
    )  # fmt: skip
    x = begin(request)
    slack = program.slack(x) if rows else b
    answer = solver.solve(warm_start=True, x=x.copy(), y=np.zeros(b.size), s=slack)
    facts = answer["info"]
    words = facts["status"]
    reason = None
    if not words.startswith("solved"):
        reason = Status.FAILED
    elif "inaccurate" in words:
        reason = Status.TIME_LIMIT if "time" in words else Status.ITERATION_LIMIT
    return Reply(np.array(answer["x"]), np.array(answer["y"])[:rows], words, reason, int(facts["iter"]))
