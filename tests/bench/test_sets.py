"""Test sets: named problems, always the same ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perp
from perp.bench.sets.catalogue import CATALOGUE, find_set
from perp.bench.sets.folder import FolderSet
from perp.bench.sets.frames import FrameSet, record
from perp.scenes import library

BUILT_IN = [name for name, info in CATALOGUE.items() if not info.needs_path and not info.takes_path]


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_set_has_distinct_names_and_the_same_problems_every_time(name: str) -> None:
    first, second = (list(find_set(name).problems()) for _ in range(2))
    names = [named.name for named in first]
    assert len(set(names)) == len(names) >= 10
    assert names == [named.name for named in second]
    assert all(same(a.problem, b.problem) for a, b in zip(first, second, strict=True))


def same(a: Any, b: Any) -> bool:
    """Problems that are functions are made anew: they have the same bounds and the same values."""
    if not isinstance(a, perp.MCP) or a.M is not None:
        return a.equals(b)
    z = np.clip(np.linspace(0.1, 0.9, a.size), a.lo, a.hi)
    return (
        np.array_equal(a.lo, b.lo)
        and np.array_equal(a.hi, b.hi)
        and np.array_equal(a.evaluate(z), b.evaluate(z), equal_nan=True)
    )


def test_a_folder_is_a_set_and_what_is_no_problem_is_noted(tmp_path: Path) -> None:
    perp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]).save(tmp_path / "b.npz")
    (tmp_path / "below").mkdir()
    contact = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.2, 0.0], 0.5)
    contact.save(tmp_path / "below" / "a.hdf5")
    (tmp_path / "broken.npz").write_bytes(b"PK nothing")
    (tmp_path / "notes.txt").write_text("no problem", encoding="utf-8")
    found = FolderSet(tmp_path)
    names = [named.name for named in found.problems()]
    assert names == ["b.npz", "below/a.hdf5"]
    assert list(found.unreadable) == ["broken.npz"]
    [fclib] = find_set("fclib", tmp_path).problems()
    assert fclib.problem.equals(contact)
    [relaxed] = FolderSet(tmp_path, relaxed=True).problems()
    assert isinstance(relaxed.problem, perp.ContactProblem)
    assert relaxed.problem.relaxed


def test_frames_are_the_steps_of_a_scene_with_their_warm_starts(tmp_path: Path) -> None:
    scene = tmp_path / "cube.xml"
    scene.write_text(library.box_on_plane(), encoding="utf-8")
    cold = list(FrameSet(scene, steps=4, every=1).problems())
    warm = list(FrameSet(scene, warm=True, steps=4, every=1).problems())
    assert [named.name for named in cold] == [f"cube-00{k}" for k in range(4)]
    assert [named.name for named in warm] == [f"cube-00{k}" for k in range(1, 4)]
    assert all(named.start is None for named in cold)
    for before, named in zip(cold, warm, strict=False):
        # a cube at rest: the impulses of the step before are the answer of this one
        assert named.start == pytest.approx(perp.solve(before.problem).z, abs=1e-7)
        assert perp.residual(named.problem, named.start) < 1e-6
    assert "bench-recorder" not in [info.name for info in perp.solvers()]


def test_frames_do_not_share_memory_with_later_ones() -> None:
    frames = [problem for problem, _ in record(library.box_on_plane(), 3)]
    assert len(frames) == 3
    assert not any(np.shares_memory(a.q, b.q) for i, a in enumerate(frames) for b in frames[i + 1 :])
