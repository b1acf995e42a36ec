"""Models of GAMS as MCPs, through GAMSPy or from a file, and the answer back. Needs gamspy.

GAMS itself expands the model: its CONVERT, which comes with the demo licence, writes every equation in full
(`gams_scalar` reads them) and a dictionary of the names. As in GAMS, f is the left less the right side of an
equation, and the bounds of its variable say where it may be positive (at a lower one) or negative (at an
upper one). The demo licence sets the size that CONVERT takes.
"""

import re
import subprocess
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from perp.formulations.expressions import compiled
from perp.formulations.gams_scalar import ScalarModel, read_scalar_model
from perp.problems import MCP, ProblemError, Solution, SolverMissing

SCALAR, NAMES = "gams.gms", "dict.txt"
# Seconds that GAMS may take to expand a model.
PATIENCE = 300.0


def from_gams(model: Any) -> tuple[MCP, Callable[[Solution], Any]]:
    """The MCP of a GAMS model, and a function that brings a solution back.

    Args:
        model: A `gamspy.Model` of the type MCP, or the path of a .gms file with a `solve … using mcp`.

    Returns:
        The problem, with GAMS' names, and `write(solution)`: it sets levels and marginals (f) of the
        variables of a GAMSPy model; for a file it returns assignments (`p.l('chicago') = 1.5;`) that GAMS can
        include.

    Raises:
        ProblemError: The model is no MCP, a function is not known here, or GAMS has complaints.
        SolverMissing: gamspy is not installed.
    """
    if find_spec("gamspy_base") is None:
        raise SolverMissing("gamspy is not installed; add it with: pip install gamspy")
    with tempfile.TemporaryDirectory(prefix="perp-gams-") as folder:
        place = Path(folder)
        if isinstance(model, (str, PathLike)):
            _convert_file(Path(model), place)
        else:
            _convert_model(model, place)
        scalar = read_scalar_model((place / SCALAR).read_text(encoding="utf-8"))
        names = _dictionary((place / NAMES).read_text(encoding="utf-8"))
    problem = _problem(scalar, names)
    if isinstance(model, (str, PathLike)):
        return problem, lambda solution: _assignments(problem, solution)
    return problem, lambda solution: _into_model(model, problem, solution)


def _convert_model(model: Any, place: Path) -> None:
    gamspy: Any = import_module("gamspy")
    if not isinstance(model, gamspy.Model):
        raise ProblemError(f"model is {type(model).__name__}: a gamspy.Model or the path of a file is needed")
    if str(model.problem).upper().rsplit(".", 1)[-1] != "MCP":
        raise ProblemError(f"{model.name} is of the type {model.problem}: MCP is needed")
    model.convert(place, [gamspy.FileFormat.GAMS, gamspy.FileFormat.GAMSDict])


def _convert_file(file: Path, place: Path) -> None:
    if not file.is_file():
        raise ProblemError(f"there is no file {file}")
    spec = find_spec("gamspy_base")
    system = Path(spec.submodule_search_locations[0])  # type: ignore[union-attr,index]
    options = f"gams {place / SCALAR}\ndict {place / NAMES}\n"
    (place / "convert.opt").write_text(options, encoding="utf-8")
    subprocess.run(
        [
            str(system / "gams"), str(file.resolve()), f"license={system / 'gamslice.txt'}", "mcp=convert",
            "optfile=1", f"optdir={place}", f"scrdir={place}", f"output={place / 'listing.lst'}",
            f"curdir={file.resolve().parent}", "logoption=0",
        ],
        check=False, timeout=PATIENCE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    if not (place / SCALAR).exists():
        listing = place / "listing.lst"
        told = listing.read_text(errors="replace").splitlines() if listing.exists() else []
        words = [line.strip(" *") for line in told if "****" in line]
        raise ProblemError(f"{file.name}: GAMS made no MCP of it: {' / '.join(words[:3]) or 'no solve'}")


def _dictionary(text: str) -> dict[str, str]:
    """GAMS' names of x1 … xn."""
    listed = text[text.index("Variables 1 to") :].splitlines()[1:]
    return dict(line.split(None, 1) for line in listed if line.startswith("  x"))


def _problem(scalar: ScalarModel, names: dict[str, str]) -> MCP:
    owner = {variable: equation for equation, variable in scalar.pairs.items()}
    alone = [e for e in scalar.equations if e not in scalar.pairs]
    without = [x for x in scalar.variables if x not in owner]
    if len(alone) != len(without) or any(scalar.equations[e][0] != "E" for e in alone):
        raise ProblemError(
            f"{len(alone)} equations without a variable for {len(without)} variables without an equation"
        )
    owner |= dict(zip(without, alone, strict=True))
    low = np.array([scalar.lower.get(x, -np.inf) for x in scalar.variables])
    high = np.array([scalar.upper.get(x, np.inf) for x in scalar.variables])
    rows = []
    for x, least, most in zip(scalar.variables, low, high, strict=True):
        relation, formula = scalar.equations[owner[x]]
        wrong = (relation == "G" and np.isinf(least) and np.isfinite(most)) or (
            relation == "L" and np.isfinite(least) and np.isinf(most)
        )
        if wrong:
            raise ProblemError(f"={relation}= is paired with {names.get(x, x)} in [{least:g}, {most:g}]")
        rows.append(formula)
    f, jacobian = compiled(rows, len(rows))
    start = np.clip([scalar.level.get(x, 0.0) for x in scalar.variables], low, high)
    return MCP(f, low, high, jacobian, start=start, names=[names.get(x, x) for x in scalar.variables])


def _split(name: str) -> tuple[str, tuple[str, ...]]:
    """Symbol and labels of `p('new york',b)`."""
    symbol, _, labels = name.partition("(")
    found = re.findall(r"'([^']*)'|\"([^\"]*)\"|([^,'\"]+)", labels.rstrip(")"))
    return symbol, tuple((a or b or c).strip() for a, b, c in found)


def _assignments(problem: MCP, solution: Solution) -> str:
    lines = []
    for i, value in enumerate(solution.z):
        symbol, labels = _split(problem.name(i))
        index = "(" + ",".join(f"'{x}'" for x in labels) + ")" if labels else ""
        lines.append(f"{symbol}.l{index} = {float(value)!r};")
    return "\n".join(lines) + "\n"


def _into_model(model: Any, problem: MCP, solution: Solution) -> None:
    """Set levels and marginals in the records of the model's container."""
    pandas: Any = import_module("pandas")
    tables: dict[str, dict[tuple[str, ...], dict[str, float]]] = {}
    for i in range(problem.size):
        symbol, labels = _split(problem.name(i))
        tables.setdefault(symbol, _records(model.container[symbol]))[labels] = {
            "level": float(solution.z[i]), "marginal": float(solution.w[i]),
            "lower": problem.lo[i], "upper": problem.hi[i], "scale": 1.0,
        }  # fmt: skip
    for symbol, table in tables.items():
        variable = model.container[symbol]
        rows = [{f"label{k}": x for k, x in enumerate(labels)} | values for labels, values in table.items()]
        variable.setRecords(pandas.DataFrame(rows))
        variable.domain_labels = variable.domain_names


def _records(variable: Any) -> dict[tuple[str, ...], dict[str, float]]:
    """What a variable holds already: entries that are not in the model keep it."""
    if variable.records is None:
        return {}
    width = variable.dimension
    out = {}
    for row in variable.records.to_dict("records"):
        names = list(row)
        out[tuple(str(row[x]) for x in names[:width])] = {x: row[x] for x in names[width:]}
    return out
