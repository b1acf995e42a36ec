"""What a route hands back to the stepper, and how far it is from solving the step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from perp.stepping.evaluation import block_residuals
from perp.stepping.system import StepSystem


@dataclass(slots=True)
class Outcome:
    """The answer of one route.

    Attributes:
        impulse: λ, shape (rows,).
        velocity: u⁺ that moves the bodies over the step, shape (n, 6).
        iterations, solver_iterations: Outer iterations, and those of the contact solver.
        bias: The bias at the answer: nonlinear at position level.
        message: Why it did not converge.
    """

    impulse: np.ndarray
    velocity: np.ndarray
    iterations: int
    solver_iterations: int
    bias: np.ndarray
    message: str = ""


@dataclass(frozen=True)
class Blocks:
    """Residuals of the nonlinear system, each in its own unit, and the scale each is held against.

    Attributes:
        joint: [m or rad]. contact: [m]. friction, momentum: [m/s].
        length, speed: The scales.
    """

    joint: float
    contact: float
    friction: float
    momentum: float
    length: float
    speed: float

    @property
    def worst(self) -> float:
        """The largest block over its scale; infinite for NaN."""
        ratios = (
            self.joint / self.length,
            self.contact / self.length,
            self.friction / self.speed,
            self.momentum / self.speed,
        )
        # a maximum may pass over NaN, a sum does not
        return max(ratios) if math.isfinite(sum(ratios)) else math.inf

    def met(self, tolerance: float, sliding: float | None = None) -> bool:
        """Whether every block is within `tolerance` of its scale, velocities within `sliding` if given."""
        speed = (tolerance if sliding is None else sliding) * self.speed
        positions = self.joint <= tolerance * self.length and self.contact <= tolerance * self.length
        return bool(positions and self.friction <= speed and self.momentum <= speed)


@dataclass(frozen=True)
class Attempt:
    """What a route made of a step.

    Attributes:
        system: The step that it answers.
        route: Its name.
        outcome: The answer.
        blocks: How well it answers.
        fed: Whether it is solved, but its joints do work.
    """

    system: StepSystem
    route: str
    outcome: Outcome
    blocks: Blocks
    fed: bool = False

    @property
    def message(self) -> str:
        return f"{self.route}: {self.outcome.message or 'it misses the tolerance'}"


def measure(system: StepSystem, outcome: Outcome) -> Blocks:
    """Residuals by block: the natural map of the step's sets at the nonlinear row velocities."""
    h = system.h
    u = outcome.velocity
    length, speed = system.length_scale, system.speed_scale
    if isinstance(system, StepSystem):
        (joint, contact, friction, drift), moving = block_residuals(
            system.arrays, system.predicted, outcome.impulse, u, outcome.bias
        )
        if joint > 0.0 and not system.same_turn(moving):
            joint = np.inf
        return Blocks(h * float(joint), h * float(contact), float(friction), float(drift), length, speed)
    joint, contact, friction, drift = (float(x) for x in system.residuals(outcome.impulse, u, outcome.bias))
    if not system.same_turn(u):
        joint = np.inf
    return Blocks(h * joint, h * contact, friction, drift, length, speed)
