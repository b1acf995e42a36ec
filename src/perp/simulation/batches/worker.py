"""A thread of a batch: its own stepper and model, which take the part of one world after the other."""

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.simulation.batches.values import OwnValues
from perp.stepping import Stepper, course, tasks, worlds
from perp.stepping.many_steps import NEEDS_MEMORY, PER_CONTACT
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


def line_of_memory(stepper: Stepper, room: int = 0) -> np.ndarray:
    """What a stepper remembers as one line, with room for so many contacts at least; see `many_steps`."""
    found = stepper.memory()
    n = len(found["geom"])
    parts = [[n], found["joint"], found["rotor"], found["rotor_v"], found["pause"]]
    if stepper.settings.sleep:
        parts += [found["still_time"], found["sleep_wrench"].ravel()]
        parts += [stepper.world.control, found["sleep_island"]]
    points, forces = found["points"].reshape(n, 6), found["force"].reshape(n, 6)
    contacts = np.concatenate([found["geom"], points, forces], axis=1)
    line = np.concatenate([*parts, contacts.ravel()]).astype(np.float64)
    return np.concatenate([line, np.zeros(PER_CONTACT * max(0, room - n))])


def memory_of_line(stepper: Stepper, line: np.ndarray) -> dict[str, np.ndarray]:
    """What `Stepper.set_memory` takes, from a line."""
    like, n, at = stepper.memory(), int(line[0]), 1
    out: dict[str, np.ndarray] = {}
    names = ["joint", "rotor", "rotor_v", "pause"]
    if stepper.settings.sleep:
        names += ["still_time", "sleep_wrench", "", "sleep_island"]
    for name in names:
        part = like[name] if name else stepper.world.control
        out[name] = line[at : at + part.size].reshape(part.shape).astype(part.dtype)
        at += part.size
    contacts = line[at : at + PER_CONTACT * n].reshape(n, PER_CONTACT)
    out["geom"] = contacts[:, :2].astype(np.int64)
    out["points"], out["force"] = (contacts[:, k : k + 6].reshape(n, 2, 3).copy() for k in (2, 8))
    out.pop("", None)
    return out
