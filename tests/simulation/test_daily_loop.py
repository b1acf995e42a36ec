"""A loop of one's own: a policy, a recorder around steps, tables, pages, and scenes that change."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes import library

CART = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" friction="0.5"/>
    <body name="cart" pos="0 0 0.1"><freejoint/>
      <geom type="box" size="0.2 0.1 0.1" mass="2" friction="0.1"/>
      <body name="pole" pos="0 0 0.1"><joint name="swing" axis="0 1 0"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0 0 0.5" mass="0.1" contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="swing" gear="1"/></actuator>
</mujoco>
"""


def test_a_policy_is_asked_before_every_step_and_is_recorded() -> None:
    sim = perp.Simulation(CART)
    assert sim.step_size == 0.004
    seen: list[float] = []

    def policy(simulation: perp.Simulation) -> list[float] | None:
        seen.append(simulation.time)
        return [0.1 * len(seen)] if len(seen) < 4 else None

    recording = sim.run(0.02, control=policy)
    assert seen == pytest.approx([0.0, 0.004, 0.008, 0.012, 0.016])
    assert recording.control[:, 0] == pytest.approx([0.1, 0.2, 0.3, 0.3, 0.3])
    assert sim.ctrl == pytest.approx([0.3])


def test_a_recorder_around_steps_of_ones_own_equals_a_run(tmp_path) -> None:
    one, other, third = (perp.Simulation(CART) for _ in range(3))
    run = one.run(0.04)
    with other.record() as recorder:
        for _ in range(10):
            other.step()
    other.step()  # outside of the block: not recorded
    with third.record(tmp_path / "run.h5") as written:
        for _ in range(10):
            third.step()
    for recording in (recorder.recording(), written.recording(), perp.Recording.open(tmp_path / "run.h5")):
        assert len(recording) == 10
        assert recording.positions.tobytes() == run.positions.tobytes()
    with pytest.raises(perp.FileError, match="exists already"):
        third.record(tmp_path / "run.h5")
    with pytest.raises(perp.ProblemError, match="being recorded"), third.record():
        third.modify(friction=0.2)


def test_an_exception_in_the_loop_ends_the_recording_and_keeps_it(tmp_path) -> None:
    sim = perp.Simulation(CART)

    def policy(simulation: perp.Simulation) -> None:
        if simulation.time > 0.01:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sim.run(1.0, control=policy, out=tmp_path / "run.h5")
    assert len(perp.Recording.open(tmp_path / "run.h5")) == 3
    sim.step()  # the recorder has let go of the simulation


def test_tables_of_pandas_and_xarray() -> None:
    pytest.importorskip("pandas")
    sim = perp.Simulation(CART)
    sim.body("cart").set_velocity((1, 0, 0))
    run = sim.run(0.04)
    steps = run.to_pandas()
    assert steps.shape[0] == 10
    assert steps.index.name == "time"
    assert steps["cart.x"].to_numpy() == pytest.approx(run.position("cart")[:, 0])
    assert steps["swing.position"].to_numpy() == pytest.approx(run.joint("swing"))
    assert steps["push.control"].tolist() == [0.0] * 10
    assert steps["energy"].to_numpy() == pytest.approx(run.energy)
    contacts = run.to_pandas("contacts")
    assert len(contacts) == run.contact_start[-1]
    assert set(contacts["body1"]) | set(contacts["body2"]) == {"world", "cart"}
    assert set(contacts["geom1"]) | set(contacts["geom2"]) == {"floor", "shape 1 of cart"}
    sliding = contacts[contacts["state"] == "slip"]
    # of two shapes the larger coefficient counts
    assert sliding["friction_force"].to_numpy() == pytest.approx(0.5 * sliding["normal_force"].to_numpy())
    weight = contacts.groupby("step")["normal_force"].sum()
    assert weight.to_numpy()[-3:] == pytest.approx(2.1 * 9.81, rel=0.02)
    with pytest.raises(perp.ProblemError, match="there are: steps, contacts"):
        run.to_pandas("bodies")
    pytest.importorskip("xarray")
    data = run.to_xarray()
    assert data["position"].sel(body="cart", axis="x").values == pytest.approx(run.position("cart")[:, 0])
    assert data.sizes["time"] == 10
    assert float(data["energy"][-1]) == run.energy[-1]


