"""`perp solve FILE`: solve one problem and say what the answer is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from perp.cli.exit_codes import ExitCode


def solve(
    file: Path,
    /,
    *,
    solver: str = "auto",
    formulation: str | None = None,
    tol: float = 1e-8,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    start: str | None = None,
    out: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Solve the problem in FILE. Exit code 0: solved, 1: not solved, 2: bad input.

    Args:
        file: An FCLib .hdf5, .npz or Siconos .dat file.
        solver: Which algorithm; `perp solvers FILE` lists those that take this problem.
        formulation: Into which form the problem is brought first.
        tol: The residual that counts as solved, relative to the size of the data.
        max_iterations: Stop after so many iterations.
        time_limit: Stop after so many seconds.
        start: Where to begin: `guess` for the guess stored in FILE, or a file with a solution.
        out: Write the answer to this .npz or .json file, solved or not.
        json: Print one JSON object, with the vectors, in place of the table.
    """
    import perp
    from perp.cli.answers import check_answer_path, read_answer, write_answer
    from perp.cli.describe import problem_facts, problem_words, solution_facts
    from perp.cli.printing import print_json
    from perp.cli.progress import progress

    if out is not None:
        check_answer_path(out)
    with progress(f"Reading {file}"):
        problem = perp.load(file)
        first = (
            None if start is None else read_answer(file if start == "guess" else Path(start), problem.size)
        )
    facts = problem_facts(problem, file)
    with progress(f"Solving {problem_words(facts)} with {solver}"):
        solution = perp.solve(
            problem,
            solver,
            formulation=formulation,
            tol=tol,
            max_iterations=max_iterations,
            time_limit=time_limit,
            start=first,
            throw=False,
        )
        answer = {"problem": facts, **solution_facts(solution)}
    if out is not None:
        write_answer(answer, out)
    if json:
        print_json(answer)
    else:
        _print_table(answer, out)
    return ExitCode.SOLVED if answer["solved"] else ExitCode.NOT_SOLVED


def _print_table(answer: dict[str, Any], out: Path | None) -> None:
    from perp.cli.describe import duration, problem_words, residual_rows
    from perp.cli.printing import print_facts

    solver = answer["solver"] + (f", formulation {answer['formulation']}" if answer["formulation"] else "")
    rows = [
        ("problem", problem_words(answer["problem"])),
        ("solver", solver),
        ("iterations", str(answer["iterations"])),
        ("time", f"{duration(answer['solve_time'])} to solve, {duration(answer['build_time'])} to build"),
        *residual_rows(answer["residuals"], answer["tolerance"]),
    ]
    if answer["message"]:
        rows.append(("remark", answer["message"]))
    if out is not None:
        rows.append(("written to", str(out)))
    style = "bold green" if answer["solved"] else "bold red"
    print_facts(f"{answer['status']}: {answer['sentence']}", style, rows)
