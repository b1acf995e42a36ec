"""Nonlinear obstacles as MCPs with 10⁴ and 10⁵ unknowns: CPU seconds, peak memory, residual.

    python benchmarks/mcp_large.py [--sides 100 316]

−Δu + u³ + eᵘ ⊥ u ≥ ψ on the unit square with five-point differences, a load that pushes the membrane on the
bumps of ψ. Each size runs in a process of its own, so that the peak is its own; with the Jacobian of the user
and with coloured differences of a given pattern.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from time import process_time

import numpy as np

import perp
from perp.bench.sets.large import laplacian


def nonlinear_obstacle(m: int, *, differences: bool) -> perp.MCP:
    """The problem on m × m inner points."""
    from scipy.sparse import diags_array

    A, h = laplacian(m), 1 / (m + 1)
    x = np.linspace(h, 1 - h, m)
    bumps = np.sin(9 * x)[:, None] * np.sin(9 * x)[None, :]
    psi = np.where(bumps > 0, bumps, 0.0).ravel() ** 3 - 0.1

    def f(u: np.ndarray) -> np.ndarray:
        return A @ u + h * h * (u**3 + np.exp(u) + 10.0)

    def jacobian(u: np.ndarray) -> object:
        return A + diags_array(h * h * (3 * u**2 + np.exp(u)))

    if differences:
        return perp.MCP(f, psi, np.inf, pattern=A)
    return perp.MCP(f, psi, np.inf, jacobian)


def one(side: int, differences: bool) -> None:
    """Solve one and print its line."""
    for m in (20, side):  # the first compiles and imports
        began = process_time()
        problem = nonlinear_obstacle(m, differences=differences)
        built = process_time()
        solution = perp.solve(problem, throw=False, time_limit=300.0)
        ended = process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    touching = int((solution.z <= problem.lo).sum())
    print(
        f"n = {side * side:6d}  {'differences' if differences else 'jacobian':11s}  {solution.status.name}  "
        f"residual {solution.residual:.1e}  {solution.iterations} iterations  {touching} touching  "
        f"{built - began:.2f} s to build, {ended - built:.2f} s to solve (CPU), {peak:.2f} GB",
        flush=True,
    )


def main() -> None:
    """Run every size in its own process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sides", type=int, nargs="*", default=[100, 316])
    parser.add_argument("--differences", action="store_true", help="with --one: Jacobian by differences")
    parser.add_argument("--one", type=int, help="one size, in this process")
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one, arguments.differences)
        return
    for side in arguments.sides:
        for way in ([], ["--differences"]):
            subprocess.run([sys.executable, __file__, "--one", str(side), *way], check=True)


if __name__ == "__main__":
    main()
