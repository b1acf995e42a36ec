"""Gradients of whole runs: backwards through every step, with checkpoints.

With A, B and Θ of each step (`sim.derivatives`) and p the gradient by the state after it,

    dloss/du_k = B_kᵀ p,   dloss/dθ += Θ_kᵀ p,   p ← A_kᵀ p + the gradient of what is charged there

States are kept at every √n-th step only; the steps between them are taken again, to the same bits, when the
way back reaches them. Memory is in proportion to √n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.derivatives.errors import DerivativeError
from perp.derivatives.step import StepDerivative
from perp.derivatives.tangent import size
from perp.problems import ProblemError

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation

# Value and gradient by the state, or None where a step is free of charge.
Charge = tuple[float, Any] | None


@dataclass(frozen=True)
class RolloutGradient:
    """A loss of a run and its gradients.

    Attributes:
        value: The loss.
        controls: By the controls, shape (steps, motors).
        state: By the state at the start, in the tangent space, shape (2 nv + na,).
        parameters: By each parameter, shape (size,).
        degenerate: Steps with a constraint at a switch of modes, where the gradient is one-sided.
        frozen: What was held or is approximate, in words; see `StepDerivative`.
    """

    value: float
    controls: np.ndarray
    state: np.ndarray
    parameters: dict[str, np.ndarray]
    degenerate: tuple[int, ...]
    frozen: tuple[str, ...]


def rollout_gradient(
    sim: Simulation,
    controls: Any,
    loss: Callable[[int, Simulation], Charge],
    *,
    parameters: Sequence[str] = (),
    segment: int | None = None,
    smoothing: float = 0.0,
) -> RolloutGradient:
    """The loss of a run and its gradients by controls, start and parameters; the simulation stays as it was.

    Args:
        sim: Where the run begins.
        controls: For each step, shape (steps, motors).
        loss: Called as loss(k, sim) after step k = 1, 2, …; returns a value and its gradient by the state in
            the tangent space (coordinates, velocities, activations), shape (2 nv + na,), or None.
        parameters: As `sim.derivatives` takes them.
        segment: Steps between two checkpoints; √steps by default.
        smoothing: As of `sim.derivatives`.

    Raises:
        DerivativeError: A step has no derivative.
    """
    given = np.atleast_2d(np.asarray(controls, dtype=np.float64))
    steps, nu = given.shape
    if nu != len(sim.stepper.motor_names):
        raise ProblemError(f"controls have {nu} columns: {len(sim.stepper.motor_names)} motors are there")
    length = max(1, math.isqrt(steps)) if segment is None else segment
    start, last = sim.snapshot(), sim._last
    checkpoints, value = [], 0.0
    charges: dict[int, np.ndarray] = {}
    try:
        for k in range(steps):
            if k % length == 0:
                checkpoints.append(sim.snapshot())
            sim.step(given[k])
            charge = loss(k + 1, sim)
            if charge is not None:
                value += float(charge[0])
                charges[k + 1] = np.asarray(charge[1], dtype=np.float64)
        return _backwards(sim, given, (checkpoints, length), (value, charges), (parameters, smoothing))
    finally:
        sim.restore(start)
        sim._last = last


def _backwards(
    sim: Simulation,
    controls: np.ndarray,
    kept: tuple[list[Any], int],
    run: tuple[float, dict[int, np.ndarray]],
    asked: tuple[Sequence[str], float],
) -> RolloutGradient:
    (checkpoints, length), (value, charges) = kept, run
    steps = controls.shape[0]
    adjoint = np.zeros(size(sim.stepper))
    by_control = np.zeros_like(controls)
    totals: dict[str, np.ndarray] = {}
    degenerate: list[int] = []
    frozen: dict[str, None] = {}
    for c in range(len(checkpoints) - 1, -1, -1):
        first, end = c * length, min(steps, (c + 1) * length)
        sim.restore(checkpoints[c])
        for k, found in reversed(_segment(sim, controls[:end], first, *asked)):
            if k + 1 in charges:
                adjoint = adjoint + charges[k + 1]
            adjoint, by_control[k], thetas = found.vjp(adjoint)
            if found.degenerate.any():
                degenerate.append(k)
            frozen |= dict.fromkeys(found.frozen)
            for name, gradient in thetas.items():
                totals[name] = totals.get(name, 0.0) + gradient
    return RolloutGradient(value, by_control, adjoint, totals, tuple(sorted(degenerate)), tuple(frozen))


def _segment(
    sim: Simulation, controls: np.ndarray, first: int, parameters: Sequence[str], smoothing: float
) -> list[tuple[int, StepDerivative]]:
    found = []
    for k in range(first, len(controls)):
        sim.step(controls[k])
        try:
            found.append((k, sim.derivatives(parameters, last=True, smoothing=smoothing)))
        except DerivativeError as error:
            raise DerivativeError(f"step {k + 1} of the run: {error}") from None
    return found


def sensitivities(
    sim: Simulation, steps: int, parameters: Sequence[str], every: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """A run forwards with its derivatives by parameters.

    Returns:
        Packed states after every so many steps, shape (samples, …), and their derivatives in the tangent
        space, shape (samples, 2 nv + na, columns).
    """
    states, slopes, change = [], [], None
    for k in range(steps):
        sim.step()
        found = sim.derivatives(parameters, last=True)
        columns = np.hstack([found.parameters[name] for name in parameters])
        change = columns if change is None else found.A @ change + columns
        if (k + 1) % every == 0:
            states.append(sim.state.packed.copy())
            slopes.append(change)
    return np.array(states), np.array(slopes)
