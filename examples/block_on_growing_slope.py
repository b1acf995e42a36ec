"""A block with boxed contact friction on a slope that grows steeper until the block slips.

Normal and friction rows of one contact: 0 ≤ λ_N, |λ_T| ≤ μ λ_N, as a boxed LCP with a friction index, solved
by Lemke through the split form. Closed form: the block holds up to tan θ = μ; then, with θ = ω t,
v = g/ω [(cos θ* − cos θ) − μ (sin θ − sin θ*)].
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import perp

GRAVITY, MASS, FRICTION = 9.81, 2.0, 0.5  # [m/s²], [kg], μ
RATE = np.radians(10.0)  # how fast the slope grows [rad/s]
STEP, END = 0.002, 3.5  # [s]


@dataclass(frozen=True)
class Motion:
    """The slope's angle [rad], the speed [m/s], friction over normal force, the case of each step."""

    angle: np.ndarray
    speed: np.ndarray
    ratio: np.ndarray
    case: list[str]


def simulate(step: float = STEP) -> Motion:
    """Step the block from rest; friction and normal of each step come from one boxed LCP."""
    count = round(END / step)
    angle = RATE * step * np.arange(1, count + 1)
    speed, ratio = np.zeros(count), np.zeros(count)
    cases = []
    v = 0.0
    for k in range(count):
        pull = step * GRAVITY * np.array([-np.cos(angle[k]), np.sin(angle[k])])
        problem = perp.BoxedLCP(
            np.eye(2) / MASS, [pull[0], v + pull[1]],
            [0.0, -FRICTION], [np.inf, FRICTION], friction_index=[-1, 0],
        )  # fmt: skip
        solution = perp.solve(problem, "lemke", formulation="split")
        v = speed[k] = solution.w[1]
        ratio[k] = -solution.z[1] / solution.z[0]
        cases.append(solution.info["cases"][1].minus)
    return Motion(angle, speed, ratio, cases)


def closed_form(angle: np.ndarray) -> np.ndarray:
    """The block's speed at each angle of the slope [m/s]."""
    slip = np.arctan(FRICTION)
    gain = np.cos(slip) - np.cos(angle) - FRICTION * (np.sin(angle) - np.sin(slip))
    return np.where(angle > slip, GRAVITY / RATE * gain, 0.0)


def plot(out: Path) -> None:
    """Speed and friction over the angle, beside the closed form."""
    import matplotlib.pyplot as plt

    motion = simulate()
    degrees = np.degrees(motion.angle)
    limit = np.degrees(np.arctan(FRICTION))
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(6.4, 5.2), sharex=True, layout="constrained")
    top.plot(degrees, closed_form(motion.angle), color="0.6", lw=4, label="closed form")
    top.plot(degrees, motion.speed, color="C0", lw=1.5, label="perp, boxed LCP")
    top.set_ylabel("speed [m/s]")
    top.legend(frameon=False)
    bottom.plot(degrees, np.minimum(np.tan(motion.angle), FRICTION), color="0.6", lw=4)
    bottom.plot(degrees, motion.ratio, color="C1", lw=1.5)
    bottom.set(xlabel="slope [°]", ylabel="friction / normal force", ylim=(0, 1.15 * FRICTION))
    for axes in (top, bottom):
        axes.axvline(limit, color="C3", lw=1, ls=":")
        axes.spines[["top", "right"]].set_visible(False)
    bottom.annotate(f"arctan μ = {limit:.2f}°", (limit, 0.1), (limit - 1, 0.1), color="C3", ha="right")
    top.set_title("The block holds until tan θ = μ, then slides")
    figure.savefig(out, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("block_on_growing_slope.png"))
    plot(parser.parse_args().out)
