"""Problems and answers as plain data (for `--json`) and as words (for tables)."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems import ContactSolution
from perp.problems.sets import KIND_NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from perp.problems import Solution


MECHANICS = {"approach_velocity": "m/s", "sticking_velocity": "m/s", "dissipation_angle": "rad"}
"""The residuals that mean something only for contact, with their units."""


def problem_facts(problem: Any, path: Path) -> dict[str, Any]:
    """What a problem is: its type, its size and, for contact, how many of each set."""
    facts: dict[str, Any] = {"file": str(path), "kind": type(problem).__name__, "size": int(problem.size)}
    sets = getattr(problem, "sets", None)
    if sets is not None:
        counts = np.bincount(sets.kind, minlength=len(KIND_NAMES))
        facts["contact_count"] = int(problem.contact_count)
        facts["sets"] = {name: int(count) for name, count in zip(KIND_NAMES, counts, strict=True) if count}
        facts["form"] = "reduced" if problem.dynamics is None else "dynamics"
        facts["relaxed"] = bool(problem.relaxed)
    return facts


def problem_words(facts: dict[str, Any]) -> str:
    """The same in words: `ContactProblem, 36 rows: 12 Coulomb`."""
    words = f"{facts['kind']}, {facts['size']} {'row' if facts['size'] == 1 else 'rows'}"
    if facts.get("sets"):
        words += ": " + ", ".join(f"{count} {name}" for name, count in facts["sets"].items())
    if facts.get("relaxed"):
        words += " (relaxed: without the Coulomb correction)"
    return words


def solution_facts(solution: Solution) -> dict[str, Any]:
    """A solution with its vectors, as `--json` prints it."""
    z, w = ("impulse", "velocity") if isinstance(solution, ContactSolution) else ("z", "w")
    names = "message residual tolerance solver formulation iterations build_time solve_time"
    return {
        "solved": solution.solved,
        "status": solution.status.name,
        "sentence": solution.status.value,
        **{name: getattr(solution, name) for name in names.split()},
        "residuals": dataclasses.asdict(solution.residuals),
        "stages": solution.info.get("stages", []),
        z: solution.z,
        w: solution.w,
    }


def residual_rows(facts: dict[str, Any], parts: dict[str, Any], tolerance: float) -> list[tuple[str, str]]:
    """The residual that decides, the literature's figures, and the parts, as rows of a table."""
    units = {"primal": "", "dual": "", "complementarity": "", **(MECHANICS if "sets" in facts else {})}
    return [
        ("residual", f"{parts['value']:.3g} (tolerance {tolerance:.3g})"),
        ("in the literature", f"{parts['literature']:.3g}, over ‖q‖ {parts['literature_q']:.3g}"),
        *((name.replace("_", " "), f"{parts[name]:.3g} {unit}".rstrip()) for name, unit in units.items()),
    ]


def plain(value: Any) -> Any:
    """Turn arrays, NumPy scalars and nested containers into what JSON can hold; non-finite becomes None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)
