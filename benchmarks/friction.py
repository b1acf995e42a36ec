"""Exact Coulomb friction: `perp` against the best solver of Siconos on each of its own problems.

    python benchmarks/friction.py PROBLEMS [--siconos INTERPRETER] [--out OUT.json] [--clarabel] [--growth]

PROBLEMS is a folder with fc3d__*.npz files. Both sides run in this one call, one thread, CPU time, zero
start, best of a few repeats, and must reach 1e-8 in the literature's measure. The time of a solve is the
whole Python call on both sides.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

import perp  # noqa: E402
from perp.bench.job import Job, run_job  # noqa: E402
from perp.bench.peers import peers  # noqa: E402
from perp.bench.peers.siconos import VARIABLE  # noqa: E402
from perp.bench.timing import best_of  # noqa: E402
from perp.solvers.listing import can_take  # noqa: E402

TOLERANCE = 1e-8
# Repeats go on for this many seconds per problem.
SPENT = 0.2
# A solver of Siconos that needs more seconds than this is counted as not converging.
CAP = 3.0
REPEATS = 100


def cpu_time(problem: perp.ContactProblem, solver: str = "auto") -> tuple[float, perp.Solution]:
    """Best CPU seconds of repeated solves, and the answer."""
    spent = best_of(lambda: perp.solve(problem, solver, throw=False), budget=SPENT)
    return spent.cpu, perp.solve(problem, solver, throw=False)


def siconos(name: str, problem: perp.ContactProblem) -> dict[str, float | None]:
    """CPU seconds of the solvers of Siconos that take the problem, None where they do not solve it."""
    times = {}
    for info in peers():
        if info.name.startswith("siconos-") and can_take(info, problem):
            job = Job("fc3d", name, problem, None, info.name, tol=TOLERANCE, time_limit=CAP, repeat=REPEATS)
            row = run_job(job)
            times[info.name] = row.cpu if row.solved else None
    return times


def compare(files: list[Path], interpreter: str | None) -> list[dict]:
    """One row per problem: our time and error, the peers' times, the ratio to their best."""
    if interpreter is not None:
        os.environ[VARIABLE] = interpreter
    rows = []
    for file in files:
        problem = perp.load(file)
        seconds, solution = cpu_time(problem)
        parts = solution.residuals
        solved = max(parts.value, parts.literature) <= TOLERANCE
        times = {} if interpreter is None else siconos(file.stem, problem)
        known = [value for value in times.values() if value is not None]
        best = min(known) if known else None
        rows.append(
            {
                "problem": file.stem,
                "rows": problem.size,
                "solved": bool(solved),
                "perp": seconds,
                "inside": solution.solve_time,
                "residual": parts.value,
                "literature": parts.literature,
                "info": {key: solution.info.get(key) for key in ("sweeps", "newton_steps", "starts")},
                "siconos": times,
                "best": best,
                "ratio": seconds / best if best else None,
            }
        )
        print(describe(rows[-1]), flush=True)
    return rows


def describe(row: dict) -> str:
    """One line of the table."""
    best = f"{1e3 * row['best']:10.4f}" if row["best"] else "         –"
    ratio = f"{row['ratio']:7.2f}" if row["ratio"] else "      –"
    state = "solved" if row["solved"] else f"NOT SOLVED ({row['residual']:.1e}, {row['literature']:.1e})"
    name = f"{row['problem']:44s} {row['rows']:6d} rows"
    return f"{name} {1e3 * row['perp']:10.4f} ms  best {best} ms {ratio}  {state}"


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


def pile(contacts: int) -> perp.ContactProblem:
    """A pile of unit spheres on a plane with about `contacts` contacts between neighbours of a grid."""
    from scipy.sparse import coo_array

    side = max(2, round((contacts / 3.0) ** (1 / 3)))
    grid = np.indices((side, side, side)).reshape(3, -1).T
    number = {tuple(cell): k for k, cell in enumerate(grid)}
    rng = np.random.default_rng(contacts)
    pairs = []
    for k, cell in enumerate(grid):
        if cell[2] == 0:
            pairs.append((k, -1, np.array([0.0, 0.0, 1.0])))
        for axis in range(3):
            upper = tuple(cell + np.eye(3, dtype=int)[axis])
            if upper in number:
                normal = np.eye(3)[axis] + 0.2 * rng.normal(size=3)
                pairs.append((number[upper], k, normal / np.linalg.norm(normal)))
    rows, columns, values = [], [], []
    for c, (one, other, normal) in enumerate(pairs):
        helper = np.eye(3)[np.argmin(abs(normal))]
        tangent = np.cross(normal, helper)
        tangent /= np.linalg.norm(tangent)
        frame = np.vstack([normal, tangent, np.cross(normal, tangent)])
        for body, sign, arm in ((one, 1.0, -0.5 * normal), (other, -1.0, 0.5 * normal)):
            if body >= 0:
                block = sign * np.hstack([frame, np.cross(arm, frame)])
                i, j = np.indices((3, 6))
                rows.append((3 * c + i).ravel())
                columns.append((6 * body + j).ravel())
                values.append(block.ravel())
    n = 6 * len(grid)
    jacobian = coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(3 * len(pairs), n)
    ).tocsr()
    inverse = np.tile([1.0, 1.0, 1.0, 10.0, 10.0, 10.0], len(grid))
    velocity = np.tile([0.0, 0.0, -0.1, 0.0, 0.0, 0.0], len(grid)) + 0.02 * rng.normal(size=n)
    W = (jacobian * inverse) @ jacobian.T
    return perp.ContactProblem.coulomb(W.tocsr(), jacobian @ velocity, 0.5)


def growth() -> None:
    """Time and memory per contact of piles of 10² to 10⁵ contacts, to 1e-4."""
    import resource

    for contacts in (100, 1000, 10_000, 100_000):
        problem = pile(contacts)
        perp.solve(problem, tol=1e-4, max_iterations=1, throw=False)
        before = time.process_time()
        solution = perp.solve(problem, tol=1e-4, throw=False)
        spent = time.process_time() - before
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{problem.contact_count:7d} contacts {spent:8.3f} s  "
            f"{1e6 * spent / problem.contact_count:7.2f} µs/contact  "
            f"peak {peak:7.0f} MiB  {solution.status.name} {solution.residual:.1e} {solution.info}",
            flush=True,
        )


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("problems", type=Path)
    parser.add_argument("--siconos", metavar="INTERPRETER", help="a Python that can import siconos")
    parser.add_argument("--family", default="fc3d")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--clarabel", action="store_true", help="compare the relaxed solver with Clarabel")
    parser.add_argument("--growth", action="store_true", help="piles of 10² to 10⁵ contacts")
    options = parser.parse_args()
    files = sorted(options.problems.glob(f"{options.family}__*.npz"))
    if options.growth:
        growth()
        return
    if options.clarabel:
        clarabel_ratios(files)
        return
    rows = compare(files, options.siconos)
    ratios = np.array([row["ratio"] for row in rows if row["ratio"]])
    print(f"{sum(row['solved'] for row in rows)} of {len(rows)} solved", end="")
    if ratios.size:
        print(
            f"; geometric mean of ratios {np.exp(np.log(ratios).mean()):.3f}, largest {ratios.max():.2f}",
            end="",
        )
    print()
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    sys.exit(main())
