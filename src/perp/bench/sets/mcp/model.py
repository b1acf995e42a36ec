"""What a problem of the set is: formulas, bounds, starts and where it is from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from perp.formulations.expressions import INFINITY, Symbol, compiled, variables
from perp.problems import MCP

# One number stands for all entries.
Vector = Sequence[float] | float


@dataclass(frozen=True)
class McpModel:
    """An MCP as formulas."""

    name: str  # whose problem it is
    source: str  # where it was published, or what it is an instance of
    rows: Sequence[Symbol]  # the functions, one per variable
    starts: Sequence[Vector]  # where solvers begin, one after the other
    lower: Vector = 0.0
    upper: Vector = INFINITY
    solvable: bool = True  # whether it has a solution; with False nobody must find one

    def __post_init__(self) -> None:
        n = len(self.rows)
        for name, value in (
            ("lower", filled(self.lower, n)),
            ("upper", filled(self.upper, n)),
            ("starts", [filled(start, n) for start in self.starts]),
        ):
            object.__setattr__(self, name, value)

    @cached_property
    def _functions(self) -> tuple[Any, Any]:
        return compiled(self.rows, len(self.rows))

    def mcp(self, start: int = 0) -> MCP:
        """The problem from one of its starts."""
        f, jacobian = self._functions
        return MCP(f, np.array(self.lower), np.array(self.upper), jacobian, start=self.starts[start])


def filled(values: Vector, n: int) -> list[float]:
    """A vector as n numbers."""
    return [float(values)] * n if isinstance(values, (int, float)) else [float(x) for x in values]


def total(terms: Sequence[Symbol]) -> Symbol:
    """The sum of one or more terms, without the 0 that `sum` begins with."""
    return sum(terms[1:], terms[0])


def linear(name: str, source: str, M: np.ndarray, q: np.ndarray | None = None) -> McpModel:
    """An LCP from its matrix; q = −1 where there is none."""
    z = variables(len(M))
    rows = [
        sum((float(x) * z[j] for j, x in enumerate(line) if x), z[0] * 0.0)
        + float(-1.0 if q is None else q[i])
        for i, line in enumerate(M)
    ]
    return McpModel(name, source, rows, (0.0, 1.0))
