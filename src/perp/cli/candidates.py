"""What a shell offers as values of options; the script of `perp completion` asks when the key is pressed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

import perp
from perp.comparison.cells import ROWS
from perp.formulations import all_formulations
from perp.scenes import read_spec

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext


def solvers(_: CompletionContext) -> dict[str, str]:
    """Those that are installed."""
    return {info.name: info.summary for info in perp.solvers() if info.available}


def formulations(_: CompletionContext) -> dict[str, str]:
    """All of them."""
    return {name: form.summary for name, form in all_formulations().items()}


def compared(_: CompletionContext) -> list[str]:
    """The solvers of `perp compare`."""
    return list(ROWS)


def keyframes(context: CompletionContext) -> list[str]:
    """Those of the scene on the command line."""
    return _names(context, "keys")


def motors(context: CompletionContext) -> list[str]:
    """Those of the scene on the command line; joints that `--motors` or `--hold` drive have theirs."""
    driven = context["motors"].provided or context["hold"].provided
    return [
        f"{name}=" for name in _names(context, "actuators") + (_names(context, "joints") if driven else [])
    ]


def joints(context: CompletionContext) -> list[str]:
    """Those of the scene on the command line."""
    return [f"{name}=" for name in _names(context, "joints")]


def _names(context: CompletionContext, kind: str) -> list[str]:
    path = context["scene"].raw
    if path is None:
        return []
    spec: Any = read_spec(Path(path).expanduser())
    return list(dict.fromkeys(element.name for element in getattr(spec, kind) if element.name))


Solver = Annotated[str, Parameter(completer=solvers)]
Compared = Annotated[list[str] | None, Parameter(completer=compared)]
Formulation = Annotated[str | None, Parameter(completer=formulations)]
Keyframe = Annotated[str | None, Parameter(completer=keyframes)]
Control = Annotated[list[str] | None, Parameter(completer=motors)]
Pose = Annotated[list[str] | None, Parameter(completer=joints)]
