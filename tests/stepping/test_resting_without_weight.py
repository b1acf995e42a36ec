"""What rests without weight rests: round-off is no energy that something gave."""

from __future__ import annotations

import perp


def test_a_four_bar_linkage_rests_where_nothing_pulls() -> None:
    text = """<mujoco><option gravity="0 0 0"/><default><geom contype="0" conaffinity="0" size=".2"/></default>
     <worldbody><body name="ground" pos="0 0 2" euler="20 20 20">
      <body name="crank" pos=".5 0 0"><joint axis="1 0 0"/><geom type="capsule" fromto="0 0 0 0 4 0"/>
       <body name="coupler" pos="-.5 4 0"><joint axis="1 0 0"/><geom type="capsule" fromto="0 0 0 0 0 4"/>
        <body name="rocker" pos=".5 0 4"><joint axis="1 0 0"/><geom type="capsule" fromto="0 0 0 0 -4 0"/>
        </body></body></body></body></worldbody>
     <equality><connect body1="rocker" anchor="0 -4 0"/></equality></mujoco>"""
    for coordinates in ("maximal", "reduced"):
        sim = perp.Simulation(text, step=0.005, coordinates=coordinates, strict=True)
        for _ in range(50):
            sim.step()
        assert abs(sim.qvel).max() < 1e-10
