"""A small table: rows of named values, columns as arrays."""

import csv
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from perp.files.reading import PathName
from perp.files.writing import replacing
from perp.problems import ProblemError


class Table:
    """Rows with the same columns; a value that a row lacks is NaN.

    Args:
        rows: One mapping from column to value per row.
    """

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        names = list(dict.fromkeys(name for row in rows for name in row))
        self.columns = tuple(sorted(names, key=lambda name: name in ("error", "seconds")))
        self.rows = [{name: row.get(name, math.nan) for name in self.columns} for row in rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> np.ndarray:
        """A column as an array; text and mixed values as objects."""
        if column not in self.columns:
            raise ProblemError(f"there is no column {column!r}; there are: {', '.join(self.columns)}")
        values = [row[column] for row in self.rows]
        plain = all(isinstance(value, bool | int | float | np.number) for value in values)
        if plain:
            return np.array(values)
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The rows with an error."""
        return [row for row in self.rows if row.get("error")]

    def to_csv(self, path: PathName) -> None:
        """Write the table as comma-separated values.

        Raises:
            FileError: The file cannot be written.
        """
        with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            writer.writerows(self.rows)

    def _repr_html_(self) -> str:
        from perp.view.notebook import table_html

        return table_html(self)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows, {len(self.failed)} failed: {', '.join(self.columns)}>"
