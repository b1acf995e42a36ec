"""The MCPs of the literature by `mcp-newton`, and by PATH through GAMS' demo licence, in one run.

    python benchmarks/mcp_literature.py [--no-path] [--only NAME] [--out FILE.csv]

Both get the same formulas and starts, PATH a convergence tolerance of 1e-10. An answer counts as solved when
perp's residual is at most 1e-6; "claimed" is what each says of itself. Times are seconds of the solve alone:
ours around `perp.solve`, PATH's the "Total Time" that it prints itself, without the start of its process and
the reading of the model. Each is the least of several runs, because both are below a millisecond where a
loaded machine puts tens of them on top.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

import perp
from perp.bench.sets.mcp.literature import models
from perp.bench.sets.mcp.model import McpModel
from perp.formulations.expressions import UNARY, Symbol
from perp.solvers.external.gams import _system

JUDGED = 1e-6
# Runs of which the fastest counts, on both sides.
RUNS = 3
FIELDS = (
    "name",
    "start",
    "n",
    "solvable",
    "ours",
    "our_residual",
    "our_seconds",
    "path",
    "path_residual",
    "path_seconds",
)


def gams(node: Symbol) -> str:
    """A formula as GAMS reads it."""
    if node.kind == "number":
        return f"({node.value!r})"
    if node.kind == "variable":
        return f"z{int(node.value)}"
    parts = [gams(x) for x in node.arguments]
    if node.kind in ("exp", "log", *UNARY):
        return f"{node.kind}({parts[0]})"
    if node.kind == "^":
        whole = node.value == int(node.value)
        return f"power({parts[0]},{int(node.value)})" if whole else f"({parts[0]})**({node.value!r})"
    return f"({parts[0]}{node.kind}{parts[1]})"


def main() -> None:
    """Solve everything, write the rows, print the summary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--no-path", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=Path("mcp_literature.csv"))
    arguments = parser.parse_args()
    rows = []
    with arguments.out.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        for model in models():
            if arguments.only not in model.name:
                continue
            found = run(model, with_path=not arguments.no_path)
            writer.writerows(found)
            file.flush()
            rows += found
    report(rows)


def run(model: McpModel, *, with_path: bool) -> list[tuple]:
    """One model from all its starts."""
    theirs = path(model) if with_path else [None] * len(model.starts)
    rows = []
    for k, answer in enumerate(theirs):
        problem = model.mcp(k)
        seconds = np.inf
        for _ in range(RUNS + 1):
            before = perf_counter()
            ours = perp.solve(problem, "mcp-newton", throw=False, time_limit=20.0)
            seconds = min(seconds, perf_counter() - before)
            if seconds > 1.0:
                break
        row = [model.name, k + 1, problem.size, model.solvable, ours.status.name, ours.residual, seconds]
        if answer is None:
            rows.append((*row, "", np.nan, np.nan))
        else:
            claim, z, time = answer
            residual = (
                perp.residual(problem, np.clip(z, problem.lo, problem.hi))
                if z.size == problem.size
                else np.inf
            )
            rows.append((*row, claim, residual, time))
    return rows


def path(model: McpModel) -> list[tuple[str, np.ndarray, float] | None]:
    """PATH's claim, answer and seconds from each start; None where GAMS gives none."""
    with tempfile.TemporaryDirectory(prefix="perp-path-") as folder:
        place = Path(folder)
        (place / "model.gms").write_text(text(model), encoding="ascii")
        (place / "path.opt").write_text("convergence_tolerance 1e-10\n", encoding="ascii")
        system = _system()
        times = np.full(len(model.starts), np.inf)
        for _ in range(RUNS):
            subprocess.run(
                [str(system / "gams"), "model.gms", f"license={system / 'gamslice.txt'}", "logoption=2"],
                cwd=place, check=False, timeout=300,
            )  # fmt: skip
            log = (place / "model.log").read_text(errors="replace")
            printed = [float(x) for x in re.findall(r"Total Time[ .]+([0-9.]+)", log)]
            if len(printed) == times.size:
                times = np.minimum(times, printed)
        answers = []
        for k in range(len(model.starts)):
            file = place / f"answer{k}.txt"
            if not file.exists():
                answers.append(None)
                continue
            words = file.read_text().split()
            solver, model_status = float(words[0]), float(words[1])
            solved = solver == 1 and model_status in (1, 15, 16)
            claim = "SOLVED" if solved else f"{solver:.0f}/{model_status:.0f}"
            answers.append((claim, np.array([float(x) for x in words[3:]]), float(times[k])))
        return answers


