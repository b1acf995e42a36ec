"""What wheels lose: kernels for x86-64-v3 beside kernels for this machine, in the same run.

    python benchmarks/target.py [--rounds 25]

Two processes, one for each target, take turns: CPU time of the same work, the best of all rounds. Kernels
that are not yet kept are compiled first, which takes a minute or two. Exit code 1 where the wheel's kernels
are more than 3 % slower somewhere.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from simulate import quadruped

import perp
from perp.compilation.shipped import CPU

TARGETS = {CPU: {"NUMBA_CPU_NAME": CPU, "NUMBA_CPU_FEATURES": ""}, "this machine": {}}
ALLOWED = 0.03
FILE = Path(__file__).parents[1] / "tests/data/problems/fc3d__Capsules-i100-1090.npz"
# Seconds of one measurement: far above what the clock of the processor can tell apart.
SHARE = 0.05


def humanoid() -> Path:
    """Of gymnasium, which the tests need too."""
    found = importlib.util.find_spec("gymnasium")
    if found is None or found.origin is None:
        raise SystemExit("gymnasium is missing: pip install gymnasium")
    return Path(found.origin).parent / "envs" / "mujoco" / "assets" / "humanoid.xml"


def solves(problem: perp.LCP | perp.ContactProblem) -> Callable[[], object]:
    """`perp.solve` as users call it."""
    return lambda: perp.solve(problem)


def lcp(n: int) -> perp.LCP:
    """A random one with a positive definite matrix."""
    dice = np.random.default_rng(n)
    A = dice.normal(size=(n, n))
    return perp.LCP(A @ A.T / n + np.eye(n), dice.normal(size=n))


def contacts(count: int) -> list[perp.ContactProblem]:
    """Single contacts that stick, slip and open."""
    dice = np.random.default_rng(0)
    found = []
    for _ in range(count):
        A = dice.normal(size=(3, 3))
        found.append(perp.ContactProblem.coulomb(A @ A.T + np.eye(3), dice.normal(size=3), 0.5))
    return found


def steps(scene: str | Path, step: float, count: int) -> Callable[[], object]:
    """The same steps each time, from the start of the scene."""
    sim = perp.Simulation(scene, step=step)
    low = sim.model.shapes.actuator_ctrlrange[:, 0]

    def take() -> None:
        sim.reset()
        sim.set_control(low)
        for _ in range(count):
            sim.step()

    return take


def worlds(count: int, steps: int) -> Callable[[], object]:
    """Quadrupeds side by side, on one thread."""
    batch = perp.Batch(quadruped(), count, threads=1, step=0.005)
    batch.ctrl[:] = batch.model.shapes.actuator_ctrlrange[:, 0]

    def take() -> None:
        batch.reset()
        batch.step(steps)

    return take


def cases() -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    many = contacts(500)
    return {
        "one contact": solves(many[0]),
        "500 single contacts, `solve_many`": lambda: perp.solve_many(many),
        "LCP, n = 8": solves(lcp(8)),
        "LCP, n = 64": solves(lcp(64)),
        "276 contacts, Capsules-i100-1090": solves(perp.load(FILE)),
        "quadruped, 40 steps": steps(quadruped(), 0.005, 40),
        "humanoid, 40 steps": steps(humanoid(), 0.0025, 40),
        "16 quadrupeds in a batch, 10 steps": worlds(16, 10),
    }


def work() -> None:
    """One of the two processes: reads how often and what, answers with seconds."""
    found = cases()
    for take in found.values():
        take()
    print("ready", flush=True)
    for line in sys.stdin:
        count, name = line.rstrip("\n").split(" ", 1)
        began = time.process_time()
        for _ in range(int(count)):
            found[name]()
        print(time.process_time() - began, flush=True)


class Worker:
    """A process whose kernels are compiled for one target."""

    def __init__(self, target: dict[str, str]) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CPU")}
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"], env=kept | threads | target, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._answer()

    def _answer(self) -> str:
        line = self.process.stdout.readline().strip() if self.process.stdout else ""
        if not line:
            raise SystemExit(f"a worker ended with code {self.process.wait()}; its message is above")
        return line

    def measure(self, name: str, count: int) -> float:
        """CPU seconds of one call, in the mean over some."""
        if self.process.stdin:
            self.process.stdin.write(f"{count} {name}\n")
            self.process.stdin.flush()
        return float(self._answer()) / count


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work()
        return 0
    workers = [Worker(target) for target in TARGETS.values()]
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors, best of {arguments.rounds}\n")
    print("| " + " | ".join(["work", *(f"{name} [ms]" for name in TARGETS), "ratio"]) + " |")
    print("|---|---|---|---|")
    slower = []
    for name in cases():
        count = max(1, round(SHARE / workers[0].measure(name, 1)))
        best = [float("inf")] * 2
        for turn in range(arguments.rounds):
            for k in (0, 1) if turn % 2 else (1, 0):
                best[k] = min(best[k], workers[k].measure(name, count))
        ratio = best[0] / best[1]
        print(f"| {name} | {1e3 * best[0]:.4g} | {1e3 * best[1]:.4g} | {ratio:.3f} |", flush=True)
        if ratio > 1.0 + ALLOWED:
            slower.append(name)
    for worker in workers:
        worker.process.kill()
    if slower:
        print(f"\nmore than {ALLOWED:.0%} slower: {', '.join(slower)}")
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main())
