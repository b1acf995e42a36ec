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
    """

    name: str  # for messages and lookups
    joint: int  # index of the joint in the model; −1 for adhesion, a force that the contacts of a body share
    kind: MotorKind  # what the control means
    # gains
    stiffness: float = 0.0
    damping: float = 0.0
    force_limit: float = math.inf  # largest force; infinite for none
    # the law above gets scale · control + offset
    scale: float = 1.0
    offset: float = 0.0
    control: float = 0.0  # the value at the start
    # what is given is clipped to these
    control_low: float = -math.inf
    control_high: float = math.inf
    freedom: Freedom | None = None  # which coordinate of the joint it drives; the first by default
    shapes: tuple[int, int] = (0, 0)  # the first and the last shape (not included) of the body that sticks

    def asked(self, control: float) -> float:
        """What a control value means to the law: a force, a speed or a position."""
        value = self.scale * min(max(control, self.control_low), self.control_high) + self.offset
        return min(max(value, -self.force_limit), self.force_limit) if self.kind is MotorKind.FORCE else value
