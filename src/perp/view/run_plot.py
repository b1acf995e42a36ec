"""A recording as one picture: energy, momentum, errors, contact forces, stick and slip, work and time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.files.writing import PICTURE_SUFFIXES, check_writable
from perp.simulation.recordings.recording import Recording
from perp.view.contact_rows import Pairs, pair_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which stay apart for every kind of eyesight.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GREY = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8a8a8a",
)  # fmt: skip
_FORCE_LINES = 6
_RASTER_COLUMNS = 1200
_STYLE: dict[Any, Any] = {
    "font.size": 9, "axes.titlesize": 10, "axes.titlelocation": "left", "axes.titleweight": "bold",
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7, "axes.axisbelow": True, "axes.edgecolor": "#666666", "legend.frameon": False,
    "legend.fontsize": 8, "lines.linewidth": 1.3, "svg.fonttype": "none", "svg.hashsalt": "perp",
}  # fmt: skip


def plot_run(recording: Recording, path: str | Path, *, title: str = "") -> None:
    """Draw a recording, which may be empty, into a picture file; the suffix decides the format."""
    from matplotlib import rc_context

    check_writable(Path(path), PICTURE_SUFFIXES, "a picture")
    with rc_context(_STYLE):
        figure_of(recording, title=title).savefig(path, dpi=130, metadata=_undated(Path(path)))


def figure_of(recording: Recording, *, title: str = "") -> Figure:
    """The picture as a figure of matplotlib."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    pairs = pair_rows(recording)
    with rc_context(_STYLE):
        driven = bool(recording.joint_names or recording.motor_names)
        rows = 5 if driven else 4
        figure = Figure(figsize=(12, 3.25 * rows), layout="constrained", facecolor="white")
        grid = figure.subplots(rows, 2)
        span = (recording.start_time, float(recording.time[-1]) if len(recording) else recording.start_time)
        for axes, draw in zip(grid.flat, (_energy, _momentum, _errors, _residual), strict=False):
            draw(axes, recording)
        _forces(grid[2, 0], recording, pairs)
        _stick_and_slip(grid[2, 1], recording, pairs)
        _iterations(grid[3, 0], recording)
        _wall_time(grid[3, 1], recording)
        if driven:
            _several(
                grid[4, 0], recording, recording.joint_positions, recording.joint_names, "Joints [rad or m]"
            )
            _several(grid[4, 1], recording, recording.control, recording.motor_names, "Control of the motors")
        for axes in grid.flat:
            if span[1] > span[0]:
                axes.set_xlim(span)
        for axes in grid[-1]:
            axes.set_xlabel("time [s]")
        figure.suptitle(title or repr(recording).strip("<>"), fontsize=12, x=0.01, ha="left")
    return figure


def _undated(path: Path) -> dict[str, Any] | None:
    """The same recording gives the same file."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())


def _energy(axes: Axes, run: Recording) -> None:
    time = np.concatenate([[run.start_time], run.time])
    axes.plot(run.time, run.kinetic_energy, color=BLUE, label="kinetic")
    axes.plot(run.time, run.potential_energy, color=GREEN, label="potential")
    axes.plot(time, np.concatenate([[run.start_energy], run.energy]), color="black", label="sum")
    _finish(axes, "Energy [J]")


def _momentum(axes: Axes, run: Recording) -> None:
    for k, (name, colour) in enumerate(zip("xyz", (RED, GREEN, BLUE), strict=True)):
        axes.plot(run.time, run.linear_momentum[:, k], color=colour, label=f"linear {name}")
        axes.plot(
            run.time, run.angular_momentum[:, k], color=colour, linestyle=(0, (3, 2)),
            label=f"angular {name}",
        )  # fmt: skip
    _finish(axes, "Momentum: linear [N s] and angular [N m s]", columns=6)


def _errors(axes: Axes, run: Recording) -> None:
    _logarithmic(
        axes, run, ((run.penetration, "penetration [m]", RED), (run.joint_error, "joint error", PURPLE))
    )
    _finish(axes, "Penetration and joint error")


def _residual(axes: Axes, run: Recording) -> None:
    _logarithmic(axes, run, ((run.residual, "worst of each step", BLUE),))
    if not run.met.all():
        missed = ~run.met
        axes.plot(run.time[missed], run.residual[missed], "x", color=RED, label="missed")
    axes.axhline(run.tolerance, color="black", linewidth=0.9, linestyle=(0, (5, 3)), label="tolerance")
    _finish(axes, "Residual, over its scale")


def _forces(axes: Axes, run: Recording, pairs: Pairs) -> None:
    """Normal force between shapes, the strongest pairs by name."""
    total = pairs.normal_force
    order = np.argsort(-np.abs(total).sum(axis=1), kind="stable") if total.size else []
    for rank, row in enumerate(order[:_FORCE_LINES]):
        colour = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)[rank]
        axes.plot(run.time, total[row], color=colour, label=pairs.names[row])
    if len(order) > _FORCE_LINES:
        others = total[order[_FORCE_LINES:]].sum(axis=0)
        axes.plot(run.time, others, color=GREY, label=f"{len(order) - _FORCE_LINES} other pairs, sum")
    _finish(axes, "Normal force between shapes [N]", columns=3)


def _stick_and_slip(axes: Axes, run: Recording, pairs: Pairs) -> None:
    """One line per contact: open, slipping or sticking over time."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    raster, labels = pairs.raster, pairs.raster_names
    colours = ("white", "#d9d9d9", ORANGE, BLUE)
    if raster.size:
        bins = np.unique(
            np.linspace(0, raster.shape[1] - 1, min(_RASTER_COLUMNS, raster.shape[1])).astype(int)
        )
        axes.imshow(
            raster[:, bins] + 2, aspect="auto", interpolation="nearest", vmin=0, vmax=3,
            cmap=ListedColormap(colours), extent=(run.start_time, run.time[-1], len(labels) - 0.5, -0.5),
        )  # fmt: skip
        axes.set_yticks(*_ticks(labels), fontsize=7)
    else:
        axes.set_yticks([])
    axes.grid(visible=False)
    patches = [
        Patch(facecolor=colour, label=name)
        for colour, name in zip(colours[1:], ("open", "slip", "stick"), strict=True)
    ]
    hidden = pairs.contact_rows - len(labels)
    more = f" ({hidden} more not shown)" if hidden else ""
    _finish(axes, f"Stick and slip of each contact{more}", handles=patches)


