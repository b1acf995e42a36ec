"""Contacts of a step: gaps, frames, reach, rows, identity from step to step."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.collision import Contacts
from perp.scenes import library

BOTH = ["maximal", "reduced"]


def contacts(text: str, coordinates: str, step: float = 0.01) -> Contacts:
    """Of the first step."""
    return perp.Simulation(text, step=step, coordinates=coordinates).step().contacts


@pytest.mark.parametrize("coordinates", BOTH)
def test_a_box_above_a_plane_is_seen_within_reach_only(coordinates: str) -> None:
    for step, count in ((0.005, 0), (0.05, 4)):
        sim = perp.Simulation(library.box_on_plane(), step=step, coordinates=coordinates)
        sim.body("box").set_pose((0, 0, 0.07))
        sim.body("box").set_velocity((0, 0, -0.5))
        found = sim.step().contacts
        assert found.count == count
    assert found.gap == pytest.approx(0.02)
    assert found.frame[:, 0] == pytest.approx(np.tile([0, 0, 1.0], (4, 1)))
    assert np.einsum("cij,ckj->cik", found.frame, found.frame) == pytest.approx(np.tile(np.eye(3), (4, 1, 1)))
    assert (found.body == [-1, 0]).all()


@pytest.mark.parametrize("coordinates", BOTH)
def test_round_shapes_carry_their_radius(coordinates: str) -> None:
    assert contacts(library.sphere_on_plane(radius=0.3), coordinates).roundness.tolist() == [[0.0, 0.3]]
    shape = '<geom type="cylinder" size="0.2 0.1"/>'
    cylinder = f'<body euler="1.5707963267948966 0 0" pos="0 0 0.2"><freejoint/>{shape}</body>'
    rolling = contacts(library.scene(library.plane(0.5) + cylinder), coordinates)
    assert rolling.count >= 2
    assert rolling.roundness[:, 1] == pytest.approx(0.2)


@pytest.mark.parametrize("coordinates", BOTH)
def test_impulses_of_the_last_step_are_found_again(coordinates: str) -> None:
    sim = perp.Simulation(library.stack(3), step=0.01, coordinates=coordinates)
    records = [sim.step() for _ in range(12)]
    # a stack that stands: the impulses of the step before solve this one
    assert max(record.iterations for record in records[4:]) <= 1


@pytest.mark.parametrize("coordinates", BOTH)
def test_contacts_between_shapes_that_stand_still_are_left_out(coordinates: str) -> None:
    """An explicit pair makes mujoco report the two walls; the ball's contacts close up behind them."""
    walls = "".join(
        f'<geom name="{name}" type="box" size="1 1 1" pos="{x} 0 -1"/>'
        for name, x in (("w1", 0), ("w2", 1.5))
    )
    balls = "".join(
        f'<body pos="{x} 0 0.1"><freejoint/><geom type="sphere" size="0.1"/></body>' for x in (-0.5, 2.0)
    )
    pair = '<contact><pair geom1="w1" geom2="w2"/></contact>'
    text = f"<mujoco><worldbody>{walls}{balls}</worldbody>{{}}</mujoco>"
    alone, seen = contacts(text.format(""), coordinates), contacts(text.format(pair), coordinates)
    assert sorted(seen.geom.tolist()) == sorted(alone.geom.tolist()) == [[2, 0], [3, 1]]
    assert seen.point[np.argsort(seen.geom[:, 0])] == pytest.approx(
        np.array([[-0.5, 0, 0], [2.0, 0, 0]]), abs=1e-12
    )
    assert (seen.body.max(axis=1) >= 0).all()


@pytest.mark.parametrize("coordinates", BOTH)
@pytest.mark.parametrize(("condim", "rows"), [(1, 1), (3, 3), (4, 4), (6, 6)])
def test_friction_and_rows_follow_condim(condim: int, rows: int, coordinates: str) -> None:
    friction = f'friction="0.3 0.02 0.01" condim="{condim}"'
    ball = f'<body pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1" mass="1" {friction}/></body>'
    found = contacts(library.scene(f'<geom type="plane" size="5 5 1" {friction}/>' + ball), coordinates)
    assert found.rows.tolist() == [rows]
    assert found.friction[0] == pytest.approx([0.3, 0.3, 0.02, 0.01, 0.01])


def test_contacts_found_earlier_stay_as_they_were() -> None:
    sim = perp.Simulation(library.sphere_on_plane(), step=0.01)
    first = sim.step().contacts
    before = [np.array(x) for x in (first.point, first.frame, first.gap, first.friction)]
    sim.body("sphere").set_velocity((1.0, 0.5, 0))
    sim.run(0.1)
    after = (first.point, first.frame, first.gap, first.friction)
    assert all(np.array_equal(x, y) for x, y in zip(before, after, strict=True))


@pytest.mark.parametrize("coordinates", BOTH)
def test_the_deepest_contact_of_two_shapes_is_among_several(coordinates: str) -> None:
    """Clipped by a face, a capsule beside the edge of a brick was 5 mm further away than it is.

    The distance of a capsule's axis from a brick is found here by projections onto each in turn.
    """
    half, rng, gap = np.array([0.05, 0.03, 0.04]), np.random.default_rng(5), 1e-4
    corners = " ".join(str(x) for corner in np.ndindex(2, 2, 2) for x in half * (2 * np.array(corner) - 1))
    several = 0
    for _ in range(40):
        axis, away = (x / np.linalg.norm(x) for x in rng.normal(size=(2, 3)))
        centre = point = on_brick = 0.3 * away
        for _ in range(2000):
            on_brick = np.clip(point, -half, half)
            point = centre + np.clip((on_brick - centre) @ axis, -0.06, 0.06) * axis
        normal = (point - on_brick) / np.linalg.norm(point - on_brick)
        centre = centre - (np.linalg.norm(point - on_brick) - 0.03 - gap) * normal
        ends = " ".join(str(x) for x in (*(centre - 0.06 * axis), *(centre + 0.06 * axis)))
        text = library.scene(
            '<geom type="mesh" mesh="brick"/>'
            f'<body name="pin"><freejoint/><geom type="capsule" fromto="{ends}" size="0.03"/></body>',
            extra=f'<asset><mesh name="brick" vertex="{corners}"/></asset>',
            gravity=(0.0, 0.0, 0.0),
        )
        sim = perp.Simulation(text, step=0.01, coordinates=coordinates)
        sim.body("pin").set_velocity(normal)
        found = sim.step().contacts
        assert found.gap.min() == pytest.approx(gap, abs=1e-7)
        several += found.count > 1
    assert several > 2
