"""Parameters that are known are found again from simulated motions."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import perp

SCENE = """<mujoco><worldbody><geom type="plane" size="9 9 1" friction="{mu}"/>
<body name="b" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" friction="{mu}" mass="2"/></body>
</worldbody></mujoco>"""


def recorded(mu: float, restitution: float, velocity: list[float], steps: int = 30) -> perp.Motion:
    sim = perp.Simulation(SCENE.format(mu=mu), step=0.01, coordinates="reduced", restitution=restitution)
    start = sim.qpos.copy()
    start[2] = 0.1 + 0.05 * (restitution > 0)
    sim.qpos = start
    sim.qvel = velocity
    qpos, qvel = [sim.qpos], [sim.qvel]
    for _ in range(steps):
        sim.step()
        qpos.append(sim.qpos)
        qvel.append(sim.qvel)
    return perp.Motion(np.array(qpos), np.array(qvel), 0.01)


def test_friction_of_sliding_boxes():
    motions = [recorded(0.35, 0.0, [2.0, 0.3 * k, 0, 0, 0, 0]) for k in range(3)]
    found = perp.identify(SCENE.format(mu=0.6), motions, ("friction",), window=5)
    assert found.values[0] == pytest.approx(0.35, abs=2e-4)
    assert found.deviation[0] < 1e-3
    assert "friction = 0.35" in str(found)
    assert found.loss[-1] < 1e-6 * found.loss[0]
    assert len(found.plot().axes) == 2


def test_restitution_and_gravity_of_a_drop():
    motions = [recorded(0.35, 0.6, [0.2, 0.1 * k, -1.0, 0, 0, 0]) for k in range(2)]
    found = perp.identify(
        SCENE.format(mu=0.35), motions, ("restitution", "gravity"), start={"restitution": 0.4}, window=6
    )
    assert found.values[0] == pytest.approx(0.6, abs=1e-3)
    np.testing.assert_allclose(found.values[1:], [0, 0, -9.81], atol=1e-2)
    assert found.names == ("restitution", "gravity[0]", "gravity[1]", "gravity[2]")


def test_executors_give_the_same_bits_and_progress_is_told():
    motions = [recorded(0.35, 0.0, [2.0, 0.3 * k, 0, 0, 0, 0], 12) for k in range(2)]
    here = perp.identify(SCENE.format(mu=0.6), motions, ("friction",), window=3)
    seen = []
    with ThreadPoolExecutor(2) as pool:
        there = perp.identify(
            SCENE.format(mu=0.6), motions, ("friction",), window=3, executor=pool, progress=seen.append
        )
    assert np.array_equal(here.history, there.history)
    assert seen[7].done == seen[7].total == 8
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        processes = perp.identify(SCENE.format(mu=0.6), motions, ("friction",), window=3, executor=pool)
    assert np.array_equal(here.covariance, processes.covariance)


def test_a_worker_that_fails_is_told():
    motion = recorded(0.3, 0.0, [1.0, 0, 0, 0, 0, 0], 8)
    with ThreadPoolExecutor(1) as pool, pytest.raises(perp.PerpError, match="lost"):
        perp.identify(SCENE.format(mu=0.3), [motion], ("friction",), window=4, executor=Lossy(pool))


class Lossy:
    """An executor that loses its third run."""

    def __init__(self, pool):
        self.pool, self.count = pool, 0

    def submit(self, run, *arguments):
        self.count += 1
        return self.pool.submit(lost) if self.count == 3 else self.pool.submit(run, *arguments)


def lost():
    raise OSError("lost")


def test_what_does_not_fit_is_refused():
    motion = recorded(0.3, 0.0, [1.0, 0, 0, 0, 0, 0], 8)
    with pytest.raises(perp.ProblemError, match="empty"):
        perp.identify(SCENE.format(mu=0.3), [], ("friction",))
    with pytest.raises(perp.ProblemError, match="coordinates"):
        perp.identify(
            SCENE.format(mu=0.3), [perp.Motion(motion.qpos[:, :6], motion.qvel, 0.01)], ("friction",)
        )
    with pytest.raises(perp.ProblemError, match="window"):
        perp.identify(SCENE.format(mu=0.3), [motion], ("friction",), window=50)
    with pytest.raises(perp.ProblemError, match="multiple"):
        perp.identify(SCENE.format(mu=0.3), [motion], ("friction",), step=0.003)
