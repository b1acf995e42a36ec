"""OSQP: operator splitting for quadratic programs, here over friction pyramids."""

from __future__ import annotations

import numpy as np

from perp.problems import Status
from perp.problems.cone_program import QuadraticProgram
from perp.solvers.external.adapter import Reply, Request, begin, load, vendor
from perp.solvers.registry import Package

# A first-order method asked for tight tolerances; its own default of 4000 is for loose ones.
ITERATIONS = 100_000


@vendor(
    "osqp",
    takes=QuadraticProgram,
    needs=Package("osqp", "pip install osqp"),
    summary="operator splitting for quadratic programs, OSQP (dual_pyramid)",
    finest=1e-12,
)
def osqp(request: Request) -> Reply:
    """Solve a quadratic program with OSQP."""
    from scipy.sparse import csc_matrix, triu

    program: QuadraticProgram = request.program
    package = load("osqp")
    upper = np.full(program.row_count, np.inf)
    upper[: program.zero] = -program.h[: program.zero]
    solver = package.OSQP()
    # no polishing: it writes to the terminal whatever `verbose` says
    solver.setup(
        csc_matrix(triu(program.P)), program.c, csc_matrix(program.G), -program.h, upper, verbose=False,
        eps_abs=request.tolerance, eps_rel=request.tolerance,
        max_iter=request.max_iterations or ITERATIONS, time_limit=request.time_limit or 1e10,
    )  # fmt: skip
    solver.warm_start(x=begin(request).copy())
    answer = solver.solve(raise_error=False)
    words = str(answer.info.status)
    reason = None
    if not words.startswith("solved"):
        reason = Status.TIME_LIMIT if "time" in words else Status.ITERATION_LIMIT
    return Reply(np.array(answer.x), -np.array(answer.y), words, reason, int(answer.info.iter))
