"""A cube slides at 6 m/s until friction stops it: `perp.Simulation` against the formula.

Coulomb friction brakes with μ g, so the cube stops after v / (μ g) at x = v² / (2 μ g), and never leaves the
floor. Steps get the velocity exactly, v − k μ g h after k of them, and positions follow x⁺ = x + h v⁺: the
simulated cube stops at h Σ (v − k μ g h), which is v² / (2 μ g) less about h v / 2.
MuJoCo steps the same text, with its default contact parameters, for comparison.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

import numpy as np

import perp

GRAVITY = 9.81  # [m/s²]
SPEED = 6.0  # [m/s]
FRICTION = 0.5
HALF = 0.05  # of the cube [m]
STEP = 0.01  # [s]
SCENE = f"""
<mujoco>
  <worldbody>
    <geom type="plane" size="10 10 1" friction="{FRICTION}"/>
    <body name="cube" pos="0 0 {HALF}">
      <freejoint/>
      <geom type="box" size="{HALF} {HALF} {HALF}" mass="1" friction="{FRICTION}"/>
    </body>
  </worldbody>
</mujoco>
"""


def simulate(seconds: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    """Times, shape (steps,) [s], and positions of the cube, shape (steps, 3) [m]."""
    sim = perp.Simulation(SCENE, step=STEP)
    sim.body("cube").set_velocity((SPEED, 0, 0))
    recording = sim.run(seconds)
    return recording.time, recording.position("cube")


def formula(time: np.ndarray) -> np.ndarray:
    """Where Coulomb's law has the cube, shape (steps,) [m]."""
    moving = np.minimum(time, SPEED / (FRICTION * GRAVITY))
    return SPEED * moving - FRICTION * GRAVITY * moving**2 / 2


def stop_in_steps() -> float:
    """Where steps of length h stop it: the sum of h times the speed at the end of each [m]."""
    speed = SPEED - np.arange(1, 1000) * FRICTION * GRAVITY * STEP
    return float(STEP * speed[speed > 0].sum())


def simulate_mujoco(step: float, seconds: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    """The same scene stepped by MuJoCo: times [s] and positions [m]."""
    mujoco = import_module("mujoco")  # its type stubs are incomplete
    model = mujoco.MjModel.from_xml_string(SCENE)
    model.opt.timestep = step
    data = mujoco.MjData(model)
    data.qvel[0] = SPEED
    position = np.empty((round(seconds / step), 3))
    for row in position:
        mujoco.mj_step(model, data)
        row[:] = data.qpos[:3]
    return step * np.arange(1, len(position) + 1), position


def draw(runs: dict[str, tuple[np.ndarray, np.ndarray]], path: Path) -> None:
    """Distance and height of each run against time, into a picture file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    distance, height = figure.subplots(1, 2)
    time = np.linspace(0.0, 1.5, 200)
    distance.plot(time, formula(time), color="0.7", linewidth=5, label="Coulomb's law")
    height.axhline(0.0, color="0.7", linewidth=5)
    for (name, (time, position)), style in zip(runs.items(), ("C0-", "C1--", "C3:"), strict=True):
        distance.plot(time, position[:, 0], style, label=name)
        height.plot(time, 1e3 * (position[:, 2] - HALF), style)
    distance.set(title="How far it slides", xlabel="time [s]", ylabel="distance [m]")
    distance.legend(frameon=False)
    height.set(title="How high it jumps", xlabel="time [s]", ylabel="rise of its centre [mm]")
    for axes in (distance, height):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def main(path: Path) -> None:
    """Run, compare, draw."""
    runs = {
        "perp, h = 10 ms": simulate(),
        "MuJoCo, h = 10 ms": simulate_mujoco(STEP),
        "MuJoCo, h = 2 ms": simulate_mujoco(0.002),
    }
    print(f"{'formula v²/(2μg)':<24}{SPEED**2 / (2 * FRICTION * GRAVITY):.5f} m")
    print(f"{'formula, in steps':<24}{stop_in_steps():.5f} m")
    for name, (_, position) in runs.items():
        lift = np.abs(position[:, 2] - HALF).max()
        print(f"{name:<24}{position[-1, 0]:.5f} m, height within {1e3 * lift:.3g} mm")
    draw(runs, path)
    print(f"drawn in {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("sliding_cube.png"))
    main(parser.parse_args().out)
