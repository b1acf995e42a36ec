"""Everything that README.md and docs/ show is run: Python blocks as scripts, `perp` lines as commands."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import perp
from perp.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [code for found, code in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


def command_lines(page: Path) -> list[str]:
    lines = "".join(blocks(page, "sh")).splitlines()
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


PYTHON_PAGES = [page for page in PAGES if blocks(page, "python")]
COMMANDS = [line for page in PAGES for line in command_lines(page)]


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=lambda page: page.name)
def test_python_blocks_of_a_page_run_in_order(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "blocks.py"
    script.write_text("\n".join(blocks(page, "python")), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_readme_prints_what_it_says(tmp_path: Path) -> None:
    outputs = []
    for code in blocks(ROOT / "README.md", "python"):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        outputs.append(run.stdout)
    lcp, block, scene, unsolvable = outputs
    assert "Solved" in lcp
    assert "proved 4/3 7/3" in lcp
    force, velocity = (np.fromstring(line.strip("[]"), sep=" ") for line in block.splitlines())
    assert np.allclose(force, [2 * 9.81, -0.25 * 2 * 9.81, 0])
    assert np.allclose(velocity, 0, atol=1e-9)
    distance, lift = map(float, scene.split())
    assert round(distance, 5) == 3.66673
    assert lift < 1e-9
    assert "No solution exists: " in unsolvable


def test_readme_shows_three_snippets_and_two_commands_first() -> None:
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## ")[0]
    assert first_screen.count("```python") == 3
    assert "make demo" in first_screen
    assert "make test" in first_screen


LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_pictures_lead_to_files(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("index", ["README.md", "docs/README.md"])
def test_an_index_leads_to_every_page(index: str) -> None:
    page = ROOT / index
    linked = {(page.parent / target).resolve() for target in LINK.findall(page.read_text(encoding="utf-8"))}
    assert set(PAGES) - {ROOT / "README.md", page} <= linked


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("make ")])
def test_make_targets_exist(line: str) -> None:
    target = shlex.split(line)[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_readme_commands_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    perp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]).save("problem.npz")
    perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.2, 0.0], 0.5).save("contact.npz")
    lines = [line for line in command_lines(ROOT / "README.md") if line.startswith("perp ")]
    assert len(lines) >= 5
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0, (line, capsys.readouterr().err)


def test_every_command_shown_is_run_by_a_test_here() -> None:
    assert {shlex.split(line)[0] for line in COMMANDS} <= {"make", "perp"}
