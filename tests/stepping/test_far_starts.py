"""Starts whose joints are open by more than the scene is large are closed before the first step."""

from __future__ import annotations

import numpy as np
import pytest

import perp

TEXT = """<mujoco><worldbody><body name="post" pos="0 0 3"/><body name="beam" pos="0 0 3"><freejoint/>
 <geom type="capsule" fromto="0 -.5 0 0 .5 0" size=".05" mass="1"/></body></worldbody>
 <equality><weld body1="post" body2="beam" relpose="0 0 4 1 0 0 0"/></equality></mujoco>"""


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
def test_a_weld_four_lengths_away_is_closed_at_once(coordinates: str) -> None:
    sim = perp.Simulation(TEXT, step=0.005, coordinates=coordinates, strict=True)
    assert "moved by up to 4 m (beam)" in sim.start_note
    sim.step()
    np.testing.assert_allclose(sim.body("beam").position, [0, 0, 7], atol=1e-8)
    assert np.abs(sim.qvel).max() < 1e-6


def test_a_start_that_nothing_can_put_right_says_so() -> None:
    second = '<connect body1="post" body2="beam" anchor="0 0 1"/>'
    sim = perp.Simulation(TEXT.replace("</equality>", f"{second}</equality>"), step=0.005)
    assert "it still opens joints by 4 m or rad: not all of it can hold at once" in sim.start_note
