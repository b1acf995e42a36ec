"""The targets that the documentation tells a reader to make, made in a copy of the tree.

Three are shortened. `make test` is what runs this file: its programs are looked up. `make setup-gams` and `make
setup-peers` download: they are gone through without being carried out. `make published-report` takes half an hour:
here it has one solver and one problem of each kind of file. The set-up itself counts as made.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import perp

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
NOT_COPIED = shutil.ignore_patterns(".venv", ".git", "site", "build", ".*_cache", ".hypothesis", "*.h5")

if shutil.which("make") is None:
    pytest.skip("make is not installed", allow_module_level=True)


def make(folder: Path, *words: str) -> str:
    """What making a target prints."""
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "MAKE", "COV_"))
    }
    run = subprocess.run(
        ["make", "-o", ".venv/.ready", "-o", ".venv/.usable", f"BIN={BIN}", *words],
        cwd=folder, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The tree with its compiled code, without what others made in it."""
    return Path(shutil.copytree(ROOT, tmp_path / "perp", ignore=NOT_COPIED, symlinks=True))


def test_make_help_lists_every_target() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    listed = re.findall(r"^  make ([a-z-]+)", make(ROOT, "help"), re.MULTILINE)
    assert sorted(listed) == sorted(targets)


def test_make_setup_has_nothing_left_to_do() -> None:
    assert "Installing" not in make(ROOT, "setup")


@pytest.mark.parametrize("target", ["test", "setup-gams", "setup-peers"])
def test_a_target_that_is_not_carried_out_names_programs_that_exist(target: str) -> None:
    recipe = make(ROOT, "-n", target)
    programs = re.findall(rf"^{re.escape(str(BIN))}/(\S+)", recipe, re.MULTILINE)
    assert programs
    wanted = set(programs) - {"gamspy"}  # comes with the package that the line before installs
    assert [name for name in sorted(wanted) if not (BIN / name).exists()] == []


def test_make_demo_solves_everything_it_shows() -> None:
    printed = make(ROOT, "demo")
    assert "SOLVED" in printed
    assert "problems and 2 runs in" in printed


def test_make_format_finds_nothing_to_change(copy: Path) -> None:
    before = {path: path.read_bytes() for path in copy.rglob("*.py")}
    make(copy, "format")
    assert [path for path, text in before.items() if path.read_bytes() != text] == []


def test_make_docs_builds_the_site(copy: Path) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    assert "site/index.html" in make(copy, "docs")
    assert (copy / "site" / "index.html").stat().st_size > 5000
    assert (copy / "docs" / "capabilities.md").read_bytes() == (
        ROOT / "docs" / "capabilities.md"
    ).read_bytes()


def test_make_published_report_makes_report_and_readme_anew(copy: Path) -> None:
    """The shortened one: `auto` alone, its default limits, one small file of each kind."""
    data, rng = copy.parent / "data", np.random.default_rng(0)
    contact = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.2, 0.0], 0.5)
    dynamics = perp.ContactProblem.from_dynamics(
        np.eye(3), np.eye(3), [-1.0, 0.2, 0.0], np.zeros(3), perp.Sets([perp.Coulomb(0.5)])
    )
    files = {
        "fclib/contact.hdf5": contact,
        "problems/fc3d__a.npz": contact,
        "problems/fc2d__a.npz": perp.ContactProblem.coulomb(np.eye(2), [-1.0, 0.2], 0.5, dimension=2),
        "problems/rfc3d__a.npz": perp.ContactProblem(np.eye(5), rng.normal(size=5), [perp.Rolling(0.5, 0.1)]),
        "problems/gfc3d__a.npz": dynamics,
        "problems/lcp__a.npz": perp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]),
    }
    for name, problem in files.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        problem.save(data / name)
    short = "--solvers auto --repeat 1 --out build/published"
    make(copy, "published-report", f"DATA={data}", f"PUBLISH={short}", f"BENCH_PYTHON={sys.executable}")
    report = (copy / "docs" / "benchmarks" / "README.md").read_text(encoding="utf-8")
    sets = re.findall(r"^### ([\w-]+): (\d+) problems?$", report, re.MULTILINE)
    assert {"fclib", "fc3d", "global", "lcp-generated", "frames", "frames-warm"} <= {name for name, _ in sets}
    assert str(tmp := copy.parent) not in report, f"{tmp} is a path of this machine"
    assert not (copy / "build" / "published").exists()
    table = (
        (copy / "README.md").read_text(encoding="utf-8").split("results_table.py -->")[1].split("<!-- end")[0]
    )
    assert "Solvers on 1 contact problem" in table
    assert "| auto | 1 of 1 |" in table