def _ticks(labels: list[str]) -> tuple[list[float], list[str]]:
    """One label per pair of shapes, in the middle of its lines; fewer where they would overlap."""
    places, names = [], []
    first = 0
    for i in range(1, len(labels) + 1):
        if i == len(labels) or labels[i] != labels[first]:
            places.append(0.5 * (first + i - 1))
            names.append(labels[first])
            first = i
    every = max(1, -(-len(places) // 14))
    return places[::every], names[::every]


def _iterations(axes: Axes, run: Recording) -> None:
    for x, label, colour in (
        (run.iterations, "Newton steps", BLUE),
        (run.solves, "solves", ORANGE),
        (run.contact_count, "contacts", GREY),
    ):
        axes.step(run.time, x, color=colour, label=label, where="post", linewidth=1.1)
    if len(run) and max(run.iterations.max(), run.contact_count.max()) > 50:
        axes.set_yscale("symlog", linthresh=10)
    axes.set_ylim(bottom=0)
    _finish(axes, "Iterations and contacts")


def _several(axes: Axes, run: Recording, values: np.ndarray, names: tuple[str, ...], title: str) -> None:
    """Quantities by name, those that change most in colour and the others in grey."""
    order = np.argsort(-np.ptp(values, axis=0), kind="stable") if len(run) else []
    for rank, k in reversed(list(enumerate(order))):
        named = rank < _FORCE_LINES
        colour = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)[rank] if named else GREY
        axes.plot(
            run.time, values[:, k], color=colour, label=names[k] if named else None,
            linewidth=1.3 if named else 0.7,
        )  # fmt: skip
    more = f" ({len(names) - _FORCE_LINES} of them in grey)" if len(names) > _FORCE_LINES else ""
    _finish(axes, title + more, columns=3)


def _wall_time(axes: Axes, run: Recording) -> None:
    axes.fill_between(run.time, 1e3 * run.seconds, color=SKY, linewidth=0, step="mid")
    if len(run):
        # the first step loads compiled kernels: it would flatten all the others
        axes.set_ylim(0, 1.6e3 * float(np.quantile(run.seconds, 0.98)) or 1.0)
    _finish(axes, "Wall time of a step [ms]")


def _logarithmic(axes: Axes, run: Recording, lines: tuple[tuple[np.ndarray, str, str], ...]) -> None:
    axes.set_yscale("log")
    lowest = 1.0
    for x, label, colour in lines:
        axes.plot(
            run.time, np.where(x > 0, x, np.nan), color=colour, label=label if x.any() else f"{label}: 0"
        )
        lowest = min(lowest, x[x > 0].min(initial=1.0))
    if lowest == 1.0:
        axes.set_ylim(1e-16, 1e-6)


def _finish(axes: Axes, title: str, *, columns: int = 4, handles: list[Any] | None = None) -> None:
    """Title, and below it the legend: nothing covers the lines."""
    if handles is None:
        handles = list(axes.get_legend_handles_labels()[0])
    axes.yaxis.get_offset_text().set(x=1.0, ha="right")  # a factor such as 1e-12 stands on the other side
    rows = -(-len(handles) // columns)
    axes.set_title(title, pad=6 + 13 * rows)
    if handles:
        axes.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(-0.01, 1.0), borderaxespad=0.1,
            ncols=min(columns, len(handles)), handlelength=1.4, columnspacing=1.2,
        )  # fmt: skip