def test_a_page_and_a_picture(tmp_path) -> None:
    run = perp.Simulation(CART).run(0.02)
    text = run.to_html(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text(encoding="utf-8") == text
    assert "<title>run</title>" in text
    figure = run.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000
    assert len(figure.axes) == 10


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
def test_friction_is_changed_while_the_scene_runs(coordinates: str) -> None:
    sim = perp.Simulation(library.box_on_plane(), step=0.001, coordinates=coordinates)
    for friction, distance in ((0.25, 1 / (2 * 0.25 * 9.81)), (0.5, 1 / (2 * 0.5 * 9.81))):
        sim.modify(friction=friction)
        sim.reset()
        sim.body("box").set_velocity((1, 0, 0))
        sim.run(1.0)
        assert sim.body("box").position[0] == pytest.approx(distance, rel=0.01)
    # by name, and where it is: the state stays
    before = sim.qpos
    sim.modify(friction={"box": 0.0, "floor": 0.0} if "floor" in sim.model.geom_names else 0.0)
    assert sim.qpos == pytest.approx(before)


def test_masses_sizes_and_gains() -> None:
    sim = perp.Simulation(CART, step=0.01)
    sim.modify(mass={"cart": 5.0}, size={"cart": 2.0}, gain={"push": 3.0})
    assert sim.body("cart").mass == 5.0
    assert sim.body("cart").position[2] == pytest.approx(0.2, abs=1e-6)  # lifted onto the floor
    assert "overlap" in sim.start_note
    # a box of 0.8 × 0.4 × 0.4 m
    inertia = np.sort(5.0 / 12 * np.array([0.4**2 + 0.4**2, 0.8**2 + 0.4**2, 0.8**2 + 0.4**2]))
    assert np.sort(sim.model.inertia[0]) == pytest.approx(inertia)
    sim.run(0.05)
    assert sum(c.normal_force for c in sim.contacts()) == pytest.approx(5.1 * 9.81, rel=1e-3)
    sim.modify(
        mass={"cart": 2.0}, size={"cart": 1.0}, gain={"push": 1.0}
    )  # factors of the file, not of each other
    assert sim.model.inertia == pytest.approx(perp.Simulation(CART, coordinates="reduced").model.inertia)
    torque = {}
    for gain in (1.0, 3.0):
        sim.reset()
        sim.modify(gain={"push": gain})
        sim.ctrl = [0.02]
        sim.step()
        torque[gain] = sim.joint("swing").velocity
    assert torque[3.0] == pytest.approx(3 * torque[1.0], rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"friction": -0.1}, "friction = -0.1: a number of at least 0"),
        ({"friction": {"box": 1}}, "no shape or body named 'box'"),
        ({"mass": {"cart": 0}}, r"mass\['cart'\] = 0"),
        ({"mass": 3.0}, "mass = 3.0: a mapping"),
        ({"size": {"cart": float("nan")}}, r"size\['cart'\] = nan"),
        ({"gain": {"pull": 2.0}}, "no motor named 'pull'; there are: push"),
    ],
)
def test_changes_that_make_no_sense_change_nothing(change: dict, message: str) -> None:
    sim = perp.Simulation(CART)
    model = sim.model
    with pytest.raises(perp.PerpError, match=message):
        sim.modify(**change)
    assert sim.model is model


def test_messages_name_bodies() -> None:
    with pytest.raises(perp.PerpError, match=r"friction of geom 'shape 1 of cart' is \[-0.1"):
        perp.Simulation(CART.replace('friction="0.1"', 'friction="-0.1"'))
    scene = CART.replace('pos="0 0 0.1"><freejoint/>', 'pos="0 0 0.07"><freejoint/>').replace(
        "</actuator>", '</actuator><keyframe><key name="home" qpos="0 0 0.1 1 0 0 0 0"/></keyframe>'
    )
    sim = perp.Simulation(scene, step=0.01)
    assert "starts overlapping: the world and cart by 30 mm" in sim.start_note
    assert sim.start_note.endswith("keyframes: home")
    assert sim.keyframe_names == ("home",)
    sim.reset(keyframe="home")
    assert sim.start_note == ""
    assert ("option timestep", "the simulation was given another step, 0.01 s") in sim.report.ignored
    assert perp.Simulation(scene).report.ignored == ()


URDF = """
<robot name="arm">
  <link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="link"><inertial><origin xyz="0.5 0 0"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="link"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="5" velocity="10"/></joint>
</robot>
"""


def test_motors_for_the_joints_of_a_urdf() -> None:
    sim = perp.Simulation(URDF, step=0.001, motors="force")
    assert sim.motor_names == ("elbow",)
    sim.step([2.0])
    assert sim.qvel == pytest.approx([0.001 * 2.0 / (0.1 + 0.25)])
    sim.step([100.0])  # no more than the effort of the file
    assert sim.qvel == pytest.approx([0.001 * 7.0 / 0.35])
    turning = perp.Simulation(URDF, step=0.001, motors="velocity")
    turning.run(1.0, control=[0.5])
    assert turning.qvel == pytest.approx([0.5], rel=1e-3)
    with pytest.raises(perp.ProblemError, match="motors = 'fast': one of 'force', 'velocity'"):
        perp.Simulation(URDF, motors="fast")
    with pytest.raises(perp.ProblemError, match="motors and hold"):
        perp.Simulation(URDF, motors="force", hold="locked")


def test_a_scene_without_motors_says_how_to_get_some() -> None:
    sim = perp.Simulation(library.box_on_plane(), step=0.01)
    with pytest.raises(perp.SceneError, match="no motor named 'knee', nor any other: motors='force'"):
        sim.step({"knee": 1.0})
