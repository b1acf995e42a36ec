"""Derivatives of a step against central differences of the step itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perp.derivatives.errors import DerivativeError
from perp.derivatives.step import StepDerivative
from perp.derivatives.tangent import between, moved, size
from perp.derivatives.verifying import check_comparable
from perp.simulation.gradients.parameter_values import parameter_values, with_parameters
from perp.simulation.impacts import step_with_impacts

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation

# What derivative and difference may differ by, relative to the largest entry; steps of differences.
_ALLOWED = 1e-5
_STEPS = (1e-6, 1e-5, 1e-7)
# Masses, moments and gravity are changed by this share.
RELATIVE = 1e-3
_NOISE = 1e-11
# Steps are solved to this, and begin with their own impulses: less than a difference can see.
_TOLERANCE, _REPEATS = 1e-11, 3


def verify_step(sim: Simulation, found: StepDerivative) -> None:
    """Compare A, B and parameters with differences; raises where one differs, or there is none."""
    check_comparable(found)
    if not found.consistent:
        raise DerivativeError("redundant constraints switch their modes under a small change of the state")
    for name, mine in (("A", found.A), ("B", found.B), *found.parameters.items()):
        if not mine.size:
            continue
        errors = []
        for step in _STEPS:
            theirs = differences(sim, name, step)
            off = max(float(np.abs(mine - theirs).max()) - _NOISE / step, 0.0)
            errors.append(off / max(float(np.abs(theirs).max()), 1e-9))
            if errors[-1] <= _ALLOWED:
                break
        if not min(errors) <= _ALLOWED:
            held = f" (held: {'; '.join(found.frozen)})" if found.frozen else ""
            raise DerivativeError(f"{name} differs from differences of the step by {min(errors):.2g}{held}")


def differences(sim: Simulation, name: str, step: float, side: int = 0) -> np.ndarray:
    """Differences of the next step by state ("A"), controls ("B") or a parameter; nothing changes.

    They are central ones, or of "A" those to one side, 1 or −1.
    """
    stepper, packed, control = sim.stepper, sim.state.packed.copy(), sim.ctrl
    kept, tolerance = sim.snapshot(), stepper.settings.tolerance
    columns = []
    stepper.set_tolerance(min(_TOLERANCE, tolerance))
    try:
        if name == "A":
            for k in range(size(stepper)):
                e = step * np.eye(size(stepper))[k]
                signs = (side, 0) if side else (1, -1)
                ends = [_end(sim, kept, moved(stepper, packed, sign * e), control) for sign in signs]
                columns.append(between(stepper, *ends) / (step * (signs[0] - signs[1])))
        elif name == "B":
            for k in range(control.size):
                e = step * np.eye(control.size)[k]
                ends = [_end(sim, kept, packed, control + sign * e) for sign in (1, -1)]
                columns.append(between(stepper, *ends) / (2 * step))
        else:
            value = parameter_values(sim, (name,))[name]
            for k in range(value.size):
                kind = name.partition(":")[0]
                h = RELATIVE * abs(value[k]) if kind in ("mass", "inertia") else step
                if kind == "gravity" and value.any():
                    # a step is nearly linear in it, and its round-off counts less
                    h = RELATIVE * float(np.linalg.norm(value))
                ends = []
                for sign in (1, -1):
                    other = with_parameters(sim, {name: value + sign * h * np.eye(value.size)[k]}, shift=True)
                    ends.append(_end(other, kept, packed, control))
                columns.append(between(stepper, *ends) / (2 * h))
    finally:
        stepper.set_tolerance(tolerance)
        sim.restore(kept)
    return np.array(columns).T


def _end(sim: Simulation, kept: Any, packed: np.ndarray, control: np.ndarray) -> np.ndarray:
    """The state that a step from another state leads to, packed."""
    sim.restore(kept)
    sim.set_control(control)
    end = packed
    for _ in range(_REPEATS):
        state = sim.stepper.unpacked(sim.time, packed.copy())
        if sim.impacts:
            after = step_with_impacts(sim.stepper, state, sim.step_size, sim.wrench)[0]
        else:
            after = sim.stepper.step(state, sim.step_size, sim.wrench)[0]
        end = after.packed
    return end.copy()
