"""HiGHS: active set for quadratic programs, here over friction pyramids."""

from __future__ import annotations

import numpy as np

from perp.problems import Status
from perp.problems.cone_program import QuadraticProgram
from perp.solvers.external.adapter import Reply, Request, load, vendor
from perp.solvers.registry import Package

# Enough for its factors of singular matrices, and below every tolerance that it is asked for.
REGULARISATION = 1e-12


@vendor(
    "highs",
    takes=QuadraticProgram,
    needs=Package("highspy", "pip install highspy"),
    summary="active set for quadratic programs, HiGHS (dual_pyramid)",
    finest=1e-10,
)
def highs(request: Request) -> Reply:
    """Solve a quadratic program with HiGHS."""
    highspy = load("highspy")
    from scipy.sparse import csc_matrix, tril

    program: QuadraticProgram = request.program
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("primal_feasibility_tolerance", request.tolerance)
    solver.setOptionValue("dual_feasibility_tolerance", request.tolerance)
    # it adds this to the diagonal of every program, 1e-7 by default, and answers that one instead
    solver.setOptionValue("qp_regularization_value", REGULARISATION)
    if request.time_limit is not None:
        solver.setOptionValue("time_limit", request.time_limit)
    if request.max_iterations is not None:
        solver.setOptionValue("qp_iteration_limit", request.max_iterations)
    n, m = program.variable_count, program.row_count
    model = highspy.HighsModel()
    lp = model.lp_
    lp.num_col_, lp.num_row_ = n, m
    lp.col_cost_ = program.c
    lp.col_lower_, lp.col_upper_ = np.full(n, -highspy.kHighsInf), np.full(n, highspy.kHighsInf)
    lp.row_lower_ = -program.h
    upper = np.full(m, highspy.kHighsInf)
    upper[: program.zero] = -program.h[: program.zero]
    lp.row_upper_ = upper
    G, P = csc_matrix(program.G), csc_matrix(tril(program.P))
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = G.indptr, G.indices, G.data
    hessian = model.hessian_
    hessian.dim_ = n
    hessian.format_ = highspy.HessianFormat.kTriangular
    hessian.start_, hessian.index_, hessian.value_ = P.indptr, P.indices, P.data
    solver.passModel(model)
    solver.run()
    words = solver.modelStatusToString(solver.getModelStatus())
    reasons = {"Optimal": None, "Time limit reached": Status.TIME_LIMIT}
    reasons["Iteration limit reached"] = Status.ITERATION_LIMIT
    solution = solver.getSolution()
    x = np.array(solution.col_value) if solution.value_valid else None
    return Reply(x, None, words, reasons.get(words, Status.FAILED), solver.getInfo().qp_iteration_count)
