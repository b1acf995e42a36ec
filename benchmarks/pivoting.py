"""Pivoting solvers beside their peers, in one run, on one thread; shows times and ratios and draws the plot.

    python benchmarks/pivoting.py                         # everything, a few minutes
    python benchmarks/pivoting.py --sizes 8 64 --seeds 1  # a quick look
    python benchmarks/pivoting.py --plot docs/images/pivoting.svg

Peers that are not installed are shown as missing: QuantEcon (pip install quantecon), Drake (pip install
drake), Siconos (apt install python3-siconos, run in the system's Python). An answer that is off by more than
1e-6 is shown as "fails", a size that was not tried as "–". Times are the best of many calls, medians over
seeds; "kernel" is the call from Python into the compiled solver, "solve" the whole of `perp.solve`.
"""

# ruff: noqa: E402 (threads must be limited before NumPy is imported)

from __future__ import annotations

import os

for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

import perp
from perp.bench.sets import families
from perp.problems.validation import freeze
from perp.solvers.pivoting import complementary_path, incremental, principal, rows

SYSTEM_PYTHON = "/usr/bin/python3"
# DART's Dantzig (C++) on the standard family [s], and QuantEcon's Lemke beside it on the same machine: the
# ratio carries over to this one.
DART_DANTZIG = {8: 1.8e-6, 32: 12.6e-6, 64: 51.9e-6, 128: 641e-6, 256: 4.5e-3, 512: 83e-3}
QUANTECON_BESIDE_DART = {8: 5.3e-6, 32: 9.7e-6, 64: 82e-6, 128: 0.43e-3, 256: 3.7e-3, 512: 27e-3}


def best(call: Callable[[], object], budget: float = 0.3, most: int = 300) -> float:
    """Seconds of the fastest call within a budget of seconds, at least three."""
    call()
    fastest, spent, count = np.inf, 0.0, 0
    while count < 3 or (spent < budget and count < most):
        began = perf_counter()
        call()
        took = perf_counter() - began
        fastest, spent, count = min(fastest, took), spent + took, count + 1
    return fastest


def lemke_kernel(problem: perp.LCP) -> Callable[[], object]:
    """Lemke's kernel with its workspace made beforehand."""
    n = problem.size
    M = rows.dense(problem.M)
    T = M if rows.is_symmetric(M) else freeze(np.ascontiguousarray(M.T))
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
        return incremental.drive_rows(M, problem.q, lo, hi, integers, work, False, worst_first, 100 * n)

    return call


def solved_by(problem: perp.LCP | perp.BoxedLCP, solver: str, **options: object) -> Callable[[], object]:
    """`perp.solve`, refusing to time what is not solved."""
    perp.solve(problem, solver, **options)  # type: ignore[arg-type]
    return lambda: perp.solve(problem, solver, **options)  # type: ignore[arg-type]


class WrongAnswer(Exception):
    """A peer's answer is not one."""


def check(problem: perp.LCP, z: np.ndarray) -> None:
    """Refuse to time a wrong answer."""
    if not np.abs(np.minimum(z, problem.M @ z + problem.q)).max() <= 1e-6:
        raise WrongAnswer


def quantecon(problem: perp.LCP) -> Callable[[], object]:
    """QuantEcon's Lemke."""
    from quantecon.optimize import lcp_lemke

    M, q = np.array(problem.M), np.array(problem.q)
    check(problem, lcp_lemke(M, q).z)
    return lambda: lcp_lemke(M, q)


def drake(solver: str) -> Callable[[perp.LCP], Callable[[], object]]:
    """One of Drake's LCP solvers."""

    def prepare(problem: perp.LCP) -> Callable[[], object]:
        import pydrake.solvers as solvers

        program = solvers.MathematicalProgram()
        x = program.NewContinuousVariables(problem.size)
        program.AddLinearComplementarityConstraint(np.array(problem.M), np.array(problem.q), x)
        make = getattr(solvers, solver)  # a new object each time: one that is kept starts from its last basis
        check(problem, make().Solve(program).GetSolution(x))
        return lambda: make().Solve(program)

    return prepare


SICONOS = """
import sys, time, numpy as np, siconos.numerics as sn
data = np.load(sys.argv[1])
for key in [k[1:] for k in data if k[0] == "M"]:
    M, q = data["M" + key].copy(), data["q" + key].copy()
    problem = sn.LCP(M, q)
    for name in ("LEMKE", "PIVOT"):
        fastest = float("inf"); spent = 0.0; count = 0
        while count < 3 or (spent < 0.3 and count < 300):
            options = sn.SolverOptions(getattr(sn, "SICONOS_LCP_" + name)); options.iparam[0] = 100 * len(q)
            z, w = np.zeros(len(q)), np.zeros(len(q))
            began = time.perf_counter()
            outcome = sn.linearComplementarity_driver(problem, z, w, options)
            took = time.perf_counter() - began
            fastest = min(fastest, took); spent += took; count += 1
            if spent > 5: break
        error = np.abs(np.minimum(z, M @ z + q)).max()
        print(key, name, fastest if error < 1e-6 else float("inf"))
"""


