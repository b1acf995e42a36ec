"""How a step is taken: level, tolerances, budget. Every default says why it is what it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Softness(StrEnum):
    """Where the compliance of contacts, limits and equalities comes from."""

    NONE = "none"
    FILE = "file"


class Integrator(StrEnum):
    """How motion is taken on which nothing acts but forces."""

    LEAPFROG = "leapfrog"
    RK4 = "RK4"


class Level(StrEnum):
    """Where joints and gaps are enforced."""

    POSITION = "position"
    VELOCITY = "velocity"


# The share of an error that a step at velocity level removes: 0.2 of ODE and Bullet leaves no bounce.
DEFAULT_CORRECTION = 0.2


def given(setting: Any, *keys: str, default: float) -> float:
    """A setting that is one number, or a mapping in which the first of some keys counts."""
    if not isinstance(setting, Mapping):
        return default if setting is None else setting
    return next((setting[key] for key in keys if key in setting), default)


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
        correction: Baumgarte's Υ at velocity level, the share of the error removed in a step, from 0 to 1. A
            mapping has "joints", "contacts" and names of joints.
        compliance: Σ, how far rows give way to a force [m/N, rad/(N m)], the same at both levels; in place of
            what joints of the scene have. A mapping has "joints", "contacts" and names of joints; a number is
            for all. In reduced coordinates only joints that close loops have rows.
        softness: "file" adds what `solref` and `solimp` of the scene say of contacts, limits, equalities.
        recovery_speed: Overlap is undone no faster than this [m/s]: at 0.1 m/s a body hops half a millimetre.
        integrator: "RK4" takes steps on which no row acts (no contact in reach, no limit reached, no loop or
            equality, dry friction, motor with a limit or a state) by a Runge–Kutta method of fourth order,
            and needs reduced coordinates; all others, and all of "leapfrog", are the usual ones. None is
            that of the file: RK4 where it says so.
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
    correction: float | Mapping[str, float] = DEFAULT_CORRECTION
    compliance: float | Mapping[str, float] | None = None
    softness: Softness | str = Softness.NONE
    recovery_speed: float = 0.1
    sleep: float = 0.0
    integrator: Integrator | str | None = None

    @property
    def contact_correction(self) -> float:
        """Υ of contacts."""
        return float(given(self.correction, "contacts", default=DEFAULT_CORRECTION))

    @property
    def contact_compliance(self) -> float:
        """Σ of contacts [m/N]."""
        return float(given(self.compliance, "contacts", default=0.0))

    @property
    def contacts_give(self) -> bool:
        """Whether contacts give way to forces at all."""
        return self.contact_compliance > 0.0 or Softness(self.softness) is Softness.FILE

    @property
    def at_end(self) -> tuple[bool, bool]:
        """Whether joints and whether contacts are enforced at the end of the step."""
        if isinstance(self.level, Mapping):
            levels = [Level(self.level.get(kind, Level.POSITION)) for kind in ("joints", "contacts")]
        else:
            levels = [Level(self.level)] * 2
        return levels[0] is Level.POSITION, levels[1] is Level.POSITION
