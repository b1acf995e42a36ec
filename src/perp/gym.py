"""Environments of Gymnasium whose worlds are a `Batch`: one for learners that want one, one for many.

    task = Task("cartpole.xml", reward=lambda batch, action: np.cos(batch.qpos[:, 1]), steps=500)
    env = VectorEnv(task, 256)

Rewards and ends are functions of the whole batch, so that both kinds of environment share them. Needs
gymnasium: pip install 'perp[gym]'.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perp.problems import PerpError, ProblemError
from perp.simulation.batches.batch import Batch

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector import VectorEnv as _VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise PerpError("environments need gymnasium: pip install 'perp[gym]'") from None

__all__ = ["Env", "Task", "VectorEnv"]


def positions_and_velocities(batch: Batch) -> np.ndarray:
    """Observations that hold all coordinates and velocities, shape (worlds, nq + nv)."""
    return np.concatenate([batch.qpos, batch.qvel], axis=1)


def _never(batch: Batch) -> np.ndarray:
    return np.zeros(batch.worlds, bool)


def _as_it_is(batch: Batch, world: int, random: np.random.Generator) -> None:
    """A start without anything random."""


@dataclass(frozen=True)
class Task:
    """What is to be learned in a scene.

    A step of an environment that fails (numbers overflow) ends its episode, with `failed` in the infos; one
    that misses its tolerance goes on, and `status` tells.

    Attributes:
        scene: As `Simulation` takes it.
        reward: Called with the batch after a step and the actions, shape (worlds, motors); one a world.
        observe: Called with the batch; shape (worlds, n). Coordinates and velocities by default.
        ended: Called with the batch; whether each world has come to an end that is part of the task.
        start: Called as start(batch, world, random) after the reset of a world, to change its state; all
            that is random comes from the generator, which is seeded by `reset(seed=…)`.
        steps: Actions after which an episode is cut off.
        repeat: Time steps an action.
        options: Of `Batch`: step, keyframe, ….
    """

    scene: Any
    reward: Callable[[Batch, np.ndarray], np.ndarray]
    observe: Callable[[Batch], np.ndarray] = positions_and_velocities
    ended: Callable[[Batch], np.ndarray] = _never
    start: Callable[[Batch, int, np.random.Generator], None] = _as_it_is
    steps: int = 1000
    repeat: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)


class _Episodes:
    """Worlds of a task, with their ages and generators."""

    def __init__(self, task: Task, worlds: int, threads: int | None) -> None:
        self.task = task
        self.batch = Batch(task.scene, worlds, threads=threads, **task.options)
        self.age = np.zeros(worlds, np.int64)
        self.random = [np.random.default_rng() for _ in range(worlds)]
        m = self.batch.model.shapes
        if self.batch.ctrl.shape[1] != m.nu:
            raise ProblemError("environments need reduced coordinates, whose motors are those of the file")
        limited = np.repeat(np.asarray(m.actuator_ctrllimited) != 0, m.actuator_ctrlnum)
        bounds = np.where(limited[:, None], np.asarray(m.actuator_ctrlrange)[: m.nu], (-np.inf, np.inf))
        self.action_space = gymnasium.spaces.Box(bounds[:, 0], bounds[:, 1], dtype=np.float64)
        size = self.observations().shape[1]
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)

    def observations(self) -> np.ndarray:
        """Of all worlds, shape (worlds, n)."""
        found = np.array(self.task.observe(self.batch), dtype=np.float64)
        if found.ndim != 2 or len(found) != self.batch.worlds:
            raise ProblemError(f"observe returned shape {found.shape}: (worlds, n) is needed")
        return found

    def reset(self, mask: np.ndarray, seeds: Sequence[int | None]) -> None:
        """Begin anew in some worlds."""
        for i in np.flatnonzero(mask).tolist():
            if seeds[i] is not None:
                self.random[i] = np.random.default_rng(seeds[i])
        self.batch.reset(mask, keyframe=self.task.options.get("keyframe"))
        self.age[mask] = 0
        for i in np.flatnonzero(mask).tolist():
            self.task.start(self.batch, i, self.random[i])

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Observations, rewards, and which worlds have ended or were cut off."""
        if actions.shape != self.batch.ctrl.shape:
            raise ProblemError(f"actions have shape {actions.shape}: {self.batch.ctrl.shape} is needed")
        self.batch.ctrl[:] = actions
        self.batch.step(self.task.repeat)
        self.age += 1
        reward = np.array(self.task.reward(self.batch, self.batch.ctrl), dtype=np.float64)
        if reward.shape != (self.batch.worlds,):
            raise ProblemError(f"reward returned shape {reward.shape}: one number a world is needed")
        ended = np.array(self.task.ended(self.batch), dtype=bool) | self.batch.failed
        return self.observations(), reward, ended, (self.age >= self.task.steps) & ~ended

    def infos(self) -> dict[str, np.ndarray]:
        """Statuses and residuals of the last step, and which worlds failed."""
        b = self.batch
        return {"status": b.status.copy(), "residual": b.residual.copy(), "failed": b.failed}


