"""The default for contact problems: registered solvers in order, each from where the last one ended.

The list is what `benchmarks/ablation.py` has left of it: every stage wins problems that no other one solves
in three times its time. `Solution.info["stages"]` tells what each did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from perp.compilation.stopwatch import working_time
from perp.problems import ContactProblem, Status
from perp.problems.validation import Vector
from perp.solvers import registry
from perp.solvers.attempt import Attempt, Control
from perp.solvers.watching import now_runs

# Up to this many constraints a block elimination fits into memory: its order needs count² / 8 bytes.
LARGEST_ELIMINATION = 30_000
# Up to this many constraints a relaxed problem goes along its central path at once: blocks fill in.
LARGEST_PATH = 1000
# From this many constraints on Newton's method costs more than some hundred sweeps with momentum.
MANY = 300
# From this many constraints on it pays to look for islands.
ISLANDS_FROM = 100
# The solver of problems with a mass and a Jacobian: it finds islands itself, and needs the problem whole.
TREES = "tree-newton"
# A start this good is near enough for Newton's method without sweeps before it.
NEAR = 0.1


def _always(_: ContactProblem) -> bool:
    return True


@dataclass(frozen=True)
class Stage:
    """One entry of the list.

    Attributes:
        solver: Its registered name.
        when: Which problems it is for.
        options: Its options.
        start: Where it begins: at the "best" point so far, or at the answer of the "relaxation".
        steps: Its iterations at most.
    """

    solver: str
    when: Callable[[ContactProblem], bool] = _always
    options: dict[str, Any] = field(default_factory=dict)
    start: Literal["best", "relaxation"] = "best"
    steps: int = 10**9

    @property
    def label(self) -> str:
        """The stage in words."""
        options = [f"{name} = {value}" for name, value in self.options.items() if name != "sweeps"]
        start = "" if self.start == "best" else f" from the {self.start}"
        return self.solver + start + (f" ({', '.join(options)})" if options else "")


def _few(problem: ContactProblem) -> bool:
    return problem.contact_count <= LARGEST_ELIMINATION


def _exact(problem: ContactProblem) -> bool:
    return _few(problem) and not problem.relaxed


STAGES = (
    Stage("block-gauss-seidel", options={"while_it_pays": True}),
    Stage("interior-point", lambda problem: problem.relaxed and problem.contact_count <= LARGEST_PATH),
    Stage(
        "block-gauss-seidel",
        lambda problem: problem.contact_count >= MANY,
        {"momentum": True, "while_it_pays": True},
    ),
    Stage(TREES, lambda problem: problem.dynamics is not None and _exact(problem)),
    Stage("proximal-point", _few, {"sweeps": 0}),
    Stage(
        "proximal-point", _exact, {"weight": 1.0, "scale": 0.1, "smoothing": 50, "sweeps": 10}, "relaxation"
    ),
    Stage("interior-point", _exact),
    Stage("apgd", lambda problem: problem.relaxed),
)

# From a good start, before the others.
WARM = (Stage("newton", steps=60), Stage("proximal-point", options={"sweeps": 0}, steps=150))


def solve_contact(problem: ContactProblem, control: Control) -> Attempt:
    """Solve a contact problem with every set, exact or relaxed."""
    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    run = StageRun(problem, control)
    if control.swept is not None:
        run.take(control.swept[0], control.swept[2])
        return run.through(STAGES[1:])
    if control.start is not None and control.measure(control.start) <= NEAR and _few(problem):
        return run.through(WARM + STAGES)
    return run.through(STAGES)


class StageRun:
    """The stages on one problem: the best point so far and what was done."""

    def __init__(self, problem: ContactProblem, control: Control) -> None:
        self.problem, self.control = problem, control
        self.point = control.begin(problem.size)
        self.residual = np.inf
        self.iterations = 0
        self.stages: list[dict[str, Any]] = []
        self.reason: Status | None = None

    def take(self, impulse: Vector, sweeps: int) -> None:
        """Sweeps that were made before."""
        self.point, self.residual, self.iterations = impulse, self.control.measure(impulse), sweeps
        self.stages.append(record(STAGES[0].solver, 0.0, self.residual, sweeps, STAGES[0].label))

    def through(self, stages: tuple[Stage, ...]) -> Attempt:
        """One stage after the other until the problem is solved or a limit is met."""
        # the central path of a relaxation finds its islands itself
        apart = self.problem.relaxed and self.problem.contact_count <= LARGEST_PATH
        for k, stage in enumerate(stages):
            if self.done():
                break
            if not stage.when(self.problem):
                continue
            whole = any(other.solver == TREES and other.when(self.problem) for other in stages[k:])
            if self.stages and not apart and not whole:
                apart = True
                if self.problem.contact_count >= ISLANDS_FROM and self.islands(stages[k:]):
                    break
            self.attempt(stage)
        name = self.stages[-1]["solver"] if self.stages else "auto"
        info = {"solver": name, "chosen_by": "auto", "stages": self.stages}
        return Attempt(self.point, self.iterations, None if self.solved() else self.reason, info)

    def solved(self) -> bool:
        return self.residual <= self.control.tol

    def done(self) -> bool:
        """Whether a limit is met, or nothing is left to do."""
        if self.iterations >= self.control.limit(10**9):
            self.reason = Status.ITERATION_LIMIT
            return True
        return self.solved() or self.control.out_of_time()

    def attempt(self, stage: Stage) -> None:
        """One stage from the best point."""
        info = registry.find(stage.solver)
        if info.objection(self.problem) is not None:
            return
        most = min(stage.steps, self.control.limit(10**9) - self.iterations)
        start, began = self.point, working_time()
        if stage.start == "relaxation":
            relaxed = self.problem.as_relaxed()
            inner = self.control.for_part(relaxed, np.zeros(relaxed.size), most)
            start = registry.find("interior-point").run(relaxed, inner, None).z
        control = self.control.for_stage(start, self.iterations, most)
        now_runs(control, stage.solver)
        attempt = info.run(self.problem, control, info.options(**stage.options))
        value = self.control.measure(attempt.z) if np.isfinite(attempt.z).all() else np.inf
        self.iterations += attempt.iterations
        self.reason = attempt.reason
        if value < self.residual:
            self.point, self.residual = attempt.z, value
        seconds = working_time() - began
        self.stages.append(record(stage.solver, seconds, value, attempt.iterations, stage.label))

    def islands(self, stages: tuple[Stage, ...]) -> bool:
        """The later stages on each unsolved island apart, where there are several. Returns whether so."""
        from perp.solvers.islands import unsolved_islands

        parts = unsolved_islands(self.problem, self.point, self.control.tol)
        if parts is None:
            return False
        began, before, solver = working_time(), self.iterations, "auto"
        for rows, part in parts:
            if self.done():
                break
            most = self.control.limit(10**9) - self.iterations
            alone = StageRun(part, self.control.for_part(part, self.point[rows], most))
            attempt = alone.through(stages)
            self.point[rows] = attempt.z
            self.iterations += attempt.iterations
            self.reason = attempt.reason or self.reason
            solver = attempt.info["solver"]
            self.stages += [stage for stage in alone.stages if stage["residual"] > self.control.tol]
        self.residual = self.control.measure(self.point)
        seconds, steps = working_time() - began, self.iterations - before
        done = record(solver, seconds, self.residual, steps, f"{len(parts)} islands, the last by {solver}")
        self.stages.append(done | {"islands": len(parts)})
        return True


def record(
    solver: str, seconds: float, residual: float, iterations: int, label: str | None = None
) -> dict[str, Any]:
    """What one stage did, for `Solution.info["stages"]`."""
    return {
        "stage": label or solver, "solver": solver, "seconds": seconds, "residual": float(residual),
        "iterations": iterations,
    }  # fmt: skip
