"""Growth of `auto` with the number of contacts: time and memory per contact on piles, to 1e-4.

    python benchmarks/growth.py [--shapes poured dense pyramid lattice cubes] [--mu 0.5] [--limit 300]
                                [--sizes 100 1000 10000 100000] [--out OUT.json] [--figure OUT.svg]

The shapes are those of `piles.py`; dense is poured with a fall of 0.02.

Each size runs in a process of its own, one thread, after a small problem that loads the compiled code. Time
is CPU time of the whole call of `solve`, which begins from mass and Jacobian; memory is the peak of the
process during that call above what it had before.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

TOLERANCE = 1e-4
SHAPES = ("poured", "dense", "pyramid", "lattice", "cubes")


def peak() -> int:
    """Peak resident memory of this process since the last reset [bytes]."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def reset_peak() -> None:
    """Let the peak begin anew at what is used now (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def measure(shape: str, contacts: int, limit: float, mu: float) -> dict:
    """One solve of one pile."""
    import piles

    import perp

    if shape == "dense":
        make = partial(piles.poured, fall=0.02, mu=mu)
    else:
        make = partial(getattr(piles, shape), mu=mu)
    for size in (100, 1000):
        perp.solve(make(size), tol=TOLERANCE, throw=False, time_limit=20.0)
    problem = make(contacts)
    reset_peak()
    before, began = peak(), time.process_time()
    solution = perp.solve(problem, tol=TOLERANCE, throw=False, time_limit=limit)
    spent, used = time.process_time() - began, peak() - before
    return {
        "shape": shape,
        "mu": mu,
        "contacts": problem.contact_count,
        "seconds": spent,
        "microseconds_per_contact": 1e6 * spent / problem.contact_count,
        "kilobytes_per_contact": used / 1024 / problem.contact_count,
        "peak_megabytes": peak() / 2**20,
        "status": solution.status.name,
        "residual": solution.residual,
        "info": {key: value for key, value in solution.info.items() if isinstance(value, (int, str))},
    }


def draw(rows: list[dict], path: Path) -> None:
    """Time and memory per contact against the number of contacts, both axes logarithmic."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8.0, 3.2), layout="constrained")
    quantities = (("microseconds_per_contact", "CPU time per contact [µs]"),
                  ("kilobytes_per_contact", "peak memory per contact [KiB]"))  # fmt: skip
    for axis, (key, label) in zip(axes, quantities, strict=True):
        for shape in dict.fromkeys(row["shape"] for row in rows):
            mine = [row for row in rows if row["shape"] == shape]
            axis.loglog([row["contacts"] for row in mine], [row[key] for row in mine], "-", label=shape)
            for row in mine:
                solved = row["status"] == "SOLVED"
                face = "black" if solved else "white"
                axis.loglog(row["contacts"], row[key], "o", color="black", markerfacecolor=face)
        axis.set(xlabel="contacts", ylabel=label)
        axis.grid(visible=True, which="major", alpha=0.3)
    axes[0].legend(title="hollow: not to 1e-4")
    figure.savefig(path)


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--mu", type=float, default=0.5, help="friction coefficient")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 10_000, 100_000])
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one solve")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.shapes[0], options.sizes[0], options.limit, options.mu)))
        return
    rows = []
    for shape, size in itertools.product(options.shapes, options.sizes):
        command = [sys.executable, __file__, "--child", "--shapes", shape, "--sizes", str(size),
                   "--limit", str(options.limit), "--mu", str(options.mu)]  # fmt: skip
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
        row = json.loads(answer.stdout.splitlines()[-1])
        rows.append(row)
        print(
            f"{shape:8s} {row['contacts']:7d} contacts {row['seconds']:9.3f} s "
            f"{row['microseconds_per_contact']:9.1f} µs/contact "
            f"{row['kilobytes_per_contact']:7.2f} KiB/contact  peak {row['peak_megabytes']:6.0f} MiB  "
            f"{row['status']} {row['residual']:.1e} {row['info']}",
            flush=True,
        )
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1))
    if options.figure:
        draw(rows, options.figure)


if __name__ == "__main__":
    sys.exit(main())
