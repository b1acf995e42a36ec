"""A perp scene as a reinforcement-learning environment with gymnasium's interface.

A cart on a rail pushes a block along the ground, and has to leave it at a target. Friction is exact: the
block stays where it is left, and moves only when it is pushed harder than μ m g. Gymnasium is used where it
is installed; without it the same class works with two small stand-ins.

    python examples/gym_environment.py
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import perp


class PlainEnvironment:
    """What of gymnasium.Env is needed here: a random generator that follows the seed."""

    np_random = np.random.default_rng()

    def reset(self, *, seed: int | None = None) -> Any:
        """Begin an episode."""
        if seed is not None:
            self.np_random = np.random.default_rng(seed)


class PlainBox:
    """An array between bounds, as gymnasium.spaces.Box."""

    def __init__(self, low: Any, high: Any, dtype: Any = np.float64) -> None:
        self.low, self.high, self.dtype = np.asarray(low, dtype), np.asarray(high, dtype), np.dtype(dtype)
        self.shape = self.low.shape
        self._random = np.random.default_rng()

    def seed(self, seed: int | None = None) -> None:
        """Begin the samples anew."""
        self._random = np.random.default_rng(seed)

    def sample(self) -> np.ndarray:
        """A random member."""
        return self._random.uniform(self.low, self.high).astype(self.dtype)

    def contains(self, x: Any) -> bool:
        """Whether x is a member."""
        x = np.asarray(x)
        return x.shape == self.shape and bool(((x >= self.low) & (x <= self.high)).all())


gymnasium: Any = import_module("gymnasium") if find_spec("gymnasium") else None
Environment: Any = PlainEnvironment if gymnasium is None else gymnasium.Env
Box: Any = PlainBox if gymnasium is None else gymnasium.spaces.Box

SCENE = """<mujoco>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 1" friction="0.5 0 0"/>
    <body name="cart" pos="-0.3 0 0.06">
      <joint name="rail" type="slide" axis="1 0 0" damping="2"/>
      <geom name="cart" type="box" size="0.05 0.05 0.04" mass="1" priority="1" condim="1"/>
    </body>
    <body name="block" pos="0 0 0.05"><freejoint/>
      <geom name="block" type="box" size="0.05 0.05 0.05" mass="0.5" friction="0.5 0 0"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="rail"/></actuator>
</mujoco>"""

FORCE = 10.0
"""What an action of 1 means [N]: four times the friction of the block."""
CLOSE = 0.01
"""How near the block has to be left [m]."""


class PushEnvironment(Environment):
    """Push a block to a target.

    The observation is (cart x, cart speed, block x, block speed, target), the action a share of the force.

    Args:
        step: Length of a simulation step [s].
        substeps: Simulation steps per action.
        horizon: Actions after which an episode is cut off.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 gymnasium's own shape

    def __init__(self, *, step: float = 0.01, substeps: int = 5, horizon: int = 100) -> None:
        self.simulation = perp.Simulation(SCENE, step=step)
        self.substeps, self.horizon = substeps, horizon
        self.action_space = Box(np.array([-1.0]), np.array([1.0]), dtype=np.float64)
        bound = np.array([50.0, 100.0, 50.0, 100.0, 1.0])
        self.observation_space = Box(-bound, bound, dtype=np.float64)
        self._start = self.simulation.snapshot()
        self._target, self._taken = 0.0, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; the target is drawn from the seed, or given as options["target"]."""
        super().reset(seed=seed)
        self.simulation.restore(self._start)
        drawn = float(self.np_random.uniform(0.1, 0.5))
        self._target, self._taken = float((options or {}).get("target", drawn)), 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold a force for some steps.

        Returns:
            Observation, reward (minus the distance to the target), whether the block lies there, whether the
            horizon is reached, and the worst residual of the steps.
        """
        force = FORCE * float(np.clip(np.asarray(action, dtype=np.float64).reshape(1), -1.0, 1.0)[0])
        residual = 0.0
        for _ in range(self.substeps):
            residual = max(residual, self.simulation.step([force]).residual)
        self._taken += 1
        seen = self._observation()
        distance = abs(seen[2] - self._target)
        done = bool(distance < CLOSE and abs(seen[3]) < 1e-6)
        return seen, -distance, done, self._taken >= self.horizon, {"residual": residual}

    def _observation(self) -> np.ndarray:
        cart, block = self.simulation.body("cart"), self.simulation.body("block")
        return np.array(
            [cart.position[0], cart.velocity[0], block.position[0], block.velocity[0], self._target]
        )


def follow(observation: np.ndarray) -> np.ndarray:
    """A controller by hand: push towards the target, slower the nearer the block is, then draw back."""
    cart, speed, block, _, target = observation
    left = target - block
    wanted = min(0.6, 2.0 * left) if left > 0.5 * CLOSE else -0.3
    if block - cart > 0.11:  # not touching yet
        wanted = max(wanted, 0.3) if left > 0.5 * CLOSE else wanted
    pushes = 2.45 if block - cart < 0.102 and wanted > 0 else 0.0
    return np.array([np.clip((20.0 * (wanted - speed) + pushes) / FORCE, -1.0, 1.0)])


def main() -> None:
    """One episode with the controller above."""
    environment = PushEnvironment()
    observation, _ = environment.reset(seed=1)
    total, done, cut = 0.0, False, False
    while not (done or cut):
        observation, reward, done, cut, _ = environment.step(follow(observation))
        total += reward
    print(f"target {observation[4]:.3f} m, block left at {observation[2]:.3f} m, return {total:.2f}")


if __name__ == "__main__":
    main()
