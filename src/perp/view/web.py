"""A local web page that shows a run while it goes on, or replays it. Needs viser.

import perp
from perp.view import web

web.show(perp.Recording.open("run.h5"))          # replay
web.show(perp.Simulation("scene.xml", step=0.01), seconds=5)   # live
"""

from __future__ import annotations

import threading
import time
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from typing import TYPE_CHECKING, Any, Self

from perp.problems import PerpError
from perp.view.frames import Frames
from perp.view.own_origin import only_own_pages
from perp.view.web_panel import Controls, Plots
from perp.view.web_scene import Stage

if TYPE_CHECKING:
    from perp import Recording, Simulation

_TICK = 1 / 30  # seconds between pictures
_CHUNK = 0.05  # simulated seconds between pictures of a run that goes on


def show(
    source: Recording | Simulation,
    *,
    seconds: float = 10.0,
    port: int = 8080,
    open_browser: bool = True,
    wait: bool = True,
) -> Viewer:
    """Show a recording, or run a simulation and show it.

    Args:
        source: What to show. A simulation is run from where it is; pausing the page pauses it.
        seconds: Simulated time of a run; of no meaning for a recording.
        port: On this machine; the next free one is taken if it is not.
        open_browser: Whether to open the page in the default browser.
        wait: Whether to return only when interrupted (Ctrl-C) or when the viewer is closed.

    Raises:
        PerpError: viser is not installed.
    """
    from perp import Recording

    viewer = Viewer(port=port, open_browser=open_browser)
    if isinstance(source, Recording):
        viewer.extend(source)
    else:
        _run(viewer, source, seconds)
    viewer.finish()
    if wait:
        viewer.wait()
    return viewer


def engine() -> Any:
    """The package viser.

    Raises:
        PerpError: It is not installed; the message says how to get it.
    """
    try:
        return import_module("viser")
    except ImportError:
        raise PerpError("the viewer needs viser: pip install 'perp[viewer]'") from None


def _run(viewer: Viewer, simulation: Any, seconds: float) -> None:
    end = simulation.time + seconds
    while simulation.time < end - 1e-9 and viewer.open:
        if viewer.playing:
            viewer.extend(simulation.run(max(_CHUNK, simulation.step_size)))
        else:
            time.sleep(_TICK)


class Viewer:
    """The page's server. Give it pieces of a recording with `extend`, and call `finish` after the last.

    Args:
        port: On this machine; the next free one is taken if it is not.
        open_browser: Whether to open the page in the default browser.

    Raises:
        PerpError: viser is not installed.
    """

    def __init__(self, *, port: int = 8080, open_browser: bool = True) -> None:
        viser = engine()
        # this machine only: a simulation is not to be steered from elsewhere
        with redirect_stdout(StringIO()), only_own_pages():  # it prints a banner
            self._server = viser.ViserServer(host="127.0.0.1", port=port, verbose=False)
        self._lock = threading.RLock()
        self._frames: Frames | None = None
        self._stage: Stage | None = None
        self._live = True
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="perp viewer", daemon=True)
        self._server.gui.configure_theme(show_logo=False, show_share_button=False)
        self._server.gui.main_panel.dock_right()
        self._server.gui.set_panel_label("perp")
        self._controls = Controls(self._server.gui)
        self._plots = Plots(self._server.gui)
        if open_browser:
            import webbrowser

            webbrowser.open(self.url)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://localhost:{self._server.get_port()}"

    @property
    def open(self) -> bool:
        """Whether the page is still served."""
        return not self._closed.is_set()

    @property
    def playing(self) -> bool:
        """Whether the user lets time pass."""
        return self._controls.playing

    @property
    def speed(self) -> float:
        """Simulated seconds per second, as the user chose."""
        return self._controls.speed

    @property
    def time(self) -> float:
        """The time that is shown [s]."""
        return self._controls.time

    def extend(self, piece: Recording) -> None:
        """Add steps; while a run goes on and is not paused, the page shows the newest."""
        if not len(piece):
            return
        with self._lock:
            if self._frames is None:
                self._frames = Frames(piece)
                self._stage = Stage(self._server, self._frames)
                self._thread.start()
            else:
                self._frames.extend(piece)
            self._controls.set_range(self._frames.times[0], self._frames.times[-1])

    def finish(self) -> None:
        """No more steps will come: play from the start."""
        with self._lock:
            self._live = False
            if self._frames is not None:
                self._controls.set_time(self._frames.times[0])

    def wait(self) -> None:
        """Serve until interrupted (Ctrl-C) or closed."""
        try:
            while self.open:
                time.sleep(0.2)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Stop serving."""
        if self.open:
            self._closed.set()
            if self._thread.is_alive():
                self._thread.join()
            with redirect_stdout(StringIO()):
                self._server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _loop(self) -> None:
        before = time.monotonic()
        while not self._closed.wait(_TICK):
            now = time.monotonic()
            with self._lock:
                if self._frames is None or self._stage is None:
                    continue
                self._advance(now - before, self._frames.times[0], self._frames.times[-1])
                frame = self._frames.at(self._controls.time)
                self._stage.draw(frame, self._controls.shown)
                self._plots.draw(self._frames, self._frames.times[frame])
            before = now

    def _advance(self, passed: float, start: float, end: float) -> None:
        if not self._controls.playing:
            return
        if self._live:
            self._controls.set_time(end)
        else:
            later = self._controls.time + passed * self._controls.speed
            self._controls.set_time(start if later > end else later)
