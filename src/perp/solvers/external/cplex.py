"""CPLEX without a licence file: barrier on squared cones, up to the size that the package allows."""

from __future__ import annotations

import itertools

import numpy as np

from perp.problems import Status
from perp.problems.cone_program import ConeProgram
from perp.solvers.external.adapter import Reply, Request, load, vendor
from perp.solvers.registry import Package

# The default one gives up on a box at rest before its first iteration, see `gams`.
STANDARD_BARRIER = 3


@vendor(
    "cplex",
    takes=ConeProgram,
    needs=Package("cplex", "pip install cplex"),
    summary="barrier for quadratically constrained programs, CPLEX (size-limited without a licence)",
    finest=1e-12,
)
def cplex(request: Request) -> Reply:
    """Solve a cone program with CPLEX."""
    program: ConeProgram = request.program
    package = load("cplex")
    n, m = program.variable_count, program.row_count
    with package.Cplex() as model:
        for set_stream in (
            model.set_log_stream, model.set_error_stream, model.set_warning_stream, model.set_results_stream,
        ):  # fmt: skip
            set_stream(None)
        model.parameters.barrier.algorithm.set(STANDARD_BARRIER)
        model.parameters.barrier.convergetol.set(request.tolerance)
        model.parameters.barrier.qcpconvergetol.set(request.tolerance)
        model.parameters.simplex.tolerances.feasibility.set(max(request.tolerance, 1e-9))
        if request.time_limit is not None:
            model.parameters.timelimit.set(request.time_limit)
        if request.max_iterations is not None:
            model.parameters.barrier.limits.iteration.set(request.max_iterations)
        infinite = package.infinity
        lower, upper = np.full(m, -infinite), np.full(m, infinite)
        upper[: program.zero] = 0.0
        lower[: program.zero + program.nonnegative] = 0.0
        lower[program.cone_starts[:-1]] = 0.0
        model.variables.add(obj=program.c.tolist(), lb=[-infinite] * n, ub=[infinite] * n)
        model.variables.add(lb=lower.tolist(), ub=upper.tolist())
        G = program.G.tocsr()
        rows = []
        for i in range(m):
            part = slice(G.indptr[i], G.indptr[i + 1])
            rows.append(
                [[*(int(j) for j in G.indices[part]), n + i], [*(float(a) for a in G.data[part]), -1.0]]
            )
        model.linear_constraints.add(lin_expr=rows, senses="E" * m, rhs=(-program.h).tolist())
        P = (0.5 * (program.P + program.P.T)).tocsr()  # it refuses what is symmetric up to round-off
        quadratic = []
        for i in range(n):
            part = slice(P.indptr[i], P.indptr[i + 1])
            quadratic.append([[int(j) for j in P.indices[part]], [float(a) for a in P.data[part]]])
        model.objective.set_quadratic(quadratic + [[[n + i], [0.0]] for i in range(m)])
        starts = program.cone_starts
        for begin, end in itertools.pairwise(starts):
            cone = [int(n + i) for i in range(begin, end)]
            model.quadratic_constraints.add(
                quad_expr=[cone, cone, [-1.0] + [1.0] * (len(cone) - 1)], rhs=0.0, sense="L"
            )
        model.solve()
        words = model.solution.get_status_string()
        has_point = model.solution.get_solution_type() != model.solution.type.none
        x = np.array(model.solution.get_values(0, n - 1)) if has_point else None
        reason = Status.FAILED if x is None else Status.TIME_LIMIT if "time" in words else Status.STALLED
        if words.startswith("optimal"):
            reason = None
        return Reply(x, None, words, reason, model.solution.progress.get_num_barrier_iterations())
