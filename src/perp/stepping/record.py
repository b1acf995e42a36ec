"""What a step leaves behind: how it was solved, how well, and what the bodies did."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from perp.collision import Contacts
from perp.problems import PerpError
from perp.stepping import packing
from perp.stepping import verdict as end
from perp.stepping.world import FIGURES


class StepFailed(PerpError, RuntimeError):
    """A step missed its tolerance where the simulation is strict, or its numbers mean nothing.

    Attributes:
        record: The best answer; the state is that before the step.
    """

    def __init__(self, message: str, record: Any) -> None:
        super().__init__(message)
        self.record = record


class StepInaccurate(UserWarning):
    """A step misses its tolerance; its record says by how much."""


class StepRecord:
    """One step; figures are read when they are asked for.

    Attributes:
        time: At its end [s].
        step: Its length [s].
        tolerance: What `residual` is held against.
        cause: What keeps the step from its tolerance, in words; empty where it is met.
        seconds: That it took.
        own_residual: Of the problem that a relaxation (box, pyramid, dual) solved; None for Coulomb's law.
    """

    def __init__(self, time: float, length: float, tolerance: float, report: np.ndarray) -> None:
        self.time, self.step, self.tolerance, self.cause = time, length, tolerance, ""
        self._report = self._figure = report  # which begins with the figures: see `packing`
        self.seconds = 0.0
        self.own_residual: float | None = None

    def __repr__(self) -> str:
        said = f"misses its tolerance: {self.cause}" if self.cause else "tolerance met"
        return (
            f"<StepRecord to t = {self.time:g} s: {said}; residual {self.residual:.1e}, contacts "
            f"{self.contact_count}, iterations {self.iterations}>"
        )

    @property
    def met(self) -> bool:
        """Whether the tolerance was met, and no overlap is left that the step should have prevented."""
        return not self.cause

    def _info(self, place: int) -> int:
        return int(self._report[FIGURES + place])

    @property
    def contact_count(self) -> int:
        """Contacts of the step."""
        return self._info(end.FOUND)

    @property
    def iterations(self) -> int:
        """Newton steps, all solves together."""
        return self._info(end.NEWTON)

    @property
    def solves(self) -> int:
        """How often the problem was solved: again for rows at the end of the step, late contacts, …."""
        return self._info(end.SOLVES)

    @property
    def late_contacts(self) -> int:
        """Contacts that were found at the end of the step only; they are the last ones."""
        return self._info(end.PULLED)

    @property
    def left_out(self) -> int:
        """Contacts that no freedom can open."""
        return self._info(end.LEFT_OUT)

    @property
    def residual(self) -> float:
        """The worst violation of a law over its scale; a relaxation is held to its own."""
        return self.coulomb_distance if self.own_residual is None else self.own_residual

    @property
    def coulomb_distance(self) -> float:
        """The worst violation of Coulomb's law and the joints over its scale, whatever made the step."""
        return float(self._figure[end.RESIDUAL])

    @property
    def joint_residual(self) -> float:
        """Largest |c(q⁺) + Σ λ| of joints and motors [m or rad]."""
        return float(self._figure[end.JOINT_RESIDUAL])

    @property
    def contact_residual(self) -> float:
        """Largest violation of gap ≥ 0 ⊥ λ ≥ 0, as a gap [m]."""
        return float(self._figure[end.CONTACT_RESIDUAL])

    @property
    def friction_residual(self) -> float:
        """Largest violation of the friction law, as a velocity [m/s]."""
        return float(self._figure[end.FRICTION_RESIDUAL])

    @property
    def penetration(self) -> float:
        """Largest overlap at the end, as the collision detector sees it [m]."""
        return float(self._figure[end.PENETRATION])

    @property
    def joint_error(self) -> float:
        """Largest error of a joint or equality at the end [m or rad]."""
        return float(self._figure[end.JOINT_ERROR])

    @property
    def kinetic_energy(self) -> float:
        """At the end [J]."""
        return float(self._figure[end.KINETIC])

    @property
    def potential_energy(self) -> float:
        """At the end [J]."""
        return float(self._figure[end.POTENTIAL])

    @property
    def energy(self) -> float:
        """Kinetic and potential [J]."""
        return self.kinetic_energy + self.potential_energy

    @property
    def linear_momentum(self) -> np.ndarray:
        """At the end, shape (3,)."""
        return self._figure[end.LINEAR : end.LINEAR + 3]

    @property
    def angular_momentum(self) -> np.ndarray:
        """At the end about the origin, shape (3,)."""
        return self._figure[end.ANGULAR : end.ANGULAR + 3]

    @cached_property
    def _lines(self) -> np.ndarray:
        end_of_lines = packing.HEADER + self.contact_count * packing.WIDTH
        return self._report[packing.HEADER : end_of_lines].reshape(-1, packing.WIDTH)

    @property
    def joint_impulse(self) -> np.ndarray:
        """Of every joint and motor row [N s, N m s]."""
        return self._report[packing.HEADER + self.contact_count * packing.WIDTH :]

    @cached_property
    def contacts(self) -> Contacts:
        """The contacts of the step."""
        return contacts_of_lines(self._lines)

    @property
    def contact_impulses(self) -> np.ndarray:
        """In the contact frames: normal, tangents, spin, rolling; zero for none, shape (contacts, 6)."""
        return self._lines[:, packing.IMPULSE : packing.IMPULSE + 6]

    @property
    def sticking(self) -> np.ndarray:
        """−1 open, 0 slipping, 1 sticking, per contact."""
        return self._lines[:, packing.STATE].astype(np.int64)

    @property
    def slip(self) -> np.ndarray:
        """Sliding speed of each contact [m/s]."""
        return self._lines[:, packing.SLIP]

    def contact_forces(self) -> np.ndarray:
        """Force of the first body on the second at each contact in the world, shape (contacts, 3) [N]."""
        return np.einsum("cr,crk->ck", self.contact_impulses[:, :3], self.contacts.frame) / self.step

    def contact_torques(self) -> np.ndarray:
        """Torque of spin and rolling friction, as `contact_forces`, shape (contacts, 3) [N m]."""
        return np.einsum("cr,crk->ck", self.contact_impulses[:, 3:], self.contacts.frame) / self.step


def contacts_of_lines(x: np.ndarray) -> Contacts:
    """Contacts that were packed one a line."""
    k = packing

    def whole(at: int, n: int) -> np.ndarray:
        return x[:, at : at + n].astype(np.int64)

    return Contacts(
        whole(k.GEOM, 2), whole(k.BODY, 2), x[:, k.POINT : k.POINT + 3],
        x[:, k.FRAME : k.FRAME + 9].reshape(-1, 3, 3), x[:, k.GAP], whole(k.ROWS, 1)[:, 0],
        x[:, k.FRICTION : k.FRICTION + 5], x[:, k.RESTITUTION], x[:, k.ROUND : k.ROUND + 2],
        x[:, k.ACCURACY],
    )  # fmt: skip
