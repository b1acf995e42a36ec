"""How a step is taken: level, route, tolerances. Every default says why it is what it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """Where joints and gaps are enforced."""

    POSITION = "position"
    VELOCITY = "velocity"


class Route(StrEnum):
    """How the nonlinear system of the position level is solved."""

    AUTO = "auto"
    SEQUENCE = "sequence"
    NEWTON = "newton"
    BODY = "body"


@dataclass(frozen=True)
class StepSettings:
    """Options of the stepper.

    Attributes:
        level: Position level leaves no drift and no sinking.
        route: "auto" takes Newton steps in the velocities of the bodies ("body"), which is all that nearly
            every step needs, then the sequence of exact contact problems, then Newton's method in the
            impulses; with a `solver` of your own the sequence comes first. Velocity level takes "body", then
            one contact problem; with a `solver` of your own that alone.
        solver, formulation, solver_options: For `perp.solve`.
        tolerance: Of the nonlinear system, block by block: lengths relative to the size of the bodies,
            velocities to the largest velocity of the step. 1e-9 of a 0.1 m body is an atom's size.
        solver_tolerance: Residual asked of each contact problem, a tenth of the above so that it never
            decides.
        max_iterations: Outer iterations. The sequence contracts by about h |ω| an iteration.
        solver_iterations: Limit of the contact solver; None for its own.
        correction: Baumgarte's Υ at velocity level, the share of the error removed in a step.
        recovery_speed: Overlap is undone no faster than this [m/s]: at 0.1 m/s a body hops half a millimetre.
        ncp: "fischer-burmeister" or "minimum", for the Newton route.
        linear_solver: "factorisation" or "conjugate-residual", for the Newton route.
        preconditioner: "block" or "jacobi", for conjugate residual.
        largest_division: A step that fails is divided into up to this many smaller ones.
        sleep: Islands that rest for so many seconds are frozen until something touches them, in maximal
            coordinates; 0 for never, so that the forces of all contacts are known at any time.
        loosest_tolerance: What a step must meet at least when everything else failed; it is then taken with a
            warning. Set it to `tolerance` to have an error instead.
        dense_rows: Up to this many rows W is a dense matrix.
        bias_rounds: In reduced coordinates a step is solved again up to so often, until its Coriolis and
            centrifugal forces are those of its mean velocity; a scene at rest needs none. 0 takes those of
            the start, as MuJoCo's Euler does: faster in motion, and energy drifts.
    """

    level: Level = Level.POSITION
    route: Route = Route.AUTO
    solver: str = "auto"
    formulation: str | None = None
    solver_options: Any = field(default=None)
    tolerance: float = 1e-9
    solver_tolerance: float = 1e-10
    max_iterations: int = 50
    solver_iterations: int | None = None
    correction: float = 0.2
    recovery_speed: float = 0.1
    ncp: str = "fischer-burmeister"
    linear_solver: str = "factorisation"
    preconditioner: str = "block"
    largest_division: int = 4
    sleep: float = 0.0
    loosest_tolerance: float = 1e-6
    dense_rows: int = 96
    bias_rounds: int = 8

    @property
    def solvable_share(self) -> float:
        """What contact problems may leave of the free velocity, over the tolerance."""
        return 2.0 * self.solver_tolerance / self.tolerance
