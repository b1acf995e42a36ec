"""Pivoting solvers beside their peers, in one run, on one thread; shows times and ratios and draws the plot.

    python benchmarks/pivoting.py                         # everything, a few minutes
    python benchmarks/pivoting.py --sizes 8 64 --seeds 1  # a quick look
    python benchmarks/pivoting.py --plot docs/images/pivoting.svg

Peers that are not installed are shown as missing; `perp bench list` has the commands that add them. An
answer that is off by more than 1e-6 is shown as "fails", a size that was not tried as "–". Times are the best
of many calls, medians over seeds; "kernel" is the call from Python into the compiled solver, "solve" the
whole of `perp.solve`.
"""

# ruff: noqa: E402 (threads must be limited before NumPy is imported)

from __future__ import annotations

import os

for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from peer_trouble import missing, trouble

import perp
from perp.bench.job import Job, run_job
from perp.bench.peers import load_peers
from perp.bench.sets import families
from perp.bench.timing import best_of, timed
from perp.problems.validation import freeze
from perp.solvers.pivoting import complementary_path, incremental, principal, rows
from perp.solvers.symmetry import is_symmetric

# Each with the largest size that it is given.
PEERS = {
    "quantecon-lemke": 512,
    "drake-moby": 128,
    "drake-lemke": 128,
    "siconos-lcp-lemke": 256,
    "siconos-lcp-pivot": 256,
}
# DART's Dantzig (C++) on the standard family [s], and QuantEcon's Lemke beside it on the same machine: the
# ratio carries over to this one.
DART_DANTZIG = {8: 1.8e-6, 32: 12.6e-6, 64: 51.9e-6, 128: 641e-6, 256: 4.5e-3, 512: 83e-3}
QUANTECON_BESIDE_DART = {8: 5.3e-6, 32: 9.7e-6, 64: 82e-6, 128: 0.43e-3, 256: 3.7e-3, 512: 27e-3}


def best(call: Callable[[], object]) -> float:
    """Seconds (wall) of the fastest of many calls."""
    return best_of(call).wall


def lemke_kernel(problem: perp.LCP) -> Callable[[], object]:
    """Lemke's kernel with its workspace made beforehand."""
    n = problem.size
    M = rows.dense(problem.M)
    T = M if is_symmetric(M) else freeze(np.ascontiguousarray(M.T))
    integers, work = (
        np.empty(complementary_path.HEADER + 4 * n + 4, dtype=np.int64),
        np.empty(complementary_path.workspace(n)),
    )
    work[:n] = 1.0
    return lambda: complementary_path.lemke_pivots(T, problem.q, integers, work, 0, 100 * n)


def principal_kernel(problem: perp.LCP | perp.BoxedLCP) -> Callable[[], object]:
    """Block principal pivoting's kernel with its workspace made beforehand."""
    n = problem.size
    M = rows.dense(problem.M)
    lo, hi = rows.bounds_of(problem)
    integers, work = np.empty(2 + 5 * n, dtype=np.int64), np.zeros(n * (n + 5))
    sides = integers[2 : n + 2]

    def call() -> object:
        integers[0], integers[1] = n + 1, principal.PATIENCE
        principal.first_sides(M, problem.q, lo, hi, problem.column_scale, sides)
        return principal.principal_steps(M, problem.q, lo, hi, integers, work, 0.0, True, 1000)

    return call


def drive_kernel(problem: perp.LCP | perp.BoxedLCP, worst_first: bool) -> Callable[[], object]:
    """Dantzig's or Baraff's kernel with its workspace made beforehand."""
    n = problem.size
    M = rows.dense(problem.M)
    lo, hi = rows.bounds_of(problem)
    integers, work = np.zeros(incremental.HEADER + 3 * n, dtype=np.int64), np.zeros(n * (n + 7))
    begin, z = integers.copy(), np.clip(0.0, lo, hi)
    begin[incremental.HEADER + 2 * n :] = np.argsort(np.isfinite(lo) | np.isfinite(hi), kind="stable")
    begin[incremental.HEADER : incremental.HEADER + n][lo == hi] = rows.AT_LO

    def call() -> object:
        integers[:] = begin
        work[:n] = z
        return incremental.drive_rows(M, problem.q, (lo, hi), integers, work, False, worst_first, 100 * n)

    return call


def solved_by(problem: perp.LCP | perp.BoxedLCP, solver: str, **options: object) -> Callable[[], object]:
    """`perp.solve`, refusing to time what is not solved."""
    perp.solve(problem, solver, **options)  # type: ignore[arg-type]
    return lambda: perp.solve(problem, solver, **options)  # type: ignore[arg-type]


