"""The results as records, and as Markdown and CSV text."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from perp.comparison.cells import COLUMNS
from perp.comparison.published import SOURCE, published
from perp.comparison.verdict import CellResult, Verdict

_OF_CELL = ("row", "column", "solver", "formulation")
_OF_RESULT = ("residual", "verdict", "time", "iterations", "message")
QUANTITIES = {"normal": "normal force [N]", "tangential": "tangential force [N]"}


@dataclass(frozen=True)
class Comparison:
    """All cells of one problem."""

    title: str  # what was solved
    results: list[CellResult]  # one per cell
    angle: float | None = None  # tilt [degrees] of the published case that this is, or None
    unit: str = "N"  # "N", or "N·s" where no time step is known


def records(comparison: Comparison) -> list[dict[str, Any]]:
    """One flat record a cell, for CSV and JSON."""
    out = []
    for result in comparison.results:
        cell, angle = result.cell, comparison.angle
        record = {"problem": comparison.title, **{name: getattr(cell, name) for name in _OF_CELL}}
        record |= {"normal": result.normal, "tangential": result.tangential, "unit": comparison.unit}
        record |= {name: getattr(result, name) for name in _OF_RESULT}
        for quantity in QUANTITIES:
            record[f"published_{quantity}"] = None if angle is None else published(cell, angle, quantity)
        out.append(record)
    return out


def as_csv(comparisons: list[Comparison]) -> str:
    """Every cell of every comparison, one a line."""
    rows = [record for comparison in comparisons for record in records(comparison)]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]) if rows else ["problem"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def columns_of(comparison: Comparison) -> list[str]:
    """The columns that have a cell."""
    used = {result.cell.column for result in comparison.results}
    return [column for column in COLUMNS if column in used]


def lines_of(
    comparison: Comparison, quantity: str, *, show_published: bool
) -> Iterator[tuple[str, list[tuple[Verdict | None, list[str]]]]]:
    """Rows of the table of a quantity: a name, and of each column the verdict and what stands in the cell.

    That is the total, residual and verdict, and the published total if asked for; nothing where there is no
    cell.
    """
    rows: dict[str, dict[str, CellResult]] = {}
    for result in comparison.results:
        rows.setdefault(result.cell.row, {})[result.cell.column] = result
    for row, cells in rows.items():
        found = [cells.get(column) for column in columns_of(comparison)]
        yield (
            row,
            [
                (None, []) if x is None else (x.verdict, _cell_lines(comparison, x, quantity, show_published))
                for x in found
            ],
        )


def _cell_lines(comparison: Comparison, result: CellResult, quantity: str, show_published: bool) -> list[str]:
    value, lines = getattr(result, quantity), []
    if value is not None:
        lines.append(force(value))
    lines.append(
        str(result.verdict) if result.residual is None else f"{result.residual:.0e} {result.verdict}"
    )
    if show_published and comparison.angle is not None:
        printed = published(result.cell, comparison.angle, quantity)
        if printed is not None:
            lines.append(f"2014: {force(printed)}")
    return lines


def markdown_table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a table."""
    listed = [list(headings), *map(list, rows)]
    lines = [f"| {' | '.join(row)} |" for row in listed]
    return [lines[0], "|" + "---|" * len(listed[0]), *lines[1:]]


def force(value: float) -> str:
    """A force with the digits of the published table; round-off as a power of ten."""
    return f"{value:.9f}" if abs(value) >= 1e-6 or value == 0 else f"{value:.0e}"


def as_markdown(comparisons: list[Comparison], *, show_published: bool = False) -> str:
    """Two tables a comparison, normal and tangential, with residual and verdict in every cell."""
    parts = []
    for comparison in comparisons:
        for quantity, name in QUANTITIES.items():
            parts += [f"### {comparison.title}: {name.replace('[N]', f'[{comparison.unit}]')}\n"]
            rows = lines_of(comparison, quantity, show_published=show_published)
            named = ([row, *("<br>".join(lines) for _, lines in cells)] for row, cells in rows)
            parts += [*markdown_table(["solver", *columns_of(comparison)], named), ""]
        parts += [f"- {line}" for line in remarks(comparison)]
        parts.append("")
    if show_published:
        parts.append(f"2014: {SOURCE}.")
    return "\n".join(parts).rstrip() + "\n"


def remarks(comparison: Comparison) -> list[str]:
    """What solvers said where they failed, and what is not installed, each once."""
    lines: dict[str, None] = {}
    for result in comparison.results:
        if result.verdict is Verdict.NOT_INSTALLED:
            lines[f"{result.cell.row}: {result.message}"] = None
        elif result.verdict is Verdict.FAILED:
            lines[f"{result.cell.row}, {result.cell.column}: {result.message or 'no answer'}"] = None
    return list(lines)
