"""Steps per second and core of `perp.Batch` beside `mujoco.rollout` in the same run, threads, and memory.

    python benchmarks/batch.py [--threads 2] [--worlds 10000]

Steps are 5 ms (humanoid 2.5 ms). CPU time is counted, the best of three runs. Robots in motion are driven by
waves, the same for both. Threads, also those of `perp.solve_many` on small problems, are measured by wall
time, one and several in turns, the best of many short runs: only moments in which nothing else runs tell.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from simulate import quadruped

import perp
from perp.scenes import library
from perp.scenes.engine import engine

RUNS = 3


def humanoid() -> Any:
    """The humanoid of dm_control, lying and kicking; None where it is not installed."""
    found = importlib.util.find_spec("dm_control")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "suite" / "humanoid.xml"


def box() -> str:
    """A cube that rests on a plane."""
    return library.scene(library.plane(0.5) + library.box("box", (0.05, 0.05, 0.05), (0, 0, 0.05)))


def controls(m: Any, worlds: int, steps: int, moving: bool) -> np.ndarray:
    """Of every step: the lower end of the range to stand; for motion a wave of 2 Hz from there on.

    Legs of a diagonal move together, and every world has a phase of its own.
    """
    low, span = m.actuator_ctrlrange[:, 0], np.ptp(m.actuator_ctrlrange, axis=1)
    out = np.tile(low, (worlds, steps, 1))
    if moving:
        leg = np.arange(m.nu) // 3
        phase = np.pi * ((leg == 1) | (leg == 2)) + np.random.default_rng(0).random(worlds)[:, None, None] * 7
        angle = 2 * np.pi * 2.0 * m.opt.timestep * np.arange(steps)[None, :, None]
        out += 0.15 * span * (1.0 - np.cos(angle + phase))
    return out


def ours(scene: Any, h: float, worlds: int, steps: int, moving: bool, threads: int = 1) -> dict[str, float]:
    """Seconds of CPU and of wall a step of a world, and the share of steps that met their tolerance."""
    batch = perp.Batch(scene, worlds, threads=threads, step=h)
    batch.model.shapes.opt.timestep = h
    given = controls(batch.model.shapes, worlds, steps, moving)
    given = given if given.size else None
    batch.rollout(given, steps=steps)
    cpu, wall, met = [], [], []
    for _ in range(RUNS):
        a, b = time.process_time(), time.perf_counter()
        found = batch.rollout(given, steps=steps)
        cpu.append(time.process_time() - a)
        wall.append(time.perf_counter() - b)
        met.append((found.status == 0).mean())
    n = worlds * steps
    return {"cpu": min(cpu) / n, "wall": min(wall) / n, "met": float(np.mean(met))}


def theirs(scene: Any, h: float, worlds: int, steps: int, moving: bool) -> float:
    """Seconds of CPU a step of a world by mujoco's rollout on one thread."""
    from mujoco import rollout

    mujoco = engine()
    text = isinstance(scene, str)
    m = mujoco.MjModel.from_xml_string(scene) if text else mujoco.MjModel.from_xml_path(str(scene))
    m.opt.timestep = h
    given, data = controls(m, worlds, steps, moving), mujoco.MjData(m)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.empty(mujoco.mj_stateSize(m, kind))
    mujoco.mj_getState(m, data, state, kind)
    states, found = np.tile(state, (worlds, 1)), []
    for _ in range(RUNS + 1):
        began = time.process_time()
        out, _ = rollout.rollout(m, data, states, given if given.size else None, nstep=steps)
        found.append(time.process_time() - began)
        states = np.ascontiguousarray(out[:, -1])
    return min(found[1:]) / (worlds * steps)


def small_problems() -> list[perp.ContactProblem]:
    """3,000 problems of 3 to 6 contacts between bodies of 6 to 12 freedoms."""
    random, out = np.random.default_rng(0), []
    for _ in range(3000):
        count = int(random.integers(3, 7))
        J = random.normal(size=(3 * count, max(6, 2 * count)))
        out.append(perp.ContactProblem.coulomb(J @ J.T, J @ random.normal(size=J.shape[1]), 0.5))
    return out


def efficiency(work: Callable[[int], Any], threads: int, turns: int = 60) -> tuple[float, float, float]:
    """What several threads gain over one, a thread; and the best wall times of both [s]."""
    taken: dict[int, list[float]] = {1: [], threads: []}
    for _ in range(turns):
        for count, times in taken.items():
            began = time.perf_counter()
            work(count)
            times.append(time.perf_counter() - began)
    one, many = min(taken[1]), min(taken[threads])
    return one / many / threads, one, many


def memory(scene: Any, worlds: int) -> tuple[float, float]:
    """MB that worlds take, and that 1e5 of their steps add; to be called in a fresh process.

    Where other scenes were stepped before, worlds get what those left.
    """
    perp.Batch(scene, 2, threads=1, step=0.005).step(2)
    before = resident()
    batch = perp.Batch(scene, worlds, threads=1, step=0.005)
    batch.step(2)
    made = resident()
    batch.step(max(1, 100_000 // worlds))
    return made - before, resident() - made


def resident() -> float:
    """MB that this process has in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worlds", type=int, default=10_000)
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    scenes: list[tuple[str, Any, float, bool]] = [
        ("box at rest", box(), 0.005, False), ("quadruped standing", quadruped(), 0.005, False),
        ("quadruped in motion", quadruped(), 0.005, True), ("humanoid in motion", humanoid(), 0.0025, True),
    ]  # fmt: skip
    print("| scene | perp, steps/s and core | mujoco.rollout | ratio | met tolerance |")
    print("|---|---|---|---|---|")
    for name, scene, h, moving in scenes:
        if scene is None:
            print(f"| {name} | error: dm_control is not installed | | | |")
            continue
        mine, other = ours(scene, h, 64, 100, moving), theirs(scene, h, 64, 100, moving)
        ratio = mine["cpu"] / other
        print(
            f"| {name} | {1 / mine['cpu']:,.0f} | {1 / other:,.0f} | {ratio:.1f} | {mine['met']:.4f} |",
            flush=True,
        )
    threads, problems = arguments.threads, small_problems()
    batches = {n: perp.Batch(quadruped(), 64, threads=n, step=0.005) for n in (1, threads)}
    given = controls(batches[1].model.shapes, 64, 20, True)
    works: dict[str, Callable[[int], Any]] = {
        "64 quadrupeds in motion": lambda n: batches[n].rollout(given),
        "3,000 problems of 3 to 6 contacts": lambda n: perp.solve_many(problems, threads=n),
    }
    print()
    for name, work in works.items():
        share, one, many = efficiency(work, threads)
        print(f"{name}: {1e3 * one:.1f} ms, {1e3 * many:.1f} ms on {threads} threads: efficiency {share:.2f}")
    began = time.process_time()
    for problem in problems:
        perp.solve(problem)
    alone = time.process_time() - began
    began = time.process_time()
    perp.solve_many(problems, threads=1)
    print(f"a loop of perp.solve takes {alone / (time.process_time() - began):.1f} times as long (CPU)")
    for name, scene, worlds in (("box", box(), arguments.worlds), ("quadruped", quadruped(), 1000)):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            took, more = pool.submit(memory, scene, worlds).result()
        print(f"{worlds} worlds of a {name}: {took:.0f} MB, {more:.1f} MB more after 1e5 steps")


if __name__ == "__main__":
    main()
