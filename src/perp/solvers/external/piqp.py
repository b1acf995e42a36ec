"""PIQP: proximal interior point for quadratic programs, here over friction pyramids."""

from __future__ import annotations

import numpy as np

from perp.problems import Status
from perp.problems.cone_program import QuadraticProgram
from perp.solvers.external.adapter import Reply, Request, load, vendor
from perp.solvers.registry import Package


@vendor(
    "piqp",
    takes=QuadraticProgram,
    needs=Package("piqp", "pip install piqp"),
    summary="proximal interior point for quadratic programs, PIQP (dual_pyramid)",
    finest=1e-13,
)
def piqp(request: Request) -> Reply:
    """Solve a quadratic program with PIQP."""
    program: QuadraticProgram = request.program
    package = load("piqp")
    G, equations = program.G.toarray(), program.zero
    solver = package.DenseSolver()
    settings = solver.settings
    settings.verbose = False
    settings.eps_abs = settings.eps_rel = request.tolerance
    settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = request.tolerance
    if request.max_iterations is not None:
        settings.max_iter = request.max_iterations
    inequalities = program.row_count - equations
    solver.setup(
        program.P.toarray(), program.c, G[:equations], -program.h[:equations],
        G[equations:], -program.h[equations:], np.full(inequalities, np.inf),
    )  # fmt: skip
    status = solver.solve()
    words = status.name
    claimed = status == package.PIQP_SOLVED
    reason = None if claimed else Status.ITERATION_LIMIT if "MAX_ITER" in words else Status.FAILED
    return Reply(np.array(solver.result.x), None, words, reason, int(solver.result.info.iter))
