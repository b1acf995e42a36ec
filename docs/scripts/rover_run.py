"""docs/figures/rover-run.png: `perp plot` of a rover that drives over a step."""

from __future__ import annotations

from pathlib import Path

import perp
from perp.scenes import library
from perp.view.run_plot import plot_run

FIGURE = Path(__file__).parents[1] / "figures" / "rover-run.png"


def main() -> None:
    """Three seconds at 6 rad/s."""
    rover = perp.Simulation(library.rover(step_at=0.6), step=0.01)
    plot_run(rover.run(3.0, [6.0] * 4), FIGURE, title="A rover drives over a step of 5 cm")


if __name__ == "__main__":
    main()
