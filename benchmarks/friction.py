"""Exact Coulomb friction: `perp` against the best solver of Siconos on each of its own problems.

    python benchmarks/friction.py PROBLEMS [--siconos INTERPRETER] [--cache TIMES.csv] [--plot PROFILE.svg]

PROBLEMS is a folder with fc3d__*.npz files. Both sides run problem by problem in this one call, on one
thread, from zero, and must reach 1e-8 in the literature's measure. A time is the mean CPU time of
solves repeated in batches of a tenth of a second, the least of three batches: of the whole call of
`perp.solve` on our side, of the driver alone on theirs. Figures that are in the cache are not measured again,
so that a run can be stopped and go on. A peer that cannot start, crashes or is killed ends the run: its
figures would not be its solvers'. --plot draws the performance profile of Dolan and Moré (2002).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

import perp  # noqa: E402

TOLERANCE = 1e-8
# Solves are repeated until a batch has taken this many CPU seconds: the clock is coarse for microseconds.
BATCH, BATCHES = 0.1, 3
PEERS = ("NSGS", "NSGS-full", "NSN_AC", "ADMM", "PROX")
AUTO = "auto"
FIELDS: tuple[str, ...] = ("problem", "solver", "rows", "seconds", "error")


def cpu_time(problem: perp.ContactProblem, solver: str = AUTO) -> tuple[float, perp.Solution]:
    """CPU seconds of a solve, the least mean of a few batches, and the answer."""
    perp.solve(problem, solver, throw=False)
    before = time.process_time()
    solution = perp.solve(problem, solver, throw=False)
    first = time.process_time() - before
    count = max(1, min(5000, int(BATCH / max(first, 5e-6))))
    means = []
    for _ in range(BATCHES if first < 1.0 else 0):
        before = time.process_time()
        for _ in range(count):
            perp.solve(problem, solver, throw=False)
        means.append((time.process_time() - before) / count)
    return min(means, default=first), solution


class PeerFailed(Exception):
    """A peer gave no answer that says anything of its solver: it could not start, crashed or was killed."""


def siconos(interpreter: str, file: Path, solver: str) -> tuple[float | None, float]:
    """Time and error of one solver of Siconos, measured in a process of the interpreter that has it.

    Raises:
        PeerFailed: The process ended without an answer, and not because its solver used up its CPU time.
    """
    peer = Path(__file__).with_name("siconos_peer.py")
    command = [interpreter, str(peer), str(file), solver]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise PeerFailed(f"{interpreter} cannot be started: {error}") from None
    if done.returncode == -signal.SIGXCPU:
        return None, float("inf")
    if done.returncode != 0 or not done.stdout:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        code = done.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        raise PeerFailed(f"Siconos {solver} {how}: {said}")
    return json.loads(done.stdout)


class Times:
    """Measured times by problem and solver, kept in a file as they come."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows: dict[tuple[str, str], dict[str, str]] = {}
        if path is not None and path.exists():
            with path.open(newline="") as file:
                self.rows = {(row["problem"], row["solver"]): row for row in csv.DictReader(file)}

    def known(self, problem: str, solver: str) -> bool:
        return (problem, solver) in self.rows

    def add(self, problem: str, solver: str, rows: int, seconds: float | None, error: float) -> None:
        """Keep a figure; seconds are None where the tolerance was missed."""
        values = (problem, solver, rows, "" if seconds is None else repr(seconds), repr(error))
        row = dict(zip(FIELDS, map(str, values), strict=True))
        self.rows[problem, solver] = row
        if self.path is not None:
            begun = self.path.exists()
            with self.path.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                if not begun:
                    writer.writeheader()
                writer.writerow(row)

    def seconds(self, problem: str, solver: str) -> float:
        """The time, infinite where there is none."""
        row = self.rows.get((problem, solver))
        return float(row["seconds"]) if row and row["seconds"] else np.inf


def compare(files: list[Path], interpreter: str | None, times: Times) -> None:
    """Measure what is not known yet, and print one line a problem.

    Raises:
        PeerFailed: A peer gave no answer that counts; it gets no figure, and the next run tries it again.
    """
    for file in files:
        problem: Any = perp.load(file)
        name = file.stem.partition("__")[2]
        for solver in PEERS if interpreter else ():
            if not times.known(name, solver):
                times.add(name, solver, problem.size, *siconos(str(interpreter), file, solver))
        if not times.known(name, AUTO):
            seconds, solution = cpu_time(problem)
            error = max(solution.residuals.value, solution.residuals.literature)
            times.add(name, AUTO, problem.size, seconds if error <= TOLERANCE else None, error)
        ours, best = times.seconds(name, AUTO), min(times.seconds(name, solver) for solver in PEERS)
        print(
            f"{name:32s} {problem.size:6d} rows {1e3 * ours:10.4f} ms  best of Siconos {1e3 * best:10.4f} ms "
            f"{ours / best if best < np.inf else np.nan:7.2f}",
            flush=True,
        )


