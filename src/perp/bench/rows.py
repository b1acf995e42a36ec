"""One row a solve, in a CSV file that only grows: a run that was interrupted goes on where it ended."""

import csv
import gzip
import io
import os
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, get_type_hints

from perp.problems.errors import FileError

FILE_NAME = "rows.csv"


class Outcome(StrEnum):
    """What a solve was worth: what the solver said against what our code found."""

    SOLVED = "solved"
    LITERATURE_ONLY = "solved in the literature's measure only"
    FALSE_CLAIM = "false claim"
    UNSOLVED = "not solved"
    INFEASIBLE = "proved to have no solution"
    CRASHED = "crashed"
    HUNG = "no answer in time"
    ERROR = "error"


@dataclass(frozen=True)
class Row:
    """One solver on one problem."""

    set: str
    problem: str
    solver: str
    kind: str  # type of the problem
    rows: int
    contacts: int  # constraints of a contact problem, otherwise 0
    start: str  # "cold" or "warm"
    outcome: Outcome
    claimed: bool = False  # whether the solver said that it had solved the problem
    status: str = ""  # status of perp, or what a peer is given by it
    formulation: str = ""  # what the problem was turned into for this solver; empty when taken as it is
    residual: float | None = None  # perp's residual of the answer
    # e over the largest of ‖q‖, ‖r‖, ‖u‖ for contact, ‖z − P(z − w)‖ / ‖q‖ otherwise
    literature: float | None = None
    literature_q: float | None = None  # the same over ‖q‖
    cpu: float | None = None  # least CPU time of the repeats [s]
    wall: float | None = None  # least wall time of the repeats [s]
    repeats: int = 0  # how many timed calls these are the least of
    iterations: int | None = None  # as the solver counts them
    memory: float | None = None  # peak memory of the first call over what the process held before [MiB]
    tol: float = 1e-8
    time_limit: float = 10.0  # [s]
    version: str = ""  # of the solver
    message: str = ""  # the solver's words, or why there is no answer
    # how the residual fell: wall time [s] and the least residual so far, see `history.py`. In the file as
    # `time:residual` with spaces between.
    history: tuple[tuple[float, float], ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes the row the only one of its kind."""
        return self.set, self.problem, self.solver

    @property
    def false_claim(self) -> bool:
        """Whether the solver called an answer solved that is not."""
        return self.outcome is Outcome.FALSE_CLAIM

    @property
    def solved(self) -> bool:
        """Whether our code found the answer to be one, in our measure or in the literature's."""
        return self.outcome in (Outcome.SOLVED, Outcome.LITERATURE_ONLY)


_COLUMNS = [field.name for field in fields(Row)]
_REQUIRED = [field.name for field in fields(Row) if field.default is MISSING]
_TYPES = {name: str(hint) for name, hint in get_type_hints(Row).items()}


def append(path: Path, row: Row) -> None:
    """Add a row in one write, so that an interruption leaves whole lines or one broken last line."""
    values = [_text(getattr(row, name)) for name in _COLUMNS]
    new = not path.exists() or path.stat().st_size == 0
    text = (_line(_COLUMNS) if new else "") + _line(values)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def mend(path: Path) -> None:
    """Make a file ready for more rows: a broken last line is cut off, columns are those of this release."""
    if not path.exists():
        return
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if whole and not whole.startswith(_line(_COLUMNS).encode()):
        lines = [_COLUMNS, *([_text(getattr(row, name)) for name in _COLUMNS] for row in read(path))]
        whole = "".join(map(_line, lines)).encode()
    if whole != text:
        path.write_bytes(whole)


def read(path: Path) -> list[Row]:
    """All rows of a file; columns that an older release did not write have their defaults.

    Published rows are packed: where there is no such file, the one with `.gz` behind its name is read.
    """
    packed = path.with_name(f"{path.name}.gz")
    try:
        if packed.exists() and not path.exists():
            text = gzip.decompress(packed.read_bytes()).decode("utf-8")
        else:
            text = path.read_text(encoding="utf-8")
    except gzip.BadGzipFile as error:
        raise FileError(packed, f"is damaged: {error}") from None
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}") from None
    lines = list(csv.reader(io.StringIO(text[: text.rfind("\n") + 1])))
    columns = lines[0] if lines else _COLUMNS
    if not set(_REQUIRED) <= set(columns) <= set(_COLUMNS):
        raise FileError(path, "does not have the columns of `perp bench`")
    try:
        rows = [
            Row(**{name: _value(name, text) for name, text in zip(columns, line, strict=True)})
            for line in lines[1:]
        ]
    except (ValueError, KeyError) as error:
        raise FileError(path, f"is damaged: {error}") from None
    first: dict[tuple[str, str, str], Row] = {}
    for row in rows:  # two runs at once into one folder may both have done a job: the first row counts
        first.setdefault(row.key, row)
    return list(first.values())


def by_solver(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows grouped by solver, in the order in which solvers first appear."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.solver, []).append(row)
    return groups


def _text(value: Any) -> Any:
    if isinstance(value, tuple):
        return " ".join(f"{time:.3g}:{residual:.3g}" for time, residual in value)
    return "" if value is None else value


def _value(name: str, text: str) -> Any:
    kind = _TYPES[name]
    if name == "outcome":
        return Outcome(text)
    if name == "history":
        return tuple(tuple(map(float, point.split(":"))) for point in text.split())
    if "bool" in kind:
        return {"True": True, "False": False}[text]
    if "None" in kind and text == "":
        return None
    if "float" in kind:
        return float(text)
    return int(text) if "int" in kind else text


def _line(values: list[Any]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(values)
    return stream.getvalue()
