"""Random contact problems over all mixtures of sets: how many are solved, and is every answer true?

    python benchmarks/random_contacts.py [COUNT] [FIRST]

Prints the share of solved problems and the numbers of those that were not, with the residual reached.
"""

from __future__ import annotations

import sys
import time

import perp
from perp.bench.sets.random_contacts import random_problem


def main(count: int = 10_000, first: int = 0) -> None:
    """Solve `count` problems from number `first` on."""
    unsolved, false, begun = [], [], time.process_time()
    for seed in range(first, first + count):
        problem = random_problem(seed)
        solution = perp.solve(problem, throw=False)
        residual = perp.residual(problem, solution.z)
        if not solution.solved:
            unsolved.append((seed, residual))
        elif not residual <= 1e-8:
            false.append((seed, residual))
    share = 100 * (1 - len(unsolved) / count)
    print(f"{count} problems: {share:.2f} % solved, {len(false)} false, {time.process_time() - begun:.0f} s")
    print("not solved:", ", ".join(f"{seed} ({residual:.0e})" for seed, residual in unsolved))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
