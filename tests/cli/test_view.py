"""`perp view`: a recording as a page."""

from __future__ import annotations

from pathlib import Path

import pytest

import perp
from perp.cli import main
from perp.scenes import library


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "slide.h5"
    perp.Simulation(library.box_on_plane(slope=0.5), step=0.01).run(0.05).save(path)
    return path


def test_a_recording_becomes_a_page(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "slide.html"
    assert main(["view", str(run), "--html", str(page)]) == 0
    assert "<title>slide</title>" in page.read_text(encoding="utf-8")
    assert capsys.readouterr().out.startswith(f"Wrote {page}")


def test_what_is_no_recording_is_one_line_and_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(tmp_path / "missing.h5"), "--html", str(tmp_path / "a.html")]) == 2
    assert "missing.h5" in capsys.readouterr().err
    assert main(["view"]) == 2


def test_a_folder_that_is_not_there_is_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", str(run), "--html", str(tmp_path / "no" / "a.html")]) == 2
    assert "no/a.html" in capsys.readouterr().err
