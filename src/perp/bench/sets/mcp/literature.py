"""The set `mcp-literature`: every problem at every one of its starts."""

from collections.abc import Iterator

from perp.bench.sets.base import NamedProblem
from perp.bench.sets.mcp.classics import classics
from perp.bench.sets.mcp.economics import economics
from perp.bench.sets.mcp.formulas import formulas
from perp.bench.sets.mcp.mechanics import mechanics
from perp.bench.sets.mcp.model import McpModel


def models() -> list[McpModel]:
    """All problems, each a name of its own."""
    return [*formulas(), *classics(), *economics(), *mechanics()]


def mcp_literature() -> Iterator[NamedProblem]:
    """Every problem that has a solution, from each of its starts; `/2` behind a name is the second."""
    for model in models():
        if model.solvable:
            for k in range(len(model.starts)):
                yield NamedProblem(f"{model.name}/{k + 1}", model.mcp(k))
