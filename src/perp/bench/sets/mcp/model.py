"""What a problem of the set is: formulas, bounds, starts and where it is from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perp.formulations.expressions import INFINITY, Symbol, compiled, variables
from perp.problems import MCP

# One number stands for all entries.
Vector = Sequence[float] | float


@dataclass(frozen=True)
class McpModel:
    """An MCP as formulas.

    Attributes:
        name: Whose problem it is.
        source: Where it was published, or what it is an instance of.
        rows: The functions, one per variable.
        starts: Where solvers begin, one after the other.
        lower, upper: Bounds.
        solvable: Whether it has a solution; with False nobody must find one.
    """

    name: str
    source: str
    rows: Sequence[Symbol]
    starts: Sequence[Vector]
    lower: Vector = 0.0
    upper: Vector = INFINITY
    solvable: bool = True

    def __post_init__(self) -> None:
        n = len(self.rows)
        for name, value in (
            ("lower", filled(self.lower, n)),
            ("upper", filled(self.upper, n)),
            ("starts", [filled(start, n) for start in self.starts]),
        ):
            object.__setattr__(self, name, value)

    def mcp(self, start: int = 0) -> MCP:
        """The problem from one of its starts."""
        f, jacobian = compiled(self.rows, len(self.rows))
        return MCP(f, np.array(self.lower), np.array(self.upper), jacobian, start=self.starts[start])


def filled(values: Vector, n: int) -> list[float]:
    """A vector as n numbers."""
    return [float(values)] * n if isinstance(values, (int, float)) else [float(x) for x in values]


def total(terms: Sequence[Symbol]) -> Symbol:
    """The sum of one or more terms, without the 0 that `sum` begins with."""
    return sum(terms[1:], terms[0])


def linear(
    name: str, source: str, M: np.ndarray, q: np.ndarray, starts: Sequence[Vector] = (0.0, 1.0)
) -> McpModel:
    """An LCP from its matrix."""
    n = len(q)
    z = variables(n)
    rows = [
        sum((float(M[i][j]) * z[j] for j in range(n) if M[i][j]), z[0] * 0.0) + float(q[i]) for i in range(n)
    ]
    return McpModel(name, source, rows, starts)
