"""The list of formulations: each turns one problem into another and brings the answer back."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from perp.problems import Problem
from perp.problems.cone_program import ConeProgram
from perp.problems.validation import Vector


@dataclass(frozen=True)
class Reformulated:
    """A problem in another form.

    Attributes:
        problem: The new problem.
        back: Maps its answer to an answer of the original problem.
        start: Maps a start of the original problem to one of the new, or None when that is not possible.
        info: Maps the new problem's answer to extras for the user, or None.
        update: For outer iterations: the next problem, given this one's answer, or None when there is none.
            Successive problems have unknowns of the same shape: each solve starts from the last answer.
    """

    problem: Problem | ConeProgram
    back: Callable[[Vector], Vector]
    start: Callable[[Vector], Vector] | None = None
    info: Callable[[Vector], dict[str, Any]] | None = None
    update: Callable[[Vector], Reformulated | None] | None = None


@dataclass(frozen=True)
class Formulation:
    """What is known of a formulation.

    Attributes:
        name: What to pass as `formulation=`.
        source, target: Problem types.
        exact: Whether every answer of the new problem is one of the original, False for relaxations; or a
            function of the problem, for relaxations that are exact on some.
        automatic: Whether `solve` may choose it by itself to reach a solver.
        summary: One line.
        build: Turns the problem.
        refuses: Says why a problem of the right type cannot be turned, or None.
    """

    name: str
    source: type
    target: type
    exact: bool | Callable[[Any], bool]
    automatic: bool
    summary: str
    build: Callable[[Any], Reformulated]
    refuses: Callable[[Any], str | None] | None = None

    def objection(self, problem: Problem) -> str | None:
        """Why this formulation does not take `problem`, or None when it does."""
        if not isinstance(problem, self.source):
            return f"it starts from {self.source.__name__}, not {type(problem).__name__}"
        return None if self.refuses is None else self.refuses(problem)

    def is_exact(self, problem: Problem) -> bool:
        """Whether every answer of the new problem answers `problem`."""
        return self.exact(problem) if callable(self.exact) else self.exact


_formulations: dict[str, Formulation] = {}
_discovered = False
F = TypeVar("F", bound=Callable[[Any], Reformulated])


def formulation(
    name: str,
    *,
    source: type,
    target: type,
    exact: bool | Callable[[Any], bool],
    summary: str,
    automatic: bool = False,
    refuses: Callable[[Any], str | None] | None = None,
) -> Callable[[F], F]:
    """Make a function available as `perp.solve(problem, solver, formulation=name)`."""

    def decorate(build: F) -> F:
        _formulations[name] = Formulation(name, source, target, exact, automatic, summary, build, refuses)
        return build

    return decorate


def all_formulations() -> dict[str, Formulation]:
    """Every formulation by name."""
    global _discovered
    if not _discovered:
        package = importlib.import_module("perp.formulations")
        for entry in pkgutil.iter_modules(package.__path__, "perp.formulations."):
            importlib.import_module(entry.name)
        _discovered = True
    return _formulations