def summarise(names: list[str], times: Times) -> None:
    """How many were solved, the geometric mean of the ratios and the largest."""
    ours = np.array([times.seconds(name, AUTO) for name in names])
    best = np.array([min(times.seconds(name, solver) for solver in PEERS) for name in names])
    print(f"{np.isfinite(ours).sum()} of {len(names)} solved", end="")
    ratios = (ours / best)[np.isfinite(best) & np.isfinite(ours)]
    if ratios.size:
        mean = np.exp(np.log(ratios).mean())
        print(f"; ratio to their best: geometric mean {mean:.3f}, largest {ratios.max():.2f}", end="")
    print()


def plot(names: list[str], times: Times, path: Path) -> None:
    """The share of problems that each solver solves within a factor of the best one."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    solvers = (AUTO, *PEERS)
    table = np.array([[times.seconds(name, solver) for name in names] for solver in solvers])
    ratios = table / table.min(axis=0)
    figure, axes = plt.subplots(figsize=(7, 4.2))
    for solver, row in zip(solvers, ratios, strict=True):
        reached = np.sort(row[np.isfinite(row)])
        x = np.concatenate([[1.0], reached, [1e4]])
        y = np.concatenate([[0.0], np.arange(1, reached.size + 1), [reached.size]]) / len(names)
        label = "perp auto" if solver == AUTO else f"Siconos {solver}"
        axes.step(x, y, where="post", label=label, linewidth=2.5 if solver == AUTO else 1.2)
    axes.set(
        xscale="log", xlim=(1, 1e4), ylim=(0, 1.02), xlabel="time relative to the fastest",
        ylabel="share of problems solved", title=f"{len(names)} fc3d problems, 1e-8, CPU time, one thread",
    )  # fmt: skip
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def clarabel_time(problem: perp.ContactProblem) -> tuple[float, perp.Solution]:
    """CPU seconds of Clarabel with the loosest of its tolerances that meets ours, and the answer.

    Its own tolerances are on other quantities: 1e-8 of them is often 1e-7 or worse in our residual.
    """
    runs: list[tuple[float, perp.Solution]] = []
    for tolerance in (TOLERANCE, 1e-2 * TOLERANCE, 1e-4 * TOLERANCE):
        best = np.inf
        for _ in range(3):
            before = time.process_time()
            solution = perp.solve(problem, "clarabel", tol=tolerance, throw=False)
            best = min(best, time.process_time() - before)
            runs.append((best, solution))
        if runs[-1][1].residual <= TOLERANCE:
            break
    return runs[-1]


def clarabel_ratios(files: list[Path]) -> None:
    """Our relaxed solver against Clarabel on the relaxations, with W made symmetric for both."""
    ratios = []
    for file in files:
        given: Any = perp.load(file)
        symmetric = 0.5 * (given.W + given.W.T)
        problem = perp.ContactProblem(symmetric, given.q, given.sets, relaxed=True)
        ours, solution = cpu_time(problem)
        theirs, answer = clarabel_time(problem)
        ratios.append(ours / theirs)
        print(
            f"{file.stem:44s} perp {1e3 * ours:9.3f} ms ({solution.residual:.0e})  "
            f"clarabel {1e3 * theirs:9.3f} ms ({answer.residual:.0e})  ratio {ratios[-1]:.2f}",
            flush=True,
        )
    mean = np.exp(np.log(ratios).mean())
    print(f"geometric mean of ratios {mean:.3f}, largest {max(ratios):.2f}")


def main() -> int:
    """Run what the arguments ask for; 1 where a peer failed, which ends the run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("problems", type=Path)
    parser.add_argument("--siconos", metavar="INTERPRETER", help="a Python that can import siconos")
    parser.add_argument("--family", default="fc3d")
    parser.add_argument("--cache", type=Path, help="CSV with the times measured so far")
    parser.add_argument("--plot", type=Path, help="write the performance profile here")
    parser.add_argument("--clarabel", action="store_true", help="compare the relaxed solver with Clarabel")
    options = parser.parse_args()
    files = sorted(options.problems.glob(f"{options.family}__*.npz"))
    if options.clarabel:
        clarabel_ratios(files)
        return 0
    times = Times(options.cache)
    try:
        compare(files, options.siconos, times)
    except PeerFailed as failed:
        print(f"a peer failed, and the run ends here: {failed}", file=sys.stderr)
        return 1
    names = [file.stem.partition("__")[2] for file in files]
    summarise(names, times)
    if options.plot:
        plot(names, times, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
