"""The default for contact problems: registered solvers in order, each from where the last one ended.

What `benchmarks/ablation.py` says of each stage is in docs/how-to-choose-a-friction-solver.md.
`Solution.info["stages"]` tells what each did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perp.compilation.stopwatch import working_time
from perp.problems import ContactProblem, Status
from perp.problems.validation import Vector
from perp.solvers import registry
from perp.solvers.attempt import Attempt, Control
from perp.solvers.watching import now_runs

# Up to this many constraints a block elimination fits into memory: its order needs count² / 8 bytes.
LARGEST_ELIMINATION = 30_000
# From this many constraints on Newton's method costs more than some hundred sweeps with momentum.
MANY = 300
# What is built of blocks has so many contacts on each face, and so many at least in all.
FACE, BUILT = 3, 16
# Newton steps times rows² at most beyond the first thousand steps: a problem of thousands of rows that those
# do not solve ends soon, one of 150 rows may begin soft twice.
MOST_WORK, FIRST_STEPS = 4e7, 1000
# Up to this many rows relaxations are solved one after the other, each along a path of its own.
SMALL = 300
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
        steps: Its iterations at most.
        work: Iterations times rows² at most, beyond the first thousand.
        above: The residual from which on it is worth its cost.
    """

    solver: str
    when: Callable[[ContactProblem], bool] = _always
    options: dict[str, Any] = field(default_factory=dict)
    steps: int = 10**9
    work: float = np.inf
    above: float = 0.0

    @property
    def label(self) -> str:
        """The stage in words."""
        options = [f"{name} = {value}" for name, value in self.options.items() if name != "sweeps"]
        return self.solver + (f" ({', '.join(options)})" if options else "")


def _few(problem: ContactProblem) -> bool:
    return problem.contact_count <= LARGEST_ELIMINATION


def _built(problem: ContactProblem) -> bool:
    """Whether many contacts lie in faces, so that a linear solve may find that everything stands."""
    from perp.kernels.packed import pack
    from perp.kernels.packed_trees import tree_count

    count = problem.contact_count
    if not BUILT <= count <= LARGEST_ELIMINATION or problem.size == count:
        return False
    return count >= FACE * tree_count(pack(problem))


STAGES = (
    Stage("block-gauss-seidel", options={"while_it_pays": True}),
    Stage("proximal-point", _built, {"sweeps": 0, "begin": "held"}, steps=8, above=1e-2),
    Stage(
        "block-gauss-seidel",
        lambda problem: problem.contact_count >= MANY,
        {"momentum": True, "while_it_pays": True},
    ),
    Stage("proximal-point", _few, {"sweeps": 0}, work=MOST_WORK),
    Stage("interior-point", lambda problem: problem.size <= SMALL and not problem.relaxed, work=MOST_WORK),
    Stage("apgd", lambda problem: problem.relaxed),
)

# What is left where sweeps and the first attempt of Newton's method were made in one compiled call.
AFTER_ATTEMPT = (
    Stage("proximal-point", lambda problem: not problem.relaxed, {"sweeps": 0, "begin": "soft"}),
    *STAGES[4:],
)

# From a good start, before the others: a few sweeps and Newton steps. On 213 starts near answers of random
# mixtures 20 sweeps take 4 % less than five, on stacks of heavy on light up to three times as much.
WARM = Stage("proximal-point", _few, {"sweeps": 5}, steps=150)


def solve_contact(problem: ContactProblem, control: Control) -> Attempt:
    """Solve a contact problem with every set, exact or relaxed."""
    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    run = StageRun(problem, control)
    if control.swept is not None:
        impulse, sweeps, steps = control.swept
        run.take(impulse, sweeps, STAGES[0])
        if not steps[1]:
            return run.through(STAGES[1:])
        run.take(impulse, steps, STAGES[3])
        return run.through(AFTER_ATTEMPT)
    if control.start is not None:
        control.check(0, run.point)
        run.residual = control.best
    return run.through((WARM, *STAGES) if run.residual <= NEAR else STAGES)


class StageRun:
    """The stages on one problem: the best point so far and what was done."""

    def __init__(self, problem: ContactProblem, control: Control) -> None:
        self.problem, self.control = problem, control
        self.point = control.begin(problem.size)
        self.residual = np.inf
        self.iterations = 0
        self.stages: list[dict[str, Any]] = []
        self.reason: Status | None = None

    def take(self, impulse: Vector, found: tuple[float, int], stage: Stage) -> None:
        """What a stage has reached before: its residual and iterations."""
        self.point, (residual, iterations) = impulse, found
        self.iterations += iterations
        self.residual = np.inf if np.isnan(residual) else residual
        self.stages.append(record(stage.solver, 0.0, self.residual, iterations, stage.label))

    def through(self, stages: tuple[Stage, ...]) -> Attempt:
        """One stage after the other until the problem is solved or a limit is met."""
        for stage in stages:
            if self.done():
                break
            if self.residual > stage.above and stage.when(self.problem):
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
        in_budget = max(FIRST_STEPS, min(stage.steps, stage.work / self.problem.size**2))
        most = int(min(stage.steps, in_budget, self.control.limit(10**9) - self.iterations))
        began = working_time()
        known = self.residual if np.isfinite(self.residual) else None
        control = self.control.for_stage(self.point, self.iterations, most, known)
        now_runs(control, stage.solver)
        attempt = info.run(self.problem, control, info.options(**stage.options))
        value = control.measure(attempt.z) if np.isfinite(attempt.z).all() else np.inf
        self.iterations += attempt.iterations
        self.reason = attempt.reason
        if value <= self.residual:
            self.point, self.residual = attempt.z, value
        seconds = working_time() - began
        self.stages.append(record(stage.solver, seconds, value, attempt.iterations, stage.label))


def record(
    solver: str, seconds: float, residual: float, iterations: int, label: str | None = None
) -> dict[str, Any]:
    """What one stage did, for `Solution.info["stages"]`."""
    return {
        "stage": label or solver, "solver": solver, "seconds": seconds, "residual": float(residual),
        "iterations": iterations,
    }  # fmt: skip
