"""NAME=VALUE on the command line, as often as needed."""

from json import JSONDecodeError, loads
from typing import Any

from perp.problems import ProblemError


def read_options(texts: list[str] | None) -> dict[str, Any]:
    """Values as JSON reads them, and as text where it does not."""
    found: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise ProblemError(f"--options {text}: NAME=VALUE is needed")
        try:
            found[name] = (
                {"True": True, "False": False}[value] if value in ("True", "False") else loads(value)
            )
        except JSONDecodeError:
            found[name] = value
    return found


def read_number(option: str, text: str) -> tuple[str, float]:
    """A name and a number; names may hold an equals sign."""
    name, equals, value = text.rpartition("=")
    try:
        if not equals:
            raise ValueError
        return name, float(value)
    except ValueError:
        raise ProblemError(f"{option} {text}: NAME=VALUE with a number is needed") from None
