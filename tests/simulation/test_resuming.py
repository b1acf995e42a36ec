"""Snapshots, copies and recordings that go on: the same bits as a run that was never stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import perp
from perp.scenes import attach, library, load_scene
from simulation.test_recording import assert_same_bits

ROVER = library.rover(step_at=0.5)
PUSHED = library.scene(
    library.plane(0.5) + library.box("box", (0.05, 0.05, 0.05), (0, 0, 0.08), turn=(0.3, 0.2, 0.1))
)


def rover() -> perp.Simulation:
    sim = perp.Simulation(ROVER, step=0.01)
    sim.set_control([6.0, 6.0, 6.0, 6.0])
    return sim


def tumbling() -> perp.Simulation:
    sim = perp.Simulation(PUSHED, step=0.005, restitution=0.4, level="velocity")
    sim.body("box").set_velocity((1.0, 0.2, 0.0), (3.0, 2.0, 1.0))
    sim.body("box").apply((0.0, 1.0, 0.0), (0.0, 0.0, 0.02))
    return sim


def stacked() -> perp.Simulation:
    sim = perp.Simulation(library.stack(3), step=0.01, coordinates="maximal")
    sim.body("box1").set_velocity((0.4, 0.1, 0.0), (0.0, 0.0, 1.0))
    return sim


def hanging() -> perp.Simulation:
    return perp.Simulation(library.chain(4, end_mass=5.0), step=0.01)


def reduced() -> perp.Simulation:
    sim = perp.Simulation(ROVER, step=0.01, coordinates="reduced")
    sim.set_control([6.0, 6.0, 6.0, 6.0])
    return sim


SCENES: list[Callable[[], perp.Simulation]] = [rover, tumbling, stacked, hanging, reduced]


@pytest.mark.parametrize("make", SCENES)
def test_a_snapshot_brings_back_every_bit(make: Callable[[], perp.Simulation]) -> None:
    sim = make()
    sim.run(0.1)
    snapshot = sim.snapshot()
    kept = {name: array.copy() for name, array in snapshot.items()}
    first = sim.run(0.2)
    sim.body(sim.model.body_names[0]).apply((1.0, 2.0, 3.0))
    if sim.ctrl.size:
        sim.set_control(np.ones(sim.ctrl.size))
    for name, array in kept.items():  # a snapshot is a copy
        assert np.array_equal(snapshot[name], array), name
    sim.restore(snapshot)
    assert_same_bits(first, sim.run(0.2))
    other = make()
    other.restore(snapshot)
    assert_same_bits(first, other.run(0.2))


@pytest.mark.parametrize("make", SCENES)
def test_a_copy_goes_the_same_way_and_leaves_the_original_alone(make: Callable[[], perp.Simulation]) -> None:
    sim = make()
    sim.run(0.1)
    copy = sim.copy()
    first = copy.run(0.15)
    copy.body(sim.model.body_names[0]).apply((1.0, 2.0, 3.0))
    assert sim.time == pytest.approx(0.1)
    assert_same_bits(first, sim.run(0.15))


def test_a_snapshot_of_another_scene_is_refused_and_changes_nothing() -> None:
    sim = stacked()
    sim.run(0.05)
    before = sim.snapshot()
    with pytest.raises(perp.ProblemError, match=r"state\.packed.*shape"):
        sim.restore(tumbling().snapshot())
    with pytest.raises(perp.ProblemError, match=r"control.*is missing"):
        sim.restore({name: x for name, x in before.items() if name != "control"})
    for name, array in sim.snapshot().items():
        assert np.array_equal(array, before[name])


@pytest.mark.parametrize("make", SCENES)
def test_a_file_goes_on_to_the_same_bits(make: Callable[[], perp.Simulation], tmp_path: Path) -> None:
    from perp.simulation.recordings.recorder import Recorder

    whole = make().run(0.3)
    path = tmp_path / "run.h5"
    make().run(0.13, out=path)
    for seconds in (0.07, 0.1):
        sim = perp.Simulation.resume(path)
        recorder = Recorder.going_on(sim, path)
        for _ in range(round(seconds / sim.step_size)):
            recorder.add(sim.step())
        recorder.close()
    assert_same_bits(whole, perp.Recording.open(path))


def test_resume_needs_neither_scene_nor_mesh_files(tmp_path: Path) -> None:
    corners = " ".join(f"v {x} {y} {z}\n" for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1))
    mesh, scene, path = tmp_path / "block.obj", tmp_path / "scene.xml", tmp_path / "run.h5"
    mesh.write_text(corners.replace(" v", "v") + "f 1 2 3\nf 2 3 4\nf 5 6 7\n", encoding="utf-8")
    scene.write_text(
        '<mujoco><asset><mesh name="block" file="block.obj"/></asset><worldbody>'
        '<geom type="plane" size="5 5 1"/><body name="b" pos="0 0 0.12" euler="20 10 0"><freejoint/>'
        '<geom type="mesh" mesh="block"/></body></worldbody></mujoco>',
        encoding="utf-8",
    )
    whole = perp.Simulation(scene, step=0.01).run(0.4)
    perp.Simulation(scene, step=0.01).run(0.2, out=path)
    mesh.unlink()
    scene.unlink()
    rest = perp.Simulation.resume(path).run(0.2)
    assert rest.positions.tobytes() == whole.positions[20:].tobytes()
    assert rest.contact_force.tobytes() == whole.contact_force[whole.contact_start[20] :].tobytes()


def test_a_scene_extended_in_python_says_how_to_go_on(tmp_path: Path) -> None:
    model = attach(
        load_scene(library.stack(2)), "distance", "box0", anchor=(0, 0, 0.05), other_anchor=(0, 0, 1)
    )
    sim = perp.Simulation(model, step=0.01)
    sim.run(0.05, out=tmp_path / "run.h5")
    with pytest.raises(perp.FileError, match="added to the scene in Python"):
        perp.Simulation.resume(tmp_path / "run.h5")
    again = perp.Simulation(model, step=0.01)
    again.restore(perp.Recording.open(tmp_path / "run.h5").snapshot)
    assert_same_bits(again.run(0.05), sim.run(0.05))


def test_other_versions_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from perp.simulation.recordings import recorder
    from perp.simulation.recordings.resuming import OtherVersions

    hanging().run(0.05, out=tmp_path / "run.h5")
    now = recorder.versions()
    monkeypatch.setattr(recorder, "versions", lambda: {**now, "numpy": "9.9"})
    with pytest.warns(OtherVersions, match=r"numpy .* → 9\.9"):
        perp.Simulation.resume(tmp_path / "run.h5")


def test_a_saved_recording_without_scene_says_so(tmp_path: Path) -> None:
    hanging().run(0.05).save(tmp_path / "run.h5")
    with pytest.raises(perp.FileError, match="no scene and state to go on from"):
        perp.Simulation.resume(tmp_path / "run.h5")


def test_a_file_that_is_being_written_is_not_written_twice(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    hanging().run(0.05, out=path)
    code = (
        "import sys, perp; from perp.simulation.recordings.recorder import Recorder\n"
        "sim = perp.Simulation.resume(sys.argv[1]); r = Recorder.going_on(sim, sys.argv[1])\n"
        "print('open', flush=True); input()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        from perp.simulation.recordings.recorder import Recorder

        with pytest.raises(perp.FileError, match="another process is writing it"):
            Recorder.going_on(perp.Simulation.resume(path), path)
        assert len(perp.Recording.open(path)) == 5  # reading is fine
    finally:
        other.communicate(b"\n")


KILLS = """
import os, random, signal, sys
import perp
from perp.simulation.recordings import recorder
from perp.simulation.recordings.recorder import Recorder
from perp.scenes import library

