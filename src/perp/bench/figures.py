"""Pictures of a run, three SVG files a set: performance profile, median residual against time, histories."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.bench.history import SMALLEST, median_curve
from perp.bench.rows import Row, by_solver
from perp.bench.summary import SetSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More lines than this cannot be told apart.
MOST_LINES = 14
# Problems whose histories are shown: the largest of the set.
MOST_PROBLEMS = 6
TIME, RESIDUAL = "wall time [ms]", "residual (perp)"
_MARKERS = "osD^v<>Pp*Xhd8"
# Matplotlib's ten, and four that are none of them.
_COLOURS = [*(f"C{k}" for k in range(10)), "black", "navy", "maroon", "darkgoldenrod"]


def draw(summaries: list[SetSummary], out: Path, *, peers: set[str], tol: float) -> list[Path]:
    """Write the figures of every set into a folder and return their paths; peers have dashed lines."""
    paths = []
    for summary in summaries:
        shown = [s.solver for s in summary.solvers if s.solved][:MOST_LINES]
        styles = {solver: _style(k, solver in peers) for k, solver in enumerate(shown)}
        for kind, paint in _FIGURES.items():
            path = out / f"{file_name(summary.name)}-{kind}.svg"
            _save(path, partial(paint, summary=summary, styles=styles, tol=tol))
            paths.append(path)
    return paths


def file_name(name: str) -> str:
    """The name of a set as the beginning of a file's name."""
    return name.replace(":", "-").replace("/", "-")


def _style(k: int, is_peer: bool) -> dict[str, Any]:
    return {
        "color": _COLOURS[k % len(_COLOURS)], "marker": _MARKERS[k % len(_MARKERS)], "ms": 4,
        "ls": "--" if is_peer else "-", "lw": 1.4,
    }  # fmt: skip


def _save(path: Path, paint: Callable[[Figure], None]) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure: Figure = Figure(figsize=(8, 4.5), layout="constrained")
    paint(figure)
    for axes in figure.axes:
        axes.grid(visible=True, alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    # equal figures are equal files: no date, no random identifiers
    with mpl.rc_context({"svg.hashsalt": "perp", "svg.fonttype": "none"}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def _legend(figure: Figure, axes: Axes) -> None:
    if axes.get_legend_handles_labels()[1]:
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=8, frameon=False)


def _profiles(figure: Figure, summary: SetSummary, styles: dict[str, dict], tol: float) -> None:
    axes = figure.add_subplot()
    right = max([2.0, *(float(p.ratio[-1]) for p in summary.profiles.values() if p.ratio.size)]) * 1.2
    for k, (solver, style) in enumerate(styles.items()):
        profile = summary.profiles[solver]
        ratio = np.concatenate([[1.0], profile.ratio, [right]])
        share = np.concatenate([[0.0], profile.share, profile.share[-1:]])
        axes.step(
            ratio, 100 * share, where="post", markevery=(0.1 * (k % 5) / 5, 0.2), label=solver, **style
        )  # fmt: skip
    axes.set(
        xscale="log", xlim=(1, right), ylim=(0, 103), xlabel="CPU time over that of the fastest solver",
        ylabel="problems solved [%]",
        title=f"{summary.name}: performance profile, {len(summary.problems)} problems",
    )  # fmt: skip
    _legend(figure, axes)


def _residuals(figure: Figure, summary: SetSummary, styles: dict[str, dict], tol: float) -> None:
    """The median over the problems of the least residual reached by a time."""
    axes = figure.add_subplot()
    groups = by_solver(summary.rows)
    ends = [time for row in summary.rows if row.solver in styles for time, _ in row.history if time > 0]
    times = np.geomspace(min(ends, default=1e-6), max(ends, default=1.0), 400)
    for k, (solver, style) in enumerate(styles.items()):
        histories = [row.history for row in groups[solver] if row.history]
        curve = median_curve(histories, len(summary.problems), times)
        if np.isfinite(curve).any():
            seen = np.isfinite(curve)
            every = (0.1 * (k % 5) / 5, 0.2)
            axes.plot(1e3 * times[seen], curve[seen], markevery=every, label=solver, **style)
    axes.axhline(tol, color="black", lw=0.8, ls=":")
    axes.set(
        xscale="log", yscale="log", xlabel=TIME, ylabel=f"{RESIDUAL}, median of the problems",
        title=f"{summary.name}: residual against time, median of {len(summary.problems)} problems",
    )  # fmt: skip
    _legend(figure, axes)


def _histories(figure: Figure, summary: SetSummary, styles: dict[str, dict], tol: float) -> None:
    """Residual against time on the largest problems, one panel each."""
    rows: dict[str, list[Row]] = {}
    for row in summary.rows:
        if row.history and row.solver in styles:
            rows.setdefault(row.problem, []).append(row)
    largest = sorted(rows, key=lambda name: (-rows[name][0].rows, name))[:MOST_PROBLEMS]
    columns = min(3, max(len(largest), 1))
    panels = figure.subplots(-(-max(len(largest), 1) // columns), columns, squeeze=False)
    figure.set_size_inches(10.5, 2.2 + 2.4 * panels.shape[0])
    for axes in panels.flat[len(largest) :]:
        axes.set_visible(False)
    for axes, name in zip(panels.flat, largest, strict=False):
        for row in rows[name]:
            points = np.array(row.history)
            time, residual = 1e3 * points[:, 0], points[:, 1].clip(min=SMALLEST)
            # the markers of the ends tell lines apart, and keep the file small
            ends = sorted({0, time.size // 2, time.size - 1})
            style = {**styles[row.solver], "markevery": ends}
            axes.plot(time, residual, drawstyle="steps-post", label=row.solver, **style)
        axes.axhline(tol, color="black", lw=0.8, ls=":")
        axes.set(xscale="log", yscale="log")
        axes.set_title(f"{name[:34]}, {rows[name][0].rows} rows", fontsize=8)
        axes.tick_params(labelsize=7)
    figure.supxlabel(TIME, fontsize=9)
    figure.supylabel(RESIDUAL, fontsize=9)
    figure.suptitle(f"{summary.name}: residual against time on its largest problems", fontsize=11)
    labels: dict[str, Any] = {}
    for axes in panels.flat:
        handles, names = axes.get_legend_handles_labels()
        labels |= dict(zip(names, handles, strict=True))
    if labels:
        ordered = [solver for solver in styles if solver in labels]
        handles = [labels[solver] for solver in ordered]
        figure.legend(handles, ordered, loc="outside right upper", fontsize=8, frameon=False)


_FIGURES = {"profile": _profiles, "residuals": _residuals, "histories": _histories}
