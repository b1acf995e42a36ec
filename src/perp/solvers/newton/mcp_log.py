"""What a solve of an MCP tells: a line per iteration in the style of PATH's log, its worst rows by name."""

from __future__ import annotations

import sys

import numpy as np

from perp.problems import MCP
from perp.problems.mcp_residual import mcp_map
from perp.problems.validation import Vector

# Rows that a message names.
NAMED = 3


class Log:
    """Prints iterations: number, kind, merit ‖Φ‖, length of the step, proximal term, row farthest off."""

    def __init__(self, problem: MCP) -> None:
        self.problem, self.length = problem, 1.0
        bounds = np.isfinite(problem.lo).sum() + np.isfinite(problem.hi).sum()
        J = problem.derivative(problem.first_point)
        count = J.nnz if hasattr(J, "nnz") else J.size
        density = 100.0 * count / max(1, problem.size) ** 2
        self._write(f"{problem.size} row/cols, {count} non-zeros, {density:.2f}% dense, {bounds} bounds.")
        self._write(f"{'major':>6} {'kind':>6} {'residual':>11} {'step':>8} {'prox':>8}  (row farthest off)")

    def line(self, iteration: int, merit: float, epsilon: float, z: Vector, kind: str = "newton") -> None:
        """One iteration."""
        f = self.problem.evaluate(z)
        off = np.abs(z - np.clip(z - f, self.problem.lo, self.problem.hi))
        name = self.problem.name(int(np.nanargmax(off))) if np.isfinite(off).any() else "?"
        self._write(
            f"{iteration:6d} {kind:>6} {merit**0.5:11.4e} {self.length:8.1e} {epsilon:8.1e}  ({name})"
        )
        self.length = 1.0

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text + "\n")


def worst_rows(problem: MCP, z: Vector) -> str:
    """The rows that are farthest off at z, by name, with f and z, as a sentence."""
    f = problem.evaluate(z)
    if not np.isfinite(f).all():
        return f"At the best point {problem.where_not_finite(z, f)}."
    off = np.abs(mcp_map(problem, z, f))
    rows = np.argsort(-off, kind="stable")[:NAMED]
    listed = ", ".join(f"{problem.name(int(i))} (f = {f[i]:.3g}, z = {z[i]:.6g})" for i in rows if off[i] > 0)
    return f"Worst rows: {listed}." if listed else ""
