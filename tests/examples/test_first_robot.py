"""The newcomer's path, as its page has it: a robot that walks, its recording, its film, its forces in a table."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import perp
from conftest import chromium
from page_runner import blocks

ROOT = Path(__file__).parents[2]


def test_twenty_lines_make_a_robot_walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("playwright")
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    if chromium() is None:
        pytest.skip("no browser: install chromium or set CHROMIUM")
    [code] = [text for language, text in blocks(ROOT / "docs" / "first-robot.md") if language == "python"]
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    shutil.copytree(ROOT / "examples" / "scenes", tmp_path / "examples" / "scenes")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(code, "first-robot.md", "exec"), names)
    run = perp.Recording.open("walk.h5")
    assert run.met.all()
    assert run.position("trunk")[-1, 0] > 1.0  # it has walked, forwards and upright
    assert abs(run.position("trunk")[-1, 1]) < 0.3
    assert (run.position("trunk")[:, 2] > 0.2).all()
    frames, seconds = ffmpeg.count_frames_and_secs("walk.mp4")
    assert frames == 46
    assert seconds == pytest.approx(3.0, abs=0.2)
    first, last = (
        imread(path)[..., :3]
        for path in run.to_frames("frames", times=[0.0, 3.0], size=(160, 90), follow="trunk")
    )
    assert first.std() > 0.02
    assert np.abs(first - last).max() > 0.2
    forces = names["forces"]
    weight = forces.groupby("step")["normal_force"].sum().mean()  # type: ignore[attr-defined]
    mass = perp.Simulation("examples/scenes/quadruped.xml").model.mass.sum()
    assert weight == pytest.approx(9.81 * mass, rel=0.05)  # what carries it, on average
    assert Path("walk.h5").stat().st_size < 5e6
