"""Pictures and films of a run, drawn by the page in a browser without a window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

import perp
from conftest import chromium
from perp.scenes import library
from perp.view import video


@pytest.fixture(scope="module")
def run() -> perp.Recording:
    pytest.importorskip("playwright")
    if chromium() is None:
        pytest.skip("no browser: install chromium or set CHROMIUM")
    sim = perp.Simulation(library.box_on_plane(), step=0.01)
    sim.body("box").set_velocity((3, 0, 0))
    return sim.run(0.3)


def test_pictures_show_a_box_that_moves(run: perp.Recording, tmp_path: Path) -> None:
    files = run.to_frames(
        tmp_path / "frames", times=[0.0, 0.3], size=(160, 120), azimuth=-90, forces=0, cones=0
    )
    assert [file.name for file in files] == ["frame0000.png", "frame0001.png"]
    first, last = (imread(file)[..., :3] for file in files)
    assert all((imread(file)[..., 3:] == 1).all() for file in files)  # nothing is left transparent
    assert first[:10].min() > 0.8  # a light sky
    assert first.shape == (120, 160, 3)
    changed = np.abs(first - last).max(axis=2) > 0.1
    assert 0.005 < changed.mean() < 0.5


# A film is written by a child process; JAX, where another test has loaded it, warns of every fork.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_film_has_as_many_pictures_as_it_lasts(run: perp.Recording, tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = run.to_video(tmp_path / "run.mp4", fps=10, speed=0.5, size=(120, 81))
    frames, seconds = ffmpeg.count_frames_and_secs(str(path))
    assert frames == 7  # 0.3 s at half speed and ten pictures a second, both ends
    assert seconds == pytest.approx(0.7, abs=0.05)
    film = ffmpeg.read_frames(str(path))
    assert next(film)["size"] == (120, 82)
    assert np.frombuffer(next(film), np.uint8).reshape(82, 120, 3)[:8].min() > 200  # a light sky


def test_what_cannot_be_is_refused_before_anything_is_drawn(
    run: perp.Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video, "_browser", None)
    for path, options, message in (
        (tmp_path / "run.txt", {}, "one of .mp4"),
        (tmp_path / "no" / "run.mp4", {}, "there is no folder"),
        (tmp_path / "run.mp4", {"speed": 0.0}, "positive number"),
        (tmp_path / "run.mp4", {"angle": 3}, "no option 'angle' of the view; there are: azimuth"),
        (tmp_path / "run.mp4", {"follow": "ball"}, "follow = 'ball'; there are: box"),
    ):
        with pytest.raises(perp.PerpError, match=message):
            run.to_video(path, **options)
        assert not path.exists()


def test_a_missing_encoder_or_browser_says_how_to_get_it(
    run: perp.Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "none"))
    with pytest.raises(perp.PerpError, match="install chromium"):
        run.to_frames(tmp_path / "frames", times=[0.0])

    def broken(*_: Any, **__: Any) -> str:
        return "false"

    monkeypatch.delenv("CHROMIUM")
    monkeypatch.setattr(video, "_ffmpeg", broken)
    with pytest.raises(perp.PerpError, match="ffmpeg could not write"):
        run.to_video(tmp_path / "run.mp4", fps=10, size=(64, 64))
    assert list(tmp_path.iterdir()) == []
