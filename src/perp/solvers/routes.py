"""The way from a problem to a solver: as it is, or through a formulation."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import numpy as np

from perp.formulations.contact_as_boxed import not_scalar
from perp.formulations.registry import Formulation, all_formulations, find_formulation
from perp.problems import LCP, BoxedLCP, ContactProblem, Problem, SolverMismatch, UnknownSolver
from perp.problems.sets import COULOMB
from perp.solvers.registry import SolverInfo, all_solvers, mismatch, unknown

# Rows up to which every formulation is built to see whether a solver takes what comes out.
_SMALL = 500
# Variants that are kept for comparing digits.
_AS_PRINTED = ("_published", "_relaxed")


def find_route(
    problem: Problem, info: SolverInfo, name: str | None = None, *, advise: bool = False
) -> Formulation | None:
    """The formulation to go through, or None when the solver takes the problem as it is.

    Args:
        problem: To be solved.
        info: The solver.
        name: A formulation, or a part of the way that leads to the solver; None for an exact one that can be
            chosen without asking.
        advise: Whether the error names formulations that could be asked for; they are built to see.

    Raises:
        SolverMismatch: There is no way from this problem to this solver.
    """
    if name is None:
        objection = info.objection(problem)
        if objection is None:
            return None
        # a solver that takes this type but refuses this problem has its reasons: another form would hide them
        refused = isinstance(problem, info.takes)
        for candidate in all_formulations().values():
            if (
                not refused
                and candidate.automatic
                and issubclass(candidate.target, info.takes)
                and candidate.objection(problem) is None
                and candidate.is_exact(problem)
            ):
                return candidate
        raise mismatch(info, problem, objection, _other_forms(problem, info) if advise else ())
    chosen = find_formulation(name) if isinstance(name, str) else None
    if chosen is None:
        raise UnknownSolver(unknown("formulation", name, list(all_formulations())))
    if isinstance(problem, ContactProblem):
        chosen = _completed(chosen, problem, info)
    objection = chosen.objection(problem)
    if objection is not None:
        raise SolverMismatch(f"formulation {name} cannot take this problem: {objection}")
    if not issubclass(chosen.target, info.takes):
        able = [s.name for s in all_solvers().values() if issubclass(chosen.target, s.takes) and s.available]
        takes = " and ".join(kind.__name__ for kind in info.takes)
        raise SolverMismatch(
            f"formulation {name} gives {chosen.target.__name__}, but {info.name} takes {takes}. "
            f"These take it: {', '.join(sorted(able))}."
        )
    return chosen


def _completed(chosen: Formulation, problem: ContactProblem, info: SolverInfo) -> Formulation:
    """What a formulation stands for between contacts and a solver.

    "split" begins with friction boxes, where Lemke is given "box" those are split, and where a solver does
    not take bounds that follow other rows these are fixed in rounds.
    """
    name = chosen.name
    if chosen.source is BoxedLCP:
        name = f"{'box' if not_scalar(problem) else 'rows'}+{name}"
    boxed = issubclass(chosen.target, BoxedLCP)
    if boxed and BoxedLCP not in info.takes and LCP in info.takes:
        name += "+split"
    elif boxed and "fixed-bounds" not in name and (problem.sets.kind >= COULOMB).any():
        name += "" if BoxedLCP not in info.takes or _follows(info) else "+fixed-bounds"
    return (find_formulation(name) if name != chosen.name else None) or chosen


@cache
def _follows(info: SolverInfo) -> bool:
    """Whether a solver takes bounds that follow another row."""
    probe = BoxedLCP(np.eye(2), [-1.0, 0.5], [0, -1], [np.inf, 1], friction_index=np.array([-1, 0]))
    return info.objection(probe) is None


def _other_forms(problem: Problem, info: SolverInfo) -> list[str]:
    """Formulations that `solve` does not choose by itself, and through which a solver takes a problem."""
    if problem.size > _SMALL:
        return []
    known = [f for f in all_formulations().values() if not f.automatic and not f.name.endswith(_AS_PRINTED)]
    names = [f.name for f in known] + [f"box+{f.name}" for f in known if f.source is BoxedLCP]
    found = []
    for name in names:
        form = find_formulation(name)
        if form is None or not issubclass(form.target, info.takes) or form.objection(problem) is not None:
            continue
        with suppress(SolverMismatch):
            if info.objection(form.build(problem).problem) is None:
                found.append(name)
    return found