def siconos(problems: dict[str, perp.LCP]) -> dict[tuple[str, str], float]:
    """Times of Siconos by problem key and solver, from the system's Python; empty where it is missing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problems.npz"
        arrays = {"M" + key: problem.M for key, problem in problems.items()}
        arrays |= {"q" + key: problem.q for key, problem in problems.items()}
        np.savez(path, **arrays)
        command = [SYSTEM_PYTHON, "-c", SICONOS, str(path)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
        except (OSError, subprocess.SubprocessError):
            return {}
    lines = (line.split() for line in run.stdout.splitlines())
    return {
        (part[0], part[1]): float(part[2])
        for part in lines
        if len(part) == 3 and part[1] in ("LEMKE", "PIVOT")
    }


def measure(prepare: Callable[..., Callable[[], object]], problems: list) -> float | None:
    """Median over the problems of the fastest call; None where the solver is missing or fails."""
    try:
        return statistics.median(best(prepare(problem)) for problem in problems)
    except ImportError:
        return None
    except (perp.NotSolved, WrongAnswer):
        return float("inf")


def show(title: str, sizes: list[int], table: dict[str, list[float | None]]) -> None:
    """A Markdown table of times."""
    print(f"\n**{title}**\n\n| n = | " + " | ".join(map(str, sizes)) + " |")
    print("|---" * (len(sizes) + 1) + "|")
    for name, times in table.items():
        print(f"| {name} | " + " | ".join(map(in_words, times)) + " |", flush=True)


def in_words(seconds: float | None) -> str:
    """A time with its unit, or why there is none."""
    if seconds is None:
        return "missing"
    if np.isnan(seconds):
        return "–"
    if np.isinf(seconds):
        return "fails"
    return f"{1e6 * seconds:.3g} µs" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"


def symmetric_family(
    title: str, make: Callable[[int, int], perp.LCP], sizes: list[int], seeds: int, *, singular: bool = False
) -> dict[str, list[float | None]]:
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


def peers(problems: dict[int, list[perp.LCP]], sizes: list[int]) -> dict[str, list[float | None]]:
    """The peers on LCPs. Drake and Siconos only up to the sizes that they finish in reasonable time."""
    table = {"QuantEcon lcp_lemke": [measure(quantecon, problems[n]) for n in sizes]}
    for solver in ("MobyLcpSolver", "UnrevisedLemkeSolver"):
        table[f"Drake {solver}"] = [
            measure(drake(solver), problems[n]) if n <= 128 else float("nan") for n in sizes
        ]
    small = {f"_{n}_{i}": p for n in sizes if n <= 256 for i, p in enumerate(problems[n])}
    times = siconos(small)
    for solver in ("LEMKE", "PIVOT"):
        table[f"Siconos {solver}"] = [
            _median([times.get((f"_{n}_{i}", solver)) for i in range(len(problems[n]))], n <= 256)
            for n in sizes
        ]
    return table


def _median(values: list[float | None], tried: bool) -> float | None:
    if not tried:
        return float("nan")
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


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
            began = perf_counter()
            solution = perp.solve(problem, "dantzig", tol=1e-10, throw=False)
            ours.append(perf_counter() - began)
            lo, hi = problem.bounds(solution.z)
            error = solution.z - np.clip(solution.z - (problem.M @ solution.z + problem.q), lo, hi)
            solved += bool(np.linalg.norm(error) <= 1e-9)
            if seed < 10:
                began = perf_counter()
                perp.solve(problem, "pgs", tol=1e-6, throw=False)
                sweeps.append(perf_counter() - began)
        a, b = statistics.median(ours), statistics.median(sweeps)
        print(f"| {count} | {solved} of {seeds} | {in_words(a)} | {in_words(b)} | {a / b:.2f} |", flush=True)


def ratios(sizes: list[int], table: dict[str, list[float | None]]) -> None:
    """The figures that the project promises, from this run."""
    print("\n**Ratios of this run (standard family)**\n")
    print("| n = | " + " | ".join(map(str, sizes)) + " |\n" + "|---" * (len(sizes) + 1) + "|")
    peer, own = table["QuantEcon lcp_lemke"], table["lemke, kernel"]
    print("| lemke / QuantEcon | " + " | ".join(_ratio(a, b) for a, b in zip(own, peer, strict=True)) + " |")
    fastest = [
        min(
            t
            for name, times in table.items()
            if name.startswith(("dantzig", "baraff", "principal")) and (t := times[i])
        )
        for i in range(len(sizes))
    ]
    scaled = [
        None if a is None or n not in DART_DANTZIG
        else DART_DANTZIG[n] * a / QUANTECON_BESIDE_DART[n]
        for n, a in zip(sizes, peer, strict=True)
    ]  # fmt: skip
    print(
        "| best / DART Dantzig (notes, scaled) | "
        + " | ".join(_ratio(a, b) for a, b in zip(fastest, scaled, strict=True))
        + " |"
    )


def _ratio(a: float | None, b: float | None) -> str:
    return "missing" if a is None or b is None else f"{a / b:.2f}"


def overhead() -> None:
    """What `solve` adds to the kernel at n = 8."""
    problem = families.spd(8)
    kernel, whole = best(principal_kernel(problem)), best(solved_by(problem, "principal"))
    print(f"\nn = 8: kernel {in_words(kernel)}, solve {in_words(whole)}: overhead {in_words(whole - kernel)}")


def plot(path: Path, sizes: list[int], table: dict[str, list[float | None]]) -> None:
    """Time against n, ours solid, peers dashed."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "perp", "svg.fonttype": "none"}
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, times in table.items():
        known = [(n, t) for n, t in zip(sizes, times, strict=True) if t is not None and np.isfinite(t)]
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
