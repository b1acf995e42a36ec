"""perp.Recording: arrays over steps and contacts, in memory and in files."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import perp
from perp.scenes import library
from perp.simulation.recordings.columns import OF_TREES
from perp.simulation.recordings.recorder import Recorder


def arrays(recording: perp.Recording) -> dict[str, np.ndarray]:
    """Every array of a recording but the wall times."""
    names = [*(part.name for part in fields(recording)), *OF_TREES]
    named = {name: getattr(recording, name) for name in names}
    return {k: x for k, x in named.items() if isinstance(x, np.ndarray) and k != "seconds"}


def assert_same_bits(first: perp.Recording, second: perp.Recording) -> None:
    for name, x in arrays(first).items():
        y = getattr(second, name)
        assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes()), name


OFF_CENTRE = library.scene(
    library.plane(0.5)
    + '<body name="b" pos="0 0 0.1" euler="0 0 0.5"><freejoint/>'
    + '<geom name="b" type="box" pos="0.3 0 0" size="0.1 0.2 0.1" mass="1"/></body>'
)


def test_columns_are_what_the_bodies_did() -> None:
    sim = perp.Simulation(OFF_CENTRE, step=0.01)
    sim.body("b").set_velocity((0.5, 0, 0), (0, 0, 1.0))
    start = sim.body("b").position
    recorder_of_body = []
    first = sim.run(0.02)
    for _ in range(3):
        sim.run(0.01)
        recorder_of_body.append(sim.body("b").position)
    assert first.start_position[0] == pytest.approx(start)
    sim.reset()
    sim.body("b").set_velocity((0.5, 0, 0), (0, 0, 1.0))
    recording = sim.run(0.05)
    assert recording.position("b")[2:] == pytest.approx(np.array(recorder_of_body), abs=1e-14)
    assert recording.quaternion("b")[-1] == pytest.approx(sim.body("b").quaternion)
    assert recording.velocity("b")[-1] == pytest.approx(sim.state.velocity[0])
    assert len(recording) == 5
    assert recording.time == pytest.approx(np.arange(1, 6) * 0.01)
    assert recording.energy == pytest.approx(recording.of("kinetic_energy") + recording.potential_energy)
    assert recording.centres[0] == pytest.approx([0.3, 0, 0])
    with pytest.raises(perp.PerpError, match=r"'c'.*there are: b"):
        recording.position("c")
    with pytest.raises(perp.ProblemError, match="there are: time"):
        recording.of("colour")


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
def test_joints_and_controls_are_recorded_as_they_were_read(coordinates: str, tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body pos="0 0 1" euler="20 30 0"><joint name="turn" axis="0 1 0"/><geom size="0.1"/>
     <body pos="0.3 0 0" euler="0 0 40"><joint name="out" type="slide" axis="1 1 0" ref="0.2" springref="0.2" stiffness="900" damping="9"/><geom size="0.05"/>
     </body></body></worldbody><actuator><velocity name="m" joint="turn" kv="50"/></actuator></mujoco>"""
    sim = perp.Simulation(text, step=0.01, coordinates=coordinates)
    path = tmp_path / "run.h5"
    seen: list[list[float]] = []
    for k in range(60):
        sim.step([0.3 * k])
        seen.append(
            [x for name in ("turn", "out") for x in (sim.joint(name).position, sim.joint(name).velocity)]
        )
    sim.reset()
    recorder = Recorder(sim, path)
    for k in range(60):
        recorder.add(sim.step([0.3 * k]))
    recorder.close()
    run = perp.Recording.open(path)
    assert run.joint_names == ("turn", "out")
    assert np.array(seen)[:, ::2] == pytest.approx(run.joint_positions, abs=1e-12)
    assert np.array(seen)[:, 1::2] == pytest.approx(run.joint_velocities, abs=1e-12)
    assert run.joint("turn")[-1] > 3.5  # beyond half a turn
    assert run.control[:, 0] == pytest.approx(0.3 * np.arange(60))
    with pytest.raises(perp.PerpError, match=r"no joint named 'knee'; there are: turn, out"):
        run.joint("knee")


def test_force_on_the_box_is_its_weight_and_points_from_the_first_body_to_the_second() -> None:
    recording = perp.Simulation(library.box_on_plane(mass=2.0), step=0.01).run(0.1)
    last = recording.contacts(-1)
    assert last.body.tolist() == [[-1, 0]] * 4
    assert [recording.geom_names[g] for g in last.geom[0]] == ["ground", "box"]
    assert last.force.sum(axis=0) == pytest.approx([0, 0, 2 * library.GRAVITY], abs=1e-6)
    assert last.frame[:, 0] == pytest.approx(np.tile([0, 0, 1.0], (4, 1)))
    assert (last.state == 1).all()
    assert recording.contact_count.tolist() == [4] * 10
    assert recording.contact_start[-1] == len(recording.contact_gap)
    assert recording.residual.max() <= recording.tolerance
    with pytest.raises(IndexError):
        recording.contacts(10)


