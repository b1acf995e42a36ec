"""The gallery: every scene loads whole, steps well, has a command and a picture, and does what its text says."""

from __future__ import annotations

import math
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import perp
from perp.scenes import library

ROOT = Path(__file__).parents[2]
SCENES = ROOT / "examples" / "scenes"
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
NAMES = sorted(path.stem for path in SCENES.glob("*.xml"))
COMMANDS = re.findall(r"^`(perp simulate .*)`$", PAGE, re.MULTILINE)
G = library.GRAVITY


@pytest.fixture
def write_scenes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    yield import_module("write_scenes")
    sys.modules.pop("write_scenes")


def simulation(name: str, step: float = 0.01) -> perp.Simulation:
    return perp.Simulation(SCENES / f"{name}.xml", step=step)


def test_all_eleven_scenes_are_there_with_a_command_and_a_picture() -> None:
    assert len(NAMES) == 11
    assert sorted(Path(shlex.split(command)[2]).stem for command in COMMANDS) == NAMES
    for name in NAMES:
        picture = ROOT / "docs" / "figures" / "gallery" / f"{name}.jpg"
        assert f"figures/gallery/{name}.jpg" in PAGE
        assert picture.stat().st_size < 150_000


def test_files_are_what_the_library_builds(write_scenes) -> None:
    for name in write_scenes.BUILT:
        assert (SCENES / f"{name}.xml").read_text(encoding="utf-8") == write_scenes.scene_text(name), name


@pytest.mark.parametrize("name", NAMES)
def test_a_scene_loads_whole_and_its_first_steps_meet_their_tolerance(name: str) -> None:
    sim = simulation(name)
    assert str(sim.report) == "nothing was ignored"
    recording = sim.run(0.03)
    assert recording.met.all()
    assert recording.penetration.max() < 1e-7


def test_box_on_slope_holds_and_slides_by_the_formula() -> None:
    sim = simulation("box-on-slope")
    start = {name: sim.body(name).position for name in sim.model.body_names}
    held = sim.run(0.5).position("holds")
    slope = math.radians(20)
    assert np.ptp(held[1:], axis=0).max() < 1e-10
    for name, friction in (("slides", 0.3), ("slides fast", 0.1)):
        gone = np.linalg.norm(sim.body(name).position - start[name])
        # the implicit step runs ahead by half a step
        exact = 0.5 * G * (math.sin(slope) - friction * math.cos(slope)) * 0.5 * (0.5 + 0.01)
        assert gone == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("name", ["stack", "card-house"])
def test_what_stands_does_not_creep(name: str) -> None:
    recording = simulation(name).run(0.2)
    assert np.abs(recording.positions - recording.start_position).max() < 1e-8


def test_gripper_lifts_the_cylinder_and_holds_it_without_creep() -> None:
    recording = simulation("gripper").run(1.5)
    held = recording.position("cylinder") - recording.position("left finger")
    after = recording.time > 0.3
    assert np.ptp(held[after], axis=0).max() < 1e-8
    assert recording.position("cylinder")[-1, 2] > recording.position("cylinder")[0, 2] + 0.15


def test_quadruped_lands_and_stands() -> None:
    sim = simulation("quadruped")
    recording = sim.run(1.5)
    trunk = recording.position("trunk")
    assert 0.27 < trunk[-1, 2] < 0.31
    assert np.ptp(trunk[recording.time > 1.3], axis=0).max() < 1e-4
    assert (recording.contacts(-1).state == 1).sum() == 4
    assert abs(recording.contacts(-1).force[:, 2].sum()) == pytest.approx(G * sim.model.mass.sum(), rel=1e-4)


def test_chain_stays_together_and_about_keeps_its_energy() -> None:
    recording = simulation("chain").run(0.5)
    ends = np.linalg.norm(np.diff(recording.positions, axis=1), axis=2)
    assert ends == pytest.approx(0.1, abs=1e-8)
    change = np.abs(recording.energy - recording.start_energy).max()
    assert change < 0.1 * recording.kinetic_energy.max()


# one step in ninety, of an impact, ends with a residual of 3e-6
@pytest.mark.filterwarnings("ignore::perp.stepping.StepInaccurate")
def test_dominoes_fall_one_after_the_other() -> None:
    recording = simulation("dominoes", 0.005).run(0.45)
    lean = 1 - 2 * (recording.quaternions[..., 1] ** 2 + recording.quaternions[..., 2] ** 2)
    tipped = np.less(lean, math.cos(0.3))
    fallen = np.asarray(tipped.any(axis=0))
    assert 4 < fallen.sum() < 24
    first = tipped.argmax(axis=0)[fallen]
    assert fallen[: fallen.sum()].all()
    assert (np.diff(first) > 0).all()


def test_slider_crank_closes_its_loop_and_turns_as_the_motor_wants() -> None:
    recording = simulation("slider-crank").run(0.5)
    assert recording.joint_error.max() < 1e-9
    assert recording.velocity("crank")[-1, 4] == pytest.approx(3.0, abs=0.1)
    pin = recording.position("rod")
    reach = recording.position("piston")[:, 0] - pin[:, 0]
    assert np.hypot(reach, pin[:, 2] - 0.25) == pytest.approx(0.45, abs=1e-8)
