"""The long claims of the simulator, run and printed: ten seconds of rest, ten thousand steps of mechanisms.

Usage: python benchmarks/long_runs.py [name ...]      (all by default; a few minutes)
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import perp
from perp.scenes import Model, Motor, MotorKind, attach, library, load_scene

Run = Callable[[], str]


def run(sim: perp.Simulation, seconds: float) -> dict[str, float]:
    """Worst figures over a run, without keeping its records."""
    worst = dict.fromkeys(("joint_error", "penetration", "iterations", "solves"), 0.0)
    retried, began = 0, time.perf_counter()
    start = sim.state.position.copy()
    count = round(seconds / sim.step_size)
    for _ in range(count):
        record = sim.step()
        retried += not record.met
        for name in worst:
            worst[name] = max(worst[name], getattr(record, name))
    moved = float(np.abs(sim.state.position - start).max())
    spent = 1e3 * (time.perf_counter() - began) / count
    return {**worst, "moved": moved, "steps": count, "retried": retried, "ms": spent}


def rest(scene: str, step: float, seconds: float = 10.0) -> Run:
    """A scene that should not move."""

    def go() -> str:
        found = run(perp.Simulation(scene, step=step), seconds)
        return (
            f"moved {found['moved']:.1e} m in {seconds:g} s, penetration {found['penetration']:.1e} m, "
            f"missed {found['retried']:g} of {found['steps']:g}, {found['ms']:.2f} ms a step"
        )

    return go


def mechanism(model: Model | str, step: float, steps: int = 10_000, level: str = "position") -> Run:
    """A mechanism whose joints should not open."""

    def go() -> str:
        found = run(perp.Simulation(model, step=step, level=level), steps * step)
        return (
            f"joint error {found['joint_error']:.1e} m after {found['steps']:g} steps of {1e3 * step:g} ms, "
            f"missed {found['retried']:g}, {found['ms']:.2f} ms a step"
        )

    return go


def bar(name: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """A thin rod in the x–z plane that touches nothing."""
    (ax, az), (bx, bz) = start, end
    length, angle = math.hypot(bx - ax, bz - az), -math.atan2(bz - az, bx - ax)
    return (
        f'<body name="{name}" pos="{(ax + bx) / 2!r} 0 {(az + bz) / 2!r}" euler="0 {angle!r} 0"><freejoint/>'
        f'<geom type="box" size="{length / 2!r} 0.01 0.01" mass="1" contype="0" conaffinity="0"/></body>'
    )


def hinges(model: Model, *places: tuple[str, str | None, tuple[float, float]]) -> Model:
    """Hinges about y."""
    for child, parent, (x, z) in places:
        model = attach(model, "hinge", child, parent, anchor=(x, 0, z), axis=(0, 1, 0))
    return model


def slider_crank() -> Model:
    """A crank of 0.2 m driven at 5 rad/s, a rod of 0.5 m and a slider."""
    text = bar("crank", (0, 0), (0.2, 0)) + bar("rod", (0.2, 0), (0.7, 0)) + bar("slider", (0.7, 0), (0.8, 0))
    places = ("crank", None, (0, 0)), ("rod", "crank", (0.2, 0)), ("slider", "rod", (0.7, 0))
    model = hinges(load_scene(library.scene(text)), *places)
    model = attach(model, "slider", "slider", None, anchor=(0.7, 0, 0), axis=(1, 0, 0))
    return replace(model, motors=(Motor("drive", 0, MotorKind.VELOCITY, damping=math.inf, control=5.0),))


def four_bar() -> Model:
    """A crank-rocker with three redundant rows, falling under gravity."""
    along, across = (0.45**2 - 0.35**2 + 0.2725) / (2 * 0.2725**0.5), 0.0
    across = math.sqrt(0.45**2 - along**2)
    d = np.array([0.5, -0.15]) / 0.2725**0.5
    x, z = (np.array([0.0, 0.15]) + along * d + across * np.array([-d[1], d[0]])).tolist()
    text = (
        bar("crank", (0, 0), (0, 0.15)) + bar("coupler", (0, 0.15), (x, z)) + bar("rocker", (x, z), (0.5, 0))
    )
    places = ("crank", None, (0, 0)), ("coupler", "crank", (0, 0.15)), ("rocker", "coupler", (x, z))
    return hinges(load_scene(library.scene(text)), *places, ("rocker", None, (0.5, 0)))


def tumbling() -> str:
    """Ten seconds of a torque-free asymmetric body."""
    body = '<body name="t"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 2 3"/></body>'
    sim = perp.Simulation(library.scene(body, gravity=(0.0, 0.0, 0.0)), step=1e-3)
    sim.body("t").set_velocity(angular=(0.01, 5.0, 0.01))
    momenta = sim.run(10.0).of("angular_momentum")
    change = np.abs(momenta - momenta[0]).max() / np.linalg.norm(momenta[0])
    return f"angular momentum changes by {change:.1e} of itself in 10 s at 1 ms"


def slide() -> str:
    """The 6 m/s cube, at four steps."""
    lines = []
    for step in (1e-4, 1e-3, 1e-2, 5e-2):
        sim = perp.Simulation(library.box_on_plane(friction=0.5), step=step)
        sim.body("box").set_velocity((6, 0, 0))
        lift = 0.0
        while sim.time < 1.3:
            sim.step()
            lift = max(lift, abs(sim.body("box").position[2] - 0.05))
        whole = int(6 / (0.5 * library.GRAVITY * step))
        expected = step * sum(6 - k * 0.5 * library.GRAVITY * step for k in range(1, whole + 1))
        error = sim.body("box").position[0] - expected
        lines.append(f"h {1e3 * step:g} ms: {expected:.4f} m, off by {error:.1e} m, lift {lift:.1e} m")
    return "; ".join(lines)


RUNS: dict[str, Run] = {
    "hold": rest(library.box_on_plane(friction=0.5, slope=0.5 * math.atan(0.5)), 0.01),
    "hold 1 ms": rest(library.box_on_plane(friction=0.5, slope=0.5 * math.atan(0.5)), 0.001),
    "slide": slide,
    "tumbling": tumbling,
    "pendulum": mechanism(library.chain(1, length=1.0, joint="hinge"), 1e-3),
    "double pendulum": mechanism(library.chain(2, length=0.5, joint="hinge"), 1e-3),
    "double pendulum, velocity level": mechanism(
        library.chain(2, length=0.5, joint="hinge"), 1e-3, level="velocity"
    ),
    "slider-crank": mechanism(slider_crank(), 1e-3),
    "four-bar": mechanism(four_bar(), 1e-3),
    "chain 100, 1000:1": mechanism(library.chain(100, end_mass=1000.0, angle=0.3), 1e-3),
    "stack 20": rest(library.stack(20), 0.01),
    "stack 10, 1:512": rest(library.stack(10, ratio=2.0), 0.01),
    "card house": rest(library.card_house(), 0.005),
    "arch": rest(library.arch(9, 1.03 * 0.101525), 0.01),
}


def main() -> None:
    """Run what the command line names."""
    for name in sys.argv[1:] or RUNS:
        try:
            print(f"{name}: {RUNS[name]()}", flush=True)
        except perp.PerpError as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main()