def test_slip_speed_is_that_of_the_sliding_box() -> None:
    sim = perp.Simulation(OFF_CENTRE, step=0.001)
    sim.body("b").set_velocity((0.0, 0.0, 0.0), (0, 0, 3.0))
    recording = sim.run(0.003)
    contacts = recording.contacts(-1)
    assert (contacts.state == 0).all()
    spin, origin = recording.velocity("b")[-1, 5], sim.body("b").position
    # the frame's origin turns with the body about its centre of mass
    speed = sim.body("b").velocity + np.cross([0, 0, spin], contacts.point - origin)
    assert contacts.slip == pytest.approx(np.linalg.norm(speed[:, :2], axis=1), rel=1e-2)


@pytest.mark.parametrize(
    "scene",
    [library.stack(2), library.chain(3), library.rover(), library.arch(5, 0.3), library.scene("")],
    ids=["stack", "chain", "rover", "arch", "empty"],
)
@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
def test_a_file_gives_back_every_bit(scene: str, coordinates: str, tmp_path: Path) -> None:
    recording = perp.Simulation(scene, step=0.01, coordinates=coordinates).run(0.05)
    recording.save(tmp_path / "run.h5")
    again = perp.Recording.open(tmp_path / "run.h5")
    assert_same_bits(recording, again)
    assert again.about == {"format": "perp recording 5", **recording.about}
    assert (again.body_names, again.geom_names) == (recording.body_names, recording.geom_names)
    assert again.seconds.tolist() == recording.seconds.tolist()
    for one, other in zip(recording.geometry, again.geometry, strict=True):
        for part in fields(one):
            assert np.array_equal(getattr(one, part.name), getattr(other, part.name)), part.name
    assert {k: x.tolist() for k, x in again.snapshot.items()} == {
        k: x.tolist() for k, x in recording.snapshot.items()
    }


def test_a_file_written_while_running_equals_one_written_afterwards(tmp_path: Path) -> None:
    one = perp.Simulation(library.stack(3), step=0.01).run(2.5)
    other = perp.Simulation(library.stack(3), step=0.01).run(2.5, out=tmp_path / "run.h5")
    assert_same_bits(one, other)


def test_geometry_holds_what_a_picture_needs() -> None:
    scene = """<mujoco><asset>
        <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
        <hfield name="hills" nrow="3" ncol="4" size="2 1 0.5 0.1" elevation="0 0 0 0  0 1 1 0  0 0 0 0"/>
        <material name="red" rgba="1 0 0 1"/></asset>
      <worldbody><geom name="hills" type="hfield" hfield="hills" pos="0 0 1"/>
        <body name="b" pos="1 2 5" euler="0 90 0"><freejoint/>
          <geom name="wedge" type="mesh" mesh="wedge" material="red" mass="1"/>
          <geom name="halo" type="sphere" size="0.3" pos="0 0 0.4" contype="0" conaffinity="0" mass="0"
                rgba="0 1 0 0.5"/></body></worldbody></mujoco>"""
    hills, wedge, halo = perp.Simulation(scene, step=0.01).run(0.0).geometry
    assert (hills.body, hills.kind, hills.visual) == (-1, "hfield", False)
    assert hills.vertices.shape == (12, 3)
    assert hills.vertices[:, 2].max() == pytest.approx(0.5)
    assert hills.faces.shape == (12, 3)
    assert (wedge.body, wedge.kind) == (0, "mesh")
    assert wedge.rgba.tolist() == [1, 0, 0, 1]
    corners = wedge.position + np.array([_turn(wedge.quaternion, v) for v in wedge.vertices])
    assert sorted(np.round(corners, 6).tolist()) == sorted(np.eye(4, 3, -1).tolist())
    assert halo.visual
    assert halo.position == pytest.approx([0, 0, 0.4])
    assert halo.rgba == pytest.approx([0, 1, 0, 0.5])


def _turn(q: np.ndarray, x: np.ndarray) -> np.ndarray:
    from perp.scenes.frames import rotate

    return rotate(q, x)


def test_an_existing_file_is_not_replaced_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    path.write_text("precious", encoding="utf-8")
    sim = perp.Simulation(library.box_on_plane(), step=0.01)
    with pytest.raises(perp.FileError, match="exists already"):
        sim.run(0.05, out=path)
    assert path.read_text(encoding="utf-8") == "precious"
    assert sim.time == 0
    sim.run(0.05, out=path, force=True)
    assert len(perp.Recording.open(path)) == 5
    assert [each.name for each in tmp_path.iterdir()] == ["run.h5"]


def test_what_is_no_recording_is_refused_with_a_reason(tmp_path: Path) -> None:
    import h5py

    path = tmp_path / "x.h5"
    with pytest.raises(perp.FileError, match="does not exist"):
        perp.Recording.open(path)
    path.write_text("text", encoding="utf-8")
    with pytest.raises(perp.FileError, match="not an HDF5 file"):
        perp.Recording.open(path)
    with h5py.File(path, "w") as file:
        file["x"] = 1.0
    with pytest.raises(perp.FileError, match="not a recording"):
        perp.Recording.open(path)
    with pytest.raises(perp.FileError, match="directory"):
        perp.Recording.open(tmp_path)


