"""Robots whose file starts in a pose that contradicts itself are put right before the first step."""

from __future__ import annotations

from pathlib import Path

import pytest

import perp

CASSIE = Path(__file__).resolve().parents[3] / "shared" / "data" / "robots" / "agility_cassie" / "cassie.xml"


@pytest.mark.skipif(not CASSIE.exists(), reason="the robots are not beside the repository")
def test_cassie_without_its_keyframe_is_put_right_from_where_the_first_attempt_ended() -> None:
    """Its first pose passes limits by half a radian with its loops open: one attempt alone ends unsolved."""
    sim = perp.Simulation(CASSIE)
    assert "limits" in sim.start_note
    assert "not put right" not in sim.start_note
    before = sim.stepper.energy(sim.state)
    records = sim.run(0.1).records
    assert all(record.met for record in records)
    assert records[-1].energy <= before + 1e-6 * abs(before)
