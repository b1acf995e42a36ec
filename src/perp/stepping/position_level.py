"""Position level by a sequence of exact contact problems: c(q⁺) + Σλ = 0, gap(q⁺) ≥ 0 ⊥ λ_n ≥ 0.

Each problem holds the positions linearised at the last iterate, c(uᵏ) + h J (u − uᵏ), with J and the force
directions of the start of the step; its exact solution is the next iterate. W stays the same over the step,
so an iteration costs one warm-started contact solve. The error shrinks by about h |ω| an iteration; a resting
scene needs one. With joints alone this is SHAKE, whose energy does not drift.

Reference: Stewart and Trinkle, An implicit time-stepping scheme for rigid body dynamics (1996); Ryckaert,
Ciccotti and Berendsen (1977) for SHAKE.
"""

from __future__ import annotations

import numpy as np

from perp.stepping.contact_solve import solve_contacts
from perp.stepping.outcome import Outcome, measure
from perp.stepping.system import StepSystem

# An iteration that leaves more than this share of the error is not converging.
_SLOWEST = 0.9
# A contact problem that missed its tolerance by less than this factor may still lead to one that is solved.
_HOPELESS = 1e5
# Iterations of the default solver over all contact problems of a step, beyond which dividing it is faster.
_MOST_WORK = 2000
# Last step's impulses are kept where they leave no more than this share of the tolerance: a scene at rest.
_REST = 0.5
# Rows of a robot differ by 1e6 in velocity per impulse, and a contact problem is solved relative to the
# largest velocities: where that leaves too much in the others, it is solved this much sharper, twice at most.
_SHARPER, _SHARPEST = 1e-2, 1e-4


def solve_sequence(system: StepSystem, start: np.ndarray, guess: np.ndarray) -> Outcome:
    """Solve a step at position level.

    Args:
        system: The step.
        start: Impulses to begin with, shape (rows,).
        guess: Velocities to linearise at first, shape (n, 6).
    """
    settings = system.settings
    begun = _from_warm_start(system, start)
    if begun is not None and measure(system, begun).met(
        _REST * settings.tolerance, settings.solver_tolerance
    ):
        return begun
    allowed = 0.25 * settings.tolerance * min(system.length_scale / system.h, system.speed_scale)
    impulse, u = start, guess if begun is None else begun.velocity
    bias = system.bias(u)
    inner, worse, count, last, message, sharper = 0, 0, 0, np.inf, "", 1.0
    while count < settings.max_iterations:
        count += 1
        solution = solve_contacts(system, system.problem(bias), impulse, sharper)
        inner += solution.iterations
        impulse = solution.z
        if not np.isfinite(impulse).all():
            message = f"contact solver: {solution.status.name}"
            break
        u = system.body_velocity(impulse)
        new_bias = system.bias(u)
        error = float(np.abs(new_bias - bias).max(initial=0.0))
        bias = new_bias
        if error <= allowed or solution.residual > _HOPELESS * settings.solver_tolerance:
            message = "" if solution.solved else f"contact solver: {solution.status.name}"
            outcome = Outcome(impulse, u, count, inner, bias, message)
            if message or sharper <= _SHARPEST or measure(system, outcome).met(settings.tolerance):
                return outcome
            sharper *= _SHARPER
        worse = worse + 1 if error > _SLOWEST * last else 0
        last = error
        if settings.solver == "auto" and inner > _MOST_WORK:
            message = f"{count} contact problems took {inner} iterations"
            break
        if worse >= 3:
            message = f"the sequence stopped converging at {error * system.h:.1e} m"
            break
    else:
        message = f"{settings.max_iterations} contact problems left an error of {last * system.h:.1e} m"
    return Outcome(impulse, u, count, inner, bias, message)


def _from_warm_start(system: StepSystem, start: np.ndarray) -> Outcome | None:
    """The step as the last one's impulses would have it; None without any."""
    if not start.any():
        return None
    u = system.body_velocity(start)
    return Outcome(start, u, 0, 0, system.bias(u))
