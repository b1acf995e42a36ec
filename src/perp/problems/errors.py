"""The exceptions of perp: a small tree, so that one `except perp.PerpError` catches all of them."""

from os import PathLike
from typing import Any


class PerpError(Exception):
    """Base of every exception that perp raises on purpose."""


class ProblemError(PerpError, ValueError):
    """A problem's data make no sense; the message names the argument, the index and the value."""


class FileError(PerpError):
    """A file cannot be read or written; the message names the file and what is wrong with it."""

    def __init__(self, path: str | PathLike[str], message: str) -> None:
        self.path = str(path)
        self.message = message
        super().__init__(f"{self.path}: {message}")


class SolverError(PerpError):
    """A solver cannot be used as asked."""


class UnknownSolver(SolverError, LookupError):
    """No solver or formulation has this name; the message lists close matches."""


class SolverMismatch(SolverError, TypeError):
    """The solver exists but does not take this problem; the message says why and what can."""


class SolverMissing(SolverError, ImportError):
    """The solver needs something that is not installed; the message gives the one command that adds it."""


class NotSolved(PerpError):
    """A solve whose residual misses the tolerance, with the problem and the best answer found.

    Attributes:
        problem: What was to be solved.
        solution: The unsolved `Solution`: its status is a sentence that says what happened.
    """

    def __init__(self, problem: Any, solution: Any) -> None:
        self.problem = problem
        self.solution = solution
        super().__init__(
            f"{solution.solver}: {solution.status.value} "
            f"Residual {solution.residual:.3g} after {solution.iterations} iterations, "
            f"tolerance {solution.tolerance:.3g}."
            + (f" {solution.message}" if solution.message else "")
            + " Use throw=False to get the unsolved answer, or save(path) on this exception to report it."
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the problem to `path` so that the failure can be reported."""
        self.problem.save(path)
