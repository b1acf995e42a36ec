"""Everything that README.md and docs/ show is run, and every link of theirs leads somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from page_runner import blocks, command_lines, lone_commands

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
RUNNER = ROOT / "tests" / "page_runner.py"
COMMANDS = [
    line
    for page in PAGES
    for language, text in blocks(page)
    if language == "sh"
    for line in command_lines(text)
]


CODE_PAGES = [
    page
    for page in PAGES
    if lone_commands(page) or any(language in ("python", "sh") for language, _ in blocks(page))
]


@pytest.mark.parametrize("page", CODE_PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    # the snippets of the README stand alone: the next test runs each by itself
    only = ["sh"] if page.name == "README.md" and page.parent == ROOT else []
    run = subprocess.run(
        [sys.executable, "-W", "error", RUNNER, page, *only],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_readme_prints_what_it_says() -> None:
    outputs = []
    for language, code in blocks(ROOT / "README.md"):
        if language == "python":
            run = subprocess.run(
                [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
            )
            outputs.append(run.stdout)
    lcp, block, scene = outputs
    assert "Solved" in lcp
    assert "proved 4/3 7/3" in lcp
    force, velocity = (np.fromstring(line.strip("[]"), sep=" ") for line in block.splitlines())
    assert np.allclose(force, [2 * 9.81, -0.25 * 2 * 9.81, 0])
    assert np.allclose(velocity, 0, atol=1e-9)
    distance, lift = map(float, scene.split())
    assert round(distance, 5) == 3.66972
    assert lift < 1e-9


def test_readme_shows_one_picture_three_snippets_and_two_commands_first() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("![") == 1
    first_screen = text.split("\n## ")[0]
    assert first_screen.count("```python") == 3
    assert "make demo" in first_screen
    assert "make test" in first_screen


LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_pictures_lead_to_files(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    text = index.read_text(encoding="utf-8")
    linked = {(index.parent / target).resolve() for target in LINK.findall(text)}
    missing = set(PAGES) - {index, ROOT / "docs" / "assets" / "README.md"} - linked
    assert not missing, "docs/README.md links to every page"


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_shown_is_one_that_is_run(line: str) -> None:
    words = shlex.split(line)
    if words[0] == "make":
        makes = (Path(__file__).parent / "test_make.py").read_text(encoding="utf-8")
        assert f'"{words[1]}"' in makes
    else:
        assert words[0] == "perp", "other commands are not run: write them so that a test can"


def table_rows(text: str) -> list[list[str]]:
    """Cells of every line of every Markdown table."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in re.findall(r"^\|.*\|$", text, re.MULTILINE)
    ]


def test_results_in_the_readme_are_those_of_the_pages_that_it_cites() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.split("\n## Against others\n")[1].split("\n## ")[0]
    cited = [ROOT / target for target in LINK.findall(section) if target.endswith(".md")]
    known = [set(row) for page in cited for row in table_rows(page.read_text(encoding="utf-8"))]
    shown = [row for row in table_rows(section) if not set(row) <= {"---"}]
    assert len(shown) > 5
    for row in shown:
        assert any(set(row) <= cells for cells in known), row
