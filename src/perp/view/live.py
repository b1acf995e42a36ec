"""A run in the viser page while its steps are taken: pieces of it are sent a few times a second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from perp.view.web import Viewer

if TYPE_CHECKING:
    from perp import Recording, Simulation
    from perp.stepping import StepRecord

_PAUSE = 0.1  # seconds between pieces: the page shows the newest
_TICK = 0.03  # seconds between looks at a page that is paused


class LivePage:
    """Shows a simulation's steps; call `add` after each of them, and `finish` after the last.

    Args:
        simulation: What runs.
        before: What was recorded of it earlier, if anything.
        options: Of `Viewer`.
    """

    def __init__(self, simulation: Simulation, before: Recording | None = None, **options: Any) -> None:
        self._simulation = simulation
        self.viewer = Viewer(**options)
        if before is not None:
            self.viewer.extend(before)
        self._begin()

    def _begin(self) -> None:
        from perp.recorder import Recorder

        self._recorder, self._sent, self._new = Recorder(self._simulation), time.monotonic(), 0

    def add(self, record: StepRecord) -> None:
        """Take down the step that the simulation has just made."""
        self._recorder.add(record)
        self._new += 1
        if time.monotonic() > self._sent + _PAUSE:
            self._send()

    def _send(self) -> None:
        if self._new:
            self.viewer.extend(self._recorder.recording())
        self._begin()

    def wait_while_paused(self, stop: list[int]) -> None:
        """Return once the page is not paused, or something is in `stop`."""
        if self.viewer.playing:
            return
        self._send()
        while not self.viewer.playing and self.viewer.open and not stop:
            time.sleep(_TICK)

    def finish(self) -> None:
        """No more steps will come: the page plays from the start."""
        self._send()
        self.viewer.finish()
