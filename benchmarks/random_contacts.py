"""Random contact problems over all mixtures of sets: how many are solved, and is every answer true?

    python benchmarks/random_contacts.py [COUNT] [FIRST] [--out FILE.csv] [--only FILE.csv]

Writes one line per problem to FILE.csv and goes on where an earlier run stopped; `--only` takes the numbers
of the problems that were not solved from the file of an earlier run. "False" counts answers called solved
whose residual in long double, by other code, is above three times the tolerance.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

from second_opinion import law_violation

import perp
from perp.bench.sets.random_contacts import random_problem

TOLERANCE = 1e-8
FIELDS: tuple[str, ...] = ("seed", "constraints", "rows", "status", "residual", "second", "stages", "seconds")


def main() -> None:
    """Solve the problems that the file does not have yet, then print the summary of all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--out", type=Path, default=Path("random_contacts.csv"))
    parser.add_argument("--only", type=Path)
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.count)
    if arguments.only is not None:
        seeds = [int(row["seed"]) for row in read(arguments.only) if row["status"] != "SOLVED"]
    done = {int(row["seed"]) for row in read(arguments.out)}
    fresh = not arguments.out.exists()
    with arguments.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if fresh:
            writer.writeheader()
        for seed in seeds:
            if seed not in done:
                writer.writerow(solve(seed))
                file.flush()
    wanted = set(seeds)
    report([row for row in read(arguments.out) if int(row["seed"]) in wanted])


def solve(seed: int) -> dict[str, object]:
    """One problem through the default solver, judged twice."""
    problem = random_problem(seed)
    began = time.process_time()
    solution = perp.solve(problem, throw=False, tol=TOLERANCE)
    seconds = time.process_time() - began
    return dict(
        zip(
            FIELDS,
            (seed, problem.contact_count, problem.size, solution.status.name, f"{solution.residual:.2e}",
             f"{law_violation(problem, solution.z):.2e}", len(solution.info.get("stages", [])),
             f"{seconds:.4f}"),
            strict=True,
        )
    )  # fmt: skip


def read(path: Path) -> list[dict[str, str]]:
    """The lines of a file, none where there is no file; a line that was cut by a kill is left out."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if None not in row.values()]


def report(rows: list[dict[str, str]]) -> None:
    """Print the share of solved problems, the false ones, and those that were not solved."""
    solved = [row for row in rows if row["status"] == "SOLVED"]
    false = [row["seed"] for row in solved if not float(row["second"]) <= 3 * TOLERANCE]
    seconds = [float(row["seconds"]) for row in rows]
    share = 100 * len(solved) / max(1, len(rows))
    print(
        f"{len(rows)} problems: {share:.2f} % solved, {len(false)} false {false}, "
        f"{sum(seconds):.0f} s of CPU, the longest {max(seconds, default=0):.1f} s"
    )
    missed = [f"{row['seed']} ({row['residual']})" for row in rows if row["status"] != "SOLVED"]
    print("not solved:", ", ".join(missed) or "none")


if __name__ == "__main__":
    main()
