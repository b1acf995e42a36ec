"""Wheels: pure where nothing was compiled, for one Python and machine where kernels are inside."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("hatchling", reason="make setup installs hatchling")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout with the least that a wheel needs."""
    tree = tmp_path / "tree"
    (tree / "src" / "perp" / "compilation").mkdir(parents=True)
    (tree / "src" / "perp" / "__init__.py").write_text("")
    shutil.copytree(ROOT / "packaging", tree / "packaging", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, tree / name)
    return tree


def build(tree: Path) -> tuple[str, list[str]]:
    """Name of the wheel, and of the files in it."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tree / "dist")]
    run = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    [wheel] = (tree / "dist").iterdir()
    return wheel.name, zipfile.ZipFile(wheel).namelist()


def test_without_kernels_a_wheel_is_for_every_python(tree: Path) -> None:
    name, files = build(tree)
    assert name.endswith("-py3-none-any.whl")
    assert not any("kernels" in file for file in files)


@pytest.mark.parametrize("repository", [False, True])
def test_kernels_go_into_a_wheel_for_this_python(tree: Path, *, repository: bool) -> None:
    if repository:  # where the folder is ignored
        shutil.copy2(ROOT / ".gitignore", tree / ".gitignore")
        (tree / ".git").mkdir()
    folder = tree / "src" / "perp" / "compilation" / "kernels"
    (folder / "solvers").mkdir(parents=True)
    (folder / "facts.json").write_text("{}")
    (folder / "solvers" / "sweep.perp.py311.nbi").write_bytes(b"index")
    (folder / "solvers" / "sweep.perp.py311.1.nbc").write_bytes(b"code")
    name, files = build(tree)
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert f"-{python}-{python}-manylinux" in name
    assert name.endswith("x86_64.whl")
    assert [file for file in files if "kernels" in file] == [
        "perp/compilation/kernels/facts.json",
        "perp/compilation/kernels/solvers/sweep.perp.py311.1.nbc",
        "perp/compilation/kernels/solvers/sweep.perp.py311.nbi",
    ]