def text(model: McpModel) -> str:
    """The model and its starts for GAMS."""
    n = len(model.rows)
    lines = ["$offdigit", "option limrow=0, limcol=0, solprint=off, mcp=path;"]
    lines += [f"variable z{i};" for i in range(n)] + [f"equation e{i};" for i in range(n)]
    for i, row in enumerate(model.rows):
        lines += [f"e{i}..", *_wrapped(gams(row)), " =n= 0;"]
    lines += ["model m /", *(f"e{i}.z{i}" + ("," if i < n - 1 else "") for i in range(n)), "/;", "file out;"]
    for i in range(n):
        if np.isfinite(model.lower[i]):
            lines.append(f"z{i}.lo = {float(model.lower[i])!r};")
        if np.isfinite(model.upper[i]):
            lines.append(f"z{i}.up = {float(model.upper[i])!r};")
    for k, start in enumerate(model.starts):
        first = np.clip(np.array(start, float), model.lower, model.upper)
        lines += [f"z{i}.l = {float(first[i])!r};" for i in range(n)] + ["m.optfile = 1; solve m using mcp;"]
        lines += [
            f"put_utility out 'ren' / 'answer{k}.txt';",
            "out.nd=0; put m.solvestat:0:0 ' ' m.modelstat:0:0 ' ';",
        ]
        lines += ["out.nr=2; out.nd=15; put m.resusd:0:15 /;"]
        lines += [f"put z{i}.l:24:15 /;" for i in range(n)] + ["putclose;"]
    return "\n".join(lines) + "\n"


def _wrapped(formula: str, width: int = 20000) -> list[str]:
    """A formula in lines that GAMS takes, broken after operators only."""
    out, line = [], ""
    for piece in formula.replace("+", "+\n").split("\n"):
        if len(line) + len(piece) > width:
            out.append(line)
            line = ""
        line += piece
    return [*out, line]


def report(rows: list[tuple]) -> None:
    """Print who solves how many, and the times where both do."""
    solvable = [row for row in rows if row[3]]
    ours = [row for row in solvable if row[5] <= JUDGED]
    print(f"{len({row[0] for row in rows})} problems, {len(rows)} starts, {len(solvable)} of them solvable")
    print(f"mcp-newton: {len(ours)} solved ({100 * len(ours) / max(1, len(solvable)):.1f} %)")
    false = [row for row in rows if row[4] == "SOLVED" and (not row[3] or not row[5] <= JUDGED)]
    print(f"            {len(false)} called solved and not")
    compared = [row for row in solvable if row[7]]
    if compared:
        theirs = [row for row in compared if row[8] <= JUDGED]
        mine = [row for row in compared if row[5] <= JUDGED]
        print(f"PATH: {len(theirs)} of {len(compared)} solved, mcp-newton {len(mine)} of the same")
        print(f"      {sum(row[7] == 'SOLVED' for row in compared)} claimed by PATH")
        both = [row for row in theirs if row[5] <= JUDGED and np.isfinite(row[9])]
        mine, others = np.array([row[6] for row in both]), np.array([row[9] for row in both])
        ratio = mine / np.maximum(others, 1e-6)
        print(f"median milliseconds where both solve ({len(both)}): mcp-newton {1e3 * np.median(mine):.3f}, "
              f"PATH {1e3 * np.median(others):.3f}; median ratio {np.median(ratio):.2f}; "
              f"sums {mine.sum():.2f} s and {others.sum():.2f} s")  # fmt: skip
    for row in solvable:
        if not row[5] <= JUDGED or (row[7] and not row[8] <= JUDGED):
            print(row)


if __name__ == "__main__":
    main()
