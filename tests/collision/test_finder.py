"""Contacts from mujoco: gaps, frames, reach, identity from step to step."""

from __future__ import annotations

import numpy as np
import pytest

from perp.collision import MujocoFinder, carry_over
from perp.collision.matching import local_points
from perp.dynamics.motion import rotation_matrices
from perp.scenes import library, load_scene


def find(text: str, reach: float, move: np.ndarray | None = None):
    model = load_scene(text)
    finder = MujocoFinder(model)
    R = np.empty((model.body_count, 3, 3))
    rotation_matrices(model.quaternion, R)
    x = model.position.copy() if move is None else model.position + move
    return finder.find(x, R, np.full(model.body_count, reach)), x, R


def test_a_box_above_a_plane_is_seen_within_reach_only() -> None:
    lifted = np.array([[0.0, 0.0, 0.02]])
    far, _, _ = find(library.box_on_plane(), 0.019, lifted)
    near, _, _ = find(library.box_on_plane(), 0.021, lifted)
    assert far.count == 0
    assert near.count == 4
    assert near.gap == pytest.approx(0.02)
    assert near.frame[:, 0] == pytest.approx(np.tile([0, 0, 1.0], (4, 1)))
    assert np.einsum("cij,ckj->cik", near.frame, near.frame) == pytest.approx(np.tile(np.eye(3), (4, 1, 1)))
    assert (near.body == [-1, 0]).all()


def test_reach_counts_across_bodies_that_are_far_apart() -> None:
    """mujoco sorts bodies by their own margins first: a wheel above a step must still be seen."""
    contacts, _, _ = find(library.rover(step_at=0.3), 0.5, np.tile([0.3, 0.0, 0.2], (5, 1)))
    pairs = {tuple(pair) for pair in contacts.geom.tolist()}
    assert {(0, 3), (0, 4), (0, 5), (0, 6)} <= pairs


def test_round_shapes_carry_their_radius() -> None:
    contacts, _, _ = find(library.sphere_on_plane(radius=0.3), 0.01)
    assert contacts.roundness.tolist() == [[0.0, 0.3]]
    shape = '<geom type="cylinder" size="0.2 0.1"/>'
    cylinder = f'<body euler="1.5707963267948966 0 0" pos="0 0 0.2"><freejoint/>{shape}</body>'
    rolling, _, _ = find(library.scene(library.plane(0.5) + cylinder), 0.01)
    assert rolling.count >= 2
    assert rolling.roundness[:, 1] == pytest.approx(0.2)


def test_identity_survives_a_small_motion_and_a_change_of_order() -> None:
    old, x, R = find(library.stack(3), 0.01)
    new, x2, _ = find(library.stack(3), 0.01, np.tile([1e-3, 2e-3, 0.0], (3, 1)))
    a, b = local_points(old, x, R), local_points(new, x2, R)
    assert carry_over(new, b, old, a).tolist() == list(range(new.count))
    shuffled = np.arange(new.count)[::-1]
    for name in (
        "geom",
        "body",
        "point",
        "frame",
        "gap",
        "rows",
        "friction",
        "restitution",
        "roundness",
        "accuracy",
    ):
        setattr(new, name, getattr(new, name)[shuffled])
    assert carry_over(new, b[shuffled], old, a).tolist() == list(range(new.count))[::-1]
    assert (carry_over(new, b, None, None) == -1).all()


def test_contacts_between_shapes_that_stand_still_are_left_out() -> None:
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
    alone, _, _ = find(text.format(""), 0.01)
    seen, _, _ = find(text.format(pair), 0.01)
    assert sorted(seen.geom.tolist()) == sorted(alone.geom.tolist()) == [[2, 0], [3, 1]]
    assert seen.point[np.argsort(seen.geom[:, 0])] == pytest.approx(
        np.array([[-0.5, 0, 0], [2.0, 0, 0]]), abs=1e-12
    )
    assert (seen.body.max(axis=1) >= 0).all()


def test_friction_and_rows_follow_condim() -> None:
    contacts, _, _ = find(library.sphere_on_plane(friction=0.3, rolling=0.01), 0.01)
    assert contacts.rows.tolist() == [5]
    assert contacts.friction[0] == pytest.approx([0.3, 0.3, 0.01])
    text = (
        library.sphere_on_plane()
        .replace('name="ground"', 'name="ground" condim="1"')
        .replace('name="sphere" type', 'name="sphere" condim="1" type')
    )
    smooth, _, _ = find(text, 0.01)
    assert smooth.rows.tolist() == [1]


def test_contacts_found_earlier_stay_as_they_were() -> None:
    model = load_scene(library.sphere_on_plane())
    finder, R = MujocoFinder(model), np.eye(3)[None]
    first = finder.find(model.position, R, np.full(1, 1.0))
    before = [np.array(x) for x in (first.point, first.frame, first.gap, first.friction)]
    finder.find(model.position + np.array([0.3, 0.1, 0.02]), R, np.full(1, 1.0))
    after = (first.point, first.frame, first.gap, first.friction)
    assert all(np.array_equal(x, y) for x, y in zip(before, after, strict=True))
