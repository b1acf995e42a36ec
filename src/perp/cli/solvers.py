"""`perp solvers [FILE]`: which algorithms there are, or which of them take the problem in FILE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from perp.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from rich.table import Table

    from perp.solvers.registry import SolverInfo


def solvers(file: Path | None = None, /, *, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """List the solvers, what each takes, and how to get those that are missing.

    Args:
        file: List only the solvers that take the problem in this file.
        json: Print a JSON array in place of the table.
    """
    import perp
    from perp.cli.describe import problem_facts, problem_words
    from perp.cli.printing import print_json, show
    from perp.cli.progress import progress

    problem, title = None, "Solvers"
    if file is not None:
        with progress(f"Reading {file}"):
            problem = perp.load(file)
        title = f"Solvers for {file} ({problem_words(problem_facts(problem, file))})"
    with progress("Looking for installed solvers"):
        found = perp.solvers(problem)
    if json:
        print_json([_facts(info) for info in found])
    else:
        show(_table(found, title))
    return ExitCode.SOLVED


def _facts(info: SolverInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "family": info.family,
        "takes": [kind.__name__ for kind in info.takes],
        "summary": info.summary,
        "available": info.available,
        "reason": info.reason,
    }


def _table(found: list[SolverInfo], title: str) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("family", no_wrap=True, style="dim")
    table.add_column("takes")
    table.add_column("what it is", ratio=1)
    for info in found:
        name = Text(info.name, style="bold green" if info.available else "yellow")
        summary = Text(info.summary)
        if not info.available:
            summary.append(f" Missing: {info.reason}", style="yellow")
        table.add_row(name, info.family, ", ".join(kind.__name__ for kind in info.takes), summary)
    return table
