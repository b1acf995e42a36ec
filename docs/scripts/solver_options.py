"""Writes docs/solver-options.md: every option of every solver, from the registry and the docstrings.

Usage: python docs/scripts/solver_options.py [--check]. With --check nothing is written, and the exit code is
1 when the page is not what would be written.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from pathlib import Path

import perp
from perp.solvers.registry import SolverInfo

PAGE = Path(__file__).parents[1] / "solver-options.md"
HEAD = """# Options of every solver

Written by `docs/scripts/solver_options.py` from the solvers themselves. Options are given as
`perp.solve(problem, "NAME", options={...})` or `perp simulate --solver NAME --options KEY=VALUE`. Every
solver has `tol`, `max_iterations`, `time_limit` and `start` of `perp.solve` besides.
[Which solver takes which problem](capabilities.md) tells which problem each of them takes.
"""
_ENTRY = re.compile(r"^(\w+(?:,\s*\w+)*):\s*(.*)$")


def described(options: type) -> dict[str, str]:
    """What the docstrings of a dataclass and of what it inherits from say about each field."""
    out: dict[str, str] = {}
    for base in reversed(options.__mro__[:-1]):
        out |= _of_docstring(inspect.cleandoc(base.__doc__ or ""))
    return out


def _of_docstring(text: str) -> dict[str, str]:
    _, found, rest = text.partition("Attributes:")
    out: dict[str, str] = {}
    names: list[str] = []
    for line in rest.splitlines() if found else ():
        entry = (
            _ENTRY.match(line.strip()) if line.startswith("    ") and not line.startswith("     ") else None
        )
        if entry:
            names = [name.strip() for name in entry[1].split(",")]
            out |= dict.fromkeys(names, entry[2])
        elif line.strip():
            out |= {name: f"{out[name]} {line.strip()}" for name in names}
    return out


def section(info: SolverInfo) -> list[str]:
    """A solver with its options."""
    takes = ", ".join(kind.__name__ for kind in info.takes)
    lines = [f"### {info.name}", "", f"{info.summary[:1].upper()}{info.summary[1:]}. Takes {takes}.", ""]
    fields = dataclasses.fields(info.options)
    if not fields:
        return [*lines, "No options of its own.", ""]
    words = described(info.options)
    lines += ["| option | type | default | |", "|---|---|---|---|"]
    for field in fields:
        default = "required" if field.default is dataclasses.MISSING else f"`{field.default!r}`"
        kind = str(field.type).replace("|", "or")
        about = words.get(field.name, "").replace("|", "\\|")
        lines.append(f"| `{field.name}` | {kind} | {default} | {about} |")
    return [*lines, ""]


def page() -> str:
    """The text of the page."""
    lines, family = [HEAD], ""
    for info in perp.solvers():
        if info.family != family:
            family = info.family
            lines += [f"## {family}", ""]
        lines += section(info)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    text = page()
    if "--check" in sys.argv[1:]:
        raise SystemExit(0 if PAGE.read_text(encoding="utf-8") == text else 1)
    PAGE.write_text(text, encoding="utf-8")
