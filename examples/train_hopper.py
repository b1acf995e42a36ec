"""Teach a hopper to hop: 128 worlds at a time, the cross-entropy method in twenty lines of NumPy.

A policy is linear, action = tanh(W observation + b). Every generation draws weights from a normal
distribution, tries each set in a world of its own, and fits the distribution to the best eighth. Needs
gymnasium: pip install 'perp[gym]'.

    python examples/train_hopper.py
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from perp.gym import Task, VectorEnv
from perp.simulation.batches.batch import Batch

SCENE = Path(__file__).with_name("hopper.xml")
# Actions of an episode (4 s), time steps of 5 ms an action; worlds in which the mean policy is tried.
ACTIONS, REPEAT, COPIES = 200, 4, 8


def observe(batch: Batch) -> np.ndarray:
    """All but the distance travelled, about the size of one."""
    height, lean = batch.qpos[:, 1:2], batch.qpos[:, 2:3]
    return np.concatenate([5 * height, 2 * lean, batch.qpos[:, 3:], 0.2 * batch.qvel], axis=1)


def reward(batch: Batch, action: np.ndarray) -> np.ndarray:
    """Forward speed, one for every action upright, less a little for effort."""
    return np.minimum(batch.qvel[:, 0], 1.5) + 1.0 - 0.05 * (action**2).sum(axis=1)


def fallen(batch: Batch) -> np.ndarray:
    """Whether the torso is low or leans."""
    return (batch.qpos[:, 1] < -0.5) | (np.abs(batch.qpos[:, 2]) > 0.5)


def bent(batch: Batch, world: int, random: np.random.Generator) -> None:
    """Begin with a bent leg, foot on the floor, a little different every time."""
    batch.qpos[world] = [0.0, -0.08, 0.0, -0.3, -0.6, 0.3] + 0.005 * random.standard_normal(6)


TASK = Task(SCENE, reward, observe, fallen, bent, steps=ACTIONS, repeat=REPEAT)


def returns(env: VectorEnv, weights: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sum of rewards of each policy until its end, and how far it came [m], shapes (worlds,)."""
    seen, _ = env.reset(seed=seed)
    motors, n = env.batch.ctrl.shape[1], seen.shape[1]
    W = weights.reshape(-1, motors, n + 1)
    total, way, alive = np.zeros(len(W)), np.zeros(len(W)), np.ones(len(W), bool)
    for _ in range(ACTIONS):
        action = np.tanh(np.einsum("wmn,wn->wm", W[:, :, :n], seen) + W[:, :, n])
        seen, gained, ended, _, _ = env.step(action)
        total += np.where(alive, gained, 0.0)
        way[alive] = env.batch.qpos[alive, 0]
        alive &= ~ended
        if not alive.any():
            break
    return total, way


def train(
    generations: int, worlds: int, seed: int = 0
) -> tuple[np.ndarray, list[tuple[float, float, float]]]:
    """Best mean weights, and after every generation the median and best return and the way of the best."""
    env = VectorEnv(TASK, worlds)
    random, size = np.random.default_rng(seed), 3 * (env.reset(seed=seed)[0].shape[1] + 1)
    mean, spread, history = np.zeros(size), np.full(size, 0.5), []
    kept, most = mean, -np.inf
    for generation in range(generations):
        tried = mean + spread * random.standard_normal((worlds, size))
        # the mean itself from several starts: by its luck from one of them it cannot be judged
        tried[:COPIES] = mean
        total, way = returns(env, tried, seed=1000 * generation)
        if total[:COPIES].mean() > most:
            kept, most = mean, float(total[:COPIES].mean())
        new = np.argsort(-total[COPIES:])[: max(2, worlds // 8)]
        best = tried[COPIES + new]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.3 * 0.85**generation * 0.5
        k = int(np.argmax(total))
        history.append((float(np.median(total)), float(total[k]), float(way[k])))
    return kept, history


def main() -> None:
    """Train, say what came out, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=40)
    parser.add_argument("--worlds", type=int, default=128)
    parser.add_argument("--picture", type=Path, help="where to draw the learning curve and the hops")
    arguments = parser.parse_args()
    began = time.perf_counter()
    mean, history = train(arguments.generations, arguments.worlds)
    for generation, (median, best, way) in enumerate(history):
        print(f"{generation:3d}  median return {median:7.1f}  best {best:7.1f}, {way:5.2f} m")
    env = VectorEnv(TASK, 16)
    total, way = returns(env, np.tile(mean, (16, 1)), seed=7)
    print(f"mean policy from 16 new starts: return {total.mean():.1f}, {np.median(way):.2f} m in 4 s")
    print(f"{time.perf_counter() - began:.0f} s")
    if arguments.picture:
        draw(mean, history, arguments.picture)


def draw(mean: np.ndarray, history: list[tuple[float, float, float]], path: Path) -> None:
    """The learning curve, and the hopper every 0.1 s."""
    import matplotlib.pyplot as plt

    env = VectorEnv(TASK, 1, threads=1)
    seen, _ = env.reset(seed=7)
    W, n, frames = mean.reshape(3, -1), seen.shape[1], []
    names = env.batch.model.body_names
    for k in range(120):
        seen = env.step(np.tanh(seen @ W[:, :n].T + W[:, n]))[0]
        if k % 6 == 0:
            sim = env.batch.simulation(0)
            frames.append([sim.body(name).position[[0, 2]] for name in names])
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3), width_ratios=(1, 2), layout="constrained")
    left.plot([line[1] for line in history], label="best")
    left.plot([line[0] for line in history], label="median")
    left.set(xlabel="generation", ylabel="return of an episode")
    left.legend()
    for k, frame in enumerate(frames):
        x, z = np.array(frame).T
        right.plot(x, z, "o-", color=plt.get_cmap("viridis")(k / len(frames)), markersize=3)
    right.axhline(0.0, color="black", linewidth=1)
    right.set(xlabel="x [m]", ylabel="z [m]", aspect="equal")
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
