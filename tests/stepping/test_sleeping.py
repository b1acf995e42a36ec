"""Bodies that sleep: frozen to the last bit, woken by touch, force and hand; never by default."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes import library


def two_stacks_and_a_ball() -> str:
    boxes = "".join(
        library.box(f"b{c}{k}", (0.05, 0.05, 0.05), (c, 0, 0.05 + 0.1 * k))
        for c in range(2)
        for k in range(3)
    )
    ball = (
        '<body name="ball" pos="-1 0 0.1"><freejoint/><geom type="sphere" size="0.1" mass="1" friction="0.5 0 0"/>'
        "</body>"
    )
    return library.scene(library.plane(0.5) + boxes + ball)


def test_islands_at_rest_sleep_and_only_the_one_that_is_touched_wakes() -> None:
    sims = [perp.Simulation(two_stacks_and_a_ball(), step=0.01, sleep=sleep) for sleep in (0.0, 0.1)]
    for sim in sims:
        sim.body("ball").set_velocity((3.0, 0, 0), (0, 30.0, 0))
    awake, sleepy = sims
    frozen, apart, counts = None, 0.0, []
    for _ in range(80):
        awake.step()
        counts.append(sleepy.step().contact_count)
        if sleepy.time > 0.15 and frozen is None:
            frozen = sleepy.state.position[:6].copy()
            assert sleepy.last.contact_count == 1  # the ball's
            assert not sleepy.state.velocity[:6].any()
        if frozen is not None:
            # the far stack never moves by a bit
            assert np.array_equal(sleepy.state.position[3:6], frozen[3:6])
        if counts[-1] <= 1 or frozen is None:
            apart = max(apart, np.abs(awake.state.position - sleepy.state.position).max())
        assert awake.last.met
        assert sleepy.last.met
    assert max(counts[30:]) > 1
    assert np.abs(sleepy.body("b00").position[0]) > 1e-3  # the near one was hit
    # until then; boxes that slide on each other have several answers, of which the two runs find others
    assert apart < 1e-9


def test_forces_and_hands_wake_and_a_snapshot_knows_who_sleeps() -> None:
    scene = library.stack(3)
    for disturb in ("force", "velocity", "pose"):
        sim = perp.Simulation(scene, step=0.01, sleep=0.05)
        sim.run(0.2)
        assert sim.last.contact_count == 0
        twin = sim.copy()
        assert twin.step().contact_count == 0
        body = sim.body("box2")
        if disturb == "force":
            body.apply(force=(20.0, 0, 0))
        elif disturb == "velocity":
            body.set_velocity((0.1, 0, 0))
        else:
            body.set_pose((0.02, 0.0, 0.25))
        assert sim.step().contact_count > 0
        assert sim.state.velocity.any()


def test_a_motor_that_is_given_a_value_wakes_its_scene() -> None:
    body = (
        '<body name="cart"><joint name="rail" type="slide" axis="1 0 0"/><geom size="0.1" mass="2"/></body>'
    )
    scene = library.scene(body, extra='<actuator><motor joint="rail"/></actuator>')
    sim = perp.Simulation(scene, step=0.01, sleep=0.05)
    sim.run(0.2, [0.0])
    sim.step([4.0])
    assert sim.body("cart").velocity[0] == pytest.approx(0.02, rel=1e-9)


def test_by_default_nobody_sleeps_and_bad_values_are_named() -> None:
    sim = perp.Simulation(library.stack(2), step=0.01)
    assert all(record.contact_count == 8 for record in sim.run(1.0).records)
    with pytest.raises(perp.ProblemError, match="sleep"):
        perp.Simulation(library.stack(2), step=0.01, sleep=-1.0)
