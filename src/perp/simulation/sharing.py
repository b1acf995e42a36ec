"""Copies of a simulation share a stepper: what it remembers is exchanged when another copy takes a step.

A stepper is a scene in tables, two places and a workspace; building one takes a hundred times as long as a
step. Each thread that steps copies has a stepper of its own, so that copies may run at the same time.
"""

from __future__ import annotations

import threading

import numpy as np

from perp.stepping import Stepper


class _Desk:
    """A stepper and the simulation whose memory is in it."""

    def __init__(self, stepper: Stepper, owner: Seat | None) -> None:
        self.stepper, self.owner = stepper, owner


class _Family:
    """Simulations that are copies of each other."""

    def __init__(self) -> None:
        self.lock, self.local, self.shared = threading.Lock(), threading.local(), False


class Seat:
    """The place of one simulation at a stepper, which is this simulation's alone until there is a copy."""

    def __init__(self, stepper: Stepper) -> None:
        self._family = _Family()
        self._desk = _Desk(stepper, self)
        self._memory = np.zeros(0)
        self._inputs: dict[str, np.ndarray] = {}

    @property
    def stepper(self) -> Stepper:
        """A stepper that remembers what this simulation does."""
        family, desk = self._family, self._desk
        if not family.shared:
            return desk.stepper
        mine = getattr(family.local, "desk", None)
        if mine is desk and desk.owner is self:
            return desk.stepper
        if mine is None:
            like = desk.stepper
            mine = family.local.desk = _Desk(Stepper(like.model, like.settings, reduced=like.reduced), None)
        with family.lock:
            self._leave()
            if mine.owner is not None:
                mine.owner._leave()
            mine.owner, self._desk = self, mine
            mine.stepper.set_inputs(self._inputs)
            mine.stepper.set_memory(self._memory)
        return mine.stepper

    def _leave(self) -> None:
        """Take along what the stepper remembers of this simulation."""
        desk = self._desk
        if desk.owner is self:
            self._memory, self._inputs = desk.stepper.memory(), desk.stepper.inputs()
            desk.owner = None

    def fork(self) -> Seat:
        """A seat for a copy."""
        stepper, family = self.stepper, self._family
        with family.lock:
            if not family.shared:
                family.shared, family.local.desk = True, self._desk
        other = object.__new__(Seat)
        other._family, other._desk = family, self._desk
        other._memory, other._inputs = stepper.memory(), stepper.inputs()
        return other
