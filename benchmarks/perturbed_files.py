"""Problems that are near the ones in a folder: is every one solved whose original is, and in bounded time?

    python benchmarks/perturbed_files.py FOLDER [--largest ROWS] [--seconds S]

Every file is solved as it is, then with W and q scaled by 10⁻⁸ and 10⁸, without friction, with contacts
doubled, permuted, dropped, and with their sets mixed (elliptic, planar rows free). Prints what is not solved,
what took longest, and answers called solved that are not in long double. Taking friction, contacts or rows
away may leave a problem without a solution (a chain that only friction held): such lines are to be looked at.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from second_opinion import law_violation

import perp
from perp.problems.sets import COULOMB

Problem = Any


def main() -> None:
    """Solve all files and their neighbours."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--largest", type=int, default=400, help="rows")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this much time")
    arguments = parser.parse_args()
    began, counts, longest = time.monotonic(), {}, (0.0, "")
    for file in sorted(arguments.folder.iterdir()):
        if file.suffix not in (".npz", ".hdf5") or time.monotonic() - began > arguments.seconds:
            continue
        problem = perp.load(file)
        if problem.size > arguments.largest:
            continue
        for name, near in neighbours(problem):
            start = time.process_time()
            solution = perp.solve(near, throw=False)
            seconds = time.process_time() - start
            longest = max(longest, (seconds, f"{file.stem} {name}"))
            tally = counts.setdefault(name, [0, 0, 0])
            tally[0] += 1
            tally[1] += solution.solved
            false = (
                solution.solved and not isinstance(near, perp.MCP) and law_violation(near, solution.z) > 3e-8
            )
            tally[2] += false
            if not solution.solved or false:
                word = "FALSE" if false else solution.status.name
                print(f"{file.stem:45} {name:12} {word} {solution.residual:.1e} {seconds:.1f} s", flush=True)
    for name, (tried, solved, false) in counts.items():
        print(f"{name:12} {tried:4} tried {solved:4} solved {false:3} false")
    print(f"longest: {longest[1]}, {longest[0]:.1f} s")


def neighbours(problem: Problem) -> Iterator[tuple[str, Problem]]:
    """The problem as it is, and problems near it."""
    yield "as it is", problem
    rng = np.random.default_rng(0)
    if problem.size == 0:
        return
    if not isinstance(problem, perp.ContactProblem):
        yield from _boxed_neighbours(problem, rng)
        return
    W = problem.W.toarray() if hasattr(problem.W, "toarray") else np.array(problem.W)
    q, sets = np.array(problem.q), [problem.sets[c] for c in range(problem.contact_count)]
    blocks = [np.arange(problem.sets.start[c], problem.sets.start[c + 1]) for c in range(len(sets))]

    def chosen(order: np.ndarray, changed: list[Any] = sets) -> perp.ContactProblem:
        rows = np.concatenate([blocks[c] for c in order])
        return perp.ContactProblem(W[np.ix_(rows, rows)], q[rows], [changed[c] for c in order])

    everything = np.arange(len(sets))
    for power in (-8, 8):
        yield f"W 1e{power}", perp.ContactProblem(W * 10.0**power, q, sets)
        yield f"q 1e{power}", perp.ContactProblem(W, q * 10.0**power, sets)
    yield "no friction", chosen(everything, [_without_friction(s) for s in sets])
    yield "doubled", chosen(np.concatenate([everything, everything[: max(1, len(sets) // 3)]]))
    yield "permuted", chosen(rng.permutation(everything))
    if len(sets) > 1:
        yield "dropped", chosen(np.sort(rng.permutation(everything)[: (len(sets) + 1) // 2]))
    if any(k == COULOMB for k in problem.sets.kind):
        mixed = [_elliptic(s) if c % 2 else s for c, s in enumerate(sets)]
        yield "mixed", chosen(everything, mixed)


def _elliptic(member: Any) -> Any:
    if isinstance(member, perp.Coulomb) and member.dimension == 3:
        return perp.Elliptic(member.mu, 0.5 * member.mu)
    return member


def _without_friction(member: Any) -> Any:
    if isinstance(member, perp.Coulomb):
        return perp.Coulomb(0.0, dimension=member.dimension)
    return perp.Rolling(0.0, 0.0) if isinstance(member, perp.Rolling) else member


def _boxed_neighbours(problem: Problem, rng: np.random.Generator) -> Iterator[tuple[str, Problem]]:
    """Scaled and permuted LCPs, boxed LCPs and affine MCPs."""
    if problem.M is None or (isinstance(problem, perp.BoxedLCP) and problem.friction_index is not None):
        return
    M = problem.M.toarray() if hasattr(problem.M, "toarray") else np.array(problem.M)
    q = np.array(problem.q)
    lo = np.zeros(q.size) if isinstance(problem, perp.LCP) else np.array(problem.lo)
    hi = np.full(q.size, np.inf) if isinstance(problem, perp.LCP) else np.array(problem.hi)

    def made(M: np.ndarray, q: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> Problem:
        if isinstance(problem, perp.LCP):
            return perp.LCP(M, q)
        kind = perp.BoxedLCP if isinstance(problem, perp.BoxedLCP) else perp.MCP.affine
        return kind(M, q, lo, hi)

    for power in (-8, 8):
        size = 10.0**power
        yield f"W 1e{power}", made(M * size, q, lo / size, hi / size)
        yield f"q 1e{power}", made(M, q * size, lo * size, hi * size)
    p = rng.permutation(q.size)
    yield "permuted", made(M[np.ix_(p, p)], q[p], lo[p], hi[p])


if __name__ == "__main__":
    main()
