"""A file is written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import h5py
import numpy as np
import pytest

import perp
from files.refusal import refusal
from perp.files import load, save
from perp.files.writing import replacing

OLD = perp.ContactProblem.coulomb(np.eye(3), [1.0, 2, 3], 0.5)
NEW = perp.ContactProblem.coulomb(np.eye(3), [4.0, 5, 6], 0.5)


@pytest.fixture(params=["a.npz", "a.hdf5"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    save(OLD, tmp_path / request.param)
    return tmp_path / request.param


def test_an_older_file_is_replaced(path: Path):
    save(NEW, path)
    assert load(path).equals(NEW)
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_save_leaves_the_older_file(path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    monkeypatch.setattr(h5py.Group, "create_group", fail)
    with refusal(path, "cannot be written: No space left on device"):
        save(NEW, path)
    monkeypatch.undo()
    assert load(path).equals(OLD)
    assert list(path.parent.iterdir()) == [path]


def test_an_interrupt_leaves_the_older_file(tmp_path: Path):
    path = tmp_path / "a"
    path.write_text("old")

    def interrupted() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(path: Path):
    link = path.with_name("link" + path.suffix)
    link.symlink_to(path)
    save(NEW, link)
    assert link.is_symlink()
    assert load(path).equals(NEW)


def test_permissions_follow_the_umask(tmp_path: Path):
    old = os.umask(0o027)
    try:
        save(NEW, tmp_path / "a.npz")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.npz").stat().st_mode) == 0o640


@pytest.mark.parametrize("suffix", [".npz", ".hdf5"])
def test_paths_that_cannot_be_written(suffix: str, tmp_path: Path):
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()
    with refusal(folder, "is a directory"):
        save(NEW, folder)
    for path in (
        tmp_path / "missing" / f"a{suffix}",
        tmp_path / f"a\0{suffix}",
        tmp_path / ("a" * 300 + suffix),
    ):
        with refusal(path, "cannot be written"):
            save(NEW, path)
    assert list(tmp_path.iterdir()) == [folder]


def test_text_paths_and_the_method_of_problems(tmp_path: Path):
    NEW.save(str(tmp_path / "a.NPZ"))
    assert load(str(tmp_path / "a.NPZ")).equals(NEW)