path, dice = sys.argv[1], random.Random(int(sys.argv[2]))
recorder.CHUNK_STEPS, recorder.CHUNK_SECONDS = 2, float("inf")
sim = perp.Simulation(library.rover(step_at=0.5), step=0.01)
sim.set_control([6.0, 6.0, 6.0, 6.0])
sim.copy().run(0.05)  # kernels are loaded before the first fork
Recorder(sim, path).close()

def go_on(told):
    sim = perp.Simulation.resume(path)
    out = Recorder.going_on(sim, path)
    while True:
        out.add(sim.step())
        os.write(told, b".")

before = 0
for turn in range(25):
    heard, told = os.pipe()
    child = os.fork()
    if not child:
        os.close(heard)
        go_on(told)
    os.close(told)
    # Killed as soon as it has told of so many steps, wherever it is then; with 0 while it starts.
    steps = dice.randrange(6)
    for _ in range(steps):
        assert os.read(heard, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(heard)
    recording = perp.Recording.open(path)
    assert recording.snapshot["state.time"] == (recording.time[-1] if len(recording) else 0.0)
    assert len(recording) - before >= steps - steps % 2, "more than a chunk was lost"
    before = len(recording)
    print(before)
"""


def test_kill_9_at_random_times_loses_at_most_a_chunk_and_the_run_goes_on_to_the_same_bits(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.h5"
    run = subprocess.run(
        [sys.executable, "-c", KILLS, path, "4"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    steps = [int(line) for line in run.stdout.split()]
    assert steps == sorted(steps)
    assert len(steps) == 25
    assert steps[-1] >= 30
    assert_same_bits(rover().run(steps[-1] * 0.01), perp.Recording.open(path))


def test_a_full_disk_names_file_and_step_and_keeps_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))\n"
        "import perp; from perp.simulation.recordings import recorder; from perp.scenes import library\n"
        "recorder.CHUNK_STEPS, recorder.CHUNK_SECONDS = 50, float('inf')\n"
        "sim = perp.Simulation(library.stack(3), step=0.01)\n"
        "try: sim.run(60.0, out=sys.argv[1])\n"
        "except perp.FileError as error: print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert run.stdout.startswith(f"{path}: cannot be written at step ")
    assert "File too large" in run.stdout
    failed = int(run.stdout.split("at step ")[1].split()[0])
    recording = perp.Recording.open(path)
    assert len(recording) == failed - 50
    whole = perp.Simulation(library.stack(3), step=0.01).run(len(recording) * 0.01)
    assert_same_bits(whole, recording)
    assert perp.Simulation.resume(path).time == recording.time[-1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    sim = hanging()
    with pytest.raises(perp.FileError, match=r"run\.h5: cannot be written"):
        sim.run(0.05, out=tmp_path / "run.h5")
    assert sim.time == 0


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    sim = hanging()
    with pytest.raises(perp.FileError, match=r"run\.h5: cannot be written"):
        sim.run(0.05, out=tmp_path / "nowhere" / "run.h5")
    assert sim.time == 0