def test_damaged_files_are_refused_or_read_but_never_crash(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.h5", tmp_path / "bad.h5"
    perp.Simulation(library.box_on_plane(), step=0.01).run(0.05, out=good)
    content, rng = good.read_bytes(), np.random.default_rng(1)
    refused = 0
    for size in np.linspace(1, len(content) - 1, 25).astype(int):
        bad.write_bytes(content[:size])
        with pytest.raises(perp.FileError):
            perp.Recording.open(bad)
    for _ in range(60):
        damaged = bytearray(content)
        for place in rng.integers(0, min(len(content), 20000), 4):
            damaged[place] = int(rng.integers(0, 256))
        bad.write_bytes(bytes(damaged))
        try:
            perp.Recording.open(bad)
        except perp.FileError:
            refused += 1
    assert refused > 5


def test_a_damaged_recording_does_not_open_with_other_data(tmp_path):
    """One byte changed anywhere, or the end cut off: refused, or (bytes of no meaning) just the same."""
    path = tmp_path / "run.h5"
    perp.Simulation(library.box_on_plane(), step=0.01).run(0.05).save(path)
    sound = perp.Recording.open(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for k in range(400):
        damaged = bytearray(content)
        if k % 10 == 0:
            damaged = damaged[: int(rng.integers(1, len(content)))]
        else:
            for place in rng.integers(0, len(content), 1 + k % 3):
                damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            found = perp.Recording.open(path)
        except perp.FileError:
            refused += 1
            continue
        assert found.about == sound.about
        assert np.array_equal(found.positions, sound.positions)
    assert refused == 400


TEXTURED = """<mujoco><asset>
    <texture name="halves" type="2d" builtin="gradient" rgb1="1 0 0" rgb2="0 0 1" width="16" height="16"/>
    <material name="halves" texture="halves"/>
    <mesh name="tent" vertex="0 0 0  1 0 0  0 1 0  0 0 1" texcoord="0 0  1 0  0 1  0.5 0.5"
          face="0 2 1  0 1 3  0 3 2  1 2 3"/></asset>
  <worldbody><body name="b" pos="0 0 5"><freejoint/>
    <geom name="tent" type="mesh" mesh="tent" material="halves" mass="1"/>
    <geom name="ball" type="sphere" size="0.3" material="halves" mass="1"/></body></worldbody></mujoco>"""


def test_textures_of_meshes_are_sampled_at_their_vertices(tmp_path: Path) -> None:
    run = perp.Simulation(TEXTURED, step=0.01).run(0.01, out=tmp_path / "run.h5")
    for geometry in (run.geometry, perp.Recording.open(tmp_path / "run.h5").geometry):
        tent, ball = geometry
        assert tent.colors.shape == tent.vertices.shape
        assert not tent.textured
        assert tent.rgba.tolist() == [1, 1, 1, 1]
        assert len(np.unique(tent.colors.round(2), axis=0)) > 1  # not one mean colour
        assert ball.colors.shape == (0, 3)
        assert ball.textured
        assert not np.allclose(ball.rgba[:3], 1)
    assert "with a texture" in run.to_html()


def test_words_point_to_the_command_that_takes_the_file(tmp_path: Path) -> None:
    recording = perp.Simulation(OFF_CENTRE, step=0.01).run(0.02)
    with pytest.raises(perp.FileError, match=r"a picture is written to one of \.png"):
        recording.plot(tmp_path / "run.docx")
    recording.save(tmp_path / "run.h5")
    with pytest.raises(perp.FileError, match="is a recording, not a problem: `perp info`"):
        perp.load(tmp_path / "run.h5")
    (tmp_path / "scene.xml").write_text(OFF_CENTRE)
    with pytest.raises(perp.FileError, match="is not a recording: `perp simulate` makes one of a scene"):
        perp.Recording.open(tmp_path / "scene.xml")


@pytest.mark.parametrize("condim", [4, 6])
def test_a_box_that_slides_and_spins_at_the_limit_of_one_cone_does_not_creep(condim: int) -> None:
    """Forces and torques share the limit: neither alone is at it."""
    friction = f'friction="0.5 0.02 0.001" condim="{condim}"'
    sim = perp.Simulation(
        f"""<mujoco><worldbody><geom type="plane" size="9 9 1" {friction}/><body name="box" pos="0 0 0.05">
        <freejoint/><geom type="box" size="0.05 0.05 0.05" {friction}/></body></worldbody></mujoco>""",
        step=0.005,
    )
    sim.body("box").set_velocity((1.0, 0, 0), (0, 0, 20.0))
    recording = sim.run(0.1)
    assert recording.met.all()
    assert abs(recording.contact_torque).max() > 1e-3
    assert recording.contact_slip.max() > 0.5
    assert recording.creep().max() < 1e-9
