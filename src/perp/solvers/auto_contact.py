"""The default solver of contact problems: sweeps while they pay, then proximal Newton, then other starts.

A small problem that sweeps can solve is one compiled call. The rest goes to the proximal Newton stage; where
that stalls, it begins again from elsewhere (zero, the relaxation's answer) or with other scales, each for a
limited time, and plain Newton steps refine what is nearly solved. What was done is in `Solution.info`:
sweeps, Newton steps, starts.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from perp.problems import ContactProblem
from perp.problems.validation import Vector, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.contact.stages import LARGEST_NEWTON, NEARLY, ONE_CALL, Stages


def solve_contact(problem: ContactProblem, control: Control) -> Attempt:
    """Solve a contact problem with every set, exact or relaxed."""
    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    if control.start is not None:
        warm = _warm(problem, control, control.start)
        if warm is not None:
            return warm
    if problem.size <= ONE_CALL and control.plain:
        return _one_call(problem, control)
    return Stages(problem, control).run()


def _warm(problem: ContactProblem, control: Control, start: Vector) -> Attempt | None:
    """The start itself when it solves the problem, or plain Newton steps from it when it nearly does."""
    if control.measure(start) > NEARLY or problem.contact_count > LARGEST_NEWTON:
        return None
    stages = Stages(problem, control)
    stages.begin(control.begin(problem.size))
    return stages.finish(True) if stages.check() or stages.refine() else None


@cache
def _kernels() -> tuple[Any, Any]:
    """The compiled first stage for dense and for sparse W.

    An import statement would cost a microsecond a call.
    """
    from perp.solvers.contact.first_stage import sweep_dense, sweep_sparse

    return sweep_dense, sweep_sparse


def _one_call(problem: ContactProblem, control: Control) -> Attempt:
    """The sweeps of a small problem in one compiled call; the other stages only where they are needed."""
    z, value, sweeps = control.swept or _sweep(problem, control)
    # the sweeps measure in plain double precision
    if value <= control.tol and control.measure(z) <= control.tol:
        return Attempt(z, sweeps, None, {"sweeps": sweeps, "newton_steps": 0, "starts": 0})
    stages = Stages(problem, control)
    stages.begin(z, sweeps)
    return stages.finish(stages.newton())


def _sweep(problem: ContactProblem, control: Control) -> tuple[Vector, float, int]:
    """Impulses, the residual that the sweeps saw, and their number."""
    sweep_dense, sweep_sparse = _kernels()
    W: Any = problem.W
    sets, impulse = problem.sets, control.begin(problem.size)
    rest = (
        problem.q, sets.kind, sets.start, sets.a, sets.b, problem.rolling_length, problem.relaxed, impulse,
        control.tol,
    )  # fmt: skip
    if is_sparse(W):
        return impulse, *sweep_sparse(W.data, W.indices, W.indptr, *rest)
    return impulse, *sweep_dense(W, *rest)
