"""What cannot undo its overlap goes on without, and stops nothing else from undoing its own."""

from __future__ import annotations

import numpy as np

import perp

# A beam that its limit holds in the ground: no position satisfies both.
_STUCK = """<body name="beam" pos="0 0 0.1"><joint name="hinge" axis="0 1 0" limited="true" range="20 40"/>
<geom type="capsule" fromto="0 0 0 1 0 0" size="0.05" mass="1"/></body>"""
_SUNK = '<body name="box" pos="3 0 0.08"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="2"/></body>'


def _scene(bodies: str) -> str:
    return f"""<mujoco><compiler angle="degree"/><worldbody><geom type="plane" size="9 9 1"/>{bodies}
    </worldbody></mujoco>"""


def test_a_box_leaves_the_ground_beside_a_beam_that_cannot():
    """The pause of one island was that of all: the box stayed 20 mm deep for good."""
    sim = perp.Simulation(_scene(_STUCK + _SUNK), step=0.005, coordinates="reduced")
    assert "beam" in sim.start_note
    angle = sim.joint("hinge").position
    sim.run(0.4)
    assert abs(sim.body("box").position[2] - 0.1) < 1e-5
    # the beam, which could only follow one of its two laws, stays
    assert abs(sim.joint("hinge").position - angle) < 1e-3


def test_pauses_are_part_of_what_a_snapshot_remembers():
    sim = perp.Simulation(_scene(_STUCK + _SUNK), step=0.005, coordinates="reduced")
    sim.run(0.1)
    kept = sim.snapshot()
    sim.run(0.1)
    end = sim.qpos
    sim.restore(kept)
    sim.run(0.1)
    np.testing.assert_array_equal(sim.qpos, end)