def peer_time(solver: str, problems: list[perp.LCP]) -> float | str:
    """Median over the problems of its fastest call, infinity where it misses one; or why it has no answer."""
    problem = missing(solver)
    if problem is not None:
        return problem
    rows = [run_job(Job("", "", p, None, solver, tol=1e-6, time_limit=5.0, repeat=300)) for p in problems]
    problem = trouble(rows)
    if problem is not None:
        return problem
    return statistics.median(row.wall for row in rows) if all(row.solved for row in rows) else float("inf")


def measure(prepare: Callable[..., Callable[[], object]], problems: list) -> float:
    """Median over the problems of the fastest call; infinity where the solver fails."""
    try:
        return statistics.median(best(prepare(problem)) for problem in problems)
    except perp.NotSolved:
        return float("inf")


def show(title: str, sizes: list[int], table: dict[str, list[float | str]]) -> None:
    """A Markdown table of times."""
    print(f"\n**{title}**\n\n| n = | " + " | ".join(map(str, sizes)) + " |")
    print("|---" * (len(sizes) + 1) + "|")
    for name, times in table.items():
        print(f"| {name} | " + " | ".join(map(in_words, times)) + " |", flush=True)


def in_words(seconds: float | str) -> str:
    """A time with its unit, or why there is none."""
    if isinstance(seconds, str):
        return seconds
    if np.isnan(seconds):
        return "–"
    if np.isinf(seconds):
        return "fails"
    return f"{1e6 * seconds:.3g} µs" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"


def symmetric_family(
    title: str, make: Callable[[int, int], perp.LCP], sizes: list[int], seeds: int, *, singular: bool = False
) -> dict[str, list[float | str]]:
    """Every solver of ours and the peers on one family of symmetric LCPs."""
    problems = {n: [make(n, seed) for seed in range(seeds)] for n in sizes}
    ours: dict[str, Callable[..., Callable[[], object]]] = {
        "lemke, kernel": lemke_kernel,
        "dantzig, kernel": lambda p: drive_kernel(p, False),
        "baraff, kernel": lambda p: drive_kernel(p, True),
    }
    if singular:
        ours["principal, solve"] = lambda p: solved_by(p, "principal")
    else:
        ours["principal, kernel"] = principal_kernel
        ours["auto, solve"] = lambda p: solved_by(p, "auto")
    table = {name: [measure(prepare, problems[n]) for n in sizes] for name, prepare in ours.items()}
    table |= peers(problems, sizes)
    show(title, sizes, table)
    return table


def peers(problems: dict[int, list[perp.LCP]], sizes: list[int]) -> dict[str, list[float | str]]:
    """The peers on LCPs, each up to the size that it finishes in reasonable time."""
    load_peers()
    return {
        name: [peer_time(name, problems[n]) if n <= largest else float("nan") for n in sizes]
        for name, largest in PEERS.items()
    }


def friction_family(sizes: list[int], seeds: int) -> None:
    """Contacts with friction index: how many are solved to 1e-9, and the time against sweeps to 1e-6."""
    print(
        "\n**Contacts with friction index (rank-deficient): natural map ≤ 1e-9, time against PGS to 1e-6**\n"
    )
    print("| contacts | solved | dantzig, median | pgs to 1e-6, median | ratio |\n|---|---|---|---|---|")
    for count in sizes:
        solved, ours, sweeps = 0, [], []
        for seed in range(seeds):
            problem = families.contacts(count, seed)
            spent, solution = timed(partial(perp.solve, problem, "moving-bounds", tol=1e-10, throw=False))
            ours.append(spent.wall)
            lo, hi = problem.bounds(solution.z)
            error = solution.z - np.clip(solution.z - (problem.M @ solution.z + problem.q), lo, hi)
            solved += bool(np.linalg.norm(error) <= 1e-9)
            if seed < 10:
                spent, _ = timed(partial(perp.solve, problem, "pgs", tol=1e-6, throw=False))
                sweeps.append(spent.wall)
        a, b = statistics.median(ours), statistics.median(sweeps)
        print(f"| {count} | {solved} of {seeds} | {in_words(a)} | {in_words(b)} | {a / b:.2f} |", flush=True)


