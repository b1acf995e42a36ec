"""A thread of a batch: its own stepper and model, which take the part of one world after the other."""

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.simulation.batches.values import OwnValues
from perp.stepping import Stepper, course, tasks, worlds
from perp.stepping.many_steps import NEEDS_MEMORY
from perp.stepping.packing import WIDTH
from perp.stepping.world import set_worlds

_NOTHING = np.zeros(0)


@dataclass
class Arrays:
    """What the worlds of a batch are, and what a call asks for; see `stepping.worlds`."""

    state: np.ndarray
    memory: np.ndarray
    time: np.ndarray
    control: np.ndarray
    wrench: np.ndarray
    failed: np.ndarray


@dataclass
class Call:
    """What is asked for, and where it goes."""

    steps: int
    controls: np.ndarray
    status: np.ndarray
    residual: np.ndarray
    states: np.ndarray
    logging: bool


class Worker:
    """Steps chunks of worlds by h [s], with the scene and settings of another stepper."""

    def __init__(self, like: Stepper, h: float) -> None:
        self.stepper = Stepper(like.model, like.settings, reduced=like.reduced)
        self.stepper.set_step(h, np.zeros_like(self.stepper.world.wrench))
        self.stepper.set_inputs(like.inputs())
        self._at = np.zeros(worlds.PLACES, np.int64)
        self._busy = False
        self._struct: Any = None
        self._count = np.zeros(1, np.int64)

    def prepare(self, arrays: Arrays, call: Call, values: OwnValues) -> None:
        """Point to the arrays of a call; a chunk that was begun goes on with them."""
        contact = np.zeros((64 if call.logging else 0, 2 + WIDTH))
        if not self._busy:
            self._count[0] = 0
            self._at[worlds.STEPS], self._at[worlds.LOGGING] = call.steps, call.logging
        elif call.logging:
            contact = self.contacts()
        self._struct = worlds.pack_worlds((
            self._at, arrays.state, arrays.memory, arrays.time, arrays.control, call.controls, arrays.wrench,
            arrays.failed, call.status, call.residual, call.states, contact, self._count, values.value,
            values.source, values.targets(self.stepper),
        ))  # fmt: skip
        set_worlds(self.stepper.world.struct, self._struct)

    def work(self, chunks: deque[tuple[int, int]]) -> bool:
        """Step chunks until none is left; False where wider lines of memory are needed to go on."""
        w = self.stepper.world
        while True:
            if not self._busy:
                try:
                    first, last = chunks.popleft()
                except IndexError:
                    return True
                self._at[worlds.FIRST], self._at[worlds.LAST], self._at[worlds.WORLD] = first, last, first
                self._at[worlds.LOADED] = self._at[worlds.BEGUN] = 0
                self._busy = True
            code = tasks.run(w.address, _NOTHING, tasks.MANY)[0]
            if code == course.DONE:
                self._busy = False
            elif code == NEEDS_MEMORY:
                return False
            else:
                w.grow(*(int(x) for x in w.info[:3]))

    def contacts(self) -> np.ndarray:
        """Contacts that were logged, one a line."""
        return worlds.logged(self._struct)
