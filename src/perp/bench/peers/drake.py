"""Drake: its two LCP solvers, and its interfaces to conic solvers for problems that are convex programs.

An LCP with a symmetric positive semidefinite M is the quadratic program min ½ zᵀ M z + qᵀ z over z ≥ 0, a
boxed one the same over a box, and the relaxed contact problem the same over friction cones.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from perp.bench.peers.adapter import PeerReply, PeerRequest, dense, peer
from perp.bench.timing import timed
from perp.problems import LCP, BoxedLCP, ContactProblem
from perp.problems.sets import BOX, COULOMB, ELLIPTIC, FREE, NONNEGATIVE
from perp.solvers.external.adapter import load
from perp.solvers.registry import Package

DRAKE = Package("pydrake", "pip install drake")
# How far below zero round-off may push an eigenvalue of a semidefinite matrix, relative to the largest.
ROUND_OFF = 1e-12
# Above this many rows the test for convexity would take longer than a solve.
LARGEST = 2000
LCP_SOLVERS = {
    "drake-moby": ("MobyLcpSolver", "Lemke with regularisation, Drake's MobyLcpSolver"),
    "drake-lemke": ("UnrevisedLemkeSolver", "Drake's UnrevisedLemkeSolver"),
}
# Drake passes options on by their own names: what the tolerance is for each.
CONIC_SOLVERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "drake-clarabel": (
        "ClarabelSolver",
        "Clarabel as Drake calls it, on convex problems",
        {name: (lambda tol: 0.01 * tol) for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas")},
    ),
    "drake-scs": (
        "ScsSolver",
        "SCS as Drake calls it, on convex problems",
        {name: (lambda tol: 0.01 * tol) for name in ("eps_abs", "eps_rel")},
    ),
}


def not_convex(problem: LCP | BoxedLCP | ContactProblem) -> str | None:
    """Why a problem is not a convex program, or None when it is one."""
    if isinstance(problem, ContactProblem):
        convex = (FREE, NONNEGATIVE, BOX) + ((COULOMB, ELLIPTIC) if problem.relaxed else ())
        if not np.isin(problem.sets.kind, convex).all():
            return "it takes convex problems: relaxed friction, no rolling"
    elif isinstance(problem, BoxedLCP) and problem.friction_index is not None:
        return "it takes convex problems: no friction index"
    if problem.size > LARGEST:
        return f"it takes at most {LARGEST} rows"
    M = dense(problem.W if isinstance(problem, ContactProblem) else problem.M)
    size = float(np.abs(M).max(initial=0.0))
    if np.abs(M - M.T).max(initial=0.0) > ROUND_OFF * size:
        return "it takes convex problems: symmetric matrices"
    eigenvalues = np.linalg.eigvalsh(0.5 * (M + M.T))
    if eigenvalues.size and eigenvalues[0] < -ROUND_OFF * max(eigenvalues[-1], size) * problem.size:
        return "it takes convex problems: positive semidefinite matrices"
    return None


def lcp_program(problem: LCP) -> tuple[Any, Any]:
    """The program of an LCP for Drake's own solvers, and its variables."""
    program = load("pydrake.solvers").MathematicalProgram()
    z = program.NewContinuousVariables(problem.size)
    program.AddLinearComplementarityConstraint(dense(problem.M), np.array(problem.q), z)
    return program, z


def convex_program(problem: LCP | BoxedLCP | ContactProblem) -> tuple[Any, Any]:
    """The program and its variables."""
    program = load("pydrake.solvers").MathematicalProgram()
    z = program.NewContinuousVariables(problem.size)
    M = dense(problem.W if isinstance(problem, ContactProblem) else problem.M)
    # a semidefinite matrix is not always seen as one; we have tested that it is
    program.AddQuadraticCost(0.5 * (M + M.T), np.array(problem.q), z, is_convex=True)
    if isinstance(problem, LCP):
        program.AddBoundingBoxConstraint(0.0, np.inf, z)
    elif isinstance(problem, BoxedLCP):
        program.AddBoundingBoxConstraint(np.array(problem.lo), np.array(problem.hi), z)
    else:
        _add_sets(program, z, problem)
    return program, z


def _add_sets(program: Any, z: Any, problem: ContactProblem) -> None:
    sets = problem.sets
    for c in range(sets.count):
        rows = z[sets.start[c] : sets.start[c + 1]]
        kind, a, b = sets.kind[c], float(sets.a[c]), float(sets.b[c])
        if kind == NONNEGATIVE:
            program.AddBoundingBoxConstraint(0.0, np.inf, rows)
        elif kind == BOX:
            program.AddBoundingBoxConstraint(a, b, rows)
        elif kind in (COULOMB, ELLIPTIC):
            # ‖(λ₁/μ₁, λ₂/μ₂)‖ ≤ λ_N, written without division: ‖(μ₂ λ₁, μ₁ λ₂)‖ ≤ μ₁ μ₂ λ_N
            diagonal = [a * b, b, a] if kind == ELLIPTIC else [a] + [1.0] * (len(rows) - 1)
            program.AddBoundingBoxConstraint(0.0, np.inf, rows[:1])
            program.AddLorentzConeConstraint(np.diag(diagonal), np.zeros(len(rows)), rows)


def _register(name: str, solver: str, program_of: Callable[[Any], tuple[Any, Any]], **about: Any) -> None:
    @peer(name, needs=DRAKE, **about)
    def solve(request: PeerRequest) -> PeerReply:
        drake = load("pydrake.solvers")
        program, z = program_of(request.problem)
        # a new object each time: one that is kept starts from its last basis
        engine, options = getattr(drake, solver)(), drake.SolverOptions()
        for option, value in request.options.items():
            options.SetOption(engine.solver_id(), option, value)
        time, answer = timed(lambda: engine.Solve(program, None, options))
        words = str(answer.get_solution_result())
        return PeerReply(answer.GetSolution(z), bool(answer.is_success()), time, words=words)


for _name, (_solver, _summary) in LCP_SOLVERS.items():
    _register(_name, _solver, lcp_program, takes=LCP, summary=_summary, tolerance={})
for _name, (_solver, _summary, _tolerance) in CONIC_SOLVERS.items():
    _register(
        _name, _solver, convex_program, takes=(LCP, BoxedLCP, ContactProblem), summary=_summary,
        tolerance=_tolerance, refuses=not_convex,
    )  # fmt: skip