def ratios(sizes: list[int], table: dict[str, list[float | str]]) -> None:
    """The figures that the project promises, from this run."""
    print("\n**Ratios of this run (standard family)**\n")
    print("| n = | " + " | ".join(map(str, sizes)) + " |\n" + "|---" * (len(sizes) + 1) + "|")
    peer, own = table["quantecon-lemke"], table["lemke, kernel"]
    print("| lemke / QuantEcon | " + " | ".join(_ratio(a, b) for a, b in zip(own, peer, strict=True)) + " |")
    mine = [times for name, times in table.items() if name.startswith(("dantzig", "baraff", "principal"))]
    fastest = [min(times[i] for times in mine if not isinstance(times[i], str)) for i in range(len(sizes))]
    scaled = [
        a if isinstance(a, str) else "not measured" if n not in DART_DANTZIG
        else DART_DANTZIG[n] * a / QUANTECON_BESIDE_DART[n]
        for n, a in zip(sizes, peer, strict=True)
    ]  # fmt: skip
    print(
        "| best / DART Dantzig (notes, scaled) | "
        + " | ".join(_ratio(a, b) for a, b in zip(fastest, scaled, strict=True))
        + " |"
    )


def _ratio(a: float | str, b: float | str) -> str:
    for each in (a, b):
        if isinstance(each, str):
            return each
    return f"{a / b:.2f}"


def overhead() -> None:
    """What `solve` adds to the kernel at n = 8."""
    problem = families.spd(8)
    kernel, whole = best(principal_kernel(problem)), best(solved_by(problem, "principal"))
    print(f"\nn = 8: kernel {in_words(kernel)}, solve {in_words(whole)}: overhead {in_words(whole - kernel)}")


def plot(path: Path, sizes: list[int], table: dict[str, list[float | str]]) -> None:
    """Time against n, ours solid, peers dashed."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "perp", "svg.fonttype": "none"}
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, times in table.items():
        known = [
            (n, t) for n, t in zip(sizes, times, strict=True) if not isinstance(t, str) and np.isfinite(t)
        ]
        if known:
            ours = name.endswith(("kernel", "solve"))
            axes.loglog(
                *zip(*known, strict=True),
                "o-" if ours else "s--",
                label=name,
                markersize=4,
                lw=2 if ours else 1,
            )
    axes.set(
        xlabel="rows n", ylabel="time [s]", title="Standard LCP, symmetric positive definite, one thread"
    )
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    print(f"\nplot written to {path}")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 16, 32, 64, 128, 256, 512])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--contacts", type=int, nargs="*", default=[4, 16, 64, 128])
    parser.add_argument("--contact-seeds", type=int, default=100)
    parser.add_argument("--plot", type=Path, default=None)
    parser.add_argument("--only", choices=["standard", "others", "contacts"], default=None)
    arguments = parser.parse_args()
    sizes = arguments.sizes
    if arguments.only in (None, "standard"):
        table = symmetric_family(
            "Standard LCP, symmetric positive definite", families.spd, sizes, arguments.seeds
        )
        ratios(sizes, table)
        overhead()
        if arguments.plot is not None:
            plot(arguments.plot, sizes, table)
    if arguments.only in (None, "others"):
        others(sizes, arguments.seeds)
    if arguments.only in (None, "contacts"):
        friction_family(arguments.contacts, arguments.contact_seeds)


def others(sizes: list[int], seeds: int) -> None:
    """The families beside the standard one."""
    problems = {n: [families.p_matrix(n, seed)[0] for seed in range(seeds)] for n in sizes}
    table = {
        "lemke, kernel": [measure(lemke_kernel, problems[n]) for n in sizes],
        "principal, solve": [measure(lambda p: solved_by(p, "principal"), problems[n]) for n in sizes],
    }
    show("Nonsymmetric P-matrix", sizes, table | peers(problems, sizes))
    symmetric_family(
        "Rank-deficient, redundant contacts without friction", families.redundant, sizes, seeds, singular=True
    )
    symmetric_family(
        "Contact normals, diagonal 1e-9",
        lambda n, seed: families.normals(families.contacts(n, seed)), sizes, seeds, singular=True,
    )  # fmt: skip
    motors = {n: [families.motors(n, seed) for seed in range(seeds)] for n in sizes}
    show(
        "Boxed (motors)",
        sizes,
        {
            "dantzig, kernel": [measure(lambda p: drive_kernel(p, False), motors[n]) for n in sizes],
            "principal, kernel": [measure(principal_kernel, motors[n]) for n in sizes],
            "principal, solve": [measure(lambda p: solved_by(p, "principal"), motors[n]) for n in sizes],
        },
    )


if __name__ == "__main__":
    main()
