"""An algorithm on a formulation, with the outer iterations of that one.

Some formulations are a sequence of problems: bounds frozen at the last answer, a shift by its sliding. Each
is solved until its own residual is met, not that of the whole, which its answer need not come near; the next
one starts from that answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.formulations.registry import Reformulated
from perp.problems import Problem, Status
from perp.solvers.attempt import Attempt, Control, run_in_time
from perp.solvers.registry import SolverInfo

# Problems of an outer iteration are solved this much more accurately than the whole.
INNER_ACCURACY = 0.1


def run_formulation(
    info: SolverInfo, turned: Reformulated, control: Control, settings: Any
) -> tuple[Attempt, Reformulated]:
    """The algorithm on a formulation with that one's outer iterations; the last formulation and its answer.

    Args:
        info: The solver.
        turned: The formulation.
        control: Measures answers of the formulation.
        settings: The solver's options.
    """
    attempt = _inner_run(info, turned, control, settings)
    outer_iterations = 0
    while turned.update is not None and not _is_final(attempt, control):
        following = turned.update(attempt.z)
        if following is None:
            break
        control.start = attempt.z
        latest = _inner_run(info, following, control, settings)
        if latest.reason is Status.FAILED or not np.isfinite(latest.z).all():
            attempt.reason, attempt.message = Status.STALLED, latest.message
            break
        turned, outer_iterations = following, outer_iterations + 1
        latest.iterations += attempt.iterations
        latest.info["outer_iterations"] = outer_iterations
        attempt = latest
    missed = attempt.reason is None and control.measure(attempt.z) > control.tol
    if missed and isinstance(turned.problem, Problem):
        attempt.reason = Status.STALLED if outer_iterations else Status.INACCURATE
        if outer_iterations:
            attempt.message = f"The outer iteration does not contract: {outer_iterations} rounds were made."
    return attempt, turned


def _inner_run(info: SolverInfo, turned: Reformulated, control: Control, settings: Any) -> Attempt:
    """One run of the algorithm: on one of a sequence of problems until that very problem is solved."""
    inner = turned.problem
    if not isinstance(inner, Problem):
        return info.run(inner, control, settings)
    if turned.update is None:
        return run_in_time(info.run, inner, control, settings)
    own = control.for_part(inner, control.start, control.max_iterations)
    own.tol = INNER_ACCURACY * control.tol
    attempt = run_in_time(info.run, inner, own, settings)
    control.check(control.done, attempt.z)
    return attempt


def _is_final(attempt: Attempt, control: Control) -> bool:
    """Whether an outer iteration ends here: solved, out of time, or an answer that nothing can start from."""
    return (
        not np.isfinite(attempt.z).all()
        or attempt.reason in (Status.FAILED, Status.DIVERGED, Status.INFEASIBLE)
        or control.measure(attempt.z) <= control.tol
        or control.out_of_time()
    )
