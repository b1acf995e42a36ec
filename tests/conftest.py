"""Settings for all tests, and a headless Chromium and the documentation for those that look at pages."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every machine and run: a failure can be repeated. First calls compile and the machine may
# be busy, so nothing looks at the clock.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

# Software rendering: a machine without a graphics card draws the same.
FLAGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run files, and the tests of each, in a random order"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle files and the tests within each: tests of one file stay together, as their fixtures are shared."""
    seed = config.getoption("--shuffle")
    if seed is None:
        return
    dice = random.Random(seed)
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    order = sorted(files)
    dice.shuffle(order)
    for path in order:
        dice.shuffle(files[path])
    items[:] = [item for path in order for item in files[path]]


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("CHROMIUM") or next((path for name in names if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    path = chromium()
    if path is None:
        pytest.skip("no browser: install chromium (Debian, Ubuntu: apt install chromium) or set CHROMIUM")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation as a folder of pages, built without a warning."""
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("site")
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return folder
