"""`perp solve FILE`: solve one problem and say what the answer is worth."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

import perp
from perp.bench.timing import duration
from perp.cli.candidates import Formulation, Solver
from perp.cli.describe import problem_facts, problem_words, residual_rows, solution_facts
from perp.cli.exit_codes import ExitCode
from perp.cli.named_values import read_options
from perp.cli.printing import print_facts, print_json, print_line
from perp.cli.progress import bar, progress
from perp.files import load_guess, load_solution
from perp.files.writing import PICTURE_SUFFIXES, check_writable
from perp.problems import Problem, Solution
from perp.problems.errors import FileError
from perp.solvers import solvers
from perp.view.convergence import convergence_runs, plot_convergence

ANSWER_SUFFIXES = (".npz", ".json", ".npy", ".txt", ".csv")
PLOT_TIME_LIMIT = 5.0
"""Seconds that each solver gets for `--plot`: long enough to see its rate, short enough to wait for."""

START_UP = 3.0
"""A first solve that takes less [s] is mostly start-up: it is repeated, so that its time means something."""


def solve(
    file: Path,
    /,
    *,
    solver: Solver = "auto",
    formulation: Formulation = None,
    tol: float = 1e-8,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    options: list[str] | None = None,
    start: str | None = None,
    out: Path | None = None,
    plot: Path | None = None,
    verbose: bool = False,
    json: bool = False,
) -> int:
    """Solve the problem in FILE. Exit code 0: solved, 1: not solved, 2: bad input.

    Args:
        file: An FCLib .hdf5, .npz or Siconos .dat file.
        solver: Which algorithm; `perp solvers FILE` lists those that take this problem.
        formulation: Into which form the problem is brought first.
        tol: The residual that counts as solved, relative to the size of the data.
        max_iterations: Stop after so many iterations.
        time_limit: Stop after so many seconds.
        options: NAME=VALUE for an option of the solver, as often as needed; `perp solvers NAME` lists them.
        start: Where to begin: `guess` for the guess stored in FILE, or a file with a solution.
        out: Write the answer to this .npz, .json, .npy, .txt or .csv file, solved or not.
        plot: Draw residual against time into this .png, .svg or .pdf file, for every solver that takes the
            problem, each for at most the time limit (5 seconds when none is given).
        verbose: Write the algorithm at work, its iteration and residual to stderr, a few times a second.
        json: Print one JSON object, with the vectors, in place of the table.
    """
    if out is not None:
        check_writable(out, ANSWER_SUFFIXES, "an answer")
    if plot is not None:
        check_writable(plot, PICTURE_SUFFIXES, "a picture")
    with progress(f"Reading {file}"):
        problem = perp.load(file)
        first = None if start is None else _read_start(file, start)
    facts = problem_facts(problem, file)
    given = read_options(options)
    quiet = nullcontext() if verbose else progress(f"Solving {problem_words(facts)} with {solver}")
    with quiet as say:

        def tell(now: Any) -> None:
            if say is not None:
                say(f"{now.solver}, iteration {now.iteration}, residual {now.residual:.1e}")

        def once(*, verbose: bool) -> Solution:
            return perp.solve(
                problem,
                solver,
                formulation=formulation,
                tol=tol,
                max_iterations=max_iterations,
                time_limit=time_limit,
                start=first,
                throw=False,
                options=given or None,
                verbose=verbose,
                callback=None if say is None else tell,
            )

        solution = once(verbose=verbose)
        if solution.build_time + solution.solve_time < START_UP:
            solution = once(verbose=False)  # the first time was spent on imports and on loading code
        answer = {"problem": facts, **solution_facts(solution)}
    if json:
        print_json(answer)
    else:
        _print_table(answer)
    if out is not None:  # last, so that an answer which cannot be written has at least been seen
        solution.save(out)
        if not json:
            print_line(f"Written to {out}")
    if plot is not None:
        _plot(problem, plot, tol, PLOT_TIME_LIMIT if time_limit is None else time_limit)
        if not json:
            print_line(f"Drawn in {plot}")
    return ExitCode.SOLVED if solution.solved else ExitCode.NOT_SOLVED


def _plot(problem: Problem, path: Path, tol: float, time_limit: float) -> None:
    """Run every solver that takes the problem, and draw how each got on."""
    names = [info.name for info in solvers(problem) if info.available]
    runs = {}
    with bar("Running", len(names)) as show:
        for name in names:
            show(name, 0)
            runs |= convergence_runs(problem, [name], tol=tol, time_limit=time_limit)
            show(name, 1)
    plot_convergence(runs, path, tol=tol)


def _read_start(file: Path, start: str) -> np.ndarray:
    if start != "guess":
        return load_solution(start)
    stored = load_guess(file)
    if "guess_r" not in stored:
        raise FileError(file, "holds no guess to start from")
    return stored["guess_r"]


def _print_table(answer: dict[str, Any]) -> None:
    solver = answer["solver"] + (f", formulation {answer['formulation']}" if answer["formulation"] else "")
    rows = [
        ("status", answer["status"]),
        ("problem", problem_words(answer["problem"])),
        ("solver", solver),
        ("iterations", str(answer["iterations"])),
        ("time", f"{duration(answer['solve_time'])} to solve, {duration(answer['build_time'])} to build"),
        *residual_rows(answer["problem"], answer["residuals"], answer["tolerance"]),
    ]
    for k, stage in enumerate(answer["stages"], 1):
        words = f"{stage['stage']}: {stage['residual']:.2g} after {stage['iterations']} iterations"
        rows.append((f"stage {k}", f"{words}, {duration(stage['seconds'])}"))
    if answer["message"]:
        rows.append(("remark", answer["message"]))
    print_facts(answer["sentence"], "bold green" if answer["solved"] else "bold red", rows)
