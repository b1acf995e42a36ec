"""How much slower is `auto` than the best of perp's own solvers on the problems of `perp bench`?

    python benchmarks/auto_against_own.py [SET …] [--path DIR] [--most N] [--rows N]

Every solver of perp that takes a problem as it is, with its default options, gets ten times what `auto` took,
and counts where it reaches the same tolerance. Times are CPU times of whole calls, the least of a few.
Without names all sets that need no folder are run, and with --path those that do.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"  # threads that wait for each other count as CPU time

import perp  # noqa: E402
from perp.bench.sets.base import NamedProblem  # noqa: E402
from perp.bench.sets.catalogue import CATALOGUE, find_set  # noqa: E402

TOLERANCE = 1e-8
# A solver may take so many times what auto took; calls below a millisecond are repeated so often.
PATIENCE, REPEATS = 10.0, 20


def main() -> None:
    """The worst ratios of every set, and how many are above 1.5."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--path", type=Path, help="the folder of sets that are files")
    parser.add_argument("--most", type=int, default=30, help="problems of a set")
    parser.add_argument("--rows", type=int, default=2000, help="rows of a problem at most")
    arguments = parser.parse_args()
    names = arguments.sets or [
        name for name, info in CATALOGUE.items() if arguments.path or not info.needs_path
    ]
    for name in names:
        path = arguments.path if CATALOGUE[name].needs_path else None
        small = (one for one in find_set(name, path).problems() if 0 < one.problem.size <= arguments.rows)
        found = [ratio for one in islice(small, arguments.most) if (ratio := compared(one)) is not None]
        found.sort(reverse=True)
        above = sum(ratio > 1.5 for ratio, _ in found)
        print(f"{name}: {len(found)} problems, {above} above 1.5", flush=True)
        for ratio, words in found[: max(5, above)]:
            print(f"    {ratio:5.2f}  {words}", flush=True)


def compared(one: NamedProblem) -> tuple[float, str] | None:
    """The ratio of auto to the best of the others, in words too; None where auto does not solve it."""
    ours, solver = seconds(lambda: perp.solve(one.problem, tol=TOLERANCE, start=one.start, throw=False))
    if solver is None:
        return None
    best, name = float("inf"), ""
    for info in perp.solvers(one.problem):
        if info.family in ("external", "auto") or info.name == "auto":
            continue
        taken, other = seconds(
            lambda info=info: perp.solve(
                one.problem, info.name, tol=TOLERANCE, start=one.start, throw=False,
                time_limit=max(0.01, PATIENCE * ours),
            )
        )  # fmt: skip
        if other is not None and taken < best:
            best, name = taken, info.name
    words = f"{one.name} ({one.problem.size} rows): auto {1e6 * ours:.0f} µs by {solver}"
    return ours / best, f"{words}, {name or 'no other'} {1e6 * best:.0f} µs"


def seconds(call: Callable[[], perp.Solution]) -> tuple[float, str | None]:
    """CPU seconds of a call after a first one, and who solved it; None where it was not solved or refused.

    Only calls that solve the problem count: on a busy machine a time limit may cut one short.
    """
    best, solver = float("inf"), None
    try:
        call()
        for k in range(REPEATS):
            began = time.process_time()
            solution = call()
            taken = time.process_time() - began
            if solution.solved:
                best, solver = min(best, taken), solution.solver
            if taken > 1e-3 and k >= 1:
                break
    except perp.PerpError:
        return float("inf"), None
    return best, solver


if __name__ == "__main__":
    main()
