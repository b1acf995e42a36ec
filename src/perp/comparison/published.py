"""The table that was published in 2014, as data.

Source: "Complementarity Frictional Contact In GAMS" (19 May 2014): a box of 1 kg on a plane, ten solvers,
five models. Zeros of the printed table stand for cells that were not run and are left out here. Its normal
forces at 25° differ from 9.81 cos 25° in the seventh digit: do not compare more closely than 4e-6.
"""

import json
from functools import cache
from importlib.resources import files

from perp.comparison.cells import Cell

SOURCE = "Complementarity Frictional Contact In GAMS, 19 May 2014"


@cache
def _tables() -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    return json.loads(files("perp.comparison").joinpath("published_2014.json").read_text(encoding="utf-8"))


def published(cell: Cell, angle: float, quantity: str) -> float | None:
    """The published force [N] ("normal" or "tangential") of a cell at 0 or 25 degrees, or None."""
    if not cell.row.startswith("gams-"):
        return None
    rows = _tables().get(f"{angle:g}", {}).get(quantity, {})
    return rows.get(cell.row.removeprefix("gams-"), {}).get(cell.column)
