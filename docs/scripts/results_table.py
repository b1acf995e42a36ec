"""Writes the README's table of solvers from the published report, or checks that it is that (--check).

Usage: python docs/scripts/results_table.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import wrap

from perp.bench import record as records
from perp.bench import report
from perp.bench import rows as table
from perp.bench.summary import summarise

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PUBLISHED = ROOT / "docs" / "benchmarks"
SET = "fc3d"
# The default, the best of each family of ours, and the best that others have for exact friction.
SHOWN = (
    "auto", "proximal-point", "newton-fb", "block-gauss-seidel", "admm", "siconos-prox", "siconos-nsn-ac",
    "siconos-nsgs-full", "siconos-admm", "pinocchio-admm", "pinocchio-pgs", "clarabel", "scs",
)  # fmt: skip
WIDTH = 130
COLUMNS = ("solver", "solved", "false claims", "mean time")
BEGIN, END = "<!-- written by docs/scripts/results_table.py -->", "<!-- end -->"


def section() -> str:
    """The paragraph and the table, as Markdown."""
    record = records.load(PUBLISHED)
    summaries = summarise(table.read(PUBLISHED / table.FILE_NAME))
    [summary] = [s for s in summaries if s.name == SET]
    places = [report.HEADINGS.index(name) for name in COLUMNS]
    lines = [
        [report.cells(solver, summary, record)[k] for k in places]
        for solver in summary.solvers
        if solver.solver in SHOWN
    ]
    load, cores = record.machine["load"][0], record.machine["cores"]
    behind = [s.name for s in summaries if s.solvers[0].solver in record.peers]
    about = (
        f"Solvers on {len(summary.problems)} contact problems of Siconos's own collection, to a residual of "
        f"{record.settings['tol']:g}, one thread each, from [the report](docs/benchmarks/README.md) of "
        f"`perp bench`, made at a load of {load:.1f} on {cores} cores. Solvers in *italics* are "
        "others'; Clarabel and SCS go through our exact formulation. The report has all solvers and "
        f"{len(summaries)} sets; others come first on {' and '.join(behind) or 'none of them'}."
    )
    rows = ["| " + " | ".join(cells) + " |" for cells in (COLUMNS, ["---"] * len(COLUMNS), *lines)]
    return "\n".join([*wrap(about, WIDTH, break_long_words=False, break_on_hyphens=False), "", *rows])


def main() -> int:
    """Write the README, or say whether it is current."""
    text = README.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    new = pattern.sub(lambda _: f"{BEGIN}\n{section()}\n{END}", text)
    if "--check" not in sys.argv:
        README.write_text(new, encoding="utf-8")
        return 0
    if new == text and BEGIN in text:
        return 0
    sys.stderr.write("README.md is not current: run python docs/scripts/results_table.py\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
