"""The suite again and again, in another random order each time, beside processes that keep the cores busy.

    python packaging/soak.py [--runs 10] [--busy 4] [--seed 1] [--workers auto] [tests …]

With more workers than cores the tests get a larger share of the machine, and disturb each other more.
Stops at the first run that fails, with the names of what failed and the command that repeats its order.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Ends when whoever started it has gone.
BUSY = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Processes that do nothing, all the time."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def words(seed: int, workers: str, tests: list[str]) -> list[str]:
    """How the suite is run: as by `make test`, in the order of a seed."""
    ways = ["-n", workers, "--maxprocesses", "8", "--dist", "worksteal", "--shuffle", str(seed)]
    return ["-m", "pytest", "-q", "-rfE", "--tb=short", *ways, *tests]


def main() -> int:
    """Run; 0 where every run passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--busy", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the next ones count on")
    parser.add_argument("--workers", default="auto", help="processes of tests; as many as cores by default")
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    with busy(arguments.busy):
        for seed in range(arguments.seed, arguments.seed + arguments.runs):
            began, asked = time.monotonic(), words(seed, arguments.workers, arguments.tests)
            done = subprocess.run(
                [sys.executable, *asked], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
            )
            lines = done.stdout.strip().splitlines() or ["it said nothing"]
            load = os.getloadavg()[0]
            print(f"seed {seed}, load {load:.0f}: {lines[-1]} ({time.monotonic() - began:.0f} s)", flush=True)
            if done.returncode:
                print(done.stdout)
                print(f"Repeat: {' '.join([sys.executable, *asked])}")
                return 1
    print(f"{arguments.runs} runs beside {arguments.busy} busy processes, all passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
