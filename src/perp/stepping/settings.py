"""How a step is taken: level, tolerances, budget. Every default says why it is what it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """Where joints and gaps are enforced."""

    POSITION = "position"
    VELOCITY = "velocity"


@dataclass(frozen=True)
class StepSettings:
    """Options of the stepper.

    Attributes:
        level: Position level leaves no drift and no sinking. A mapping with "joints" and "contacts" sets
            both.
        solver, formulation, solver_options: Any solver and formulation of `perp.solve`; None is the Newton
            kernel
            in the velocities of the trees, which has the same answers.
        tolerance: Of the nonlinear system, block by block: lengths relative to the size of the bodies,
            velocities
            to the largest velocity of the step. 1e-9 of a 0.1 m body is an atom's size.
        newton_steps: Budget of one solve and island. Warm solves take one or two, hard impacts some thirty.
        solver_iterations: Limit of such a solver; None for its own.
        rounds: How often rows may be taken again at the end of the step; they converge quadratically.
        correction: Baumgarte's Υ at velocity level, the share of the error removed in a step.
        recovery_speed: Overlap is undone no faster than this [m/s]: at 0.1 m/s a body hops half a millimetre.
        sleep: Islands that rest for so many seconds are frozen until something touches them; 0 for never, so
            that
            the forces of all contacts are known at any time.
    """

    level: Level | str | Mapping[str, Any] = Level.POSITION
    solver: str | None = None
    formulation: str | None = None
    solver_options: Any = field(default=None)
    tolerance: float = 1e-9
    newton_steps: int = 200
    solver_iterations: int | None = None
    rounds: int = 20
    correction: float = 0.2
    recovery_speed: float = 0.1
    sleep: float = 0.0

    @property
    def at_end(self) -> tuple[bool, bool]:
        """Whether joints and whether contacts are enforced at the end of the step."""
        if isinstance(self.level, Mapping):
            levels = [Level(self.level.get(kind, Level.POSITION)) for kind in ("joints", "contacts")]
        else:
            levels = [Level(self.level)] * 2
        return levels[0] is Level.POSITION, levels[1] is Level.POSITION
