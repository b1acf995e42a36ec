"""The answer of a solve, with what is needed to trust it."""

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from perp.problems.active_sets import Case, SplitForces, cases, split_forces
from perp.problems.boxed import BoxedLCP
from perp.problems.contact import ContactProblem
from perp.problems.errors import ProblemError
from perp.problems.residual import Problem, Residuals, residuals
from perp.problems.status import Status
from perp.problems.validation import Vector


@dataclass(frozen=True)
class History:
    """How a solve went, one entry per recorded iteration.

    Attributes:
        iterations: Iteration numbers.
        times: Seconds since the solve began, without the time spent on recording.
        residuals: The shared residual of the iterate.
    """

    iterations: np.ndarray
    times: np.ndarray
    residuals: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The answer of `perp.solve`.

    Attributes:
        problem: What was solved.
        z: The unknowns, shape (n,).
        w: M z + q (f(z) for an MCP), shape (n,).
        status: How the solve ended; a sentence.
        residual: The residual that decided the status (see `perp.residual`).
        tolerance: What the residual was compared with.
        iterations: Iterations or pivots that the solver took.
        solver: Name of the solver.
        formulation: Name of the formulation, or None when the solver took the problem as it is.
        build_time: Seconds spent on turning the problem into what the solver takes.
        solve_time: Seconds spent in the solver.
        history: Per-iteration record when `history=True` was asked for.
        info: What the solver adds: active set, pivots, certificates.
        message: The solver's own words, if any.
    """

    problem: Problem
    z: Vector
    w: Vector
    status: Status
    residual: float
    tolerance: float
    iterations: int
    solver: str
    formulation: str | None = None
    build_time: float = 0.0
    solve_time: float = 0.0
    history: History | None = None
    info: dict[str, Any] = field(default_factory=dict)
    message: str = ""

    def __getattr__(self, name: str) -> Any:
        # Reached only for names that are not set: the short way of `solve` leaves out what one stage implies.
        if name != "info" or "solver" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        stage = {
            "stage": self.solver, "solver": self.solver, "seconds": self.solve_time,
            "residual": self.residual, "iterations": self.iterations,
        }  # fmt: skip
        self.__dict__["info"] = info = {"chosen_by": "auto", "stages": [stage]}
        return info

    @property
    def solved(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.status is Status.SOLVED

    @cached_property
    def residuals(self) -> Residuals:
        """The residual in parts, with the literature's figures."""
        return residuals(self.problem, self.z)

    @cached_property
    def cases(self) -> list[Case]:
        """The case of every row of a boxed LCP, whoever solved it: no force, holds, slides at a bound."""
        return cases(self._boxed(), self.z)

    @cached_property
    def split_forces(self) -> SplitForces:
        """λ⁺, λ⁻, β⁺, β⁻ of every row of a boxed LCP, whoever solved it."""
        return split_forces(self._boxed(), self.z, self.w)

    def _boxed(self) -> BoxedLCP:
        if not isinstance(self.problem, BoxedLCP):
            raise ProblemError(f"the cases of a box are those of a BoxedLCP, not of {self.problem!r}")
        return self.problem

    def save(self, path: str | PathLike[str]) -> None:
        """Write the answer to an .npz, .json, .npy or .txt file."""
        from perp.files import save_solution

        save_solution(self, path)

    def _repr_html_(self) -> str:
        from perp.view.notebook import solution_html

        return solution_html(self)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.status.name}, residual={self.residual:.2e}, "
            f"iterations={self.iterations}, solver={self.solver!r})"
        )


class ContactSolution(Solution):
    """The answer of a contact problem: `impulse` and `velocity` are its z and w."""

    @property
    def impulse(self) -> Vector:
        """λ [N·s], shape (rows,): per constraint normal first."""
        return self.z

    @property
    def velocity(self) -> Vector:
        """u [m/s], shape (rows,)."""
        return self.w

    @cached_property
    def body_velocity(self) -> Vector | None:
        """v = M⁻¹ (p + Jᵀ λ), shape (n,), when the problem is in dynamics form."""
        problem = self.problem
        if not isinstance(problem, ContactProblem) or problem.dynamics is None:
            return None
        return problem.dynamics.body_velocity(self.z)
