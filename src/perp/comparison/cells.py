"""Which cells the table has: solver × column, with the formulation and the options that each cell means."""

from dataclasses import dataclass, field
from typing import Any

COLUMNS = ("dual", "dual nlp", "dual pyramid", "primal", "primal nlp", "equations of motion")
"""`dual` and `primal` hold second-order cones or, for solvers without them, squared ones (QCP)."""


@dataclass(frozen=True)
class Cell:
    """One entry of the table."""

    row: str  # what the row is called
    column: str  # one of `COLUMNS`
    solver: str
    formulation: str | None  # the formulation's name, or None for the problem as it is
    options: dict[str, Any] = field(default_factory=dict)  # of the solver


FORMULATIONS = {
    "dual": "dual",
    "dual nlp": "dual",
    "dual pyramid": "dual_pyramid",
    "primal": "primal",
    "primal nlp": "primal",
    "equations of motion": "equations_of_motion",
}
AS_PUBLISHED = {
    "dual": "dual_published",
    "primal": "primal_published",
    "equations_of_motion": "equations_of_motion_relaxed",
}

_CONES = ("dual", "primal")
_NLP = ("dual nlp", "primal nlp")
_BOTH = ("dual", "dual nlp", "primal", "primal nlp")
_MOTION = ("equations of motion",)

# Columns of each solver; for those of the published table, the cells in which it ran them.
ROWS: dict[str, tuple[str, ...]] = {
    "perp": ("dual", "dual pyramid", "primal", "equations of motion"),
    "clarabel": ("dual", "dual pyramid", "primal"),
    "scs": ("dual", "dual pyramid", "primal"),
    "ipopt": _NLP,
    "uno": _NLP,
    "casadi-sqp": _NLP,
    "highs": ("dual pyramid",),
    "osqp": ("dual pyramid",),
    "piqp": ("dual pyramid",),
    "gurobi": _CONES,
    "cplex": _CONES,
    "gams-conopt": _BOTH,
    "gams-cplex": _CONES,
    "gams-gurobi": _CONES,
    "gams-ipopt": _BOTH,
    "gams-minos": _BOTH,
    "gams-knitro": _BOTH,
    "gams-lindo": _CONES,
    "gams-pathnlp": _NLP,
    "gams-snopt": _NLP,
    "gams-miles": ("dual nlp", *_MOTION),
    "gams-path": ("dual nlp", *_MOTION),
    "gams-reshop": _MOTION,
}


def table_cells(*, rows: list[str] | None = None, as_published: bool = False) -> list[Cell]:
    """The cells of the table row by row, or of some rows only.

    `as_published` has the formulations as printed in 2014 (impulse units, −μ s, relaxed gap), with the
    solvers' own tolerances, for comparing digits.
    """
    return [
        _cell(row, column, as_published)
        for row in (ROWS if rows is None else rows)
        for column in ROWS[row]
        if not (as_published and column == "dual pyramid")
    ]


def _cell(row: str, column: str, as_published: bool) -> Cell:
    formulation = FORMULATIONS[column]
    if as_published:
        formulation = AS_PUBLISHED[formulation]
    solver = row
    if row == "perp":
        solver = "mcp-newton" if column in _MOTION else "cone-interior"
    options: dict[str, Any] = {}
    if row.startswith("gams-") and column in _BOTH and row not in ("gams-lindo", "gams-path", "gams-miles"):
        options["model"] = "nlp" if column.endswith("nlp") else "qcp"
    if row.startswith("gams-") and as_published and row not in ("gams-lindo", "gams-reshop"):
        options["defaults"] = True
    return Cell(row, column, solver, formulation, options)
