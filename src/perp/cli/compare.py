"""`perp compare MODEL`: one problem, every formulation, every solver, and what each answer is worth."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

import perp
from perp.cli.candidates import Compared
from perp.cli.exit_codes import ExitCode
from perp.cli.printing import print_json
from perp.cli.progress import bar
from perp.comparison.cells import ROWS, Cell, table_cells
from perp.comparison.export import write_models
from perp.comparison.figure import draw
from perp.comparison.report import (
    QUANTITIES,
    Comparison,
    as_csv,
    as_markdown,
    columns_of,
    lines_of,
    records,
    remarks,
)
from perp.comparison.running import run_cells
from perp.comparison.verdict import Limits, Verdict
from perp.files.writing import PICTURE_SUFFIXES, check_writable
from perp.models.catalogue import MODELS, build
from perp.problems import ContactProblem
from perp.problems.errors import FileError, ProblemError, SolverError
from perp.solvers.registry import unknown

PUBLISHED_ANGLES = (0.0, 25.0)
_USUAL = Limits()


def compare(
    model: str,
    /,
    *,
    angle: list[float] | None = None,
    mu: float | None = None,
    solver: Compared = None,
    limits: Annotated[Limits, Parameter(name="*")] = _USUAL,
    workers: int | None = None,
    published: bool = False,
    as_published: bool = False,
    format: Literal["table", "markdown", "csv", "json"] = "table",  # noqa: A002
    plot: Path | None = None,
    export: Path | None = None,
) -> int:
    """Solve MODEL in every formulation with every solver, and say which answers are right.

    Exit code 0: the table was made, whatever is in it; 2: bad input.

    Args:
        model: box-on-slope, sphere-on-slope, stack, wedge, slider-crank, chain, pile, or a file with a
            contact problem.
        angle: Tilt in degrees; may be given several times. Models have their own default.
        mu: Friction coefficient.
        solver: Only this solver; may be given several times.
        limits: See `Limits`.
        workers: Processes side by side; one per core by default.
        published: Show the digits published in 2014 beside ours.
        as_published: Run the formulations as they were printed in 2014, with the solvers' own tolerances.
        format: How to print.
        plot: Draw residual and time of every solve into this file (.png, .svg, .pdf).
        export: Write the models of GAMS into this folder, one .gms file for each solver and formulation, and
            solve nothing.
    """
    if plot is not None:
        check_writable(plot, PICTURE_SUFFIXES, "a picture")
    if not limits.time_limit > 0:
        raise ProblemError(f"--time-limit {limits.time_limit:g}: a positive number of seconds is needed")
    if workers is not None and workers < 1:
        raise ProblemError(f"--workers {workers}: at least one process is needed")
    for name in solver or []:
        if name not in ROWS:
            raise SolverError(unknown("row", name, list(ROWS)))
    cells = table_cells(rows=solver, as_published=as_published)
    if export is not None:
        return _export(cells, _problems(model, angle, mu), export)
    comparisons: list[Comparison] = []
    for title, problem, step, tilt in _problems(model, angle, mu):
        with bar(title, len(cells)) as show:
            results = run_cells(
                cells, problem, limits, step=step or 1.0, workers=workers, done=lambda _: show("", 1)
            )
        same = model == "box-on-slope" and tilt in PUBLISHED_ANGLES and mu in (None, 1.0)
        comparisons.append(Comparison(title, results, tilt if same else None, "N" if step else "N·s"))
    if plot is not None:
        draw(comparisons, plot, accept=limits.accept)
    _print(comparisons, format, show_published=published)
    return ExitCode.SOLVED


def _export(
    cells: list[Cell], problems: list[tuple[str, ContactProblem, float | None, float | None]], folder: Path
) -> int:
    if folder.exists() and not folder.is_dir():
        raise ProblemError(f"--export {folder}: this is a file; a folder is needed")
    files = [file for title, problem, *_ in problems for file in write_models(cells, problem, folder, title)]
    if not files:
        raise ProblemError("--export: none of these rows is solved by GAMS")
    print(f"{len(files)} models written into {folder}: run any with gams FILE")  # noqa: T201
    return ExitCode.SOLVED


def _problems(
    model: str, angles: list[float] | None, mu: float | None
) -> list[tuple[str, ContactProblem, float | None, float | None]]:
    """Title, problem, time step and tilt of everything to be compared."""
    if model in MODELS:
        out = []
        for angle in angles or [None]:
            made = build(model, angle=angle, mu=mu)
            title = (
                model + ("" if angle is None else f" at {angle:g}°") + ("" if mu is None else f", μ = {mu:g}")
            )
            out.append((title, made.problem, made.step, 0.0 if angle is None else angle))
        return out
    path = Path(model)
    if not path.exists():
        raise ProblemError(f"{model} is neither a file nor a model. Models: {', '.join(MODELS)}")
    if angles or mu is not None:
        raise ProblemError("--angle and --mu belong to models, not to files")
    problem = perp.load(path)
    if not isinstance(problem, perp.ContactProblem):
        raise FileError(path, f"holds a problem of type {type(problem).__name__}: a ContactProblem is needed")
    return [(path.name, problem.as_exact(), None, None)]


def _print(comparisons: list[Comparison], form: str, *, show_published: bool) -> None:
    if form == "json":
        print_json([record for comparison in comparisons for record in records(comparison)])
    elif form == "csv":
        sys.stdout.write(as_csv(comparisons))
    elif form == "markdown":
        sys.stdout.write(as_markdown(comparisons, show_published=show_published))
    else:
        for comparison in comparisons:
            _show_tables(comparison, show_published=show_published)


def _show_tables(comparison: Comparison, *, show_published: bool) -> None:
    styles = {
        Verdict.EXACT: "green", Verdict.RELAXED: "yellow", Verdict.WRONG: "bold red", Verdict.FAILED: "red",
        Verdict.NOT_INSTALLED: "dim",
    }  # fmt: skip
    columns = columns_of(comparison)
    # a pipe has no width of its own: the table then takes what it needs
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=20 + 22 * len(columns))
    for quantity, name in QUANTITIES.items():
        title = f"{comparison.title}: {name.replace('[N]', f'[{comparison.unit}]')}"
        table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
        table.add_column("solver", no_wrap=True)
        for column in columns:
            table.add_column(column)
        for row, cells in lines_of(comparison, quantity, show_published=show_published):
            table.add_row(row, *(Text("\n".join(x), style=styles[y] if y else "") for y, x in cells))
        console.print(table)
        console.print()
    for line in remarks(comparison):
        console.print(Text(line, style="dim"))
