"""Motors as data: a law that turns a control value into a force on a joint or of a sticky body."""

import math
from dataclasses import dataclass
from enum import StrEnum

from perp.scenes.joints import Freedom


class MotorKind(StrEnum):
    """What the control value means."""

    FORCE = "force"
    VELOCITY = "velocity"
    POSITION = "position"


@dataclass(frozen=True)
class Motor:
    """Force on a joint coordinate: [N] and [m], or [N m] and [rad].

    FORCE: the control, clipped at ± force_limit. VELOCITY: −damping (q̇⁺ − control); an infinite damping
    holds the speed exactly while the limit allows. POSITION: −stiffness (q⁺ − control) − damping q̇⁺. The
    last two are implicit: the force belongs to the end of the step.

    Attributes:
        name: For messages and lookups.
        joint: Index of the joint in the model; −1 for adhesion, a force that the contacts of a body share.
        kind: What the control means.
        stiffness, damping: Gains.
        force_limit: Largest force; infinite for none.
        scale, offset: The law above gets scale · control + offset.
        control: The value at the start.
        control_low, control_high: What is given is clipped to these.
        freedom: Which coordinate of the joint it drives; the first by default.
        shapes: The first and the last shape (not included) of the body that sticks.
    """

    name: str
    joint: int
    kind: MotorKind
    stiffness: float = 0.0
    damping: float = 0.0
    force_limit: float = math.inf
    scale: float = 1.0
    offset: float = 0.0
    control: float = 0.0
    control_low: float = -math.inf
    control_high: float = math.inf
    freedom: Freedom | None = None
    shapes: tuple[int, int] = (0, 0)

    def asked(self, control: float) -> float:
        """What a control value means to the law: a force, a speed or a position."""
        value = self.scale * min(max(control, self.control_low), self.control_high) + self.offset
        return min(max(value, -self.force_limit), self.force_limit) if self.kind is MotorKind.FORCE else value
