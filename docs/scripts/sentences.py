"""Writes docs/sentences.md: what the source documents say, how to run it here, and what comes out.

Usage: python docs/scripts/sentences.py [--check]. Every row is run; a row whose solver is not installed keeps
what it gave where it was, and --check passes over it. With --check nothing is written, and the exit code is 1
when a row that was run gives something else.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sentence_rows import DOCUMENTS, Row

PAGE = Path(__file__).parents[1] / "sentences.md"
MISSING = "not run here"
PREAMBLE = """import numpy as np
import perp
from perp.models.box_on_slope import box_on_slope
from perp.scenes import library
"""


def run(row: Row) -> str:
    """What the code of a row prints as its last value; `MISSING` without its package."""
    from perp.problems import SolverMissing

    lines = row.code.strip().split("\n")
    names: dict[str, object] = {}
    try:
        exec(PREAMBLE + "\n".join(lines[:-1]), names)  # noqa: S102
        return str(eval(lines[-1], names))  # noqa: S307
    except SolverMissing:
        return MISSING


def body(before: str) -> tuple[str, list[str]]:
    """The tables, and rows whose result has changed against the page as it was."""
    parts, changed, number = [], [], 0
    for title, rows in DOCUMENTS.items():
        parts.append(f"## {title}\n\n| | the document says | code | result |\n|---|---|---|---|")
        for row in rows:
            number += 1
            result = run(row)
            old = re.search(rf"^\| {number} \|.*\| ([^|]*) \|$", before, re.MULTILINE)
            if result == MISSING and old is not None:
                result = old[1]
            if old is None or old[1] != result:
                changed.append(f"{number}: {result}")
            code = "<br>".join(f"`{line}`" for line in row.code.strip().split("\n"))
            parts.append(f"| {number} | {row.says} | {code} | {result} |")
        parts.append("")
    return "\n".join(parts), changed


def main() -> int:
    """Write the page, or say whether what it says still comes out."""
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    tables, changed = body(before)
    text = f"""# Sentence by sentence

perp started from five public documents: a note on boxed constraints for pivoting solvers (000), DART's
page on pivoting methods (001), two theory pages of Axion (002, 004) and a post of 2014 on frictional contact
in GAMS (003). This page lists what they say can be done, the code that does it here, and its result. It is
written by `docs/scripts/sentences.py`, which runs every row; a test runs them again. `np` is NumPy,
`box_on_slope` is in `perp.models.box_on_slope`, `library` in `perp.scenes`. Rows with a solver of GAMS need
`make setup-gams`. Longer runs are benchmarks: sparse pivoting on 10⁵ rows is on
[Which pivoting solver](which-pivoting-solver.md), the whole table of solvers on
[Three formulations](three-formulations.md), running scenes on
[Formulations in motion](formulations-in-motion.md).

{tables}"""
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if not changed and before.split("##")[0] == text.split("##", maxsplit=1)[0]:
        return 0
    sys.stderr.write("docs/sentences.md is not current: " + "; ".join(changed) + "\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
