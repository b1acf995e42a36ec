"""A random search for false claims over every solver, formulation, problem type and form.

    python benchmarks/false_solved.py [--tries N] [--workers W] [--share P] [--first K] [--out DIR]
    python benchmarks/false_solved.py --repeat FAMILY NUMBER

Each worker has its own numbers and its own file in DIR, which holds the counts per family, solver,
formulation and status and every false or broken claim. A run that was interrupted goes on where it was.
Prints a line a minute, at the end the table of all and DIR/report.json. A solve and a proof is a try; answers
that no solver made are counted apart. `--repeat` makes all claims about one problem again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from false_search import CLAIMS, FAMILIES, JUDGED, ClaimVerdict, verdicts

# Seconds between two lines of progress.
PAUSE = 60.0


def main() -> None:
    """Search in all workers, then print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tries", type=int, default=10_000, help="stop after this many in all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this much time")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.5, help="part of the pairs tried on a problem")
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--external", action="store_true", help="solvers of other packages too")
    parser.add_argument("--families", nargs="*", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--out", type=Path, default=Path("false_solved"))
    parser.add_argument("--repeat", nargs=2, metavar=("FAMILY", "NUMBER"), help="one problem, every pair")
    arguments = parser.parse_args()
    if arguments.repeat:
        for row in verdicts(arguments.repeat[0], int(arguments.repeat[1]), external=arguments.external):
            print("FALSE " if row.is_false else "BROKEN" if row.is_broken else "      ", *row)
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    jobs = [(vars(arguments), worker) for worker in range(arguments.workers)]
    if arguments.workers == 1:
        search(*jobs[0])
    else:
        with get_context("spawn").Pool(arguments.workers) as pool:
            pool.starmap(search, jobs)
    report(arguments.out)


def search(options: dict[str, Any], worker: int) -> None:
    """The problems of one worker: numbers first + worker, first + worker + workers, … of every family."""
    path = options["out"] / f"worker{worker}.json"
    state = {"next": options["first"] + worker, "counts": {}, "found": [], "seconds": 0.0}
    if path.exists():
        state = json.loads(path.read_text())
    counts, spent, made = Counter(state["counts"]), state["seconds"], 0
    tries = _tries(counts)
    began = said = time.monotonic()
    while tries < options["tries"] / options["workers"] and time.monotonic() - began < options["seconds"]:
        for family in options["families"]:
            for row in verdicts(family, state["next"], external=options["external"], share=options["share"]):
                counts[f"{family}|{row.solver}|{row.formulation}|{row.status}"] += 1
                made += row.solver != JUDGED
                tries += row.solver != JUDGED
                if row.is_false or row.is_broken:
                    state["found"].append(_told(row))
                    print("FALSE" if row.is_false else "BROKEN", *row, flush=True)
        state["next"] += options["workers"]
        state["counts"], state["seconds"] = dict(counts), spent + time.monotonic() - began
        if time.monotonic() - said > PAUSE:
            said = time.monotonic()
            rate, found = made / (said - began), len(state["found"])
            print(f"worker {worker}: {tries} tries, {rate:.0f} a second, {found} found", flush=True)
            _save(path, state)
    _save(path, state)


def _tries(counts: Counter[str]) -> int:
    return sum(count for key, count in counts.items() if key.split("|")[1] != JUDGED)


def _told(row: ClaimVerdict) -> dict[str, Any]:
    return row._asdict() | {"is_false": row.is_false}


def _save(path: Path, state: dict[str, Any]) -> None:
    """All or nothing: an interruption must not leave half a file."""
    half = path.with_suffix(".part")
    half.write_text(json.dumps(state))
    half.replace(path)


def report(folder: Path) -> None:
    """Print the table of all workers' files and every false or broken claim; write report.json."""
    states = [json.loads(path.read_text()) for path in sorted(folder.glob("worker*.json"))]
    pairs: dict[tuple[str, str], Counter[str]] = {}
    families: dict[str, Counter[str]] = {}
    for state in states:
        for key, count in state["counts"].items():
            family, solver, formulation, status = key.split("|")
            pairs.setdefault((solver, formulation), Counter())[status] += count
            if solver != JUDGED:
                families.setdefault(family, Counter())[status] += count
    print(f"{'solver':24} {'formulation':28} {'tries':>8} {'claims':>8}")
    for pair in sorted(pairs):
        claimed = sum(pairs[pair][status] for status in CLAIMS)
        print(f"{pair[0]:24} {pair[1]:28} {pairs[pair].total():8} {claimed:8}")
    found = [row for state in states for row in state["found"]]
    judged = pairs.pop((JUDGED, ""), Counter())
    claims = {status: sum(part[status] for part in pairs.values()) for status in CLAIMS}
    summary = {
        "tries": sum(part.total() for part in pairs.values()),
        "claims": claims,
        "points judged": judged.total(),
        "points accepted": judged["SOLVED"],
        "false": sum(row["is_false"] for row in found),
        "broken": sum(not row["is_false"] for row in found),
        "seconds": max((state["seconds"] for state in states), default=0.0),
        "families": {name: dict(part) for name, part in families.items()},
        "found": found,
    }
    (folder / "report.json").write_text(json.dumps(summary, indent=1))
    for row in found:
        print("FALSE" if row["is_false"] else "BROKEN", row)
    print(
        f"{summary['tries']} tries in {summary['seconds']:.0f} s, "
        + ", ".join(f"{count} {status}" for status, count in claims.items())
        + f"; {judged['SOLVED']} of {judged.total()} points accepted; "
        + f"{summary['false']} false, {summary['broken']} broken"
    )


if __name__ == "__main__":
    main()
