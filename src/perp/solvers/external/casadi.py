"""NLP solvers that come with CasADi: Ipopt, SQP with QRQP, and others, on squared cones.

A second-order cone ‖w‖ ≤ t is given as ‖w‖² ≤ t², t ≥ 0, which has no gradient at its apex: interior solvers
stall there at about the root of their tolerance.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from perp.problems import Status
from perp.problems.cone_program import ConeProgram
from perp.solvers.external.adapter import Reply, Request, begin, load, vendor
from perp.solvers.registry import Package

QUIET = {"print_time": False}


def _ipopt(request: Request) -> dict[str, Any]:
    options: dict[str, Any] = {
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "ipopt.tol": request.tolerance,
        "ipopt.acceptable_tol": request.tolerance,
        # the constraints as given: Ipopt else relaxes bounds by 1e-8
        "ipopt.bound_relax_factor": 0.0,
        "ipopt.mu_target": 0.0,
    }
    if request.time_limit is not None:
        options["ipopt.max_wall_time"] = max(request.time_limit, 1e-3)
    if request.max_iterations is not None:
        options["ipopt.max_iter"] = request.max_iterations
    return options


def _sqp(request: Request) -> dict[str, Any]:
    return {
        "qpsol": "qrqp",
        "qpsol_options": {"print_iter": False, "print_header": False, "error_on_fail": False},
        "print_header": False,
        "print_iteration": False,
        "print_status": False,
        "tol_pr": request.tolerance,
        "tol_du": request.tolerance,
        "max_iter": request.max_iterations or 200,
    }


def _uno(request: Request) -> dict[str, Any]:
    return {"uno.logger": "SILENT", "uno.primal_tolerance": request.tolerance,
            "uno.dual_tolerance": request.tolerance}  # fmt: skip


PLUGINS = {
    "ipopt": ("ipopt", _ipopt, "interior point for NLPs, Ipopt", 1e-12),
    "casadi-sqp": ("sqpmethod", _sqp, "sequential quadratic programming with QRQP, CasADi", 1e-12),
    "uno": ("uno", _uno, "sequential quadratic programming, Uno", 1e-10),
}


def _solve(request: Request, plugin: str, options: dict[str, Any]) -> Reply:
    casadi = load("casadi")
    program: ConeProgram = request.program
    x = casadi.SX.sym("x", program.variable_count)
    s = casadi.mtimes(_matrix(program.G), x) + program.h
    objective = 0.5 * casadi.dot(x, casadi.mtimes(_matrix(program.P), x)) + casadi.dot(program.c, x)
    first = program.zero + program.nonnegative
    rows = [s[:first]] if first else []
    starts = program.cone_starts
    for begin_row, end in itertools.pairwise(starts):
        top, tail = s[int(begin_row)], s[int(begin_row) + 1 : int(end)]
        rows += [top, top**2 - casadi.dot(tail, tail)]
    count = first + 2 * len(program.second_order)
    upper = np.full(count, np.inf)
    upper[: program.zero] = 0.0
    solver = casadi.nlpsol("solver", plugin, {"x": x, "f": objective, "g": casadi.vertcat(*rows)},
                           {**QUIET, "error_on_fail": False, **options})  # fmt: skip
    answer = solver(x0=begin(request), lbg=np.zeros(count), ubg=upper)
    stats = solver.stats()
    words = str(stats.get("return_status") or stats.get("unified_return_status"))
    reason = None
    if not stats["success"]:
        limits = {"SOLVER_RET_LIMITED": Status.ITERATION_LIMIT}
        reason = limits.get(stats.get("unified_return_status"), Status.FAILED)
        if "time" in words.lower():
            reason = Status.TIME_LIMIT
    return Reply(np.array(answer["x"]).ravel(), None, words, reason, int(stats.get("iter_count", 0) or 0))


def _matrix(a: Any) -> Any:
    """A SciPy matrix as a CasADi one."""
    casadi = load("casadi")
    csc = a.tocsc()
    csc.sort_indices()
    sparsity = casadi.Sparsity(*csc.shape, [int(i) for i in csc.indptr], [int(i) for i in csc.indices])
    return casadi.DM(sparsity, [float(v) for v in csc.data])


def _register(name: str) -> None:
    plugin, options, summary, finest = PLUGINS[name]

    def call(request: Request) -> Reply:
        return _solve(request, plugin, options(request))

    call.__module__, call.__qualname__ = __name__, name
    vendor(
        name, takes=ConeProgram, needs=Package("casadi", "pip install casadi"), summary=summary, finest=finest
    )(call)


for _name in PLUGINS:
    _register(_name)
