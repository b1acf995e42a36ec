"""Run the scenes of the gallery and take a picture of each with its own page in headless Chromium.

python examples/render_gallery.py [SCENE ...]       # needs playwright and Chromium

The pictures go to docs/figures/gallery/, pages and recordings to a folder of the system's.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import perp

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "figures" / "gallery"
# Software rendering: the same picture on every machine.
FLAGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
]


@dataclass(frozen=True)
class Shot:
    """How long a scene runs, when it is looked at, and from where."""

    seconds: float
    step: float
    at: float
    view: str
    level: str = "position"


SHOTS = {
    "box-on-slope": Shot(1.5, 0.01, 0.7, "azimuth=-50&elevation=22&zoom=1.5"),
    "stack": Shot(1.0, 0.01, 1.0, "azimuth=-55&elevation=14&zoom=0.95&length=-1"),
    "card-house": Shot(0.5, 0.01, 0.5, "azimuth=-68&elevation=12&zoom=1.0"),
    "arch": Shot(0.3, 0.01, 0.3, "azimuth=-70&elevation=14&zoom=1.1&length=-1.5"),
    "dominoes": Shot(1.3, 0.005, 0.75, "azimuth=-28&elevation=22&zoom=1.5&length=-1"),
    "chain": Shot(3.0, 0.01, 0.7, "azimuth=-75&elevation=8&zoom=1.6"),
    "slider-crank": Shot(3.0, 0.01, 0.75, "azimuth=-60&elevation=20&zoom=1.3&length=-1"),
    "rover": Shot(6.0, 0.02, 2.2, "azimuth=-50&elevation=20&zoom=2.6&follow=chassis&length=-0.5"),
    "gripper": Shot(3.0, 0.01, 3.0, "azimuth=-65&elevation=14&zoom=0.95"),
    "quadruped": Shot(2.0, 0.01, 2.0, "azimuth=-45&elevation=14&zoom=1.15&length=-0.5"),
    "tumbler": Shot(0.2, 0.01, 0.2, "azimuth=-75&elevation=10&zoom=1.3&cones=0"),
}


def run(name: str, folder: Path) -> Path:
    """The page of a scene's run."""
    shot = SHOTS[name]
    sim = perp.Simulation(ROOT / "examples" / "scenes" / f"{name}.xml", step=shot.step, level=shot.level)
    recording = sim.run(shot.seconds)
    met = f"{int(recording.met.sum())} of {len(recording)} steps met their tolerance"
    print(f"{name}: {met}, overlap {recording.penetration.max():.1e} m")
    recording.save(folder / f"{name}.h5", force=True)
    path = folder / f"{name}.html"
    recording.to_html(path, title=name.replace("-", " ").capitalize())
    return path


def picture(browser: Any, page: Path, name: str) -> Path:
    """A still of a page, without its panels."""
    shot = SHOTS[name]
    tab = browser.new_page(viewport={"width": 800, "height": 500}, device_scale_factor=1.25)
    tab.goto(f"{page.as_uri()}#t={shot.at}&{shot.view}&theme=light&bare")
    wait_until_drawn(tab)
    path = PICTURES / f"{name}.jpg"
    tab.screenshot(path=path, type="jpeg", quality=86)
    tab.close()
    return path


def page_picture(browser: Any, page: Path) -> Path:
    """The whole page of the quadruped, for the README."""
    tab = browser.new_page(viewport={"width": 1280, "height": 720})
    tab.goto(f"{page.as_uri()}#t=0.45&theme=light&azimuth=-45&elevation=16&zoom=1.1")
    wait_until_drawn(tab)
    path = PICTURES.parent / "page.png"
    tab.screenshot(path=path)
    tab.close()
    return path


def wait_until_drawn(tab: Any) -> None:
    """The page draws once it has unpacked its data."""
    while not tab.evaluate("Boolean(window.player && !window.player.dirty)"):
        tab.wait_for_timeout(50)


def main(names: list[str]) -> None:
    """Run and draw the named scenes."""
    from playwright.sync_api import sync_playwright

    folder = Path(tempfile.gettempdir()) / "perp-gallery"
    folder.mkdir(exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name in names:
            if name == "page":
                path = page_picture(browser, run("quadruped", folder))
            else:
                path = picture(browser, run(name, folder), name)
            print(f"  wrote {path.relative_to(ROOT)}, {path.stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:] or [*SHOTS, "page"])
