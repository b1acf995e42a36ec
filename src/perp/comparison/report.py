"""The results as records, and as Markdown and CSV text."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any

from perp.comparison.cells import COLUMNS
from perp.comparison.published import SOURCE, published
from perp.comparison.verdict import CellResult, Verdict

QUANTITIES = {"normal": "normal force [N]", "tangential": "tangential force [N]"}


@dataclass(frozen=True)
class Comparison:
    """All cells of one problem.

    Attributes:
        title: What was solved.
        results: One per cell.
        angle: Tilt [degrees] of the published case that this is, or None.
        unit: "N", or "N·s" where no time step is known.
    """

    title: str
    results: list[CellResult]
    angle: float | None = None
    unit: str = "N"


def records(comparison: Comparison) -> list[dict[str, Any]]:
    """One flat record a cell, for CSV and JSON."""
    out = []
    for result in comparison.results:
        cell = result.cell
        record = {
            "problem": comparison.title,
            "row": cell.row,
            "column": cell.column,
            "solver": cell.solver,
            "formulation": cell.formulation,
            "normal": result.normal,
            "tangential": result.tangential,
            "unit": comparison.unit,
            "residual": result.residual,
            "verdict": str(result.verdict),
            "time": result.time,
            "iterations": result.iterations,
            "message": result.message,
        }
        for quantity in QUANTITIES:
            angle = comparison.angle
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


def rows_of(comparison: Comparison) -> dict[str, dict[str, CellResult]]:
    """Results by row and column."""
    rows: dict[str, dict[str, CellResult]] = {}
    for result in comparison.results:
        rows.setdefault(result.cell.row, {})[result.cell.column] = result
    return rows


def cell_lines(
    comparison: Comparison, result: CellResult, quantity: str, *, show_published: bool
) -> list[str]:
    """What stands in a cell: total, residual and verdict, and the published total if asked for."""
    value = getattr(result, quantity)
    lines = []
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


def force(value: float) -> str:
    """A force with the digits of the published table; round-off as a power of ten."""
    return f"{value:.9f}" if abs(value) >= 1e-6 or value == 0 else f"{value:.0e}"


def as_markdown(comparisons: list[Comparison], *, show_published: bool = False) -> str:
    """Two tables a comparison, normal and tangential, with residual and verdict in every cell."""
    parts = []
    for comparison in comparisons:
        columns = columns_of(comparison)
        for quantity, name in QUANTITIES.items():
            heading = name.replace("[N]", f"[{comparison.unit}]")
            parts.append(f"### {comparison.title}: {heading}\n")
            parts.append("| solver | " + " | ".join(columns) + " |")
            parts.append("|---|" + "---|" * len(columns))
            for row, cells in rows_of(comparison).items():
                entries = []
                for column in columns:
                    found = cells.get(column)
                    if found is None:
                        entries.append("")
                    else:
                        lines = cell_lines(comparison, found, quantity, show_published=show_published)
                        entries.append("<br>".join(lines))
                parts.append(f"| {row} | " + " | ".join(entries) + " |")
            parts.append("")
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
