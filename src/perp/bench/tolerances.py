"""One tolerance for all, and what it means to each solver."""

from dataclasses import asdict
from typing import Any

from perp.bench.machine import solver_version
from perp.solvers import registry
from perp.solvers.external.adapter import MARGIN


def facts(name: str, tol: float) -> dict[str, Any]:
    """Version, options and the solver's own tolerance, as plain data for the record of a run."""
    info = registry.find(name)
    return {
        "version": solver_version(name),
        "options": {
            key: value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)
            for key, value in asdict(info.options()).items()
        },
        "tolerance": tolerance_in_words(name, tol),
    }


def tolerance_in_words(name: str, tol: float) -> str:
    """The options of a solver that the tolerance is mapped to, with their values."""
    from perp.bench.peers.adapter import TOLERANCES

    info = registry.find(name)
    mapped = TOLERANCES.get(name)
    if mapped is not None:
        asked = {option: value(tol) for option, value in mapped.items()}
        words = (
            f"{option} = {x:g}" if isinstance(x, float) else f"{option} = {x}" for option, x in asked.items()
        )
        return ", ".join(words) or "none: it ends with an exact basis"
    if info.family == "external":
        return f"its own relative and absolute tolerance = {MARGIN * tol:g} or the finest it takes"
    return f"perp.residual ≤ {tol:g}"
