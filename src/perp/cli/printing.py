"""How a command prints: tables for people, one JSON object for programs, both on stdout."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

from perp.cli.describe import plain

if TYPE_CHECKING:
    from rich.console import RenderableType


def print_json(facts: dict[str, Any] | list[dict[str, Any]]) -> None:
    """Print one JSON document; NaN and infinity have no place in JSON and become null."""
    sys.stdout.write(as_json(facts))


def as_json(facts: dict[str, Any] | list[dict[str, Any]]) -> str:
    """One entry a line, so that a person can read it and a vector does not fill the screen."""
    if isinstance(facts, list):
        return "[\n" + ",\n".join(f"  {_dump(item)}" for item in facts) + "\n]\n"
    return "{\n" + ",\n".join(f"  {_dump(key)}: {_dump(value)}" for key, value in facts.items()) + "\n}\n"


def _dump(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)


def print_facts(headline: str, style: str, rows: list[tuple[str, str]]) -> None:
    """Print a headline and a table of names and values."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(visible(value)))
    show(Text(visible(headline), style=style))
    show(table)


def visible(text: str) -> str:
    """Text with control characters spelled out: files may hold what would command a terminal."""
    return "".join(repr(x)[1:-1] if unicodedata.category(x) == "Cc" and x not in "\n\t" else x for x in text)


def print_line(text: str) -> None:
    """Print one line as it is: a path is never broken."""
    sys.stdout.write(f"{visible(text)}\n")


def show(renderable: RenderableType) -> None:
    """Print a table or a styled text."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    with console.capture() as capture:  # written by us: rich would end the process when the reader has gone
        console.print(renderable)
    sys.stdout.write(capture.get())
