"""Robots thrown into random states: no exception, no NaN, whatever overlaps and however fast it moves.

    python benchmarks/random_states.py                       # ten robots, 1000 states each
    python benchmarks/random_states.py --states 100 cassie   # parts of names

Joints anywhere in their range, bases turned at random above the ground, speeds of a few rad/s and m/s,
controls anywhere in theirs; three steps of 5 ms from each state. Every robot runs in its own process with a
time limit.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from own_process import last_line
from robot_scenes import robot_scenes, staging

import perp
from perp.scenes import read_spec
from perp.scenes.engine import engine
from perp.scenes.staging import stage

STEPS = 3
# Legs with loops, arms, a mobile base, a gripper, quadrupeds, humanoids, a hand with a tool.
TEN = ("agility_cassie", "kinova_gen3", "scene_position", "robotiq_2f85", "ufactory_xarm7", "go2/go2",
       "g1_29dof_rev", "mujoco/ant", "dm_control/humanoid", "adroit_hammer")  # fmt: skip


@dataclass
class Tally:
    """What became of the states: how many were tried, raised, were not finite, missed their tolerance."""

    states: int = 0
    raised: int = 0
    not_finite: int = 0
    inaccurate_steps: int = 0
    largest_ms: float = 0.0
    first_problem: str = ""


def on_stage(path: Path) -> Any:
    """The robot as an MjSpec, put on ground and held where its file has neither."""
    wanted = staging(path)
    return stage(path, wanted, None)[0] if wanted else read_spec(path)


def add_random_states(spec: Any, count: int, seed: int) -> None:
    """Keyframes "random 0", "random 1", … of a scene, drawn from the seed."""
    kinds, rng = engine().mjtJoint, np.random.default_rng(seed)
    m = spec.compile()
    for k in range(count):
        qpos, qvel = m.qpos0.copy(), rng.normal(0.0, 2.0, m.nv)
        for j in range(m.njnt):
            kind, at = int(m.jnt_type[j]), int(m.jnt_qposadr[j])
            if kind == int(kinds.mjJNT_FREE):
                qpos[at : at + 3] += rng.uniform((-0.3, -0.3, 0.0), (0.3, 0.3, 0.5))
                qpos[at + 3 : at + 7] = _unit(rng)
            elif kind == int(kinds.mjJNT_BALL):
                qpos[at : at + 4] = _unit(rng)
            else:
                reach = np.pi if kind == int(kinds.mjJNT_HINGE) else 0.3
                low, high = m.jnt_range[j] if m.jnt_limited[j] else (-reach, reach)
                qpos[at] = rng.uniform(low, high)
        limited = m.actuator_ctrllimited.astype(bool)
        low, high = m.actuator_ctrlrange.T if m.nu else np.zeros((2, 0))
        ctrl = np.where(limited, rng.uniform(low, high), rng.normal(size=m.nu))
        spec.add_key(name=f"random {k}", qpos=qpos, qvel=qvel, ctrl=ctrl)


def _unit(rng: np.random.Generator) -> np.ndarray:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def throw(spec: Any, count: int, seed: int, *, talk: bool = False, **options: Any) -> Tally:
    """So many random states of a scene, `STEPS` steps from each."""
    add_random_states(spec, count, seed)
    sim, tally = perp.Simulation(spec, step=0.005, **options), Tally()
    told = time.monotonic()
    for k in range(count):
        tally.states += 1
        try:
            _from_state(sim, k, tally)
        except Exception as error:  # noqa: BLE001  that none is raised is what is tested
            tally.raised += 1
            words = " ".join(str(error).split())[:300]
            tally.first_problem = tally.first_problem or f"state {k}: {type(error).__name__}: {words}"
        if talk and time.monotonic() - told > 2.0:
            told = time.monotonic()
            print(json.dumps(asdict(tally)), flush=True)
    return tally


def _from_state(sim: perp.Simulation, k: int, tally: Tally) -> None:
    sim.reset(keyframe=f"random {k}")
    for _ in range(STEPS):
        began = time.thread_time()
        record = sim.step()
        tally.largest_ms = max(tally.largest_ms, 1e3 * (time.thread_time() - began))
        tally.inaccurate_steps += not record.met
    state = sim.state
    if not all(np.isfinite(x).all() for x in (state.position, state.quaternion, state.velocity)):
        tally.not_finite += 1
        tally.first_problem = tally.first_problem or f"state {k}: not finite"


def main() -> None:
    """Parse the command line; run the robots, or as a worker one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("robots", nargs="*", default=TEN, help="parts of names")
    parser.add_argument("--states", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of CPU time for a robot")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        warnings.simplefilter("ignore")
        print(json.dumps(asdict(Tally())), flush=True)
        tally = throw(on_stage(given.worker), given.states, given.seed, talk=True)
        print(json.dumps(asdict(tally)), flush=True)
        return
    print(f"{'robot':44} states raised  NaN inaccurate steps  largest [ms]")
    for scene in robot_scenes():
        if not any(part in scene.name for part in given.robots):
            continue
        words = ["--states", str(given.states), "--seed", str(given.seed)]
        tally, ending = last_line([__file__, "--worker", str(scene.path), *words], given.limit)
        print(
            f"{scene.name[:44]:44} {tally['states']:6d} {tally['raised']:6d} {tally['not_finite']:4d} "
            f"{tally['inaccurate_steps']:16d} {tally['largest_ms']:13.1f}  {ending} {tally['first_problem']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
