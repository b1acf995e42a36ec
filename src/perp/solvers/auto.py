"""The default: picks solvers by what is known of the problem, cheap ones first, and says which one did it."""

from __future__ import annotations

from perp.formulations.affine_as_boxed import affine_as_boxed
from perp.problems import LCP, MCP, BoxedLCP, ContactProblem, Problem, Status
from perp.solvers import registry
from perp.solvers.attempt import Attempt, Control

# Lemke's dense tableau takes 16 n² bytes: beyond this size sweeps come first.
LARGEST_TABLEAU = 2000


def candidates(problem: Problem) -> list[str]:
    """Names of solvers to try, in order."""
    if isinstance(problem, ContactProblem):
        return ["block-gauss-seidel"]
    if isinstance(problem, MCP):
        return ["mcp-newton"]
    if isinstance(problem, BoxedLCP):
        return ["pgs"]
    return ["lemke", "pgs"] if problem.size <= LARGEST_TABLEAU else ["pgs", "lemke"]


@registry.register(
    "auto",
    takes=(LCP, BoxedLCP, MCP, ContactProblem),
    summary="chooses among the others and says which it used",
)
def auto(problem: Problem, control: Control, options: object) -> Attempt:
    """Try the candidates in order until the shared residual is met."""
    if isinstance(problem, MCP) and problem.M is not None:
        attempt = auto(affine_as_boxed(problem).problem, control, options)  # type: ignore[arg-type]
        attempt.info["formulation"] = "affine"
        return attempt
    tried: list[str] = []
    best: tuple[float, Attempt, str] | None = None
    iterations = 0
    for name in candidates(problem):
        info = registry.find(name)
        if not info.available or info.objection(problem) is not None:
            continue
        tried.append(name)
        attempt = info.run(problem, control, info.options())
        iterations += attempt.iterations
        value = control.measure(attempt.z)
        if best is None or value < best[0] or attempt.reason is Status.INFEASIBLE:
            best = (value, attempt, name)
        if value <= control.tol or attempt.reason is Status.INFEASIBLE or control.out_of_time():
            break
    if best is None:
        raise registry.SolverError(f"no solver for {type(problem).__name__} can be used")
    _, attempt, name = best
    attempt.iterations = iterations
    attempt.info.update(solver=name, chosen_by="auto", tried=tried)
    return attempt
