"""What a problem of the set is: formulas, bounds, starts and where it is from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from perp.formulations.expressions import Symbol, compiled, variables
from perp.problems import MCP

Vector = Sequence[float]


@dataclass(frozen=True)
class McpModel:
    """An MCP as formulas.

    Attributes:
        name: Whose problem it is.
        source: Where it was published, or what it is an instance of.
        rows: The functions, one per variable.
        lower, upper: Bounds.
        starts: Where solvers begin, one after the other.
        solvable: Whether it has a solution; with False nobody must find one.
    """

    name: str
    source: str
    rows: Sequence[Symbol]
    lower: Vector
    upper: Vector
    starts: Sequence[Vector]
    solvable: bool = True

    def mcp(self, start: int = 0) -> MCP:
        """The problem from one of its starts."""
        f, jacobian = compiled(self.rows, len(self.rows))
        return MCP(
            f, np.array(self.lower, float), np.array(self.upper, float), jacobian, start=self.starts[start]
        )


def ncp(
    name: str,
    source: str,
    n: int,
    f: Callable[[list[Symbol]], list[Symbol]],
    starts: Sequence[Vector],
    *,
    solvable: bool = True,
) -> McpModel:
    """A nonlinear complementarity problem: all variables at least 0."""
    return McpModel(name, source, f(variables(n)), [0.0] * n, [np.inf] * n, starts, solvable)


def linear(
    name: str,
    source: str,
    M: np.ndarray,
    q: np.ndarray,
    starts: Sequence[Vector] = (),
    *,
    solvable: bool = True,
) -> McpModel:
    """An LCP from its matrix."""
    n = len(q)
    z = variables(n)
    rows = [
        sum((float(M[i][j]) * z[j] for j in range(n) if M[i][j]), z[0] * 0.0) + float(q[i]) for i in range(n)
    ]
    return McpModel(name, source, rows, [0.0] * n, [np.inf] * n, starts or ([0.0] * n, [1.0] * n), solvable)
