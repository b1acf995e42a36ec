"""Cylinders that stand on a plane up to round-off: mujoco alone loses their contacts, or misses by millimetres."""

from __future__ import annotations

import numpy as np
import pytest

import perp

SCENE = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 1"/>
<body name="can" pos="0 0 0.2"><freejoint/><geom type="cylinder" size="0.1 0.2"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("coordinates", ["reduced", "maximal"])
@pytest.mark.parametrize("level", ["position", "velocity"])
def test_any_small_tilt_leaves_them_standing(coordinates, level):
    """2 mm were lost at 1e-14, all contacts at 1e-15."""
    sim = perp.Simulation(SCENE, coordinates=coordinates, level=level)
    rng = np.random.default_rng(1)
    for power in range(-17, -8):
        for _ in range(5):
            tilt, towards, turn = 10.0 ** (power + rng.uniform()), *rng.uniform(0.0, 2.0 * np.pi, 2)
            x, y = 0.5 * tilt * np.cos(towards), 0.5 * tilt * np.sin(towards)
            c, s = np.cos(turn), np.sin(turn)
            sim.reset()
            sim.qpos = [0.0, 0.0, 0.2, c, x * c + y * s, y * c - x * s, s]
            record = sim.step()
            assert record.contact_count >= 3
            assert record.met
            # a cylinder that leans by an angle is pushed up by no more than half of it times its radius
            assert abs(sim.qpos[2] - 0.2) < 1e-9 + 0.1 * tilt
