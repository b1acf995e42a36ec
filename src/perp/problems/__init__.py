"""What is to be solved, what came out, and the residual that judges it."""

from perp.problems.active_sets import complementary_matrix
from perp.problems.boxed import BoxedLCP
from perp.problems.contact import ContactProblem
from perp.problems.errors import (
    FileError,
    NotSolved,
    PerpError,
    ProblemError,
    SolverError,
    SolverMismatch,
    SolverMissing,
    UnknownSolver,
)
from perp.problems.lcp import LCP
from perp.problems.mcp import MCP
from perp.problems.residual import Problem, Residuals, residual, residuals
from perp.problems.sets import Box, ConstraintSet, Coulomb, Elliptic, Free, Nonnegative, Rolling, Sets
from perp.problems.solution import ContactSolution, History, Solution
from perp.problems.status import Status

__all__ = [
    "LCP",
    "MCP",
    "Box",
    "BoxedLCP",
    "ConstraintSet",
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
    "Problem",
    "ProblemError",
    "Residuals",
    "Rolling",
    "Sets",
    "Solution",
    "SolverError",
    "SolverMismatch",
    "SolverMissing",
    "Status",
    "UnknownSolver",
    "complementary_matrix",
    "residual",
    "residuals",
]
