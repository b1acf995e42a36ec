"""Cells of the table as GAMS models in files, for users who have GAMS: text and options that are run here."""

import re
from pathlib import Path

from perp.comparison.cells import Cell
from perp.formulations.equations_of_motion import MotionMCP
from perp.formulations.registry import find_formulation
from perp.problems import ContactProblem
from perp.problems.cone_program import ConeProgram
from perp.solvers.external.gams import COMPLEMENTARITY, EQUILIBRIUM, OPTIMISERS, model_text

# What solvers are asked for, and more than most of them reach.
TOLERANCE = "1e-9"


def write_models(cells: list[Cell], problem: ContactProblem, folder: Path, title: str) -> list[Path]:
    """Write the model of every cell that GAMS solves, and return the files, whose names begin with the title.

    Cells of other solvers are left out; the folder is made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for cell in cells:
        formulation = find_formulation(cell.formulation or "")
        if not cell.row.startswith("gams-") or formulation is None or formulation.objection(problem):
            continue
        program = formulation.build(problem).problem
        if not isinstance(program, (ConeProgram, MotionMCP)):
            continue
        start = program.start if isinstance(program, ConeProgram) else program.first_point
        solver = cell.row.removeprefix("gams-")
        path = folder / f"{_slug(title)}-{_slug(cell.row)}-{_slug(cell.column)}.gms"
        head = [
            f"* {title}: formulation {cell.formulation}, as {cell.column}, for {solver}.",
            "* Written by perp. Run it with: gams FILE. It writes answer.txt: model status, solver status,",
            "* iterations, then the unknowns in the units that the formulation chose, one a line.",
        ]
        text = model_text(cell.row, program, start, cell.options.get("model", "qcp"))
        path.write_text("\n".join(head) + "\n" + _with_options(cell.row, text) + "\n", encoding="utf-8")
        written.append(path)
    return written


def _with_options(name: str, text: str) -> str:
    """A model that writes the option file of its solver, without which CPLEX gives 23.7 N for 9.81."""
    known = (OPTIMISERS | COMPLEMENTARITY | EQUILIBRIUM).get(name)
    if known is None:
        return text
    lines = known.options.replace("{tol}", TOLERANCE)
    file = f"$onecho > {known.name}.opt\n{lines}\n$offecho\n"
    return file + re.sub(r"^solve (\w+) ", r"\1.optfile = 1;\nsolve \1 ", text, flags=re.MULTILINE)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower().replace("°", "")).strip("-")
