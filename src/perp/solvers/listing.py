"""`solvers`: which algorithms there are, and which of them take a problem."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perp.formulations.registry import all_formulations
from perp.problems import PerpError, Problem
from perp.solvers import registry
from perp.solvers.friction_limits import ENDLESS, with_less_friction
from perp.solvers.registry import SolverInfo
from perp.solvers.routes import find_route
from perp.solvers.solve import check_problem

# Ours in the order of the documentation; then what was registered by hand, then other packages.
FAMILIES = ("auto", "pivoting", "projection", "newton", "interior", "splitting")
# Rows up to which a formulation is built to see whether a solver takes it: some factorise all rows at once.
LARGEST_BUILT = 1500


class SolverList(list[SolverInfo]):
    """A list of solvers that is shown as a table: by name, with what each is."""

    def __repr__(self) -> str:
        width = max((len(info.name) for info in self), default=0)
        return "\n".join(f"{info.name:{width}s}  {info.summary}" for info in self) or "no solvers"

    def _repr_html_(self) -> str:
        from perp.view.notebook import solvers_html

        return solvers_html(self)


def solvers(problem: Problem | None = None) -> SolverList:
    """Every solver, or those that can take `problem` as it is or through an exact formulation.

    Those of perp come first, by family, those of other packages last. Solvers that are not installed are
    listed too: `available` is False and `reason` has the command to run.

    Raises:
        ProblemError: `problem` is none.
    """
    listed = sorted(registry.all_solvers().values(), key=_place)
    if problem is None:
        return SolverList(listed)
    check_problem(problem)
    problem = with_less_friction(problem, ENDLESS)
    return SolverList(info for info in listed if can_take(info, problem))


def pairs(problem: Problem, *, external: bool) -> Iterator[tuple[SolverInfo, str | None]]:
    """Solvers with the formulations through which they might take the problem; None for as it is."""
    for info in registry.all_solvers().values():
        if info.family == "user" or (info.family == "external" and not external) or not info.available:
            continue
        if isinstance(problem, info.takes):
            yield info, None
        for name, form in all_formulations().items():
            if isinstance(problem, form.source) and issubclass(form.target, info.takes):
                yield info, name


def can_take(info: SolverInfo, problem: Problem) -> bool:
    """Whether a solver takes a problem, as it is or through a formulation.

    What a formulation makes of a large problem is not built for that: `solve` will say what is wrong with it.
    """
    try:
        route = find_route(problem, info)
    except registry.SolverMismatch:
        return False
    if route is None or problem.size > LARGEST_BUILT:
        return True
    try:
        with np.errstate(all="ignore"):
            return info.objection(route.build(problem).problem) is None
    except PerpError:  # numbers that this formulation cannot hold, such as μ² of μ = 1e160
        return False


def _place(info: SolverInfo) -> tuple[int, str, str]:
    if info.family == "external":
        return (len(FAMILIES) + 1, "", info.name)
    family = FAMILIES.index(info.family) if info.family in FAMILIES else len(FAMILIES)
    return (family, info.family, info.name)
