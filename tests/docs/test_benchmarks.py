"""Benchmarks do not run inside the tests, but every one that the documentation names can be started."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "benchmarks").glob("*.py"))


def test_the_documentation_names_scripts_that_exist() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("**/*.md")]
    named = {
        name
        for page in pages
        for name in re.findall(
            r"(?:benchmarks|examples|docs/scripts)/\w+\.py", page.read_text(encoding="utf-8")
        )
    }
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize(
    "script",
    [path for path in SCRIPTS if "__main__" in path.read_text(encoding="utf-8")],
    ids=lambda path: path.stem,
)
def test_a_benchmark_can_be_started(script: Path) -> None:
    """With a parser it tells its options; without one its names are loaded, and nothing is measured."""
    if "siconos" in script.stem:
        pytest.skip("is run by the interpreter that has Siconos")
    text = script.read_text(encoding="utf-8")
    load = f"import runpy; runpy.run_path({str(script)!r})"
    words = [str(script), "--help"] if "ArgumentParser" in text else ["-c", load]
    run = subprocess.run(
        [sys.executable, *words], cwd=script.parent, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{script.parent}", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
