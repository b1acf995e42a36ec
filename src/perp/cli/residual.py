"""`perp residual FILE SOLUTION`: judge an answer from anywhere by the same code that judges every solver."""

import dataclasses
import math
from pathlib import Path

import perp
from perp.cli.describe import problem_facts, problem_words, residual_rows
from perp.cli.exit_codes import ExitCode
from perp.cli.printing import print_facts, print_json
from perp.cli.progress import progress
from perp.files import load_solution


def residual(
    file: Path,
    solution: Path,
    /,
    *,
    tol: float = 1e-8,
    json: bool = False,
) -> int:
    """Measure how far SOLUTION is from solving the problem in FILE. Exit code 0: within tol, 1: not.

    Args:
        file: An FCLib .hdf5, .npz or Siconos .dat file.
        solution: What `perp solve --out` or `--json` wrote, a vector in .npy or text, or an FCLib file that
            holds its solution.
        tol: The residual that counts as solved, relative to the size of the data.
        json: Print one JSON object in place of the table.
    """
    if not (tol > 0 and math.isfinite(tol)):
        raise perp.ProblemError(f"tol = {tol}: a positive number is needed")
    with progress(f"Reading {file}"):
        problem = perp.load(file)
        z = load_solution(solution)
    with progress("Measuring the residual"):
        parts = dataclasses.asdict(perp.residuals(problem, z))
    solved = bool(parts["value"] <= tol)
    facts = problem_facts(problem, file)
    if json:
        verdict = {"solved": solved, "tolerance": tol, "residuals": parts}
        print_json({"problem": facts, "solution": str(solution), **verdict})
    else:
        rows = [("problem", problem_words(facts)), ("solution", str(solution))]
        rows += residual_rows(facts, parts, tol)
        verdict = "Solved: within the tolerance." if solved else "Not solved: above the tolerance."
        print_facts(verdict, "bold green" if solved else "bold red", rows)
    return ExitCode.SOLVED if solved else ExitCode.NOT_SOLVED
