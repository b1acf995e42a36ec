"""A hinge motor with a torque limit under a growing load: it spins up, holds its rate, and stalls.

Base and rotor are bodies in the plane: two free rows hold the hinge together, a box row |τ| ≤ τ_max drives
the relative rate towards the wanted one. The base is so heavy that it stays. Closed form for a load k t on
the rotor: spin-up ω = (τ_max t − k t²/2)/I, then τ = k t at the wanted rate until k t = τ_max, then the motor
gives exactly τ_max and ω falls by k (t − t₂)²/(2 I).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import perp

TORQUE_LIMIT, WANTED_RATE, LOAD_GROWTH = 2.0, 6.0, 0.5  # [N·m], [rad/s], [N·m/s]
INERTIA, MASS = 0.3, 3.0  # of the rotor [kg·m²], [kg]
BASE = 1e9  # mass and inertia of the base: it does not move
STEP, END = 0.005, 5.5  # [s]


@dataclass(frozen=True)
class Run:
    """Times [s], rates [rad/s], torques [N·m], and the largest speed at which the hinge parts [m/s]."""

    time: np.ndarray
    rate: np.ndarray
    torque: np.ndarray
    apart: float


def simulate(step: float = STEP) -> Run:
    """Step the two bodies; the motor's torque is the impulse of its box row over the step."""
    count = round(END / step)
    masses = np.array([BASE, BASE, BASE, MASS, MASS, INERTIA])
    # rows: the hinge holds x and y of both bodies together, the motor acts on the relative rate
    jacobian = np.array([[-1.0, 0, 0, 1, 0, 0], [0.0, -1, 0, 0, 1, 0], [0.0, 0, -1, 0, 0, 1]])
    limit = step * TORQUE_LIMIT
    sets = [perp.Free(), perp.Free(), perp.Box(-limit, limit)]
    velocity = np.zeros(6)
    time = step * np.arange(1, count + 1)
    rate, torque = np.empty(count), np.empty(count)
    apart = 0.0
    for k in range(count):
        momentum = masses * velocity
        momentum[5] -= step * LOAD_GROWTH * (time[k] - 0.5 * step)
        problem = perp.ContactProblem.from_dynamics(
            np.diag(masses), jacobian, momentum, [0.0, 0.0, -WANTED_RATE], sets
        )
        solution = perp.solve(problem, "lemke", formulation="rows+shifted", tol=1e-12)
        velocity = (momentum + jacobian.T @ solution.z) / masses
        rate[k], torque[k] = velocity[5] - velocity[2], solution.z[2] / step
        apart = max(apart, float(np.abs(solution.w[:2]).max()))
    return Run(time, rate, torque, apart)


def closed_form(time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rates [rad/s] and torques [N·m]."""
    k, top = LOAD_GROWTH, TORQUE_LIMIT
    reached = (top - np.sqrt(top**2 - 2 * k * INERTIA * WANTED_RATE)) / k
    stalls = top / k
    spin_up = (top * time - 0.5 * k * time**2) / INERTIA
    stalled = WANTED_RATE - 0.5 * k * (time - stalls) ** 2 / INERTIA
    rate = np.where(time < reached, spin_up, np.where(time < stalls, WANTED_RATE, stalled))
    return rate, np.where((time < reached) | (time > stalls), top, k * time)


def plot(out: Path) -> None:
    """Rate and torque beside the closed form."""
    import matplotlib.pyplot as plt

    run = simulate()
    rate, torque = closed_form(run.time)
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(6.4, 5.2), sharex=True, layout="constrained")
    top.plot(run.time, rate, color="0.6", lw=4, label="closed form")
    top.plot(run.time, run.rate, color="C0", lw=1.5, label="perp")
    top.set_ylabel("rate [rad/s]")
    top.legend(frameon=False)
    top.set_title("The motor holds its rate until the load exceeds its limit")
    bottom.plot(run.time, torque, color="0.6", lw=4)
    bottom.plot(run.time, run.torque, color="C1", lw=1.5, label="motor torque")
    bottom.plot(run.time, LOAD_GROWTH * run.time, color="C3", lw=1, ls=":", label="load")
    bottom.set(xlabel="time [s]", ylabel="torque [N·m]")
    bottom.legend(frameon=False)
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("hinge_motor.png"))
    plot(parser.parse_args().out)
