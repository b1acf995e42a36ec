"""The documentation as a site: it builds without a warning, asks nobody for anything, and is complete."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import perp
from view.looking import opened

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# What a browser fetches by itself, as opposed to links that somebody may click.
FETCHED = re.compile(r"""<(?:script|img|iframe|source)[^>]*\ssrc=["']?([^"'\s>]+)|url\(["']?([^"')]+)""")
LINKED = re.compile(r"""<link[^>]*\srel=["']?([a-z ]+)["']?[^>]*\shref=["']?([^"'\s>]+)""")


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    fetched = set()
    for page in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = page.read_text(encoding="utf-8")
        fetched |= {source or style for source, style in FETCHED.findall(text)}
        fetched |= {
            target for kind, target in LINKED.findall(text) if kind not in ("canonical", "prev", "next")
        }
    assert any(name.endswith("katex.min.js") for name in fetched)
    assert not {name for name in fetched if re.match(r"(https?:)?//", name)}


ANCHOR = re.compile(r"""<a\b[^>]*\shref=["']?([^"'\s>:#]*)#([^"'\s>]+)""")


def test_links_to_a_part_of_a_page_lead_there(site: Path) -> None:
    parts = {
        path.resolve(): (
            text := path.read_text(encoding="utf-8"),
            set(re.findall(r"""\sid=["']?([^"'\s>]+)""", text)),
        )
        for path in site.rglob("*.html")
    }
    lost = [
        (path.name, target, part)
        for path, (text, _) in parts.items()
        for target, part in ANCHOR.findall(text)
        if (other := (path.parent / target).resolve() if target else path) in parts
        and unquote(part) not in parts[other][1]
    ]
    assert not lost


OVERFLOWING = """() => [...document.querySelectorAll(".arithmatex, .md-typeset__scrollwrap, .katex-error")]
    .filter((e) => e.matches(".katex-error") || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX != "visible")
    .map((e) => e.textContent.trim().slice(0, 80))"""


def test_formulas_and_tables_fit_on_a_screen_without_scroll_bars(browser: Any, site: Path) -> None:
    wide = {}
    with opened(browser, (site / "index.html").as_uri(), width=1280, height=800) as page:
        for path in sorted(site.rglob("*.html")):
            page.goto(path.as_uri())
            page.wait_for_timeout(100)
            found = page.evaluate(OVERFLOWING)
            if found:
                wide[path.name] = found
    assert not wide


def test_examples_of_the_reference_are_code(browser: Any, site: Path) -> None:
    with opened(browser, (site / "api.html").as_uri(), width=1280, height=800) as page:
        assert page.locator("blockquote").count() == 0
        assert page.locator("pre", has_text="perp.solve(perp.LCP(").count() > 0


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.glob("**/*.md")} - {"assets/README.md"}
    listed = set(re.findall(r"[\w/-]+\.md", navigation))
    assert pages == listed, "nav of mkdocs.yml lists every page below docs/"


def test_every_public_name_is_in_the_reference() -> None:
    described = re.findall(r"^::: ([\w.]+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    missing = set(perp.__all__) - {name.rpartition(".")[2] for name in described}
    assert not missing, "docs/api.md has a line `::: module.name` for each of them"


def test_formulas_have_no_unpaired_dollars() -> None:
    for page in DOCS.glob("**/*.md"):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        outside = re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL)
        for paragraph in outside.split("\n\n"):
            assert paragraph.count("$") % 2 == 0, (page.name, paragraph)


@pytest.mark.parametrize(
    "script", ["capabilities.py", "results_table.py", "sentences.py", "solver_options.py"]
)
def test_what_scripts_write_into_pages_is_current(script: str) -> None:
    run = subprocess.run(
        [sys.executable, DOCS / "scripts" / script, "--check"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("page", ["tour.md", "figures.md", "theory/pivoting.md"])
def test_files_that_a_page_names_exist(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|tests|examples|benchmarks|docs)/[\w/.-]+\.\w+)", text)
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_every_figure_says_where_it_comes_from() -> None:
    page = (DOCS / "figures.md").read_text(encoding="utf-8")
    figures = [path for folder in ("figures", "images") for path in (DOCS / folder).glob("*.[ps][nv]g")]
    assert figures
    for figure in figures:
        assert f"({figure.relative_to(DOCS).as_posix()})" in page, figure.name


def test_no_source_file_is_longer_than_450_lines() -> None:
    long = [
        path.relative_to(ROOT).as_posix()
        for folder in ("src", "tests", "examples", "benchmarks", "docs/scripts")
        for path in (ROOT / folder).rglob("*.py")
        if len(path.read_text(encoding="utf-8").splitlines()) > 450
    ]
    assert long == []
