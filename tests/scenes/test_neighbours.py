"""Bodies that overlap where they are joined."""

from __future__ import annotations

import perp

PALM = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" pos="0 0 -.5"/><body name="palm">
 <geom type="box" size=".1 .1 .05"/><body name="finger" pos="0 0 .04"><joint name="knuckle" axis="0 1 0"
 range="-10 90"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass=".1"/></body></body></worldbody>
 <actuator><motor joint="knuckle" gear="1"/></actuator></mujoco>"""


def test_a_finger_that_overlaps_its_fixed_palm_moves_and_the_report_says_why() -> None:
    sim = perp.Simulation(PALM, step=0.005)
    assert sim.start_note == ""
    assert ("contact of palm and finger", "they share a joint and overlap at the reference position") in (
        sim.report.ignored
    )
    for _ in range(20):
        assert sim.step([-0.5]).met
    assert sim.joint("knuckle").position < -0.1


def test_a_palm_in_pieces_is_one_body() -> None:
    pieces = PALM.replace('<body name="palm">', '<body name="hand"><body name="palm">', 1)
    pieces = pieces.replace('size=".1 .1 .05"/>', 'size=".1 .1 .05"/></body>', 1)
    assert "contact of palm and finger" in dict(perp.Simulation(pieces, step=0.005).report.ignored)


def test_what_hangs_from_the_world_rests_on_its_ground() -> None:
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="flap" pos="0 0 .015">
     <joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/></body></worldbody></mujoco>"""
    sim = perp.Simulation(text, step=0.005)
    assert not any("share a joint" in reason for _, reason in sim.report.ignored)
    assert sim.step().contact_count > 0
