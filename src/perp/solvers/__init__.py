"""One algorithm a module, in families; `solve` runs them and verifies what they return."""

from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import NoOptions, Package, SolverInfo, register, unregister
from perp.solvers.solve import solve, solvers
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
