"""A slider motor with a force limit lifts a weight: a light one at the wanted speed, a heavy one not at all.

The motor is a box row 0 … F_max on the slider's velocity; its upper and lower bounds have the same sign,
which the shifted form takes as it is. Closed form: v = (F_max/m − g) t up to the wanted speed, and from then
on the motor's force is exactly m g; with m g > F_max the force is exactly F_max and the weight sinks with g
− F_max/m.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import perp

GRAVITY, FORCE_LIMIT, WANTED_SPEED = 9.81, 60.0, 0.8  # [m/s²], [N], [m/s]
LIGHT, HEAVY = 4.0, 7.0  # [kg]: 39 N and 69 N
STEP, END = 0.005, 0.8  # [s]


@dataclass(frozen=True)
class Run:
    """Times [s], speeds [m/s] and motor forces [N]."""

    time: np.ndarray
    speed: np.ndarray
    force: np.ndarray


def simulate(mass: float, step: float = STEP) -> Run:
    """Step the weight from rest."""
    count = round(END / step)
    speed, force = np.empty(count), np.empty(count)
    v = 0.0
    for k in range(count):
        motor = perp.BoxedLCP([[1.0 / mass]], [v - step * GRAVITY - WANTED_SPEED], 0.0, step * FORCE_LIMIT)
        solution = perp.solve(motor, "lemke", formulation="shifted", tol=1e-12)
        v = speed[k] = solution.w[0] + WANTED_SPEED
        force[k] = solution.z[0] / step
    return Run(step * np.arange(1, count + 1), speed, force)


def closed_form(mass: float, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Speeds [m/s] and forces [N]."""
    speed = np.minimum((FORCE_LIMIT / mass - GRAVITY) * time, WANTED_SPEED)
    return speed, np.where(speed < WANTED_SPEED, FORCE_LIMIT, mass * GRAVITY)


def plot(out: Path) -> None:
    """Speed and force of both weights beside the closed form."""
    import matplotlib.pyplot as plt

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(6.4, 5.2), sharex=True, layout="constrained")
    for mass, colour in ((LIGHT, "C0"), (HEAVY, "C1")):
        run = simulate(mass)
        speed, force = closed_form(mass, run.time)
        label = f"{mass:g} kg, weighs {mass * GRAVITY:.0f} N"
        top.plot(run.time, speed, color="0.7", lw=4)
        top.plot(run.time, run.speed, color=colour, lw=1.5, label=label)
        bottom.plot(run.time, force, color="0.7", lw=4)
        bottom.plot(run.time, run.force, color=colour, lw=1.5)
    top.set(ylabel="speed [m/s]", title=f"A motor of {FORCE_LIMIT:g} N; grey: closed form")
    top.legend(frameon=False)
    bottom.set(xlabel="time [s]", ylabel="motor force [N]", ylim=(0, 1.1 * FORCE_LIMIT))
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("slider_motor.png"))
    plot(parser.parse_args().out)
