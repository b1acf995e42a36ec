"""Boxed problems: sweeps against memory, solves against peers, a large one, residual against time.

    python benchmarks/boxed.py sweeps|sizes|large|families

Run with one thread (OMP_NUM_THREADS, OPENBLAS_NUM_THREADS, NUMBA_NUM_THREADS = 1). Peers that are installed
(`perp bench list`) run in the same minute; `sizes` scales the notes' figures of DART's Dantzig by QuantEcon's
time here over its time there. Times are the best of many.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from boxed_problems import contact_rows, grid_pattern, motors, standard
from numba import njit
from peer_trouble import missing, trouble
from scipy.sparse import csr_array, diags_array

import perp
from perp.bench.job import Job, run_job
from perp.bench.peers import peers
from perp.bench.timing import best_of, timed
from perp.problems.validation import freeze
from perp.solvers import solvers as available
from perp.solvers.pivoting.one_call import solve_rows
from perp.solvers.projection.sweep_kernels import dense_sweeps
from perp.solvers.projection.sweeps import Sweeper
from perp.solvers.small_rows import LARGEST, packed

# The peers' solvers take minutes above.
LARGEST_PEER = 256
SIZES = (8, 32, 64, 128, 256, 512, 1024)
# Microseconds of the C++ peers on another machine of this class: DART's PGS for 30 sweeps, its Dantzig per
# solve.
PEER_SWEEPS = {48: 54.0, 192: 925.0, 384: 4210.0}
PEER_DANTZIG = {8: 1.8, 32: 12.6, 64: 51.9, 128: 641.0, 256: 4500.0, 512: 83_000.0}
PEER_QUANTECON = {8: 5.3, 32: 9.7, 64: 82.0, 128: 430.0, 256: 3700.0, 512: 27_000.0}
FAMILY = (
    "auto",
    "boxed-newton",
    "minimum-map",
    "subspace-minimisation",
    "pgs",
    "nncg",
    "boxed-interior-point",
)


def best_time(run: Callable[[], Any], budget: float = 0.4) -> float:
    """The shortest CPU time of `run` within a budget of seconds."""
    return best_of(run, budget=budget, most=10**6).cpu


def grid(side: int) -> csr_array:
    """A symmetric diagonally dominant matrix on a cube of side³ nodes, 11 entries a row inside."""
    i, j = grid_pattern(side)
    n = side**3
    off = csr_array((np.full(i.size, -1.0), (i, j)), shape=(n, n))
    off = off + off.T
    return (off + diags_array(0.05 - off.sum(axis=1))).tocsr()


@njit
def read_all(data, indices, indptr, q, lo, hi, step, z):
    """Reads what a sweep must read, and writes z: the time that memory alone takes."""
    s0 = s1 = s2 = s3 = 0.0
    total = np.int64(0)
    for k in range(0, data.size - 3, 4):
        s0 += data[k]
        s1 += data[k + 1]
        s2 += data[k + 2]
        s3 += data[k + 3]
    for k in range(indices.size):
        total += indices[k]
    for i in range(z.size):
        total += indptr[i]
        z[i] = q[i] + lo[i] + hi[i] + step[i]
    return s0 + s1 + s2 + s3 + total


def sweeps() -> None:
    """Dense sweeps against the C++ peer, sparse sweeps against the memory bandwidth."""
    print("30 sweeps of projected Gauss–Seidel, dense [µs]: rows, boxed, standard, C++ peer, ratios")
    for n, peer in PEER_SWEEPS.items():
        row = []
        for build in (motors, standard):
            M, q, lo, hi = (freeze(np.asarray(part)) for part in build(n))
            bounds = lo, hi, freeze(np.full(n, -1))
            fixed = (M, bounds, freeze(1.0 / M.diagonal()), freeze(np.arange(n)))
            z, w = np.zeros(n), np.zeros(n)

            def run(fixed: Any = fixed, q: Any = q, z: Any = z, w: Any = w) -> None:
                z[:] = 0.0
                w[:] = q
                dense_sweeps(*fixed, z, w, 30)

            row.append(1e6 * best_time(run))
        print(f"{n:6d} {row[0]:9.1f} {row[1]:9.1f} {peer:9.0f} {peer / row[0]:6.1f} {peer / row[1]:6.1f}")
    sparse_sweep()


def sparse_sweep(side: int = 46, copies: int = 8) -> None:
    """One sweep over copies of a problem that no cache holds together, against reading the same memory."""
    M = grid(side)
    n = M.shape[0]
    rng = np.random.default_rng(0)
    q, limit = rng.standard_normal(n), rng.uniform(0.05, 1.0, n)
    problems = [perp.BoxedLCP(M, q, -limit, limit) for _ in range(copies)]
    sweepers, zs = [Sweeper(problem) for problem in problems], [np.zeros(n) for _ in problems]
    step = 1.0 / M.diagonal()

    def read() -> None:
        for p, z in zip(problems, zs, strict=True):
            read_all(p.M.data, p.M.indices, p.M.indptr, p.q, p.lo, p.hi, step, z)

    def sweep() -> None:
        for sweeper, z in zip(sweepers, zs, strict=True):
            sweeper.sweep(z)

    bound, one = best_time(read) / copies, best_time(sweep) / copies
    size = M.data.nbytes + M.indices.nbytes + M.indptr.nbytes + 5 * 8 * n
    print(f"sparse sweep, {n} rows, {M.nnz} nonzeros, {size / 1e6:.1f} MB: {1e6 * one:.0f} µs")
    print(f"reading it takes {1e6 * bound:.0f} µs ({size / bound / 1e9:.1f} GB/s): {one / bound:.2f} ×")


def peer_times(build: Callable[..., tuple[np.ndarray, ...]], n: int, prefix: str) -> dict[str, float]:
    """CPU seconds of a peer's LCP solvers that solve all three problems of size n, medians.

    Those that cannot be asked, or end without an answer, are printed with the reason.
    """
    found = {}
    for info in peers():
        if n > LARGEST_PEER or not info.name.startswith(prefix):
            continue
        problem, rows = missing(info.name), []
        if problem is None:
            given = [perp.BoxedLCP(*build(n, seed)) for seed in range(3)]
            rows = [run_job(Job("boxed", "", p, None, info.name, tol=1e-6, repeat=100)) for p in given]
            problem = trouble(rows)
        if problem is not None:
            print(f"{n:5d} {info.name}: {problem}")
        elif all(row.solved for row in rows):
            found[info.name] = float(np.median([row.cpu for row in rows]))
    return found


def sizes() -> None:
    """Solves of n = 8 … 1024 rows by the whole of `perp.solve`, against the peers' own calls."""
    for family, build in (("motors", motors), ("standard", standard)):
        print(
            f"{family}: n, best of perp [µs] and which, bare kernel, Siconos's best, Dantzig scaled, ratios"
        )
        for n in SIZES:
            mine = {}
            for solver in FAMILY:
                times = []
                for seed in range(3):
                    problem = perp.BoxedLCP(*build(n, seed))
                    if perp.solve(problem, solver, throw=False).solved:
                        run = lambda p=problem, s=solver: perp.solve(p, s)  # noqa: E731
                        times.append(1e6 * best_time(run, 0.1))
                if len(times) == 3:
                    mine[solver] = float(np.median(times))
            name = min(mine, key=mine.__getitem__)
            line = f"{n:5d} {mine[name]:10.1f} {name:22s} {bare_kernel(build, n):>8s}"
            found = {k: 1e6 * v for k, v in peer_times(build, n, "siconos-lcp").items()}
            if found:
                other = min(found, key=found.__getitem__)
                line += f" {found[other]:10.1f} {other:18s} {found[other] / mine[name]:6.1f} ×"
            here = peer_times(standard, n, "quantecon").get("quantecon-lemke")
            if here and n in PEER_DANTZIG:
                dantzig = PEER_DANTZIG[n] * 1e6 * here / PEER_QUANTECON[n]
                line += f"  Dantzig {dantzig:10.1f} {dantzig / mine[name]:6.1f} ×"
            print(line)


