"""`perp simulate`, `perp info` and `perp plot`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import perp
from perp.scenes import library

MOTOR = """<mujoco><worldbody><geom name="ground" type="plane" size="5 5 1" friction="0.5 0 0"/>
  <body name="cart" pos="0 0 0.5"><joint name="rail" type="slide" axis="1 0 0"/>
    <geom name="cart" type="box" size="0.1 0.1 0.1" mass="1"/></body></worldbody>
  <actuator><motor name="push" joint="rail"/></actuator></mujoco>"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def box(tmp_path: Path) -> Path:
    return write(tmp_path / "box.xml", library.box_on_plane(friction=0.6))


@pytest.fixture
def cart(tmp_path: Path) -> Path:
    return write(tmp_path / "cart.xml", MOTOR)


def test_a_run_is_recorded_summed_up_and_drawn(run, box: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.h5"
    outcome = run("simulate", box, "--time", 0.2, "--step", 0.01, "--level", "position", "--out", out)
    assert outcome.code == 0, outcome.err
    assert outcome.err == ""
    assert "20 steps to t = 0.2 s" in outcome.out
    for word in ("energy", "penetration", "creep", "residual", "real time", "0 missed", str(out)):
        assert word in outcome.out
    recording = perp.Recording.open(out)
    assert len(recording) == 20
    assert recording.penetration.max() < 1e-9
    info = run("info", out)
    assert info.code == 0
    for word in ("20 steps", "1: box", "position level", "mujoco-core"):
        assert word in info.out
    facts = run("info", out, "--json").json()
    assert facts["steps"] == 20
    assert facts["contacts"] == 4
    assert facts["creep"] < 1e-9
    for suffix in (".png", ".svg"):
        picture = tmp_path / f"p{suffix}"
        assert run("plot", out, "--out", picture).code == 0
        assert picture.stat().st_size > 10_000
    text = (tmp_path / "p.svg").read_text(encoding="utf-8")
    for title in (
        "Energy",
        "Momentum",
        "Penetration",
        "Residual",
        "Normal force",
        "Stick",
        "Iterations",
        "Wall time",
    ):
        assert title in text
    assert run("plot", out).code == 0
    assert (tmp_path / "run.png").exists()


def test_hold_below_the_friction_angle_creeps_less_than_1e_9(run, tmp_path: Path) -> None:
    """Issue 7, hold: half the friction angle, 10 s."""
    slope = 0.5 * np.arctan(0.6)
    scene = write(tmp_path / "hold.xml", library.box_on_plane(friction=0.6, slope=slope))
    outcome = run("simulate", scene, "--time", 10, "--step", 0.01, "--out", tmp_path / "hold.h5", "--json")
    assert outcome.code == 0
    recording = perp.Recording.open(tmp_path / "hold.h5")
    moved = recording.position("box")[-1] - recording.start_position[0]
    assert np.linalg.norm(moved) / 10 < 1e-9
    assert outcome.json()["creep"] < 1e-9
    assert outcome.json()["penetration"] < 1e-9


def test_slide_of_a_cube_at_6_m_s_lifts_less_than_1e_9_and_stops_where_it_should(run, tmp_path: Path) -> None:
    """Issue 7, slide: μ = 0.5, v²/(2 μ g) less the first-order error of the step, h v / 2."""
    text = library.box_on_plane(friction=0.5)
    key = '<keyframe><key name="fast" qpos="0 0 0.05 1 0 0 0" qvel="6 0 0 0 0 0"/></keyframe></mujoco>'
    scene = write(tmp_path / "slide.xml", text.replace("</mujoco>", key))
    out = tmp_path / "slide.h5"
    outcome = run(
        "simulate", scene, "--keyframe", "fast", "--time", 1.5, "--step", 0.001, "--out", out, "--json"
    )
    assert outcome.code == 0, outcome.err
    x = perp.Recording.open(out).position("box")
    assert np.abs(x[:, 2] - 0.05).max() < 1e-9
    h, deceleration = 0.001, 0.5 * library.GRAVITY
    speeds = (6.0 - deceleration * h * np.arange(1, 1501)).clip(0.0)  # after each step, exactly
    assert x[-1, 0] == pytest.approx(h * speeds.sum(), abs=1e-6)
    assert x[-1, 0] == pytest.approx(6.0**2 / (2 * deceleration) - h * 6.0 / 2, abs=1e-5)
    assert np.ptp(x[-100:, 0]) < 1e-10
    assert outcome.json()["penetration"] < 1e-9
    run("simulate", scene, "--keyframe", "slow").assert_refused("slow", "fast")


def test_resume_reaches_the_bits_of_a_run_that_was_not_stopped(run, cart: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.h5", tmp_path / "parts.h5"
    push = ("--control", "push=3.5")
    assert run("simulate", cart, "--time", 0.5, *push, "--out", whole).code == 0
    assert run("simulate", cart, "--time", 0.2, *push, "--out", parts).code == 0
    cart.unlink()
    assert run("simulate", "--resume", parts, "--time", 0.35).code == 0
    outcome = run("simulate", "--resume", parts, "--time", 0.5)
    assert outcome.code == 0
    assert "50 steps to t = 0.5 s" in outcome.out
    a, b = perp.Recording.open(whole), perp.Recording.open(parts)
    for name in ("time", "positions", "velocities", "control", "kinetic_energy", "residual"):
        assert a.of(name).tobytes() == b.of(name).tobytes(), name
    assert a.control[-1].tolist() == [3.5]
    assert a.velocity("cart")[-1, 0] == pytest.approx(3.5 * 0.5)
    assert run("simulate", "--resume", parts).code == 0  # it is there already
    run("simulate", "--resume", parts, "--time", 0.1).assert_refused("already lasts 0.5 s")
    run("simulate", "--resume", parts, "--step", 0.1).assert_refused("--step", "--resume")
    run("simulate").assert_refused("scene file is needed")


def test_bad_input_names_file_and_element(run, cart: Path, tmp_path: Path) -> None:
    missing = write(
        tmp_path / "mesh.xml",
        '<mujoco><asset><mesh name="claw" file="claw.stl"/></asset><worldbody><geom type="mesh" mesh="claw"/>'
        "</worldbody></mujoco>",
    )
    run("simulate", missing).assert_refused("mesh.xml", "claw.stl", "mesh 'claw'")
    run("simulate", write(tmp_path / "cut.xml", "<mujoco><worldbody>")).assert_refused("cut.xml")
    wrong = write(tmp_path / "wrong.xml", '<mujoco><worldbody><geom type="bx"/></worldbody></mujoco>')
    run("simulate", wrong).assert_refused("wrong.xml", "geom", "line 1")
    run("simulate", tmp_path / "no.xml").assert_refused("no.xml", "does not exist")
    run("simulate", cart, "--control", "push=nan").assert_refused("push", "nan")
    run("simulate", cart, "--control", "pull=1").assert_refused("pull", "push")
    run("simulate", cart, "--control", "push").assert_refused("NAME=VALUE")
    run("simulate", cart, "--step", 0).assert_refused("step")
    run("simulate", cart, "--time", -1).assert_refused("-1")
    run("simulate", cart, "--out", tmp_path / "run.txt").assert_refused("run.txt", ".h5")
    run("simulate", cart, "--out", tmp_path / "nowhere" / "run.h5").assert_refused("no folder")
    run("simulate", cart, "--html", tmp_path / "page.png").assert_refused("page.png")
    run("simulate", "--resume", cart).assert_refused("cart.xml", "not a recording")
    run("info", cart).assert_refused("cart.xml", "not a recording")
    run("plot", tmp_path / "none.h5").assert_refused("none.h5", "does not exist")


def test_an_existing_file_is_kept_unless_forced(run, cart: Path, tmp_path: Path) -> None:
    out = write(tmp_path / "run.h5", "precious")
    run("simulate", cart, "--time", 0.05, "--out", out).assert_refused("run.h5", "--force")
    assert out.read_text(encoding="utf-8") == "precious"
    assert run("simulate", cart, "--time", 0.05, "--out", out, "--force").code == 0


def test_an_exploding_force_fails_the_step_and_keeps_what_was_recorded(
    run, cart: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run.h5"
    assert run("simulate", cart, "--time", 0.05, "--control", "push=1e8", "--out", out).code == 0
    outcome = run("simulate", "--resume", out, "--time", 60, "--json")
    assert outcome.code == 1
    facts = outcome.json()
    assert "'cart' moves by" in facts["problem"]
    assert facts["problem"].startswith(f"step {facts['steps'] + 1} failed")
    assert len(perp.Recording.open(out)) == facts["steps"] > 5


def test_strict_refuses_what_is_not_simulated(run, tmp_path: Path) -> None:
    scene = write(
        tmp_path / "soft.xml",
        '<mujoco><worldbody><body name="b"><freejoint/><geom size="0.1" solref="0.1 1"/></body></worldbody></mujoco>',
    )
    run("simulate", scene, "--time", 0.02, "--strict").assert_refused("soft.xml", "solref")
    outcome = run("simulate", scene, "--time", 0.02)
    assert outcome.code == 0
    assert "note: ignored: geom solref" in outcome.err  # before the run


def steps_in(path: Path) -> int:
    """Steps in a file that another process is writing; 0 while it has no head yet."""
    try:
        return len(perp.Recording.open(path))
    except perp.FileError:
        return 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_cleanly_and_keeps_the_file(
    number: int, code: int, cart: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run.h5"
    words = [sys.executable, "-m", "perp.cli", "simulate", cart, "--time", "1e4", "--out", out]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (out.exists() and steps_in(out)):
        time.sleep(0.05)
        assert process.poll() is None
    os.kill(process.pid, number)
    printed, errors = process.communicate()
    assert process.returncode == code, errors
    assert errors == ""
    assert "stopped at t = " in printed
    assert f"--resume {out}" in printed
    steps = len(perp.Recording.open(out))
    assert f"{steps} of 0.002 s" in printed
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".tmp"] == []


def test_a_terminal_sees_progress(cart: Path) -> None:
    import pty

    parent, child = pty.openpty()
    words = [sys.executable, "-m", "perp.cli", "simulate", cart, "--time", "20"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "140"}
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=child, env=environment)
    os.close(child)
    seen = b""
    try:
        while part := os.read(parent, 4096):
            seen += part
    except OSError:  # the other side has closed
        pass
    os.close(parent)
    assert process.wait() == 0
    for word in (b"t = ", b"of 20 s", "× real time".encode(), b"0 contacts", b"residual"):
        assert word in seen


def test_any_solver_formulation_level_and_option(run, tmp_path: Path) -> None:
    text = library.box_on_plane(friction=0.5)
    key = '<keyframe><key name="push" qpos="0 0 0.05 1 0 0 0" qvel="1 0.5 0 0 0 0"/></keyframe></mujoco>'
    scene = write(tmp_path / "push.xml", text.replace("</mujoco>", key))
    start = ("simulate", scene, "--keyframe", "push", "--time", 0.05)
    outcome = run(*start, "--solver", "dantzig", "--formulation", "box", "--html", tmp_path / "page.html")
    assert outcome.code == 0, outcome.err
    assert "from Coulomb" in outcome.out
    assert "dantzig with box" in outcome.out
    assert '"coulomb"' in (tmp_path / "page.html").read_text(encoding="utf-8")
    levels = ("--level", "joints=position,contacts=velocity", "--options", "correction=0.1")
    exact = run(*start, *levels, "--options", "newton_steps=50", "--json")
    assert exact.code == 0, exact.err
    assert exact.json()["coulomb_distance"] == exact.json()["residual"]
    nonsense = ("--solver", "dantzig", "--formulation", "box", "--options", "colour=3")
    run(*start, *nonsense).assert_refused("colour")
    run(*start, "--formulation", "box").assert_refused("needs a solver")
    run(*start, "--options", "tolerence=1").assert_refused("Did you mean 'tolerance'")
    run(*start, "--restitution", 2).assert_refused("restitution 2")
    run(*start, "--solver", "pgs", "--formulation", "split").assert_refused("as box+split, sweeps divide")
    run(*start, "--options", "correction").assert_refused("NAME=VALUE")
    run(*start, "--level", "sideways").assert_refused("sideways")
    soft = run(*start, "--options", 'compliance={"contacts": 1e-4}', "--options", "softness=file", "--json")
    assert soft.code == 0, soft.err
    run(*start, "--options", "softness=soft").assert_refused("softness = 'soft'")
    run(*start, "--options", 'correction={"knee": 0.1}').assert_refused("correction has 'knee'")
    run(*start, "--options", "compliance=-1").assert_refused("compliance = -1")
