"""JournalFile: a commit is whole or did not happen, wherever the process ends."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from perp.files import journal
from perp.files.journal import PAGE, JournalFile


def fill(path: Path, rng: np.random.Generator, size: int) -> bytes:
    content = rng.bytes(size)
    path.write_bytes(content)
    return content


def change(file: JournalFile, content: bytearray, rng: np.random.Generator) -> None:
    """Random writes, inside and at the end, to the file and to what it should become."""
    for _ in range(6):
        start = int(rng.integers(0, len(content) + 1))
        data = rng.bytes(int(rng.integers(1, 3 * PAGE)))
        file.seek(start)
        file.write(data)
        content[start : start + len(data)] = data


def read(path: Path) -> bytes:
    with JournalFile(os.open(path, os.O_RDONLY), writable=False) as file:
        return file.read()


class Killed(BaseException):
    """Stands for the end of the process."""


class Dying:
    """The operations of `os` that change a file; the process ends in the middle of one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self.left = at
        for name in ("pwrite", "ftruncate", "fsync"):
            original = getattr(os, name)
            monkeypatch.setattr(journal.os, name, lambda *args, f=original, n=name: self.call(n, f, args))

    def call(self, name: str, f, args):
        self.left -= 1
        if self.left < 0:
            raise Killed
        if self.left == 0 and name == "pwrite":  # torn: half of it arrives
            f(args[0], args[1][: len(args[1]) // 2], args[2])
            raise Killed
        return f(*args)


@pytest.mark.parametrize("size", [0, 100, PAGE, 5 * PAGE + 17])
def test_wherever_the_process_ends_the_file_is_the_old_or_the_new_one(size: int, tmp_path: Path) -> None:
    path, seen, finished = tmp_path / "file", set(), False
    for at in range(200):
        rng = np.random.default_rng(7)
        old = fill(path, rng, size)
        new = bytearray(old)
        file = JournalFile(os.open(path, os.O_RDWR), writable=True)
        change(file, new, rng)
        with pytest.MonkeyPatch.context() as patch:
            Dying(patch, at)
            try:
                file.commit()
                finished = True
            except Killed:
                finished = False
        file.close()
        found = read(path)
        # what follows the old content before the journal is complete belongs to nobody
        assert found == bytes(new) or found[:size] == old
        seen.add(found == bytes(new))
        with JournalFile(os.open(path, os.O_RDWR), writable=True) as again:  # and it can be written again
            again.commit()
        assert read(path)[: len(found)] == found
        if finished:
            assert path.read_bytes() == bytes(new)
            break
    assert finished
    assert True in seen


def test_reads_see_uncommitted_writes(tmp_path: Path) -> None:
    path, rng = tmp_path / "file", np.random.default_rng(3)
    content = bytearray(fill(path, rng, 3 * PAGE + 5))
    with JournalFile(os.open(path, os.O_RDWR), writable=True) as file:
        change(file, content, rng)
        file.seek(0)
        assert file.read() == bytes(content)
        file.truncate(PAGE)
        file.commit()
    assert path.read_bytes() == bytes(content[:PAGE])


def test_what_is_not_committed_is_lost(tmp_path: Path) -> None:
    path, rng = tmp_path / "file", np.random.default_rng(3)
    content = fill(path, rng, 1000)
    with JournalFile(os.open(path, os.O_RDWR), writable=True) as file:
        file.write(b"something else")
    assert path.read_bytes() == content


def test_bytes_that_only_look_like_a_journal_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for start, count in ((0, 0), (0, 1), (2**63, 2**62), (PAGE, 2**64 - 1)):
        content = bytes(PAGE) + journal._END.pack(start, count, 1, journal._MARK)
        path.write_bytes(content)
        assert read(path) == content
