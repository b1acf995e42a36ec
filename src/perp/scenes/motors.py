"""Motors added in Python: a law that turns a control value into a force on a joint of cut bodies."""

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
    joint: int  # index of the joint in the model
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

    @property
    def affine(self) -> tuple[float, float, float, float]:
        """The numbers g, a, b, c of the law g · control + a + b q + c q̇, of the speed where that is held."""
        if self.kind is MotorKind.FORCE:
            push, by_position, by_speed = 1.0, 0.0, 0.0
        elif self.kind is MotorKind.POSITION:
            push, by_position, by_speed = self.stiffness, self.stiffness, self.damping
        else:
            push, by_position, by_speed = self.damping if self.damping < math.inf else 1.0, 0.0, self.damping
        return push * self.scale, push * self.offset, -by_position, -by_speed
