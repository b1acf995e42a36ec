"""The comparison as a picture: how wrong each cell is, and how long it took."""

from pathlib import Path

from perp.comparison.report import Comparison
from perp.comparison.verdict import Verdict

COLOURS = {
    Verdict.EXACT: "#2a7f62",
    Verdict.RELAXED: "#e0a030",
    Verdict.WRONG: "#c0392b",
    Verdict.FAILED: "#7f7f7f",
}
# What a logarithmic axis can show: exact zeros are drawn here.
SMALLEST = 1e-17


def draw(comparisons: list[Comparison], path: Path, *, accept: float) -> None:
    """Draw residual and time of every cell that has an answer, one pair of panels a comparison.

    The residual up to which an answer counts as exact, `accept`, is drawn as a line.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import Patch

    shown = [[r for r in c.results if r.residual is not None] for c in comparisons]
    size = [[max(r.residual or 0.0, SMALLEST) for r in results] for results in shown]
    most = max((len(results) for results in shown), default=1)
    figure, axes = plt.subplots(
        len(comparisons), 2, figsize=(10, (0.19 * most + 1.1) * len(comparisons)), squeeze=False,
        gridspec_kw={"width_ratios": [3, 2]}, layout="constrained",
    )  # fmt: skip
    for (left, right), comparison, results, sizes in zip(axes, comparisons, shown, size, strict=True):
        labels = [f"{r.cell.row} · {r.cell.column}" for r in results]
        colours = [COLOURS[r.verdict] for r in results]
        places = range(len(results))
        left.hlines(places, SMALLEST, sizes, colors=colours, lw=1)
        left.scatter(sizes, places, c=colours, s=22, zorder=3)
        left.axvline(accept, color="black", lw=0.8, ls="--")
        left.set(xscale="log", xlim=(SMALLEST, 10), title=comparison.title)
        left.set_yticks(list(places), labels, fontsize=7)
        left.set_xlabel("residual of the exact problem", fontsize=8)
        times = [1e3 * (r.time or 0.0) for r in results]
        right.barh(list(places), times, color=colours, height=0.6)
        right.set(xscale="log")
        right.set_yticks([])
        right.set_xlabel("time [ms]", fontsize=8)
        for axis in (left, right):
            axis.invert_yaxis()
            axis.set_ylim(len(results) - 0.4, -0.6)
            axis.tick_params(labelsize=7)
            axis.grid(axis="x", lw=0.3)
    used = {r.verdict for results in shown for r in results}
    handles = [Patch(color=colour, label=str(v)) for v, colour in COLOURS.items() if v in used]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=8, frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)
