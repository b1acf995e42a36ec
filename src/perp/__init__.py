"""perp: hard frictional contact and complementarity problems, solved and verified.

import perp

solution = perp.solve(perp.LCP(M, q))
solution.z, solution.status, solution.residual
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from perp.problems import (
    LCP,
    MCP,
    Box,
    BoxedLCP,
    ContactProblem,
    ContactSolution,
    Coulomb,
    Elliptic,
    FileError,
    Free,
    History,
    Nonnegative,
    NotSolved,
    PerpError,
    ProblemError,
    Residuals,
    Rolling,
    Sets,
    Solution,
    SolverError,
    SolverMismatch,
    SolverMissing,
    Status,
    UnknownSolver,
    residual,
    residuals,
)

if TYPE_CHECKING:
    from perp.files import load, load_guess
    from perp.simulation import Simulation
    from perp.solvers import SolverInfo, register, solve, solve_many, solvers

__version__ = "0.1.0"

# Imported on first use, so that `import perp` stays light.
_LAZY = {
    "load": "perp.files",
    "load_guess": "perp.files",
    "register": "perp.solvers",
    "solve": "perp.solvers",
    "solve_many": "perp.solvers",
    "solvers": "perp.solvers",
    "SolverInfo": "perp.solvers",
    "Simulation": "perp.simulation",
}

__all__ = [
    "LCP",
    "MCP",
    "Box",
    "BoxedLCP",
    "ContactProblem",
    "ContactSolution",
    "Coulomb",
    "Elliptic",
    "FileError",
    "Free",
    "History",
    "Nonnegative",
    "NotSolved",
    "PerpError",
    "ProblemError",
    "Residuals",
    "Rolling",
    "Sets",
    "Simulation",
    "Solution",
    "SolverError",
    "SolverInfo",
    "SolverMismatch",
    "SolverMissing",
    "Status",
    "UnknownSolver",
    "load",
    "load_guess",
    "register",
    "residual",
    "residuals",
    "solve",
    "solve_many",
    "solvers",
]


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'perp' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
