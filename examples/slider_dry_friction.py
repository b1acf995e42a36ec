"""A slider on a spring with dry friction: the classical oscillator that comes to rest away from its centre.

The slider's friction is a box row |F| ≤ F_max on its velocity. Closed form: each half swing is a cosine about
±F_max/k, so the turning points shrink by 2 F_max/k, and the slider stays at the first one within F_max/k.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import perp

MASS, STIFFNESS, FORCE_LIMIT = 1.5, 60.0, 3.0  # [kg], [N/m], [N]
FIRST_POSITION = 0.42  # [m]
STEP, END = 0.001, 3.5  # [s]
SHIFT = FORCE_LIMIT / STIFFNESS  # [m]
FREQUENCY = np.sqrt(STIFFNESS / MASS)  # [rad/s]


def simulate(step: float = STEP) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and positions [m] of the slider, let go at FIRST_POSITION."""
    count = round(END / step)
    position = np.empty(count + 1)
    position[0] = FIRST_POSITION
    speed = 0.0
    limit = step * FORCE_LIMIT
    for k in range(count):
        free = speed - step * STIFFNESS * position[k] / MASS
        friction = perp.BoxedLCP([[1.0 / MASS]], [free], -limit, limit)
        speed = perp.solve(friction, "boxed-newton").w[0]
        position[k + 1] = position[k] + step * speed
    return step * np.arange(count + 1), position


def closed_form(time: np.ndarray) -> np.ndarray:
    """Positions [m] by half swings of π/ω each."""
    position = np.empty_like(time)
    turning, began = FIRST_POSITION, 0.0
    while abs(turning) > SHIFT:
        centre = np.sign(turning) * SHIFT
        now = time >= began
        position[now] = centre + (turning - centre) * np.cos(FREQUENCY * (time[now] - began))
        turning, began = 2 * centre - turning, began + np.pi / FREQUENCY
    position[time >= began] = turning
    return position


def plot(out: Path) -> None:
    """The swing beside the closed form."""
    import matplotlib.pyplot as plt

    time, position = simulate()
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    axes.axhspan(-SHIFT, SHIFT, color="C2", alpha=0.15, lw=0, label="friction can hold the slider here")
    axes.plot(time, closed_form(time), color="0.6", lw=4, label="closed form")
    axes.plot(time, position, color="C0", lw=1.5, label="perp")
    axes.set(xlabel="time [s]", ylabel="position [m]", title="Each half swing loses 2 F/k of its width")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("slider_dry_friction.png"))
    plot(parser.parse_args().out)
