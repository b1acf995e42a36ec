"""A random search for a false SOLVED over every solver, formulation, problem type and form.

    python benchmarks/false_solved.py [--tries N] [--seconds S] [--workers W] [--share P] [--out DIR]

Each worker has its own seeds and its own file in DIR, which holds the counts per family, solver, formulation
and status and every false or broken solve. A run that was interrupted goes on where it was. Prints the table
of all.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from perp.bench.false_solved import verdicts
from perp.bench.false_solved_families import FAMILIES


def main() -> None:
    """Search in all workers, then print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tries", type=int, default=10_000, help="stop after this many solves in all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this much time")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--share", type=float, default=1.0, help="part of the pairs that is tried on a problem"
    )
    parser.add_argument("--external", action="store_true", help="solvers of other packages too")
    parser.add_argument("--families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--out", type=Path, default=Path("false_solved"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    jobs = [(vars(arguments), worker) for worker in range(arguments.workers)]
    if arguments.workers == 1:
        search(*jobs[0])
    else:
        with get_context("spawn").Pool(arguments.workers) as pool:
            pool.starmap(search, jobs)
    report(arguments.out)


def search(options: dict[str, Any], worker: int) -> None:
    """The problems of one worker: numbers worker, worker + workers, … of every family."""
    path = options["out"] / f"worker{worker}.json"
    state = json.loads(path.read_text()) if path.exists() else {"next": worker, "counts": {}, "found": []}
    counts = Counter(state["counts"])
    began = time.monotonic()
    while (
        sum(counts.values()) < options["tries"] / options["workers"]
        and time.monotonic() - began < options["seconds"]
    ):
        for family in options["families"]:
            for row in verdicts(family, state["next"], external=options["external"], share=options["share"]):
                counts[f"{family}|{row.solver}|{row.formulation}|{row.status}"] += 1
                if row.is_false or row.is_broken:
                    state["found"].append(row._asdict())
        state["next"] += options["workers"]
        state["counts"] = dict(counts)
        path.write_text(json.dumps(state))


def report(folder: Path) -> None:
    """Print the table of all workers' files, then every false or broken solve."""
    states = [json.loads(path.read_text()) for path in sorted(folder.glob("worker*.json"))]
    tries: Counter[tuple[str, str]] = Counter()
    solved: Counter[tuple[str, str]] = Counter()
    for state in states:
        for key, count in state["counts"].items():
            _, solver, formulation, status = key.split("|")
            tries[solver, formulation] += count
            solved[solver, formulation] += count if status == "SOLVED" else 0
    print(f"{'solver':24} {'formulation':24} {'tries':>8} {'solved':>8}")
    for pair in sorted(tries):
        print(f"{pair[0]:24} {pair[1]:24} {tries[pair]:8} {solved[pair]:8}")
    found = [row for state in states for row in state["found"]]
    false = [row for row in found if row["status"] == "SOLVED"]
    print(
        f"{sum(tries.values())} tries, {sum(solved.values())} called solved, {len(false)} false, "
        f"{len(found) - len(false)} broken"
    )
    for row in found:
        print(row)


if __name__ == "__main__":
    main()
