"""The figure of smoothed derivatives: what a target of a finger does to a box, over the gap between them.

python docs/scripts/smoothing_figure.py [docs/figures/smoothing.png]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import perp

SCENE = """<mujoco><worldbody><geom type="plane" size="3 3 .1" friction="0.3"/>
<body name="finger" pos="{x} 0 .1" gravcomp="1"><joint name="x" type="slide" axis="1 0 0" damping="2"/>
<geom type="sphere" size=".05" mass=".5" friction="0.3"/></body>
<body name="box" pos="0 0 .1"><joint type="slide" axis="1 0 0"/>
<geom type="box" size=".1 .1 .1" mass="1" friction="0.3"/></body></worldbody>
<actuator><position joint="x" kp="300" kv="30"/></actuator></mujoco>"""
KAPPAS = (0.0, 1e-4, 1e-3, 1e-2)


def slopes(gap: float) -> list[float]:
    """d(velocity of the box after a step) / d(target of the finger), for each κ [1/s]."""
    sim = perp.Simulation(SCENE.format(x=-0.15 - gap), step=0.02, coordinates="reduced")
    sim.set_control([0.2])
    sim.qvel = [0.5, 0.0]
    return [float(sim.derivatives(smoothing=kappa).B[3, 0]) for kappa in KAPPAS]


def main() -> None:
    """Draw it."""
    gaps = np.linspace(0.0, 0.04, 61)
    found = np.array([slopes(float(gap)) for gap in gaps])
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes: Any = figure.subplots()
    for k, kappa in enumerate(KAPPAS):
        label = "the derivative itself" if kappa == 0.0 else f"smoothing = {kappa:g}"
        axes.plot(
            1e3 * gaps, found[:, k], color="k" if k == 0 else f"C{k}", lw=2 if k == 0 else 1.3, label=label
        )
    axes.set_xlabel("gap between finger and box at the start of the step [mm]")
    axes.set_ylabel("velocity of the box\nby target of the finger [1/s]")
    axes.legend()
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "docs/figures/smoothing.png", dpi=110)


if __name__ == "__main__":
    main()
