"""What each stage of `auto` wins and costs on contact problems: the list is run with each of them left out.

    python benchmarks/ablation.py [--files FOLDER ...] [--random COUNT] [--perturbed ROWS] [--relaxed]

Takes every contact problem in the folders, COUNT random mixtures, and the neighbours of the files with at
most ROWS rows (`perturbed_files.py`). A stage is left out only for the problems that reached it: the others
cannot change. "wins" are the problems that it ends in the full list; "lost" those of the ones that reached it
that the list does not solve without it, "slower" those that take more than three times as long without it. A
stage that loses and slows fewer than one problem in a thousand goes.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

from perturbed_files import neighbours  # noqa: E402

import perp  # noqa: E402
from perp.bench.sets.random_contacts import random_problem  # noqa: E402
from perp.solvers import auto_contact, small_contact  # noqa: E402

STAGES, SHORT = auto_contact.STAGES, small_contact.LARGEST
# Without a stage a problem may take so many times as long before the stage earns its place by it.
SLOWER = 3.0
# Seconds below which a ratio of two times means nothing.
NOTICEABLE = 1e-3


def main() -> None:
    """Run the full list, then the list without each stage, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=Path, nargs="*", default=[])
    parser.add_argument("--random", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--perturbed", type=int, default=0, metavar="ROWS")
    parser.add_argument("--relaxed", action="store_true", help="the relaxations of all problems")
    arguments = parser.parse_args()
    reached: dict[int, list[tuple[Any, float, bool]]] = {k: [] for k in range(len(STAGES))}
    count, solved, wins, spent = 0, 0, [0] * len(STAGES), [0.0] * len(STAGES)
    for problem in problems(arguments):
        if arguments.relaxed:
            problem = problem.as_relaxed()
        seconds, solution, used = run(problem, STAGES)
        count, solved = count + 1, solved + solution.solved
        for k, stage in used:
            spent[k] += stage["seconds"]
            reached[k].append((problem, seconds, solution.solved))
        if solution.solved and used:
            wins[used[-1][0]] += 1
    print(f"{count} problems, {solved} solved ({100 * solved / max(count, 1):.2f} %)\n")
    print("| stage | reached | wins | seconds | lost without | slower without |")
    print("|---|---|---|---|---|---|")
    for k, stage in enumerate(STAGES):
        lost, slower = without(k, reached[k])
        print(
            f"| {stage.label} | {len(reached[k])} | {wins[k]} | {spent[k]:.2f} | {lost} | {slower} |",
            flush=True,
        )


def run(
    problem: perp.ContactProblem, stages: tuple[auto_contact.Stage, ...]
) -> tuple[float, perp.Solution, list[tuple[int, dict[str, Any]]]]:
    """CPU seconds, solution, and what each stage did with its number in the full list."""
    auto_contact.STAGES = stages
    # the short way of small problems is the first stage in one call
    small_contact.LARGEST = SHORT if stages[0] is STAGES[0] else 0
    for kept in ("_short", "_short_relaxed"):
        problem.__dict__.pop(kept, None)
    began = time.process_time()
    solution = perp.solve(problem, throw=False)
    seconds = time.process_time() - began
    place = {stage.label: k for k, stage in enumerate(STAGES)} | {STAGES[0].solver: 0}
    used = [
        (place[entry["stage"]], entry) for entry in solution.info.get("stages", []) if entry["stage"] in place
    ]
    return seconds, solution, used


def without(k: int, cases: list[tuple[Any, float, bool]]) -> tuple[int, int]:
    """How many of these problems are lost without stage k, and how many are slower."""
    stages = STAGES[:k] + STAGES[k + 1 :]
    lost = slower = 0
    for problem, seconds, solved in cases:
        if solved:
            alone, solution, _ = run(problem, stages)
            lost += not solution.solved
            slower += solution.solved and alone > max(SLOWER * seconds, NOTICEABLE)
    return lost, slower


def problems(arguments: argparse.Namespace) -> Iterator[perp.ContactProblem]:
    """Files, their neighbours and random mixtures."""
    for folder in arguments.files:
        for file in sorted(folder.iterdir()):
            if file.suffix not in (".npz", ".hdf5"):
                continue
            problem: Any = perp.load(file)
            if not isinstance(problem, perp.ContactProblem):
                continue
            yield problem
            if 0 < problem.size <= arguments.perturbed:
                yield from (near for name, near in neighbours(problem) if name != "as it is")
    for seed in range(arguments.first, arguments.first + arguments.random):
        yield random_problem(seed)


if __name__ == "__main__":
    main()
