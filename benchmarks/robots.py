"""Public robots: load, report, hold or lie still for some seconds, beside mujoco's own step.

    python benchmarks/robots.py FOLDER… [--seconds 10] [--only NAME] [--step 0.005]

Every MJCF or URDF file below the folders that is a whole robot is tried. A robot starts from its first
keyframe (of an SRDF file for URDF) with that keyframe's controls, or from its reference position with zero
controls; one without any motor gets position servos. URDF robots with legs get a free base; what is free to
fall and has no ground gets one. Creep is how far the furthest body moves in the last tenth of the time.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import perp
from perp.scenes import SceneError, read_spec
from perp.scenes.engine import engine

# Which URDF robots stand on legs, by parts of their names.
_ON_LEGS = ("solo", "a1_", "anymal", "hyq", "go1", "go2", "b1_", "laikago", "quadruped_", "centauro", "bolt",
            "talos", "romeo", "icub", "g1_", "alex", "humanoid", "human_")  # fmt: skip


def staged(path: Path, step: float) -> perp.Simulation:
    """The robot with ground and servos where its file has none, in the first of its poses."""
    mujoco = engine()
    m = read_spec(path).compile()
    urdf = path.suffix == ".urdf"
    free = int(mujoco.mjtJoint.mjJNT_FREE) in {int(kind) for kind in m.jnt_type}
    standing = urdf and any(part in str(path) for part in _ON_LEGS)
    ground = any(int(m.geom_bodyid[g]) == 0 for g in range(m.ngeom))
    return perp.Simulation(
        path,
        step=step,
        free_base=standing,
        ground=(free or standing) and not ground,
        hold="servos" if not m.nu and m.njnt else None,
        keyframe=0 if m.nkey else None,
    )


def line(path: Path, seconds: float, step: float) -> str:
    """One robot, as a line of the table."""
    mujoco = engine()
    began = time.perf_counter()
    sim = staged(path, step)
    m = sim.model.shapes
    load = time.perf_counter() - began
    sim.step()
    missed = inaccurate = k = 0
    count = round(seconds / step)
    reference = None
    began, problem = time.process_time(), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(count):
            if k == count - max(count // 10, 1):
                reference = sim.state.position.copy()
            try:
                record = sim.step()
            except perp.PerpError as error:
                problem = f"{type(error).__name__} at {sim.time:.2f} s: {error}"
                break
            missed += bool(record.retries)
            inaccurate += not record.met
    taken = (time.process_time() - began) / max(k + 1, 1)
    creep = (
        np.nan if reference is None or problem else np.abs(sim.state.position - reference).max(initial=0.0)
    )
    d = mujoco.MjData(m)
    if m.nkey:  # of a staged scene the first keyframe is its start
        mujoco.mj_resetDataKeyframe(m, d, 0)
    d.ctrl[:] = sim.control if sim.control.size == m.nu else 0.0
    old = float(m.opt.timestep)
    m.opt.timestep = step
    began = time.process_time()
    for _ in range(min(count, 200)):
        mujoco.mj_step(m, d)
    theirs = (time.process_time() - began) / min(count, 200)
    m.opt.timestep = old
    return (
        f"{sim.coordinates.value:8} {m.nv:4d} {len(sim.report.ignored):3d} {load:5.1f} "
        f"{sim.last.contact_count:4d} "
        f"{missed:5d} {inaccurate:5d} {creep:9.1e} {1e3 * taken:8.2f} {1e3 * theirs:8.3f} {problem[:150]}"
    )


def main() -> None:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--step", type=float, default=0.005)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    print(f"{'robot':40} coords     nv rep  load  con retry inacc     creep  ms/step  mj_step")
    for folder in given.folders:
        found = [folder] if folder.is_file() else sorted([*folder.rglob("*.xml"), *folder.rglob("*.urdf")])
        for path in found:
            if given.only and given.only not in str(path):
                continue
            name = f"{path.parent.name}/{path.name}"[-40:]
            try:
                print(f"{name:40} {line(path, given.seconds, given.step)}", flush=True)
            except (SceneError, ValueError) as error:
                print(f"{name:40} not loaded: {str(error)[:160]!r}", flush=True)
            except perp.PerpError as error:
                print(f"{name:40} FIRST STEP {type(error).__name__}: {str(error)[:160]!r}", flush=True)


if __name__ == "__main__":
    main()
