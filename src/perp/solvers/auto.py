"""The default: picks solvers by what is known of the problem, cheap ones first, and says which one did it."""

from __future__ import annotations

from typing import Any

from perp.compilation.stopwatch import working_time
from perp.formulations.affine_as_boxed import affine_as_boxed
from perp.problems import LCP, MCP, BoxedLCP, ContactProblem, Status
from perp.problems.infeasibility import proves_infeasible
from perp.problems.validation import is_sparse
from perp.solvers import registry
from perp.solvers.attempt import Attempt, Control
from perp.solvers.auto_contact import record, solve_contact
from perp.solvers.routes import find_route
from perp.solvers.solve import bring_back_active_set
from perp.solvers.watching import now_runs

# Pivoting keeps dense factors of 8 to 24 n² bytes: beyond this size sweeps come first, unless M is sparse.
LARGEST_DENSE = 2000
# Boxes with nonsymmetric matrices: exchanges that end in a circle cost less than the LCP up to this size.
LARGEST_BOX = 50
# 2ⁿ bases: a last resort for small problems that no other method solves.
LARGEST_ENUMERATION = 12


def candidates(problem: LCP | BoxedLCP | MCP) -> list[str]:
    """Solvers to try in order: block pivoting where it is sure to end, Lemke elsewhere, sweeps if large.

    A box comes to Lemke's method only as an LCP of more rows. Small ones are tried as they are first.
    """
    if isinstance(problem, MCP):
        return ["mcp-newton"]
    from perp.solvers.pivoting.rows import has_moving_bounds
    from perp.solvers.symmetry import is_symmetric

    if isinstance(problem, BoxedLCP) and has_moving_bounds(problem):
        return ["moving-bounds", "subspace-minimisation", "boxed-newton", "dantzig", "pgs"]
    fits = problem.size <= LARGEST_DENSE or is_sparse(problem.M)
    boxed = isinstance(problem, BoxedLCP)
    small_box = boxed and problem.size <= LARGEST_BOX
    block_first = fits and (small_box or is_symmetric(problem.M) or _large_and_dominant(problem.M))
    pivoting = ["principal", "lemke"] if block_first else ["lemke", "principal"]
    if boxed:
        pivoting = [*pivoting, "boxed-newton", "dantzig"]
    elif problem.size <= LARGEST_ENUMERATION:
        pivoting = [*pivoting, "direct"]
    return [*pivoting, "pgs"] if fits else ["pgs", *pivoting]


def _large_and_dominant(M: Any) -> bool:
    """Whether M is sparse, large, dominated by its diagonal and without a positive entry off it.

    Free boundaries with a drift and options are of this kind: block exchanges end on such M-matrices.
    """
    from perp.solvers.pivoting.coarse_start import has_no_positive_coupling
    from perp.solvers.pivoting.sparse_principal import SMALLEST

    if not (is_sparse(M) and M.shape[0] > SMALLEST and has_no_positive_coupling(M)):
        return False
    round_off = 1e-12 * M.diagonal()
    return any(bool((M.sum(axis=axis) >= -round_off).all()) for axis in (0, 1))


@registry.register(
    "auto",
    takes=(LCP, BoxedLCP, MCP, ContactProblem),
    summary="chooses among the others and says which it used",
)
def auto(problem: LCP | BoxedLCP | MCP | ContactProblem, control: Control, options: object) -> Attempt:
    """Try the candidates in order until the shared residual is met."""
    if isinstance(problem, ContactProblem):
        return solve_contact(problem, control)
    if isinstance(problem, MCP) and problem.M is not None:
        attempt = auto(affine_as_boxed(problem).problem, control, options)  # type: ignore[arg-type]
        attempt.info["formulation"] = "affine"
        return attempt
    stages: list[dict[str, Any]] = []
    best: tuple[float, Attempt, str] | None = None
    iterations = 0
    for name in candidates(problem):
        began = working_time()
        attempt = _try(name, problem, control)
        if attempt is None:
            continue
        iterations += attempt.iterations
        value = control.measure(attempt.z)
        stages.append(record(name, working_time() - began, value, attempt.iterations))
        proved = attempt.reason is Status.INFEASIBLE and proves_infeasible(
            problem, attempt.info.get("certificate")
        )
        if best is None or value < best[0] or proved:
            best = (value, attempt, name)
        if value <= control.tol or proved or control.out_of_time():
            break
    if best is None:
        raise registry.SolverError(f"no solver for {type(problem).__name__} can be used")
    _, attempt, name = best
    attempt.iterations = iterations
    attempt.info.update(solver=name, chosen_by="auto", stages=stages)
    return attempt


def _try(name: str, problem: LCP | BoxedLCP | MCP, control: Control) -> Attempt | None:
    """One solver's attempt, through a formulation where it needs one; None where it does not apply."""
    info = registry.find(name)
    try:
        route = find_route(problem, info)
    except registry.SolverMismatch:
        return None
    now_runs(control, name)
    if route is None:
        return info.run(problem, control, info.options())
    turned = route.build(problem)
    if info.objection(turned.problem) is not None:
        return None
    start = None if control.start is None or turned.start is None else turned.start(control.start)
    attempt = info.run(turned.problem, control.through(turned.back, start), info.options())
    attempt.z = turned.back(attempt.z)
    bring_back_active_set(problem, attempt)
    attempt.info["formulation"] = route.name
    # a certificate of the other form proves nothing about this one as it stands
    if attempt.reason is Status.INFEASIBLE:
        attempt.reason = Status.RAY
    return attempt
