"""A pendulum whose hinge has dry friction: it swings, loses height, and stops off the vertical.

The hinge's torque is a box row: |τ| ≤ τ_max, and the row's velocity is the hinge's rate. Closed form:
between two turning points the energy lost is τ_max times the angle travelled, m g l (cos θ' − cos θ) = τ_max
(|θ| + |θ'|), and the pendulum stops at the first turning point where m g l |sin θ| ≤ τ_max.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

import perp

GRAVITY, MASS, LENGTH = 9.81, 1.0, 0.5  # [m/s²], [kg], [m]
TORQUE_LIMIT = 1.0  # of the hinge's friction [N·m]
FIRST_ANGLE = np.radians(100.0)
STEP, END = 0.001, 4.0  # [s]
WEIGHT_TORQUE = MASS * GRAVITY * LENGTH


def simulate(step: float = STEP) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and angles [rad] of the pendulum, let go at FIRST_ANGLE."""
    inertia = MASS * LENGTH**2
    count = round(END / step)
    angle = np.empty(count + 1)
    angle[0] = FIRST_ANGLE
    rate = 0.0
    for k in range(count):
        momentum = inertia * rate - step * WEIGHT_TORQUE * np.sin(angle[k])
        hinge = perp.ContactProblem.from_dynamics(
            [[inertia]], [[1.0]], [momentum],
            sets=[perp.Box(-step * TORQUE_LIMIT, step * TORQUE_LIMIT)],
        )  # fmt: skip
        rate = perp.solve(hinge, "pgs").w[0]
        angle[k + 1] = angle[k] + step * rate
    return step * np.arange(count + 1), angle


def turning_points() -> list[float]:
    """Angles at which the pendulum turns [rad], from the energy it loses; the last is where it stays."""
    angles = [FIRST_ANGLE]
    while WEIGHT_TORQUE * abs(np.sin(angles[-1])) > TORQUE_LIMIT or abs(angles[-1]) > np.pi / 2:
        size = abs(angles[-1])

        def left_over(other: float, size: float = size) -> float:
            return WEIGHT_TORQUE * (np.cos(other) - np.cos(size)) - TORQUE_LIMIT * (size + other)

        angles.append(-np.sign(angles[-1]) * brentq(left_over, -size * (1 - 1e-6), size))
    return angles


def plot(out: Path) -> None:
    """The swing beside its turning points."""
    import matplotlib.pyplot as plt

    time, angle = simulate()
    known = np.degrees(turning_points())
    hold = np.degrees(np.arcsin(TORQUE_LIMIT / WEIGHT_TORQUE))
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    axes.axhspan(-hold, hold, color="C2", alpha=0.15, lw=0, label="friction can hold the pendulum here")
    axes.hlines(known, 0, END, color="0.6", lw=0.8, ls=":")
    axes.plot(time, np.degrees(angle), color="C0", label="perp")
    axes.hlines(
        known[-1], time[-1] * 0.6, END, color="C3", lw=2, label=f"closed form: stops at {known[-1]:.2f}°"
    )
    axes.set(xlabel="time [s]", ylabel="angle [°]", title="Dry friction stops the pendulum off the vertical")
    axes.legend(frameon=False, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("hinge_dry_friction.png"))
    plot(parser.parse_args().out)
