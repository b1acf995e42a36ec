"""Residual against time of every solver that takes a problem."""

from collections.abc import Iterable
from pathlib import Path

from perp.problems import Problem, Solution
from perp.solvers import solve, solvers

# Lines of a legend in one column.
_LINES = 28


def convergence_runs(
    problem: Problem, names: Iterable[str] | None = None, *, tol: float = 1e-8, time_limit: float = 5.0
) -> dict[str, Solution]:
    """The solution with history, solved or not, of each solver; of all that take the problem for None."""
    if names is None:
        names = [info.name for info in solvers(problem) if info.available]
    runs = {}
    for name in names:
        # the first call of a kernel loads or compiles it: that is not part of the solver's time
        solve(problem, name, tol=tol, max_iterations=1, time_limit=time_limit, throw=False)
        runs[name] = solve(problem, name, tol=tol, time_limit=time_limit, history=True, throw=False)
    return runs


def plot_convergence(runs: dict[str, Solution], path: str | Path, *, tol: float = 1e-8) -> None:
    """Draw residual against time, one line per solver, and the tolerance into a picture file."""
    from matplotlib.figure import Figure

    lines = sum(run.history is not None and run.history.times.size > 0 for run in runs.values())
    columns = 1 + lines // _LINES
    figure = Figure(figsize=(8 + 2.2 * columns, 6), layout="constrained")
    axes = figure.add_subplot(
        xscale="log", yscale="log", xlabel="time [ms]", ylabel="residual", title="Residual against time"
    )
    for name, solution in runs.items():
        history = solution.history
        if history is None or not history.times.size:
            continue
        label = name if solution.solved else f"{name} (not solved)"
        axes.plot(
            1e3 * history.times.clip(1e-6),
            history.residuals.clip(1e-17),
            marker=".",
            markersize=3,
            label=label,
        )
    axes.axhline(tol, color="black", linewidth=0.8, linestyle="--")
    axes.grid(visible=True, alpha=0.3)
    figure.legend(fontsize="small", loc="outside right upper", ncols=columns)
    figure.savefig(path)
