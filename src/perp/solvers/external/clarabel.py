"""Clarabel: interior point for quadratic programs over second-order cones."""

from __future__ import annotations

import numpy as np

from perp.problems import Status
from perp.problems.cone_program import ConeProgram
from perp.solvers.external.adapter import Reply, Request, load, vendor
from perp.solvers.registry import Package

REASONS = {"MaxIterations": Status.ITERATION_LIMIT, "MaxTime": Status.TIME_LIMIT}


@vendor(
    "clarabel",
    takes=ConeProgram,
    needs=Package("clarabel", "pip install clarabel"),
    summary="interior point for cone programs, Clarabel",
    finest=1e-12,
)
def clarabel(request: Request) -> Reply:
    """Solve a cone program with Clarabel."""
    from scipy.sparse import csc_matrix, triu

    program: ConeProgram = request.program
    package = load("clarabel")
    settings = package.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = request.tolerance
    # An answer that only meets looser tolerances is still an answer: our residual decides what it is worth.
    settings.time_limit = request.time_limit if request.time_limit is not None else 1e20
    if request.max_iterations is not None:
        settings.max_iter = request.max_iterations
    cones = [package.ZeroConeT(program.zero)] if program.zero else []
    if program.nonnegative:
        cones.append(package.NonnegativeConeT(program.nonnegative))
    cones += [package.SecondOrderConeT(size) for size in program.second_order]
    P, A = csc_matrix(triu(program.P)), csc_matrix(-program.G)
    answer = package.DefaultSolver(P, program.c, A, program.h, cones, settings).solve()
    words = str(answer.status)
    claimed = words in ("Solved", "AlmostSolved")
    return Reply(
        np.array(answer.x), np.array(answer.z), words, None if claimed else REASONS.get(words, Status.FAILED),
        answer.iterations,
    )  # fmt: skip
