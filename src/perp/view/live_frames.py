"""What a live page has been shown so far, and how it is handed out: a JSON header, then arrays of numbers."""

from __future__ import annotations

import json
import struct
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.scenes.frames import multiply, rotate
from perp.view.drawing import drawn_side

if TYPE_CHECKING:
    from perp import Simulation
    from perp.stepping import StepRecord

_AT_ONCE = 2000  # frames of one answer
# Numbers of a contact: point, normal, force, friction, state.
CONTACT_WIDTH = 11


class LiveFrames:
    """The start and some steps of a run; `after` may be called from other threads.

    Attributes:
        state: What the page is told with every answer: whether it plays, has finished, can start again, ….
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation, self._lock = simulation, threading.Lock()
        self.state: dict[str, Any] = {"playing": True, "finished": False, "problem": "", "resettable": True,
                                      "again": False}  # fmt: skip
        self._run = 0
        self.begin()

    def begin(self) -> None:
        """A new run: its frame 0 is where the simulation is now."""
        with self._lock:
            self._run += 1
            self._lines: list[np.ndarray] = []
            self._contacts: list[np.ndarray] = []
            self._worst = {"steps": 0, "residual": 0.0, "coulomb": 0.0, "penetration": 0.0, "unmet": 0}
            self._append([np.nan] * 4, np.zeros((0, CONTACT_WIDTH)))

    def count(self, record: StepRecord) -> None:
        """The figures of a step, whether it is shown or not."""
        worst = self._worst
        worst["steps"] += 1
        worst["unmet"] += int(not record.met)
        for name, value in (
            ("residual", record.residual), ("coulomb", record.coulomb_distance),
            ("penetration", record.penetration),
        ):  # fmt: skip
            worst[name] = max(worst[name], float(value))

    def add(self, record: StepRecord) -> None:
        """A step to be shown, that the simulation has just made."""
        found = record.contacts
        side = drawn_side(found.body)
        contacts = np.hstack(
            [
                found.point, side * found.frame[:, 0], side * record.contact_forces(), found.friction[:, :1],
                record.sticking[:, None].astype(float),
            ]
        )  # fmt: skip
        energies = [record.kinetic_energy, record.potential_energy, record.residual, record.coulomb_distance]
        with self._lock:
            self._append(energies, contacts)

    def _append(self, figures: list[float], contacts: np.ndarray) -> None:
        state, model = self._simulation.state, self._simulation.model
        position = state.position + rotate(state.quaternion, model.origin)
        quaternion = multiply(state.quaternion, model.frame)
        line = np.concatenate([[state.time], figures, position.ravel(), quaternion.ravel()])
        self._lines.append(line.astype("<f4"))
        self._contacts.append(contacts.astype("<f4"))

    def after(self, query: dict[str, str]) -> bytes:
        """The frames from number `after` on of the run number `run`; all of them of another run.

        Four bytes tell the length of the JSON header, which is padded to a multiple of four.
        """
        after, run = int(query["after"]), int(query["run"])
        with self._lock:
            first = max(after, 0) if run == self._run else 0
            lines, contacts = (each[first : first + _AT_ONCE] for each in (self._lines, self._contacts))
            header = {
                **self.state, "figures": dict(self._worst), "run": self._run, "first": first,
                "frames": len(lines), "counts": [len(rows) for rows in contacts],
            }  # fmt: skip
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 4)
        return b"".join([struct.pack("<I", len(text)), text, *(x.tobytes() for x in (*lines, *contacts))])
