"""The fixed point over friction bounds: freeze them at the normals, solve the box, repeat.

Each round solves a boxed LCP whose friction bounds are those of the last answer, by any solver of plain
boxes. Where friction is weak or weakly coupled to the normals the map contracts and the rounds converge
linearly; the observed rate is reported. Where it does not contract the change is damped, and if that does
not help the solve ends as stalled, with the rate in its message.

Reference: Pfeiffer and Glocker, Multibody Dynamics with Unilateral Contacts (1996), for the decoupling of
normal and friction problems.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.formulations.friction_index_as_fixed_point import friction_index_as_fixed_point
from perp.problems import BoxedLCP, Status
from perp.problems.residual import judge
from perp.solvers import registry
from perp.solvers.attempt import Attempt, Control

ROUNDS = 500
# The frozen problems are solved this much more accurately than the whole.
INNER_ACCURACY = 0.1
# Rounds in a row that did not contract before the change is halved, and how often it may be.
PATIENCE, HALVINGS = 3, 5


@dataclass(frozen=True)
class FixedPointOptions:
    """Options of friction-fixed-point.

    Attributes:
        inner: Name of the solver of the frozen problems: any that takes boxed LCPs.
    """

    inner: str = "boxed-newton"


@registry.register(
    "friction-fixed-point",
    takes=BoxedLCP,
    options=FixedPointOptions,
    summary="friction bounds frozen and updated to their fixed point around another solver",
)
def friction_fixed_point(problem: BoxedLCP, control: Control, options: FixedPointOptions) -> Attempt:
    """Solve a boxed LCP with friction index by iterating its bounds to their fixed point."""
    inner = registry.find(options.inner)
    registry.require_available(inner)
    z = control.begin(problem.size)
    guess = z.copy()  # the normals at which the bounds are frozen
    share, grown, previous, rate, best_change = 1.0, 0, np.inf, 0.0, np.inf
    done = inner_iterations = 0
    message = ""
    while not control.check(done, z):
        if done >= control.limit(ROUNDS):
            control.reason = Status.ITERATION_LIMIT
            break
        frozen = friction_index_as_fixed_point(problem, guess)
        objection = inner.objection(frozen)
        if objection is not None:
            raise registry.mismatch(inner, frozen, objection)
        accuracy = INNER_ACCURACY * control.tol
        inner_control = Control(
            lambda x, frozen=frozen: judge(frozen, x)[0],
            tol=accuracy, time_limit=control.remaining(), start=z,
        )  # fmt: skip
        attempt = inner.run(frozen, inner_control, inner.options())
        inner_iterations += attempt.iterations
        z = attempt.z
        if not np.isfinite(z).all() or inner_control.measure(z) > max(1e3 * accuracy, 1e-6):
            control.reason = attempt.reason or Status.STALLED
            if control.reason is Status.INFEASIBLE:  # proved for these bounds, not for all
                control.reason = Status.STALLED
            message = f"The frozen problem of round {done} was not solved by {options.inner}."
            break
        change = float(np.linalg.norm(z - guess))
        rate = change / previous if 0.0 < previous < np.inf else 0.0
        previous = change
        grown = grown + 1 if change >= 0.98 * best_change else 0
        best_change = min(best_change, change)
        if grown >= PATIENCE:
            grown, share, best_change = 0, 0.5 * share, np.inf
            if share < 0.5**HALVINGS:
                control.reason = Status.STALLED
                message = f"The fixed point over the friction bounds does not contract (rate {rate:.2f})."
                break
        guess = (1.0 - share) * guess + share * z
        done += 1
    result = control.attempt(
        z, done, contraction=rate, damping=share, inner=options.inner, inner_iterations=inner_iterations
    )
    result.message = message or result.message
    return result
