"""A run in the page that plays recordings, while it goes on: pause, step, reset, slow motion, pushes."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from perp.scenes.frames import rotate
from perp.view.live_frames import LiveFrames
from perp.view.page import live_page_text
from perp.view.server import PageServer

if TYPE_CHECKING:
    from perp import Simulation
    from perp.stepping import StepRecord

_TICK = 0.01  # seconds between looks at a page that is paused
_PICTURE = 1 / 60  # seconds between frames: no screen shows more
_BEHIND = 0.25  # a run this late [s] does not try to catch up
# A push is a spring and a damper of this frequency [rad/s] between the body's point and the mouse.
_FREQUENCY = 8.0


class LivePage:
    """Shows a simulation's steps: `before_step` and `add` go around each, `finish` comes after the last.

    Args:
        simulation: What runs.
        title: Of the page.
        port: Of this machine; the next free one if it is taken.
        open_browser: Whether to open the page in the default browser.
        resettable: Whether the page may go back to the start.
    """

    def __init__(
        self,
        simulation: Simulation,
        *,
        title: str = "perp",
        port: int = 8080,
        open_browser: bool = True,
        resettable: bool = True,
    ) -> None:
        self._simulation = simulation
        self._frames = LiveFrames(simulation)
        self._lock = threading.Lock()
        self.playing, self.speed, self._single = True, 1.0, False
        self._reset, self._closed = False, threading.Event()
        self._push: tuple[int, np.ndarray, np.ndarray] | None = None
        self._stiffness, self._spared = 0.0, np.zeros(6)
        self._anchor = (time.monotonic(), simulation.time)
        self._shown, self._pending = 0.0, None
        self._frames.state |= {"playing": True, "resettable": resettable}
        text = live_page_text(simulation, title)
        self._server = PageServer(lambda: text, port=port, frames=self._frames.after, command=self._obey)
        self.url = self._server.url
        if open_browser:
            import webbrowser

            webbrowser.open(self.url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _obey(self, words: dict[str, Any]) -> None:
        """A command of the page; what cannot be understood raises ValueError."""
        kind = words["kind"]
        with self._lock:
            if kind in ("play", "pause"):
                self.playing = kind == "play"
            elif kind == "step":
                self.playing, self._single = False, True
            elif kind == "reset" and self._frames.state["resettable"]:
                self._reset, self.playing = True, True
            elif kind == "speed":
                speed = float(words["speed"])
                if not 0.0 <= speed < math.inf:
                    raise ValueError
                self.speed = speed or math.inf
            elif kind == "push":
                from perp.simulation.arguments import triple

                body, target = int(words["body"]), triple("target", words["target"])
                local = triple("local", words["local"])
                if not 0 <= body < len(self._simulation.body_names):
                    raise ValueError
                if self._push is None or self._push[0] != body:
                    self._let_go()
                    self._grab(body)
                self._push = body, local, target
            elif kind == "release":
                self._let_go()
            else:
                raise ValueError
            self._anchor = (time.monotonic(), self._simulation.time)
        self._frames.state["playing"] = self.playing

    def before_step(self, stop: Callable[[], Any] = bool) -> bool:
        """Wait while the page is paused or ahead of its clock, and apply pushes.

        Args:
            stop: Tells, between looks, whether the run is to end.

        Returns:
            Whether the page has put the simulation back to its start.
        """
        while not stop():
            with self._lock:
                if self._reset:
                    self._begin_again()
                    return True
                if self._single or (self.playing and self._wait() <= 0.0):
                    self._single = False
                    self._pull()
                    return False
                pause = min(self._wait(), _TICK) if self.playing else _TICK
            if not self.playing:
                self._show()
            time.sleep(max(pause, 0.0005))
        return False

    def _wait(self) -> float:
        """Seconds until the clock of the page has reached the simulation."""
        clock, start = self._anchor
        ahead = (self._simulation.time - start) / self.speed - (time.monotonic() - clock)
        if ahead < -_BEHIND:
            self._anchor = (time.monotonic(), self._simulation.time)
        return ahead

    def _begin_again(self) -> None:
        self._reset, self._push = False, None
        self._simulation.reset()
        self._frames.begin()
        self._pending = None
        self._anchor = (time.monotonic(), self._simulation.time)

    def _grab(self, body: int) -> None:
        """Stiffness of a push, from the mass that the body's point seems to have."""
        sim = self._simulation
        self._spared = sim.wrench[body]
        rows = sim.jacobian(sim.body_names[body])[:3]
        mobility = rows @ np.linalg.lstsq(sim.mass_matrix(), rows.T, rcond=None)[0]
        mass = 3.0 / max(float(np.trace(mobility)), 1e-12)
        self._stiffness = min(mass, float(sim.model.mass.sum())) * _FREQUENCY**2

    def _pull(self) -> None:
        if self._push is None:
            return
        index, local, target = self._push
        body = self._simulation.body(self._simulation.body_names[index])
        arm = rotate(body.quaternion, local)
        velocity = body.velocity + np.cross(body.angular_velocity, arm)
        point = body.position + arm
        force = self._stiffness * ((target - point) - 2.0 / _FREQUENCY * velocity)
        body.apply(self._spared[:3] + force, self._spared[3:] + np.cross(point - body.centre_of_mass, force))

    def _let_go(self) -> None:
        if self._push is not None:
            body = self._simulation.body(self._simulation.body_names[self._push[0]])
            body.apply(self._spared[:3], self._spared[3:])
        self._push = None

    def add(self, record: StepRecord) -> None:
        """Show the step that the simulation has just made, unless the screen has had one just now."""
        self._frames.count(record)
        self._pending = record
        if time.monotonic() > self._shown + _PICTURE:
            self._show()

    def _show(self) -> None:
        if self._pending is not None:
            self._frames.add(self._pending)
            self._pending, self._shown = None, time.monotonic()

    def finish(self, problem: str = "") -> None:
        """No more steps will come: the page replays them."""
        with self._lock:
            self._let_go()
        self._show()
        self._frames.state |= {"finished": True, "playing": False, "problem": problem}

    def wait(self, again: Callable[[], Any] | None = None) -> None:
        """Go on serving until interrupted or closed.

        Args:
            again: Makes another run, up to its `finish`, when the page puts the simulation back to its start;
                without it an ended run is only replayed.
        """
        self._frames.state["again"] = again is not None and self._frames.state["resettable"]
        try:
            while not self._closed.wait(_TICK if again is not None else None):
                with self._lock:
                    if again is None or not self._reset:
                        continue
                    self._begin_again()
                    self._frames.state |= {"finished": False, "playing": True, "problem": ""}
                again()
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Stop serving."""
        self._closed.set()
        self._server.close()


def show(simulation: Simulation, seconds: float, control: Any = None, **options: Any) -> LivePage:
    """Run a simulation for so many seconds and show it on a page; see `Simulation.view`."""
    page = LivePage(simulation, **options)
    end = simulation.time + seconds - 0.5 * simulation.step_size
    problem = ""
    try:
        while simulation.time < end:
            if page.before_step():
                end = simulation.time + seconds - 0.5 * simulation.step_size
                continue
            page.add(simulation.step(control(simulation) if callable(control) else control))
    except BaseException as error:
        problem = f"ended at t = {simulation.time:g} s: {error or type(error).__name__}"
        raise
    finally:
        page.finish(problem)
    return page
