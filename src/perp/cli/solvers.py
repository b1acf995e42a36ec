"""`perp solvers [FILE or NAME]`: which algorithms there are, which take a problem, which options one has."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

import perp
from perp.cli.describe import problem_facts, problem_words
from perp.cli.exit_codes import ExitCode
from perp.cli.printing import print_facts, print_json, show
from perp.cli.progress import progress
from perp.problems import FileError, UnknownSolver
from perp.solvers.option_texts import option_texts
from perp.solvers.registry import SolverInfo, find
from perp.solvers.routes import find_route


def solvers(about: Path | None = None, /, *, json: bool = False) -> int:
    """List the solvers, what each takes, and how to get those that are missing.

    Args:
        about: A file, to list only the solvers that take its problem; or the name of a solver, to list its
            options.
        json: Print a JSON array in place of the table.
    """
    problem, title, file = None, "Solvers", about
    if file is not None and not file.exists():
        return _one(str(file), json)
    if file is not None:
        with progress(f"Reading {file}"):
            problem = perp.load(file)
        title = f"Solvers for {file} ({problem_words(problem_facts(problem, file))})"
    with progress("Looking for installed solvers"):
        found = perp.solvers(problem)
    routes = [None if problem is None else find_route(problem, info) for info in found]
    # the formulation through which a solver takes the problem; None where it takes it as it is
    through = [None if route is None else route.name for route in routes]
    if json:
        print_json([_facts(info, way) for info, way in zip(found, through, strict=True)])
    else:
        show(_table(found, through, title, of_file=problem is not None))
    return ExitCode.SOLVED


def _one(name: str, json: bool) -> int:
    """A solver and its options."""
    try:
        info = find(name)
    except UnknownSolver as error:
        raise FileError(name, f"does not exist, and {error}") from None
    texts = option_texts(info)
    if json:
        print_json([_facts(info, None) | {"options": [asdict(text) for text in texts]}])
        return ExitCode.SOLVED
    rows = [("takes", ", ".join(kind.__name__ for kind in info.takes)), ("family", info.family)]
    rows += [("missing", info.reason)] if info.reason else []
    rows += [(f"{x.name}={x.default}", x.about or x.kind) for x in texts] or [("options", "none of its own")]
    print_facts(f"{info.name}: {info.summary}", "bold", rows)
    return ExitCode.SOLVED


def _facts(info: SolverInfo, through: str | None) -> dict[str, Any]:
    return {
        "name": info.name,
        "family": info.family,
        "takes": [kind.__name__ for kind in info.takes],
        "formulation": through,
        "summary": info.summary,
        "available": info.available,
        "reason": info.reason,
    }


# One letter a problem type: four columns of names leave no room for words on a screen of 80.
_LETTERS = {"LCP": "L", "BoxedLCP": "B", "MCP": "M", "ContactProblem": "C"}
_OTHER = "P"
_LEGEND = "L LCP, B BoxedLCP, M MCP, C ContactProblem, P programs of formulations"


def _table(found: list[SolverInfo], through: list[str | None], title: str, *, of_file: bool) -> Table:
    caption = None if of_file else _LEGEND
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False,
                  caption=caption, caption_justify="left")  # fmt: skip
    table.add_column("name", no_wrap=True)
    # of a file it is known that they take it: what matters is how
    table.add_column("formulation" if of_file else "takes", no_wrap=True)
    table.add_column("what it is", ratio=1)
    family = ""
    for info, way in zip(found, through, strict=True):
        if info.family != family:
            family = info.family
            table.add_row(Text(family, style="dim italic"), "", "")
        name = Text(f"  {info.name}", style="bold green" if info.available else "yellow")
        summary = Text(info.summary)
        if not info.available:
            summary.append(f" Missing: {info.reason}", style="yellow")
        letters = {_LETTERS.get(kind.__name__, _OTHER) for kind in info.takes}
        takes = "".join(x if x in letters else "·" for x in (*_LETTERS.values(), _OTHER))
        table.add_row(name, (way or "") if of_file else takes, summary)
    return table
