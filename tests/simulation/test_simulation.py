"""perp.Simulation: bodies by name, going on, reset, forces, errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import perp
from perp.scenes import library
from perp.scenes.engine import engine


def test_the_face_of_the_design(tmp_path: Path) -> None:
    path = tmp_path / "scene.xml"
    path.write_text(library.box_on_plane(), encoding="utf-8")
    sim = perp.Simulation(path, step=0.01)
    sim.body("box").set_velocity((1, 0, 0), (0, 0, 0))
    recording = sim.run(0.1)
    sim.run(0.1)
    sim.step(control=None)
    assert sim.time == pytest.approx(0.21)
    assert recording.time == pytest.approx(np.arange(1, 11) * 0.01)
    assert recording.position("box").shape == (10, 3)
    assert sim.body("box").mass == 1.0
    assert sim.body("box").position[0] > 0.05


def test_every_way_to_give_a_scene() -> None:
    mujoco = engine()
    text = library.box_on_plane()
    for scene in (text, mujoco.MjSpec.from_string(text), mujoco.MjModel.from_xml_string(text)):
        sim = perp.Simulation(scene, step=0.01)
        sim.step()
        assert sim.last.contact_count == 4


def test_position_is_that_of_the_body_frame_of_the_file() -> None:
    body = (
        '<body name="b" pos="1 2 3" euler="0 0 0.5"><freejoint/>'
        '<geom type="box" pos="0.3 0 0" size="0.1 0.2 0.3" mass="1"/></body>'
    )
    sim = perp.Simulation(library.scene(body, gravity=(0.0, 0.0, 0.0)), step=0.01)
    b = sim.body("b")
    assert b.position == pytest.approx([1, 2, 3])
    assert b.quaternion == pytest.approx([np.cos(0.25), 0, 0, np.sin(0.25)])
    assert b.centre_of_mass == pytest.approx([1 + 0.3 * np.cos(0.5), 2 + 0.3 * np.sin(0.5), 3])
    b.set_velocity((0, 0, 0), (0, 0, 2.0))
    assert b.velocity == pytest.approx([0, 0, 0], abs=1e-15)
    assert sim.state.velocity[0, :3] == pytest.approx([-0.6 * np.sin(0.5), 0.6 * np.cos(0.5), 0])
    b.set_pose((0, 0, 1), (1, 0, 0, 0))
    assert b.position == pytest.approx([0, 0, 1])
    assert b.quaternion == pytest.approx([1, 0, 0, 0])


def test_reset_brings_back_the_start_and_the_same_bits() -> None:
    sim = perp.Simulation(library.stack(3), step=0.01)
    sim.run(0.1)
    first = sim.state.position.copy()
    sim.reset()
    assert sim.time == 0
    sim.run(0.1)
    assert np.array_equal(sim.state.position, first)


def test_errors_name_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(perp.PerpError, match="does not exist"):
        perp.Simulation(tmp_path / "none.xml", step=0.01)
    with pytest.raises(perp.PerpError, match="cannot be compiled"):
        perp.Simulation("<mujoco><worldbody><bdy/></worldbody></mujoco>", step=0.01)
    sim = perp.Simulation(library.box_on_plane(), step=0.01)
    with pytest.raises(perp.PerpError, match="there are: box"):
        sim.body("ball")
    with pytest.raises(perp.ProblemError, match="linear"):
        sim.body("box").set_velocity((1, 0), (0, 0, 0))
    with pytest.raises(perp.ProblemError, match="force"):
        sim.body("box").apply(force=(np.nan, 0, 0))
    with pytest.raises(perp.PerpError, match="restitution"):
        perp.Simulation(library.box_on_plane(), step=0.01, restitution=1.5)


def test_records_hold_what_a_step_did() -> None:
    sim = perp.Simulation(library.box_on_plane(slope=0.1), step=0.01)
    record = sim.step()
    assert record.seconds > 0
    assert record.energy == pytest.approx(9.81 * np.cos(0.1) * 0.05)
    assert record.contact_forces().shape == (4, 3)
    assert record.contact_residual < 1e-11
    assert record.friction_residual < 1e-9


def test_an_empty_world_and_bodies_that_touch_nothing() -> None:
    assert perp.Simulation(library.scene(library.plane(0.5)), step=0.1).run(0.3).time[-1] == pytest.approx(
        0.3
    )
    sim = perp.Simulation(library.sphere_on_plane(height=10), step=0.01)
    sim.run(0.5)
    assert sim.body("sphere").velocity[2] == pytest.approx(-9.81 * 0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scene": None}, "scene is of type NoneType"),
        ({"scene": 3}, "scene is of type int"),
        ({"step": "0.01"}, "step = '0.01'"),
        ({"step": float("nan")}, "step = nan"),
        ({"step": 0.0}, "step = 0.0"),
        ({"step": True}, "step = True"),
        ({"level": "pos"}, "level = 'pos': one of 'position', 'velocity'"),
        ({"level": 3}, "level = 3"),
        ({"solver": "newtn"}, "no solver is called 'newtn'"),
        ({"tolerence": 1e-3}, "no option 'tolerence'; there are: step, level"),
        ({"tolerance": -1.0}, "tolerance = -1.0"),
        ({"settings": 3}, "settings is of type int"),
        ({"solver": "newton", "solver_options": {"speed": 3}}, "no option 'speed'"),
        ({"level": {"joints": "fast"}}, "level"),
        ({"level": {"motors": "position"}}, "only 'joints' and 'contacts'"),
    ],
)
def test_arguments_are_checked_at_construction(arguments: dict[str, object], message: str) -> None:
    given = {"scene": library.box_on_plane(), "step": 0.01, **arguments}
    with pytest.raises(perp.PerpError, match=message):
        perp.Simulation(given.pop("scene"), **given)  # pyright: ignore[reportArgumentType]


def test_arguments_are_checked_while_running() -> None:
    sim = perp.Simulation(library.rover(), step=0.01)
    box = sim.body(sim.model.body_names[0])
    for seconds in (float("nan"), -1, "1", float("inf")):
        with pytest.raises(perp.ProblemError, match="seconds"):
            sim.run(seconds)  # pyright: ignore[reportArgumentType]
    with pytest.raises(perp.ProblemError, match="length zero"):
        box.set_pose((0, 0, 1), (0, 0, 0, 0))
    with pytest.raises(perp.ProblemError, match="four numbers"):
        box.set_pose((0, 0, 1), (1, 0, 0))
    with pytest.raises(perp.ProblemError, match="linear has entries of type"):
        box.set_velocity(("a", 0, 0))
    with pytest.raises(perp.ProblemError, match="control has 2 entries: it needs 4"):
        sim.step([1, 2])
    with pytest.raises(perp.ProblemError, match=r"control\[3\] is nan"):
        sim.step([0, 0, 0, np.nan])
    with pytest.raises(perp.ProblemError, match="control\\['actuator1'\\]"):
        sim.step({"actuator1": "fast"})
    with pytest.raises(perp.PerpError, match="no motor named 'wheel'; there are: actuator0"):
        sim.step({"wheel": 1.0})
    assert sim.time == 0


def test_contacts_by_name_with_the_documented_sign() -> None:
    sim = perp.Simulation(library.box_on_plane(slope=0.1), step=0.01)
    assert sim.contacts() == []
    sim.run(0.05)
    found = sim.contacts()
    assert {contact.bodies for contact in found} == {("world", "box")}
    assert {contact.geoms for contact in found} == {("ground", "box")}
    assert {contact.state for contact in found} == {"stick"}
    total = sum((contact.force for contact in found), np.zeros(3))
    assert total == pytest.approx([-9.81 * np.sin(0.1), 0, 9.81 * np.cos(0.1)], abs=1e-9)
    assert all(
        contact.normal_force >= 0 and contact.frame[0] == pytest.approx([0, 0, 1]) for contact in found
    )


def test_links_that_overlap_in_every_pose_are_named() -> None:
    scene = """<mujoco><worldbody><geom name="base" type="cylinder" size="0.1 0.1"/>
      <body name="turret"><joint name="turn" axis="0 0 1"/><geom type="cylinder" size="0.1 0.11" mass="1"/></body>
      </worldbody></mujoco>"""
    sim = perp.Simulation(scene, step=0.01, coordinates="reduced")
    assert "no joint separates them" in sim.start_note
    assert "turret" in sim.start_note
    assert sim.step().left_out > 0
