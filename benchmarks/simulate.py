"""CPU time of a step beside mujoco's `mj_step` in the same run: 200 boxes, and a quadruped that stands.

    python benchmarks/simulate.py [robot.xml …]

Steps are 5 ms. The best of five runs of 40 steps is shown, after the scene has come to rest.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import perp
from perp.scenes import library
from perp.scenes.engine import engine

STEP, STEPS, RUNS = 0.005, 40, 5


def quadruped() -> str:
    """Twelve servos under a trunk, feet as spheres."""
    legs, motors = "", ""
    for name, x, y in (("fl", 0.2, 0.12), ("fr", 0.2, -0.12), ("rl", -0.2, 0.12), ("rr", -0.2, -0.12)):
        legs += (
            f'<body name="{name} hip" pos="{x} {y} 0"><joint name="{name}0" axis="1 0 0" armature="0.01"/>'
            f'<geom type="sphere" size="0.03" mass="0.5"/><body name="{name} thigh">'
            f'<joint name="{name}1" axis="0 1 0" armature="0.01"/>'
            '<geom type="capsule" fromto="0 0 -0.05 0 0 -0.18" size="0.02" mass="0.8"/>'
            f'<body name="{name} shank" pos="0 0 -0.2"><joint name="{name}2" axis="0 1 0" armature="0.01"/>'
            '<geom type="capsule" fromto="0 0 -0.04 0 0 -0.16" size="0.015" mass="0.2"/>'
            '<geom type="sphere" pos="0 0 -0.2" size="0.02" mass="0.05"/></body></body></body>'
        )
        for k, target in enumerate((0.0, 0.7, -1.4)):
            held = f'kp="100" kv="3" ctrlrange="{target} {target + 1}"'
            motors += f'<position name="{name}{k}" joint="{name}{k}" {held}/>'
    box = '<geom type="box" size="0.25 0.1 0.05" mass="6"/>'
    trunk = f'<body name="trunk" pos="0 0 0.34"><freejoint/>{box}{legs}</body>'
    return library.scene(library.plane(0.8) + trunk, extra=f"<actuator>{motors}</actuator>")


def best(take: Any) -> float:
    """Milliseconds of one step, the best of some runs."""
    times = []
    for _ in range(RUNS):
        began = time.process_time()
        for _ in range(STEPS):
            take()
        times.append((time.process_time() - began) / STEPS)
    return 1e3 * min(times)


def line(name: str, scene: Any, coordinates: str) -> str:
    """One scene, as a line of the table."""
    mujoco = engine()
    sim = perp.Simulation(scene, step=STEP, coordinates=coordinates)
    m = mujoco.MjModel.from_xml_string(scene) if scene.lstrip().startswith("<") else sim.model.shapes
    m.opt.timestep = STEP
    data = mujoco.MjData(m)
    low = [float(bounds[0]) for bounds in m.actuator_ctrlrange]
    if m.nkey:
        sim.reset(keyframe=0)
        mujoco.mj_resetDataKeyframe(m, data, 0)
    elif m.nu:
        sim.set_control(low)
        data.ctrl[:] = low
    for _ in range(200):
        sim.step()
        mujoco.mj_step(m, data)
    ours, theirs = best(sim.step), best(lambda: mujoco.mj_step(m, data))
    count = sim.last.contact_count
    return f"{name:30} {coordinates:8} {count:5d} {ours:9.3f} {theirs:9.3f} {ours / theirs:7.1f}"


def main() -> None:
    """Print the table."""
    print(f"{'scene':30} coords   contacts   ms/step   mj_step   ratio")
    boxes = library.wall(50, 4)
    print(line("200 boxes at rest", boxes, "maximal"), flush=True)
    for coordinates in ("reduced", "maximal"):
        print(line("quadruped standing", quadruped(), coordinates), flush=True)
    for path in sys.argv[1:]:
        print(line(path[-30:], path, "reduced"), flush=True)


if __name__ == "__main__":
    main()
