"""`perp convert`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import perp


def test_there_and_back_again(run, tmp_path: Path) -> None:
    problem = perp.ContactProblem.coulomb(np.eye(6), np.arange(-3.0, 3.0), [0.5, 0.25])
    problem.save(tmp_path / "a.npz")
    outcome = run("convert", tmp_path / "a.npz", tmp_path / "b.hdf5")
    assert outcome.code == 0
    assert "ContactProblem, 6 rows: 2 Coulomb" in outcome.out
    assert run("convert", tmp_path / "b.hdf5", tmp_path / "c.npz").code == 0
    assert perp.load(tmp_path / "c.npz").equals(problem)


def test_what_a_format_cannot_hold_is_refused(run, lcp: Path, tmp_path: Path) -> None:
    run("convert", lcp, tmp_path / "lcp.hdf5").assert_refused("lcp.hdf5")
    run("convert", lcp, tmp_path / "lcp.pdf").assert_refused("lcp.pdf")
    assert not (tmp_path / "lcp.hdf5").exists()


def test_a_file_is_not_converted_onto_itself(run, lcp: Path) -> None:
    before = lcp.read_bytes()
    run("convert", lcp, lcp).assert_refused("same file")
    assert lcp.read_bytes() == before


def test_missing_source_is_refused(run, tmp_path: Path) -> None:
    run("convert", tmp_path / "missing.npz", tmp_path / "out.npz").assert_refused("missing.npz")
