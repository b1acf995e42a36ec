"""examples/gym_environment.py: the protocol, the seed, and a block that stays where it is left."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "gym_environment.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gym_environment", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_protocol(example: ModuleType) -> None:
    environment = example.PushEnvironment(horizon=3)
    seen, info = environment.reset(seed=3)
    assert environment.observation_space.contains(seen)
    assert info == {}
    environment.action_space.seed(0)
    for k in range(3):
        action = environment.action_space.sample()
        assert environment.action_space.contains(action)
        seen, reward, done, cut, info = environment.step(action)
        assert environment.observation_space.contains(seen)
        assert reward == -abs(seen[2] - seen[4])
        assert not done
        assert cut == (k == 2)
        assert info["residual"] < 1e-8


def test_the_same_seed_gives_the_same_bits(example: ModuleType) -> None:
    environment, runs = example.PushEnvironment(), []
    for _ in range(2):
        seen, _ = environment.reset(seed=7)
        rows = [seen]
        for _ in range(8):
            seen, *_ = environment.step(example.follow(seen))
            rows.append(seen)
        runs.append(np.array(rows).tobytes())
    assert runs[0] == runs[1]
    assert environment.reset(seed=8)[0][4] != environment.reset(seed=7)[0][4]


def test_a_push_below_friction_does_not_move_the_block(example: ModuleType) -> None:
    """μ m g = 2.45 N: a cart that leans on the block with 2 N moves nothing."""
    environment = example.PushEnvironment()
    seen, _ = environment.reset(options={"target": 0.3})
    environment.simulation.body("block").set_pose((-0.2, 0, 0.05))
    for _ in range(10):
        seen, *_ = environment.step([2.0 / example.FORCE])
    assert seen[2] == pytest.approx(-0.2, abs=1e-9)
    for _ in range(10):
        seen, *_ = environment.step([4.0 / example.FORCE])
    assert seen[2] > -0.15


def test_the_controller_leaves_the_block_at_the_target(example: ModuleType) -> None:
    environment = example.PushEnvironment()
    seen, _ = environment.reset(seed=1)
    done = cut = False
    while not (done or cut):
        seen, _, done, cut, _ = environment.step(example.follow(seen))
    assert done
    assert abs(seen[2] - seen[4]) < example.CLOSE
