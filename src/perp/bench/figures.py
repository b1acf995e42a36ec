"""Pictures of a run: performance profiles, and residual against time, one SVG each a set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perp.bench.rows import by_solver
from perp.bench.summary import SetSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More lines than this cannot be told apart.
MOST_LINES = 14
_MARKERS = "osD^v<>Pp*Xhd8"


def draw(summaries: list[SetSummary], out: Path, *, peers: set[str], tol: float) -> list[Path]:
    """Write the figures of every set into a folder and return their paths.

    Args:
        summaries: The sets.
        out: The folder.
        peers: Solvers that are not ours: drawn with dashed lines and hollow markers.
        tol: Drawn as a line.
    """
    paths = []
    for summary in summaries:
        name = summary.name.replace(":", "-").replace("/", "-")
        for kind, paint in (("profile", _profiles), ("residuals", _residuals)):
            path = out / f"{name}-{kind}.svg"
            _save(summary, path, paint, peers, tol)
            paths.append(path)
    return paths


def _save(summary: SetSummary, path: Path, paint, peers: set[str], tol: float) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure: Figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    shown = [s.solver for s in summary.solvers if s.solved][:MOST_LINES]
    paint(axes, summary, shown, peers, tol)
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[1]:
        figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    # equal figures are equal files: no date, no random identifiers
    with mpl.rc_context({"svg.hashsalt": "perp", "svg.fonttype": "none"}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def _profiles(axes: Axes, summary: SetSummary, shown: list[str], peers: set[str], tol: float) -> None:
    right = max([2.0, *(float(p.ratio[-1]) for p in summary.profiles.values() if p.ratio.size)]) * 1.2
    for k, solver in enumerate(shown):
        profile = summary.profiles[solver]
        ratio = np.concatenate([[1.0], profile.ratio, [right]])
        share = np.concatenate([[0.0], profile.share, profile.share[-1:]])
        axes.step(
            ratio, 100 * share, where="post", color=f"C{k % 10}", ls="--" if solver in peers else "-",
            marker=_MARKERS[k % len(_MARKERS)], markevery=(0.1 * (k % 5) / 5, 0.2), ms=4, lw=1.4,
            label=solver,
        )  # fmt: skip
    axes.set(
        xscale="log", xlim=(1, right), ylim=(0, 103), xlabel="CPU time over that of the fastest solver",
        ylabel="problems solved [%]",
        title=f"{summary.name}: performance profile, {len(summary.problems)} problems",
    )  # fmt: skip


def _residuals(axes: Axes, summary: SetSummary, shown: list[str], peers: set[str], tol: float) -> None:
    groups = by_solver(summary.rows)
    for k, solver in enumerate(shown):
        points = [
            (1e3 * row.cpu, max(row.residual, 1e-17))
            for row in groups[solver]
            if row.cpu is not None and row.residual is not None and np.isfinite(row.residual)
        ]
        colour = f"C{k % 10}"
        axes.plot(
            *np.array(points).reshape(-1, 2).T, _MARKERS[k % len(_MARKERS)], color=colour, ms=5, alpha=0.7,
            mfc="none" if solver in peers else colour, label=solver,
        )  # fmt: skip
    axes.axhline(tol, color="black", lw=0.8, ls="--")
    axes.set(
        xscale="log", yscale="log", xlabel="CPU time [ms]", ylabel="residual (perp)",
        title=f"{summary.name}: what each answer was worth, and what it took",
    )  # fmt: skip
