"""Writes docs/solver-options.md: every option of every solver, from the registry and the docstrings.

Usage: python docs/scripts/solver_options.py [--check]. With --check nothing is written, and the exit code is
1 when the page is not what would be written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import perp
from perp.solvers.option_texts import option_texts
from perp.solvers.registry import SolverInfo

PAGE = Path(__file__).parents[1] / "solver-options.md"
HEAD = """# Options of every solver

Written by `docs/scripts/solver_options.py` from the solvers themselves. Options are given as
`perp.solve(problem, "NAME", options={...})`, or `--solver NAME --options KEY=VALUE` to `perp solve` and
`perp simulate`; `perp solvers NAME` prints them. Every solver has `tol`, `max_iterations`, `time_limit` and
`start` of `perp.solve` besides.
[Which solver takes which problem](capabilities.md) tells which problem each of them takes.
"""


def section(info: SolverInfo) -> list[str]:
    """A solver with its options."""
    takes = ", ".join(kind.__name__ for kind in info.takes)
    lines = [f"### {info.name}", "", f"{info.summary[:1].upper()}{info.summary[1:]}. Takes {takes}.", ""]
    options = option_texts(info)
    if not options:
        return [*lines, "No options of its own.", ""]
    lines += ["| option | type | default | |", "|---|---|---|---|"]
    for option in options:
        default = option.default if option.default == "required" else f"`{option.default}`"
        about = option.about.replace("|", "\\|")
        lines.append(f"| `{option.name}` | {option.kind} | {default} | {about} |")
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
