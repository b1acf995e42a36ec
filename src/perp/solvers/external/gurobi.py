"""Gurobi without a licence file: barrier on squared cones, up to the size that the package allows."""

from __future__ import annotations

import itertools

import numpy as np

from perp.problems import Status
from perp.problems.cone_program import ConeProgram
from perp.solvers.external.adapter import Reply, Request, load, vendor
from perp.solvers.registry import Package


@vendor(
    "gurobi",
    takes=ConeProgram,
    needs=Package("gurobipy", "pip install gurobipy"),
    summary="barrier for quadratically constrained programs, Gurobi (size-limited without a licence)",
    finest=1e-9,
)
def gurobi(request: Request) -> Reply:
    """Solve a cone program with Gurobi."""
    gurobipy = load("gurobipy")
    program: ConeProgram = request.program
    with gurobipy.Env(empty=True) as environment:
        environment.setParam("OutputFlag", 0)
        environment.start()
        with gurobipy.Model(env=environment) as model:
            model.Params.FeasibilityTol = model.Params.OptimalityTol = request.tolerance
            model.Params.BarQCPConvTol = model.Params.BarConvTol = 1e-2 * request.tolerance
            if request.time_limit is not None:
                model.Params.TimeLimit = request.time_limit
            if request.max_iterations is not None:
                model.Params.BarIterLimit = request.max_iterations
            x = model.addMVar(program.variable_count, lb=-np.inf)
            s = model.addMVar(program.row_count, lb=-np.inf)
            model.addConstr(program.G.tocsr() @ x + program.h == s)
            s[: program.zero].UB = 0.0
            s[: program.zero + program.nonnegative].LB = 0.0
            starts = program.cone_starts
            for begin, end in itertools.pairwise(starts):
                s[begin].LB = 0.0
                tail = s[begin + 1 : end]
                model.addConstr(tail @ tail <= s[begin] * s[begin])
            model.setObjective(0.5 * (x @ program.P.tocsr() @ x) + program.c @ x)
            model.optimize()
            words = _STATUS.get(model.Status, f"status {model.Status}")
            found = np.array(x.X) if model.SolCount else None
            reasons = {2: None, 7: Status.ITERATION_LIMIT, 9: Status.TIME_LIMIT, 13: Status.STALLED}
            reason = reasons.get(model.Status, Status.FAILED)
            return Reply(found, None, words, reason, int(model.BarIterCount))


_STATUS = {2: "OPTIMAL", 7: "ITERATION_LIMIT", 9: "TIME_LIMIT", 12: "NUMERIC", 13: "SUBOPTIMAL"}
