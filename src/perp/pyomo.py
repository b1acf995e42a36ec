"""`import perp.pyomo` makes `SolverFactory("perp")` of Pyomo solve models with complementarities.

Which models it takes is said in `perp.formulations.from_pyomo`. A solution goes into the model's variables;
if there is none, they keep their values and the results tell why.
"""

from importlib import import_module
from typing import Any, Self

import perp
from perp.formulations.from_pyomo import from_pyomo
from perp.problems import SolverMissing, Status

try:
    _opt: Any = import_module("pyomo.opt")
except ImportError:
    raise SolverMissing("pyomo is not installed; add it with: pip install pyomo") from None

Condition = _opt.TerminationCondition
CONDITIONS = {
    Status.SOLVED: Condition.optimal,
    Status.ITERATION_LIMIT: Condition.maxIterations,
    Status.TIME_LIMIT: Condition.maxTimeLimit,
    Status.INFEASIBLE: Condition.infeasible,
    Status.LOCAL_MINIMUM: Condition.noSolution,
    Status.EVALUATION_ERROR: Condition.invalidProblem,
}


@_opt.SolverFactory.register("perp", doc="Sparse semismooth Newton for mixed complementarity problems")
class PerpSolver:
    """What `SolverFactory("perp")` returns.

    Attributes:
        options: Keywords of `perp.solve` ("solver", "tol", "max_iterations", "time_limit"); all others are
            options of the solver, by default `mcp-newton`.
    """

    def __init__(self, **options: Any) -> None:
        options.pop("type", None)
        self.options: dict[str, Any] = dict(options.pop("options", {}), **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def available(self, exception_flag: bool = True) -> bool:  # noqa: ARG002  Pyomo passes it
        """Whether it can be used: always."""
        return True

    def license_is_valid(self) -> bool:
        """There is nothing to license."""
        return True

    def version(self) -> tuple[int, ...]:
        """The release of perp."""
        return tuple(int(part) for part in perp.__version__.split("."))

    def solve(
        self,
        model: Any,
        *,
        tee: bool = False,
        load_solutions: bool = True,
        timelimit: float | None = None,
        options: dict[str, Any] | None = None,
    ) -> Any:
        """Solve a model and write the answer into it.

        Args:
            model: As `perp.from_pyomo` takes it.
            tee: Print a line per iteration.
            load_solutions: Whether values go into the variables.
            timelimit: Seconds.
            options: Added to those of this object.

        Returns:
            Pyomo's `SolverResults`, with the status in its message.

        Raises:
            ProblemError: The model is no MCP.
        """
        given = {**self.options, **(options or {})}
        solver = given.pop("solver", "mcp-newton")
        common = {name: given.pop(name) for name in ("tol", "max_iterations", "time_limit") if name in given}
        if timelimit is not None:
            common["time_limit"] = timelimit
        if tee and solver == "mcp-newton":
            given["verbose"] = True
        problem, write = from_pyomo(model)
        solution = perp.solve(problem, solver, options=given or None, throw=False, **common)
        if solution.solved and load_solutions:
            write(solution)
        return _results(model, problem, solution)


def _results(model: Any, problem: perp.MCP, solution: perp.Solution) -> Any:
    results = _opt.SolverResults()
    results.problem.name = model.name
    results.problem.number_of_variables = results.problem.number_of_constraints = problem.size
    results.solver.name = f"perp ({solution.solver})"
    results.solver.status = _opt.SolverStatus.ok if solution.solved else _opt.SolverStatus.warning
    results.solver.termination_condition = CONDITIONS.get(solution.status, Condition.other)
    results.solver.message = f"{solution.status.value} {solution.message}".strip()
    results.solver.time = solution.solve_time
    return results