class Env(gymnasium.Env):
    """One world of a task.

    Args:
        task: What is to be learned.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - gymnasium's own way

    def __init__(self, task: Task) -> None:
        self._episodes = _Episodes(task, 1, 1)
        self.observation_space = self._episodes.observation_space
        self.action_space = self._episodes.action_space

    @property
    def batch(self) -> Batch:
        """The world."""
        return self._episodes.batch

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._episodes.reset(np.ones(1, bool), [seed])
        return self._episodes.observations()[0], self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen, reward, ended, cut = self._episodes.step(np.asarray(action, dtype=np.float64)[None])
        return seen[0], float(reward[0]), bool(ended[0]), bool(cut[0]), self._info()

    def _info(self) -> dict[str, Any]:
        return {name: values[0] for name, values in self._episodes.infos().items()}


class VectorEnv(_VectorEnv):
    """Many worlds of a task, stepped on all cores.

    Args:
        task: What is to be learned.
        num_envs: How many worlds.
        threads: As of `Batch`.
        autoreset: When worlds begin anew after their end: at the next step, whose action is ignored and
            whose reward is 0; at the same step, with the last observation in `infos["final_obs"]`; or when
            `reset(options={"reset_mask": mask})` says so.
    """

    def __init__(
        self,
        task: Task,
        num_envs: int,
        *,
        threads: int | None = None,
        autoreset: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        modes = [mode.value for mode in AutoresetMode]
        if autoreset not in (*modes, *AutoresetMode):
            raise ProblemError(f"autoreset = {autoreset!r}: one of {', '.join(modes)} is needed")
        self._episodes = _Episodes(task, num_envs, threads)
        self.num_envs, self._autoreset = num_envs, AutoresetMode(autoreset)
        self.metadata = {"render_modes": [], "autoreset_mode": self._autoreset}
        self.single_observation_space = self._episodes.observation_space
        self.single_action_space = self._episodes.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.zeros(num_envs, bool)

    @property
    def batch(self) -> Batch:
        """The worlds."""
        return self._episodes.batch

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        n = self.num_envs
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + i for i in range(n)]
        else:
            seeds = list(seed)
        if len(seeds) != n:
            raise ProblemError(f"{len(seeds)} seeds for {n} environments")
        mask = np.asarray((options or {}).get("reset_mask", np.ones(n, bool)))
        if mask.shape != (n,) or mask.dtype != np.bool_ or not mask.any():
            raise ProblemError(f"reset_mask: {n} booleans are needed, some of them true")
        self._episodes.reset(mask, seeds)
        self._over[mask] = False
        return self._episodes.observations(), self._episodes.infos()

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        e, mode, again = self._episodes, self._autoreset, self._over.copy()
        if mode is AutoresetMode.DISABLED and again.any():
            raise ProblemError(f"environments {np.flatnonzero(again)} are over: reset them before a step")
        seen, reward, ended, cut = e.step(np.asarray(actions, dtype=np.float64))
        if mode is AutoresetMode.NEXT_STEP and again.any():
            e.reset(again, [None] * self.num_envs)
            seen, reward[again], ended[again], cut[again] = e.observations(), 0.0, False, False
        infos: dict[str, Any] = dict(e.infos())
        self._over = ended | cut
        if mode is AutoresetMode.SAME_STEP and self._over.any():
            infos["final_obs"], infos["_final_obs"] = seen.copy(), self._over.copy()
            infos["final_info"] = {
                name: values.copy() for name, values in infos.items() if name != "final_obs"
            }
            infos["_final_info"] = self._over.copy()
            e.reset(self._over, [None] * self.num_envs)
            seen = e.observations()
            self._over = np.zeros(self.num_envs, bool)
        return seen, reward, ended, cut, infos
