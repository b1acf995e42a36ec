"""What a step leaves behind: how it was solved, how well, and what the bodies did."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from perp.collision import Contacts
from perp.problems import PerpError


class StepFailed(PerpError, RuntimeError):
    """No route met the tolerance, not even with smaller steps; the state is that before the step.

    Attributes:
        record: The best attempt.
    """

    def __init__(self, message: str, record: StepRecord) -> None:
        super().__init__(message)
        self.record = record


class StepInaccurate(UserWarning):
    """A step was taken that misses its tolerance but meets the loosest one; its record says `met` = False."""


@dataclass(slots=True)
class StepRecord:
    """One step.

    Attributes:
        time: At its end [s].
        step: Its length [s].
        route: Which route produced the answer; "implicit" for forces of the end of the step.
        retries: What was tried before, in words; empty for a step that went well.
        substeps: Number of smaller steps it was divided into; 1 normally.
        met: Whether the tolerance was met; False only together with a `StepInaccurate` warning.
        iterations: Outer iterations (contact problems or Newton steps).
        solver_iterations: Iterations of the contact solver, summed.
        joint_residual: Largest |c(q⁺) + Σλ| of joints and motors [m or rad].
        contact_residual: Largest violation of gap ≥ 0 ⊥ λ ≥ 0, as a gap [m].
        friction_residual: Largest violation of the friction law, as a velocity [m/s].
        momentum_residual: Largest ‖M (u⁺ − ũ) − Jᵀλ‖, as a velocity [m/s].
        residual: The worst of those over its scale: the tolerance is met up to `settings.tolerance`.
        penetration: Largest overlap at the end, as the rows see it and, of bodies that moved, as the
            collision detector does [m].
        joint_error: Largest bilateral joint error at the end [m or rad].
        kinetic_energy, potential_energy: At the end [J].
        linear_momentum, angular_momentum: At the end, shape (3,).
        contacts: The contacts of the step.
        late_contacts: How many of them, the last ones, were found at its end only.
        contact_impulse: In the contact frames, shape (rows of contacts,) [N s].
        contact_first: First of those rows for each contact.
        sticking: −1 open, 0 slipping, 1 sticking, per contact.
        slip: Sliding speed of each contact [m/s].
        joint_impulse: Of every joint and motor row [N s, N m s].
        times: Seconds of wall time for collision, assembly, solve, finish.
    """

    time: float
    step: float
    route: str
    retries: tuple[str, ...] = ()
    substeps: int = 1
    met: bool = True
    iterations: int = 0
    solver_iterations: int = 0
    joint_residual: float = 0.0
    contact_residual: float = 0.0
    friction_residual: float = 0.0
    momentum_residual: float = 0.0
    residual: float = 0.0
    penetration: float = 0.0
    joint_error: float = 0.0
    kinetic_energy: float = 0.0
    potential_energy: float = 0.0
    linear_momentum: np.ndarray = field(default_factory=lambda: np.zeros(3))
    angular_momentum: np.ndarray = field(default_factory=lambda: np.zeros(3))
    contacts: Contacts = field(default_factory=Contacts.none)
    late_contacts: int = 0
    contact_impulse: np.ndarray = field(default_factory=lambda: np.zeros(0))
    contact_first: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sticking: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    slip: np.ndarray = field(default_factory=lambda: np.zeros(0))
    joint_impulse: np.ndarray = field(default_factory=lambda: np.zeros(0))
    times: dict[str, float] = field(default_factory=dict)

    @property
    def energy(self) -> float:
        return self.kinetic_energy + self.potential_energy

    @property
    def contact_count(self) -> int:
        return self.contacts.count

    def contact_forces(self) -> np.ndarray:
        """Force of the first body on the second at each contact in the world, shape (contacts, 3) [N]."""
        out = self.contact_impulse[self.contact_first, None] * self.contacts.frame[:, 0]
        rough = self.contacts.rows >= 3
        for k in (1, 2):
            out[rough] += (
                self.contact_impulse[self.contact_first[rough] + k, None] * self.contacts.frame[rough, k]
            )
        return out / self.step
