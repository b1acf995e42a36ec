"""The options of a solver with types, defaults and meanings, for the command and the documentation."""

from __future__ import annotations

import dataclasses
import inspect
import re

from perp.solvers.registry import SolverInfo

_ENTRY = re.compile(r"^(\w+(?:,\s*\w+)*):\s*(.*)$")


@dataclasses.dataclass(frozen=True)
class OptionText:
    """One option in words."""

    name: str
    kind: str
    default: str
    about: str


def option_texts(info: SolverInfo) -> list[OptionText]:
    """The options of a solver, in the order of its dataclass."""
    words: dict[str, str] = {}
    for base in reversed(info.options.__mro__[:-1]):
        words |= _of_docstring(inspect.cleandoc(base.__doc__ or ""))
    return [
        OptionText(
            field.name,
            str(field.type).replace("|", "or"),
            "required" if field.default is dataclasses.MISSING else repr(field.default),
            words.get(field.name, ""),
        )
        for field in dataclasses.fields(info.options)
    ]


def _of_docstring(text: str) -> dict[str, str]:
    _, found, attributes = text.partition("Attributes:")
    out: dict[str, str] = {}
    names: list[str] = []
    for line in attributes.splitlines() if found else ():
        own = line.startswith("    ") and not line.startswith("     ")
        entry = _ENTRY.match(line.strip()) if own else None
        if entry:
            names = [name.strip() for name in entry[1].split(",")]
            out |= dict.fromkeys(names, entry[2])
        elif line.strip():
            out |= {name: f"{out[name]} {line.strip()}" for name in names}
    return out
