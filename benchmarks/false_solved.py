"""A random search for a false SOLVED over every solver, formulation, problem type and form.

    python benchmarks/false_solved.py [COUNT] [FIRST] [--seconds S] [--external] [--out FILE.csv]

Writes one line per solve to FILE.csv and goes on after the last finished problem of an earlier run. Prints a
table: solves, how many were called solved, how many of those are not in long double, crashes and overruns.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter
from pathlib import Path

from perp.bench.false_solved import Verdict, verdicts


def main() -> None:
    """Search, then print the table of all lines."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this much time")
    parser.add_argument("--external", action="store_true", help="solvers of other packages too")
    parser.add_argument("--out", type=Path, default=Path("false_solved.csv"))
    arguments = parser.parse_args()
    rows = read(arguments.out)
    # the last problem of a run that was killed is not whole: it is done again
    last = max((row.seed for row in rows), default=-1)
    rows = [row for row in rows if row.seed != last]
    done = {row.seed for row in rows}
    began = time.monotonic()
    with arguments.out.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([Verdict._fields, *rows])
        for seed in range(arguments.first, arguments.first + arguments.count):
            if seed in done or time.monotonic() - began > arguments.seconds:
                continue
            found = list(verdicts(seed, external=arguments.external))
            writer.writerows(found)
            file.flush()
            rows += found
    report(rows)


def read(path: Path) -> list[Verdict]:
    """The lines of an earlier run."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        lines = [row for row in csv.reader(file) if len(row) == len(Verdict._fields)][1:]
    return [Verdict(int(r[0]), r[1], r[2], r[3], r[4], float(r[5]), float(r[6]), float(r[7])) for r in lines]


def report(rows: list[Verdict]) -> None:
    """Print the table, then every false or broken solve."""
    solves = Counter((row.solver, row.formulation) for row in rows)
    solved = Counter((row.solver, row.formulation) for row in rows if row.status == "SOLVED")
    false = Counter((row.solver, row.formulation) for row in rows if row.is_false)
    broken = Counter((row.solver, row.formulation) for row in rows if row.is_broken)
    print(f"{'solver':24} {'formulation':24} {'solves':>7} {'solved':>7} {'false':>6} {'broken':>6}")
    for pair in sorted(solves):
        print(f"{pair[0]:24} {pair[1]:24} {solves[pair]:7} {solved[pair]:7} {false[pair]:6} {broken[pair]:6}")
    count = len({row.seed for row in rows})
    print(
        f"{count} problems, {len(rows)} solves, {sum(solved.values())} called solved, "
        f"{sum(false.values())} false, {sum(broken.values())} broken"
    )
    for row in rows:
        if row.is_false or row.is_broken:
            print(row)


if __name__ == "__main__":
    main()
