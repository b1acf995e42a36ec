"""One algorithm a module, in families; `solve` runs them and verifies what they return."""

from __future__ import annotations

import sys
from types import ModuleType

from perp.problems import Problem
from perp.solvers.attempt import Attempt, Control
from perp.solvers.listing import solvers
from perp.solvers.registry import NoOptions, Package, SolverInfo, register, unregister
from perp.solvers.solve import solve
from perp.solvers.solve_many import solve_many

__all__ = [
    "Attempt",
    "Control",
    "NoOptions",
    "Package",
    "SolverInfo",
    "register",
    "solve",
    "solve_many",
    "solvers",
    "unregister",
]


class _CallablePackage(ModuleType):
    """`perp.solvers` names this package and the function: called, the package is the function."""

    def __call__(self, problem: Problem | None = None) -> list[SolverInfo]:
        return solvers(problem)


sys.modules[__name__].__class__ = _CallablePackage
