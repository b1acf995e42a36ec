"""Environments of Gymnasium: its own checks, seeds, ends and resets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import perp
from perp.simulation.batches.batch import Batch

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

from perp import gym  # noqa: E402

CARTPOLE = """
<mujoco>
  <option timestep="0.02"/>
  <worldbody>
    <body name="cart"><joint name="slide" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.1 0.05 0.05" mass="1" contype="0" conaffinity="0"/>
      <body name="pole"><joint name="hinge" type="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.02" mass="0.1" contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="slide" gear="10" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


def upright(batch: Batch, action: np.ndarray) -> np.ndarray:
    return np.cos(batch.qpos[:, 1]) - 0.01 * action[:, 0] ** 2


def fallen(batch: Batch) -> np.ndarray:
    return np.abs(batch.qpos[:, 1]) > 0.3


def shaken(batch: Batch, world: int, random: np.random.Generator) -> None:
    batch.qpos[world] += random.uniform(-0.05, 0.05, batch.qpos.shape[1])


TASK = gym.Task(CARTPOLE, upright, ended=fallen, start=shaken, steps=30)


@pytest.mark.filterwarnings("ignore:.*observation space (minimum|maximum) value is.*infinity.*")
@pytest.mark.filterwarnings("ignore:.*not being inherited.*")
def test_an_environment_passes_gymnasiums_check() -> None:
    check_env(gym.Env(TASK), skip_render_check=True)


def test_spaces_come_from_the_scene() -> None:
    env = gym.VectorEnv(TASK, 3, threads=1)
    assert env.single_action_space == gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)
    assert env.observation_space.shape == (3, 4)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_many_are_gymnasiums_own_vector_of_single_ones(mode: AutoresetMode) -> None:
    """The oracle is Gymnasium's `SyncVectorEnv` over single environments."""
    ours = gym.VectorEnv(TASK, 4, threads=2, autoreset=mode)
    theirs = SyncVectorEnv([lambda: gym.Env(TASK)] * 4, autoreset_mode=mode)
    random = np.random.default_rng(0)
    a, _ = ours.reset(seed=5)
    b, _ = theirs.reset(seed=5)
    assert np.array_equal(a, b)
    ends = 0
    for _ in range(80):
        action = random.uniform(-1, 1, (4, 1))
        mine, other = ours.step(action), theirs.step(action)
        for x, y in zip(mine[:4], other[:4], strict=True):
            assert np.array_equal(x, y)
        over = mine[2] | mine[3]
        ends += int(over.sum())
        if mode is AutoresetMode.SAME_STEP and over.any():
            kept = np.stack(list(other[4]["final_obs"][over]))
            assert np.array_equal(mine[4]["final_obs"][over], kept)
    assert ends > 4


def test_disabled_autoreset_waits_for_a_reset() -> None:
    env = gym.VectorEnv(TASK, 2, threads=1, autoreset=AutoresetMode.DISABLED)
    env.reset(seed=1)
    over = np.zeros(2, bool)
    while not over.any():
        _, _, ended, cut, _ = env.step(np.array([[1.0], [0.0]]))
        over = ended | cut
    with pytest.raises(perp.ProblemError, match="reset them"):
        env.step(np.zeros((2, 1)))
    time = env.batch.time.copy()
    env.reset(options={"reset_mask": over})
    assert (env.batch.time[over] == 0).all()
    assert (env.batch.time[~over] == time[~over]).all()
    env.step(np.zeros((2, 1)))


def test_a_seed_fixes_a_run() -> None:
    def run(seed: int) -> np.ndarray:
        env = gym.VectorEnv(TASK, 3, threads=2)
        env.reset(seed=seed)
        return np.stack([env.step(np.full((3, 1), 0.2))[0] for _ in range(40)])

    assert np.array_equal(run(1), run(1))
    assert not np.array_equal(run(1), run(2))


def test_a_world_that_fails_ends_its_episode() -> None:
    def explode(batch: Batch, world: int, random: np.random.Generator) -> None:
        if world == 1 and batch.time[world] == 0:
            batch.qvel[world, 0] = 1e308

    env = gym.VectorEnv(gym.Task(CARTPOLE, upright, start=explode), 2, threads=1)
    env.reset(seed=0)
    _, _, ended, _, infos = env.step(np.zeros((2, 1)))
    assert list(ended) == [False, True]
    assert list(infos["failed"]) == [False, True]


@pytest.mark.parametrize(
    "bad",
    [{"reward": lambda batch, action: np.zeros((batch.worlds, 2))}, {"observe": lambda batch: batch.time}],
)
def test_functions_of_wrong_shape_are_named(bad: dict[str, Any]) -> None:
    with pytest.raises(perp.ProblemError, match=next(iter(bad))):
        gym.VectorEnv(gym.Task(**{"scene": CARTPOLE, "reward": upright} | bad), 2).step(np.zeros((2, 1)))


def test_actions_and_modes_that_make_no_sense_are_named() -> None:
    env = gym.VectorEnv(TASK, 2)
    env.reset(seed=0)
    with pytest.raises(perp.ProblemError, match="shape"):
        env.step(np.zeros((2, 3)))
    with pytest.raises(perp.ProblemError, match="autoreset"):
        gym.VectorEnv(TASK, 2, autoreset="never")
