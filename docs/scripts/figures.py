"""Draws the figures of the theory pages into docs/figures/. Usage: python docs/scripts/figures.py."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

import perp

mpl.use("Agg")
mpl.rcParams["svg.hashsalt"] = "perp"  # the same names of elements in every run
FOLDER = Path(__file__).parents[1] / "figures"


def exact_and_relaxed(path: Path) -> None:
    """Velocities of one contact against the push, by Coulomb's law and by its convex relaxation."""
    import matplotlib.pyplot as plt

    push = np.linspace(0.0, 2.0, 81)
    figure, axes = plt.subplots(1, 2, figsize=(8.0, 3.0), layout="constrained")
    for relaxed, style, label in ((False, "-", "exact"), (True, "--", "relaxed")):
        problems = (
            perp.ContactProblem.coulomb(np.eye(3), [-1.0, p, 0.0], 0.5, relaxed=relaxed) for p in push
        )
        velocity = np.array([perp.solve(problem, tol=1e-10).velocity for problem in problems])
        axes[0].plot(push, velocity[:, 1], style, label=label)
        axes[1].plot(push, velocity[:, 0], style, label=label)
    axes[0].set(xlabel="push [m/s]", ylabel="sliding speed $u_T$ [m/s]")
    axes[1].set(xlabel="push [m/s]", ylabel="normal velocity $u_N$ [m/s]")
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    exact_and_relaxed(FOLDER / "exact-and-relaxed.svg")
