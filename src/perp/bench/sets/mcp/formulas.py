"""The problems of `formulas.toml`: rows as they stand there, or the optimality conditions of a program."""

import re
import tomllib
from importlib.resources import files
from typing import Any

from perp.bench.sets.mcp.model import McpModel, filled
from perp.formulations.expressions import INFINITY, Symbol, gradient, symbol, variables
from perp.formulations.gams_scalar import read_formula

PROGRAMS = "Hock and Schittkowski, Test examples for nonlinear programming codes (1981)"


def formulas() -> list[McpModel]:
    """The problems, in the order of the file."""
    text = (files(__package__ or "") / "formulas.toml").read_text(encoding="utf-8")
    return [
        _program(**entry) if "minimise" in entry else _rows(**entry) for entry in tomllib.loads(text)["model"]
    ]


def _rows(rows: list[str], where: dict[str, str] | None = None, **others: Any) -> McpModel:
    return McpModel(rows=_symbols(rows, len(rows), where or {}), **others)


def _program(
    minimise: str, starts: list[Any], constraints: list[str] | None = None, equal: int = 0, **others: Any
) -> McpModel:
    """The optimality conditions of min φ(x), c(x) ≥ 0 (the first `equal` ones = 0), lower ≤ x ≤ upper.

    ∇φ − λᵀ ∇c ⊥ x in its box, c(x) ⊥ λ ≥ 0 (free for equations).
    """
    texts = [minimise, *(constraints or [])]
    n, m = 1 + max(int(i) for i in re.findall(r"z(\d+)", " ".join(texts))), len(texts) - 1
    objective, *c = _symbols(texts, n, {})
    lagrangian = objective - sum(
        (Symbol("variable", value=float(n + k)) * c[k] for k in range(m)), symbol(0.0)
    )
    lower, upper = filled(others.pop("lower", 0.0), n), filled(others.pop("upper", INFINITY), n)
    return McpModel(
        source=others.pop("source", PROGRAMS),
        rows=gradient(lagrangian, n) + c,
        starts=[[*filled(start, n), *([0.0] * m)] for start in starts],
        lower=[*lower, *([-INFINITY] * equal), *([0.0] * (m - equal))],
        upper=[*upper, *([INFINITY] * m)],
        **others,
    )


def _symbols(texts: list[str], n: int, where: dict[str, str]) -> list[Symbol]:
    place = {f"z{i}": z for i, z in enumerate(variables(n))}
    for name, text in where.items():
        place[name] = read_formula(name, text, place)
    return [read_formula(text, text, place) for text in texts]
