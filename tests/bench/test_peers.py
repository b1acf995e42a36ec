"""Peers: those that are missing are shown with the command that adds them, those that are there are judged by us."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import perp
from perp.bench.peers import peers, siconos
from perp.bench.peers.adapter import TOLERANCES
from perp.bench.peers.drake import not_convex
from perp.bench.rows import read
from perp.bench.sets import families
from perp.bench.tolerances import tolerance_in_words
from perp.cli import main
from perp.solvers.listing import can_take

CUBE = perp.ContactProblem.coulomb(2.0 * np.eye(3), [-1.0, 0.3, 0.0], 0.1)
PROBLEMS = {
    "LCP": families.spd(12),
    "boxed": families.motors(8),
    "contact": CUBE,
    "relaxed contact": CUBE.as_relaxed(),
    "global contact": perp.ContactProblem.from_dynamics(
        np.diag([2.0, 3.0, 4.0]), np.eye(3), [-1.0, 0.3, 0.0], np.zeros(3), perp.Sets([perp.Coulomb(0.1)])
    ),
    "rolling contact": perp.ContactProblem(
        2.0 * np.eye(5), [-1.0, 0.3, 0.0, 0.1, 0.0], perp.Sets([perp.Rolling(0.1, 0.05)])
    ),
    "plane": perp.ContactProblem.coulomb(2.0 * np.eye(2), [-1.0, 0.3], 0.1, dimension=2),
}


@pytest.mark.parametrize("info", peers(), ids=lambda info: info.name)
def test_an_installed_peer_solves_small_problems_and_its_claim_is_kept_apart(info) -> None:
    if not info.available:
        pytest.skip(info.reason)
    taken = {name: problem for name, problem in PROBLEMS.items() if can_take(info, problem)}
    assert taken
    # boxes as an LCP have a zero diagonal: sweeps cannot start there, and Newton claims an answer of NaN
    hard = {"siconos-lcp-pgs": ["boxed"], "siconos-lcp-newton-min": ["boxed"]}
    for name, problem in taken.items():
        solution = perp.solve(problem, info.name, throw=False, time_limit=600.0)
        if name in hard.get(info.name, []):
            assert solution.residual > 1e-7
            assert not solution.solved
            continue
        assert solution.residual <= 1e-7, name
        if info.name in TOLERANCES:
            assert solution.info["claimed"]
            assert 0 < solution.info["own_time"][0] < 600.0


def test_a_missing_peer_is_listed_and_reported_with_the_command_that_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv(siconos.VARIABLE, "no-such-python")
    folder, out = tmp_path / "problems", tmp_path / "out"
    folder.mkdir()
    CUBE.save(folder / "cube.hdf5")
    assert main(["bench", "list"]) == 0
    assert "apt install python3-siconos" in " ".join(capsys.readouterr().out.split())
    words = ["--set", "fclib", "--path", str(folder), "--peers", "--solvers", "newton", "--out", str(out)]
    assert main(["bench", "run", *words, "--repeat", "1"]) == 0
    assert "missing: siconos-nsgs: no-such-python cannot import siconos" in capsys.readouterr().out
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert {"siconos-nsgs", "siconos-lcp-lemke"} <= set(run["missing"])
    rows = {row.solver: row for row in read(out / "rows.csv")}
    assert {"newton", "clarabel"} <= set(rows)
    assert not any(name.startswith("siconos") for name in rows)
    assert main(["bench", "report", str(out)]) == 0
    report = (out / "README.md").read_text(encoding="utf-8")
    missing = report.split("## Missing solvers")[1].split("##")[0]
    assert "**siconos-nsgs**: no-such-python cannot import siconos; add it with: apt install" in missing


def test_one_tolerance_is_mapped_to_each_peer() -> None:
    assert tolerance_in_words("siconos-nsgs", 1e-6).startswith("SICONOS_DPARAM_TOL = 1e-06")
    assert tolerance_in_words("drake-scs", 1e-6) == "eps_abs = 1e-08, eps_rel = 1e-08"
    assert tolerance_in_words("quantecon-lemke", 1e-6).startswith("none")
    assert tolerance_in_words("lemke", 1e-6) == "perp.residual ≤ 1e-06"
    assert "1e-08" in tolerance_in_words("clarabel", 1e-6)


def test_conic_peers_take_convex_problems_only() -> None:
    assert not_convex(families.spd(5)) is None
    assert not_convex(families.redundant(8)) is None
    assert not_convex(CUBE.as_relaxed()) is None
    assert "relaxed" in (not_convex(CUBE) or "")
    assert "symmetric" in (not_convex(families.murty(3)) or "")
    assert "semidefinite" in (not_convex(perp.LCP([[1.0, 2.0], [2.0, 1.0]], [-1.0, -1.0])) or "")
    assert "friction index" in (not_convex(families.contacts(2)) or "")
