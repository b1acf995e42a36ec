"""The list of formulations: each turns one problem into another and brings the answer back."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

from perp.problems import ContactProblem, Problem, SolverMismatch, Status
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
        measure: How far an answer is from what this formulation asks for, where the original problem cannot
            be met; None for the residual of `problem`.
    """

    problem: Problem | ConeProgram
    back: Callable[[Vector], Vector]
    start: Callable[[Vector], Vector] | None = None
    info: Callable[[Vector], dict[str, Any]] | None = None
    update: Callable[[Vector], Reformulated | None] | None = None
    measure: Callable[[Vector], float] | None = None


@dataclass(frozen=True)
class Formulation:
    """What is known of a formulation."""

    name: str  # what to pass as `formulation=`
    source: type
    target: type
    # whether every answer of the new problem is one of the original, False for relaxations; or a function of
    # the problem, for relaxations that are exact on some
    exact: bool | Callable[[Any], bool]
    automatic: bool  # whether `solve` may choose it by itself to reach a solver
    summary: str
    build: Callable[[Any], Reformulated]
    # says why a problem of the right type cannot be turned, or None
    refuses: Callable[[Any], str | None] | None = None
    # what an inexact formulation's answer is called when the original problem is missed
    shortfall: Status = Status.RELAXED

    def objection(self, problem: Problem) -> str | None:
        """Why this formulation does not take `problem`, or None when it does."""
        if not isinstance(problem, self.source):
            return f"it starts from {self.source.__name__}, not {type(problem).__name__}"
        if isinstance(problem, ContactProblem) and problem.sets.cohesion.any():
            return "it has cohesion: problem.without_cohesion() is the same problem without"
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
    shortfall: Status = Status.RELAXED,
) -> Callable[[F], F]:
    """Make a function available as `perp.solve(problem, solver, formulation=name)`."""

    def decorate(build: F) -> F:
        _formulations[name] = Formulation(
            name, source, target, exact, automatic, summary, build, refuses, shortfall
        )
        return build

    return decorate


def all_formulations() -> dict[str, Formulation]:
    """Every formulation by name."""
    global _discovered
    if not _discovered:
        package = importlib.import_module("perp.formulations")
        for entry in pkgutil.iter_modules(package.__path__, "perp.formulations."):
            importlib.import_module(entry.name)
        # the first that fits is chosen: in an order that does not depend on who imported a module before
        for name in sorted(_formulations, key=lambda name: _formulations[name].build.__module__):
            _formulations[name] = _formulations.pop(name)
        _discovered = True
    return _formulations


def composed(first: Reformulated, second: Reformulated) -> Reformulated:
    """Two steps as one: `second` starts from the problem that `first` gave."""

    def info(z: Vector) -> dict[str, Any]:
        outer = {} if first.info is None else first.info(second.back(z))
        return ({} if second.info is None else second.info(z)) | outer

    first_start, second_start = first.start, second.start
    start = None
    if first_start is not None and second_start is not None:
        start = lambda z: second_start(first_start(z))  # noqa: E731
    second_update = second.update

    def update(z: Vector) -> Reformulated | None:
        following = None if second_update is None else second_update(z)
        return None if following is None else composed(first, following)

    return Reformulated(
        second.problem, lambda z: first.back(second.back(z)), start, info,
        None if second_update is None else update, second.measure,
    )  # fmt: skip


def find_formulation(name: str) -> Formulation | None:
    """The formulation of this name, or a chain of them: "schur+split" eliminates free rows, then splits.

    A number after a colon is handed to the formulation: "stewart-trinkle:16" has 16 facets. Hyphens and
    underscores are the same.
    """
    known = all_formulations()
    steps = []
    for part in name.split("+"):
        base, colon, number = part.partition(":")
        step = known.get(base) or known.get(base.replace("-", "_"))
        if step is None or (
            colon and not (number.isdecimal() and len(number) < 19 and _takes_number(step.build))
        ):
            return None
        steps.append(replace(step, name=part, build=_numbered(step.build, int(number))) if colon else step)
    return reduce(_chain, steps)


def _takes_number(build: Callable[..., Reformulated]) -> bool:
    return len(inspect.signature(build).parameters) > 1


def _numbered(build: Callable[..., Reformulated], number: int) -> Callable[[Any], Reformulated]:
    return lambda problem: build(problem, number)


def _chain(first: Formulation, second: Formulation) -> Formulation:
    def build(problem: Any) -> Reformulated:
        turned = first.build(problem)
        if isinstance(turned.problem, ConeProgram):
            raise SolverMismatch(
                f"formulation {second.name} cannot follow {first.name}: that is a cone program"
            )
        objection = second.objection(turned.problem)
        if objection is not None:
            raise SolverMismatch(f"formulation {second.name} cannot follow {first.name}: {objection}")
        return composed(turned, second.build(turned.problem))

    return Formulation(
        name=f"{first.name}+{second.name}",
        source=first.source,
        target=second.target,
        exact=first.exact is True and second.exact is True,
        automatic=False,
        summary=f"{first.summary}; then {second.summary}",
        build=build,
        refuses=first.refuses,
        shortfall=second.shortfall if first.exact is True else first.shortfall,
    )
