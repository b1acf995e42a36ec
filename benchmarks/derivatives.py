"""What derivatives of a step cost beside the step itself, in CPU time of the same run.

    python benchmarks/derivatives.py [--steps 100]

A, B and ten parameters of a quadruped and a humanoid in motion, gradients without matrices (VJP), and 32 free
bodies with a contact each.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from typing import Any

import numpy as np
from batch import controls, humanoid
from simulate import quadruped

import perp

BALLS = 32


def balls() -> str:
    """Balls that slide over a plane."""
    each = "".join(
        f'<body name="b{i}" pos="{i} 0 .1"><freejoint/><geom type="sphere" size=".1"/></body>'
        for i in range(BALLS)
    )
    return f'<mujoco><worldbody><geom type="plane" size="50 50 .1"/>{each}</worldbody></mujoco>'


def ten(sim: perp.Simulation) -> tuple[str, ...]:
    """Ten parameters of a robot: friction, gravity, masses, damping."""
    m = sim.model.shapes
    joints = [m.joint(i).name for i in range(m.njnt) if m.jnt_type[i] >= 2]
    masses = [f"mass:{name}" for name in sim.model.body_names[:4]]
    return ("friction", "gravity", *masses, *(f"damping:{name}" for name in joints[:2]))


def measure(
    sim: perp.Simulation, names: tuple[str, ...], given: np.ndarray | None, steps: int
) -> list[float]:
    """Medians of step, matrices and gradient [µs], and the number of constraints."""
    took: list[tuple[float, ...]] = []
    found = sim.derivatives(names)
    g = np.ones(len(found.A))
    sim.derivatives(names).vjp(g)
    for k in range(steps):
        if given is not None:
            sim.set_control(given[k])
        a = time.process_time()
        sim.step()
        b = time.process_time()
        found = sim.derivatives(names, last=True)
        _ = found.A
        c = time.process_time()
        sim.derivatives(names, last=True).vjp(g)
        took.append((b - a, c - b, time.process_time() - c))
    return [*(1e6 * np.median(np.array(took), axis=0)), len(found.mode)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    steps = parser.parse_args().steps
    warnings.simplefilter("ignore")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    print("| scene | step [µs] | A, B, parameters | ratio | VJP | ratio | constraints |")
    print("|---|---|---|---|---|---|---|")
    scenes: list[tuple[str, Any, float]] = [
        ("quadruped", quadruped(), 0.005), ("humanoid", humanoid(), 0.0025), ("32 balls", balls(), 0.005),
    ]  # fmt: skip
    for name, scene, h in scenes:
        if scene is None:
            continue
        sim = perp.Simulation(scene, step=h, coordinates="reduced")
        if name == "32 balls":
            for i in range(BALLS):
                sim.body(f"b{i}").set_velocity([1, 0.2, 0], [0, 0, 0])
            figures = measure(sim, (), None, steps)
        else:
            m = sim.model.shapes
            m.opt.timestep = h
            figures = measure(sim, ten(sim), controls(m, 1, steps, True)[0], steps)
        a, b, c, n = figures
        print(f"| {name} | {a:.0f} | {b:.0f} | {b / a:.2f} | {c:.0f} | {c / a:.2f} | {n} |", flush=True)


if __name__ == "__main__":
    main()
