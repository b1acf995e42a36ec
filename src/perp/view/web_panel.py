"""The panel of the viser page: play, time, speed, switches, and plots beside the scene."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from perp.view.colors import STATE_COLORS, STATE_NAMES
from perp.view.frames import Frames

_SPEEDS = {"0.05×": 0.05, "0.1×": 0.1, "0.25×": 0.25, "0.5×": 0.5, "1×": 1.0, "2×": 2.0, "4×": 4.0}
_PLOT_POINTS = 400  # as many as the plots have pixels
_PLOT_PAUSE = 0.25  # seconds between updates of the plots: each sends all points
_CURVES = {
    "energy [J]": {"total": "#2f6fd0", "kinetic": "#e0892b", "potential": "#8a62c9"},
    "log10 (residual / tolerance)": {"residual": "#2f6fd0"},
    "contacts": dict(zip(reversed(STATE_NAMES), reversed(STATE_COLORS), strict=True)),
}


class Controls:
    """Play, time, speed and switches.

    Args:
        gui: That of the viser server.
    """

    def __init__(self, gui: Any) -> None:
        self.playing, self.time = True, 0.0
        self._button = gui.add_button("Pause", icon="player-pause")
        self._slider = gui.add_slider("time [s]", min=0.0, max=1.0, step=1e-3, initial_value=0.0)
        self._speed = gui.add_dropdown("speed", tuple(_SPEEDS), initial_value="1×")
        self._forces = gui.add_checkbox("force arrows", initial_value=True)
        self._cones = gui.add_checkbox("friction cones", initial_value=True)
        self._through = gui.add_checkbox("see-through", initial_value=False)
        self._button.on_click(lambda _: self.set_playing(not self.playing))
        self._slider.on_update(self._scrubbed)

    @property
    def speed(self) -> float:
        """Simulated seconds per second."""
        return _SPEEDS[self._speed.value]

    @property
    def shown(self) -> tuple[bool, bool, bool]:
        """Whether to show force arrows and friction cones, and to see through bodies."""
        return bool(self._forces.value), bool(self._cones.value), bool(self._through.value)

    def set_playing(self, playing: bool) -> None:
        """Let time pass, or not."""
        self.playing = playing
        self._button.label = "Pause" if playing else "Play"
        self._button.icon = "player-pause" if playing else "player-play"

    def set_range(self, start: float, end: float) -> None:
        """The times there are [s]."""
        self._slider.min, self._slider.max = start, end

    def set_time(self, value: float) -> None:
        """Move to a time [s]; the slider follows."""
        self.time = value
        self._slider.value = round(value, 3)

    def _scrubbed(self, event: Any) -> None:
        # the program moves the slider too: then there is no client
        if event.client is not None:
            self.time = float(self._slider.value)
            self.set_playing(False)


class Plots:
    """Energy, residual and contacts over time, with a dot at the time that is shown.

    Args:
        gui: That of the viser server.
    """

    def __init__(self, gui: Any) -> None:
        from viser import uplot

        key = "".join(
            f'<span style="color:{color}">■</span> {name} &nbsp; '
            for name, color in zip(reversed(STATE_NAMES), reversed(STATE_COLORS), strict=True)
        )
        gui.add_html(f'<div style="padding:0 1em;font-size:.85em">contacts: {key}</div>')
        self._handles = {
            title: gui.add_uplot(
                data=(np.zeros(1), *(np.zeros(1) for _ in range(len(curves) + 1))),
                series=(
                    uplot.Series(label="t [s]"),
                    *(uplot.Series(label=name, stroke=color, width=1.5) for name, color in curves.items()),
                    uplot.Series(
                        label="now", stroke="#888", width=0, points={"show": True, "size": 9, "fill": "#888"}
                    ),
                ),
                title=title,
                scales={"x": uplot.Scale(time=False)},
                legend=uplot.Legend(show=False),
                aspect=2.1,
            )
            for title, curves in _CURVES.items()
        }
        self._drawn: tuple[int, float] = (0, -1.0)
        self._clock = 0.0

    def draw(self, frames: Frames, now: float) -> None:
        """Bring the plots up to a time [s], a few times a second at most."""
        wanted = (len(frames), now)
        if wanted == self._drawn or time.monotonic() < self._clock + _PLOT_PAUSE:
            return
        self._drawn, self._clock = wanted, time.monotonic()
        curves = frames.curves(_PLOT_POINTS)
        curves["residual"] = np.log10(np.maximum(curves["residual"], 1e-12))
        here = max(int(np.searchsorted(curves["time"], now, side="right")) - 1, 0)
        for title, names in _CURVES.items():
            values = np.concatenate([curves[name] for name in names])
            low, high = float(values.min()), float(values.max())
            room = 0.05 * (high - low) or 1.0
            dot = np.full(curves["time"].size, np.nan)
            dot[here] = curves[next(iter(names))][here]
            handle = self._handles[title]
            # said, not found: the dot's curve is not a number nearly everywhere
            handle.scales = {
                "x": {"time": False, "auto": False, "range": (curves["time"][0], curves["time"][-1])},
                "y": {"auto": False, "range": (low - room, high + room)},
            }
            handle.data = (curves["time"], *(curves[name] for name in names), dot)