def bare_kernel(build: Callable[..., tuple[np.ndarray, ...]], n: int) -> str:
    """The compiled call of small boxes alone [µs], as the peers' bare calls are timed."""
    if n > LARGEST:
        return ""
    times = []
    for seed in range(3):
        form: Any = packed(perp.BoxedLCP(*build(n, seed)))
        z, w = np.empty(n), np.empty(n)
        times.append(1e6 * best_time(partial(solve_rows, *form, z, w), 0.1))
    return f"{np.median(times):.1f}"


def resident() -> int:
    """Bytes of memory that this process holds."""
    with Path("/proc/self/statm").open(encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def large(side: int = 100) -> None:
    """A boxed problem with side³ rows: time and peak memory over the matrix's own, per solver."""
    M = grid(side)
    n = M.shape[0]
    rng = np.random.default_rng(0)
    q, limit = rng.standard_normal(n), rng.uniform(0.05, 1.0, n)
    own = M.data.nbytes + M.indices.nbytes + M.indptr.nbytes
    small = perp.BoxedLCP(grid(4), q[:64], -1.0, 1.0)
    print(f"{n} rows, {M.nnz} nonzeros, matrix {own / 1e6:.0f} MB, to 1e-6")
    for solver in ("pgs", "nncg", "mprgp"):
        perp.solve(small, solver, tol=1e-6)
        peak, done = [0], threading.Event()
        before = resident()

        def watch(peak: list[int] = peak, done: threading.Event = done) -> None:
            while not done.wait(0.002):
                peak[0] = max(peak[0], resident())

        watcher = threading.Thread(target=watch)
        watcher.start()
        problem = perp.BoxedLCP(M, q, -limit, limit, copy=False)
        took, solution = timed(partial(perp.solve, problem, solver, tol=1e-6, throw=False))
        done.set()
        watcher.join()
        memory = (own + peak[0] - before) / own
        print(f"  {solver:8s} {solution!r} {took.cpu:.1f} s, peak memory {memory:.2f} × the matrix")
        del problem, solution


def family_problems() -> dict[str, perp.BoxedLCP]:
    """The three problems of the figure."""
    M, q, lo, hi, index = contact_rows(64)
    side = 16
    rng = np.random.default_rng(0)
    obstacle = grid(side) + diags_array(np.full(side**3, -0.045))
    limit = rng.uniform(0.05, 2.0, side**3)
    return {
        "256 motors, dense": perp.BoxedLCP(*motors(256)),
        "4096 nodes over an obstacle, sparse": perp.BoxedLCP(
            obstacle, rng.standard_normal(side**3), -limit, 3.0
        ),
        "64 contacts, rank-deficient, friction index": perp.BoxedLCP(M, q, lo, hi, friction_index=index),
    }


def families(out: Path) -> None:
    """Residual against time of every solver on three problems, as a figure and a table."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    problems = family_problems()
    solvers = [s for s in available(next(iter(problems.values()))) if s.name != "auto" and s.needs is None]
    colours = {s.name: f"C{k % 10}" for k, s in enumerate(solvers)}
    dashes = {"pivoting": ":", "projection": "-", "newton": "--", "interior": "-.", "splitting": (0, (5, 1))}
    figure, panels = plt.subplots(1, 3, figsize=(13, 4.6), sharey=True, layout="constrained")
    for panel, (title, problem) in zip(panels, problems.items(), strict=True):
        for info in solvers:
            if info.objection(problem) is not None:
                continue
            options: dict[str, Any] = {"throw": False, "tol": 1e-10, "time_limit": 5.0}
            perp.solve(problem, info.name, **options | {"max_iterations": 2})
            perp.solve(problem, info.name, **options)
            solution = perp.solve(problem, info.name, history=True, **options)
            print(f"{title}: {info.name:22s} {solution!r} {1e3 * solution.solve_time:.2f} ms")
            history = solution.history
            if history is None or not history.times.size:
                continue
            values = np.minimum.accumulate(np.maximum(history.residuals, 1e-17))
            panel.plot(
                1e3 * np.maximum(history.times, 1e-5), values, label=info.name,
                color=colours[info.name], ls=dashes.get(info.family, "-"), lw=1.4,
            )  # fmt: skip
            panel.plot(1e3 * max(history.times[-1], 1e-5), values[-1], "o", color=colours[info.name], ms=3)
        panel.axhline(1e-8, color="0.7", lw=0.8)
        panel.set(xscale="log", yscale="log", title=title, xlabel="time [ms]", ylim=(1e-17, 10))
        panel.title.set_fontsize(10)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("residual")
    handles = {label: h for p in panels for h, label in zip(*p.get_legend_handles_labels(), strict=True)}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=6, frameon=False, fontsize=8
    )
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "boxed-families.png", dpi=110)


def main() -> None:
    """Run the part named on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("sweeps", "sizes", "large", "families"))
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    arguments = parser.parse_args()
    if arguments.part == "sizes":
        sizes()
    elif arguments.part == "families":
        families(arguments.out)
    else:
        {"sweeps": sweeps, "large": large}[arguments.part]()


if __name__ == "__main__":
    sys.exit(main())
