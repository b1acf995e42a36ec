"""Search for a random state whose derivative is no number or raises; see `perp.bench.derivative_states`.

python benchmarks/derivative_states.py [--first 0] [--count 100000] [--compare]
"""

from __future__ import annotations

import argparse
from collections import Counter

from perp.bench.derivative_states import SCENES, compare_state, try_state

EXPECTED = (
    "fine", "not solved", "two stages", "agrees", "has none", "at a switch", "near a switch", "not unique",
    "held",
)  # fmt: skip


def main() -> None:
    """Print what came out, by scene, and every seed that nobody expects."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--compare", action="store_true", help="with central differences, at 0.02 s each")
    options = parser.parse_args()
    judge = compare_state if options.compare else try_state
    found: Counter[tuple[int, str]] = Counter()
    for seed in range(options.first, options.first + options.count):
        word = judge(seed)
        found[seed % len(SCENES), word] += 1
        if word not in EXPECTED:
            print(f"seed {seed}: {word}", flush=True)
        if (seed + 1 - options.first) % 1000 == 0:
            print(seed + 1, dict(sorted(found.items())), flush=True)
    print(dict(sorted(found.items())))


if __name__ == "__main__":
    main()
