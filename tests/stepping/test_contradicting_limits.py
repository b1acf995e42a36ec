"""Limits that no position satisfies: what can be held is held, and the start says what cannot."""

from __future__ import annotations

import numpy as np

import perp


def test_arms_coupled_against_their_limits_stay_where_they_are():
    """Ranges 0 to 10 and 20 to 30 degrees of two coupled hinges: impulses of 1e19 passed for an answer."""
    arm = '<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" contype="0" conaffinity="0"/>'
    bodies = "".join(
        f'<body pos="0 {i} 1"><joint name="j{i}" axis="0 1 0" limited="true" range="{span}"/>{arm}</body>'
        for i, span in enumerate(("0 10", "20 30"))
    )
    sim = perp.Simulation(
        f"""<mujoco><compiler angle="degree"/><worldbody>{bodies}</worldbody>
        <equality><joint joint1="j0" joint2="j1"/></equality></mujoco>""",
        step=0.005,
        coordinates="reduced",
    )
    assert "still passes limits of joints" in sim.start_note
    start = sim.qpos
    recording = sim.run(0.1)
    np.testing.assert_allclose(sim.qpos, start, atol=1e-6)
    assert recording.met.all()
