"""A recording as pictures and as a film, drawn by the page in a browser without a window.

What is drawn is what the page shows, on machines without a display or a graphics card, too: Chromium draws
by software there. `pip install perp[video]` brings what drives the browser and what encodes the film; the
browser is the one of the system, or that of the environment variable CHROMIUM.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from perp import Recording
from perp.files.writing import check_writable
from perp.problems import PerpError, ProblemError
from perp.view.page import page_text

VIEW_OPTIONS = ("azimuth", "elevation", "zoom", "follow", "forces", "cones", "through", "theme")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
)  # fmt: skip
_PATIENCE = 600_000  # milliseconds that a picture may take on a busy machine
_READY = """new Promise((done) => {
  const message = document.getElementById("message");
  const wait = () => (message.hidden ? setTimeout(look, 20) : done(message.textContent));
  const look = () => (window.player ? done("") : wait());
  look();
})"""
_DRAW = "(time) => { window.player.seek(time); window.player.draw(); }"


def write_video(
    recording: Recording,
    path: str | Path,
    *,
    fps: float = 30.0,
    size: tuple[int, int] = (1280, 720),
    speed: float = 1.0,
    **view: Any,
) -> Path:
    """Write a recording as an .mp4, .webm or .gif film.

    Args:
        recording: What to show.
        path: Where to write.
        fps: Pictures a second.
        size: Width and height [pixels].
        speed: Simulated seconds a second of the film: 0.25 is slow motion.
        view: Of the camera: azimuth, elevation [degrees], zoom, follow (a body's name); forces, cones,
            through (0 or 1); theme ("light" or "dark").

    Raises:
        PerpError: The browser, playwright or ffmpeg is missing; the message says how to get it.
    """
    path = Path(path)
    check_writable(path, (".mp4", ".webm", ".gif"), "a film")
    if not speed > 0:
        raise ProblemError(f"speed = {speed!r}: a positive number is needed")
    encoder, times = _ffmpeg(), frame_times(recording, fps / speed)
    even = size[0] + size[0] % 2, size[1] + size[1] % 2  # encoders share colours between neighbours
    with tempfile.TemporaryDirectory() as folder:
        draw(
            recording,
            times,
            size=even,
            names=[Path(folder) / f"{k:06d}.jpg" for k in range(len(times))],
            **view,
        )
        film = Path(folder) / f"film{path.suffix.lower()}"
        colours = [] if path.suffix.lower() == ".gif" else ["-pix_fmt", "yuv420p"]
        source = ["-framerate", f"{fps:g}", "-i", str(Path(folder) / "%06d.jpg")]
        run = subprocess.run(
            [encoder, "-y", "-loglevel", "error", *source, *colours, str(film)],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if run.returncode:
            raise PerpError(f"{path}: ffmpeg could not write the film: {run.stderr.strip()}")
        shutil.move(film, path)
    return path


def write_frames(
    recording: Recording,
    folder: str | Path,
    *,
    fps: float = 30.0,
    size: tuple[int, int] = (1280, 720),
    times: Sequence[float] | None = None,
    **view: Any,
) -> list[Path]:
    """Write pictures frame0000.png, … into a folder, which is made if it does not exist.

    Args:
        recording: What to show.
        folder: Where to write.
        fps: Pictures a simulated second, where `times` does not say when.
        size: Width and height [pixels].
        times: When [s].
        view: As for `write_video`.
    """
    folder = Path(folder)
    when = frame_times(recording, fps) if times is None else np.asarray(times, dtype=np.float64)
    names = [folder / f"frame{k:04d}.png" for k in range(len(when))]
    draw(recording, when, size=size, names=names, **view)
    return names


def frame_times(recording: Recording, rate: float) -> np.ndarray:
    """Times of the pictures [s], so many a simulated second."""
    if not rate > 0:
        raise ProblemError(f"fps or speed: {rate:g} pictures a simulated second; a positive number is needed")
    span = float(recording.time[-1]) - recording.start_time if len(recording) else 0.0
    return recording.start_time + np.arange(int(span * rate + 1e-9) + 1) / rate


def draw(
    recording: Recording,
    times: Sequence[float] | np.ndarray,
    *,
    size: tuple[int, int],
    names: list[Path],
    **view: Any,
) -> None:
    """Pictures of a recording at some times, one file each; the suffix decides the kind."""
    wrong = [name for name in view if name not in VIEW_OPTIONS]
    if wrong:
        raise ProblemError(
            f"there is no option {wrong[0]!r} of the view; there are: {', '.join(VIEW_OPTIONS)}"
        )
    if "follow" in view and view["follow"] not in recording.body_names:
        raise ProblemError(f"follow = {view['follow']!r}; there are: {', '.join(recording.body_names)}")
    text = page_text(recording, "perp")
    wishes = {"theme": "light", **view, "bare": 1, "play": 0, "t": recording.start_time}
    address = urlencode({name: int(x) if isinstance(x, bool) else x for name, x in wishes.items()})
    # a thread of its own: notebooks have a loop of events, in which the browser's driver refuses to run
    with ThreadPoolExecutor(1) as one:
        one.submit(_draw, text, address, size, times, names).result()


def _draw(
    text: str, address: str, size: tuple[int, int], times: Sequence[float] | np.ndarray, names: list[Path]
) -> None:
    with tempfile.TemporaryDirectory() as folder, _browser() as browser:
        page_file = Path(folder) / "page.html"
        page_file.write_text(text, encoding="utf-8")
        page = browser.new_page(viewport={"width": size[0], "height": size[1]}, device_scale_factor=1)
        page.set_default_timeout(_PATIENCE)
        page.goto(f"{page_file.as_uri()}#{address}")
        trouble = page.evaluate(_READY)
        if trouble:
            raise PerpError(f"the browser cannot draw: {trouble}")
        for time, name in zip(times, names, strict=True):
            page.evaluate(_DRAW, float(time))
            name.parent.mkdir(parents=True, exist_ok=True)
            # the page as it is seen: the sky is not of the canvas but behind it
            how = {"type": "jpeg", "quality": 93} if name.suffix == ".jpg" else {}
            page.screenshot(path=name, **how)


@contextmanager
def _browser() -> Iterator[Any]:
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise PerpError(
            'pictures need playwright, which drives a browser: pip install "perp[video]"'
        ) from None
    path = os.environ.get("CHROMIUM") or next(
        (found for name in _BROWSERS if (found := shutil.which(name))), None
    )
    with sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=path, args=list(_FLAGS))
        except Error as error:
            why = str(error).splitlines()[0]
            raise PerpError(
                f"no browser can be started ({why}): install chromium, run `playwright install chromium`, "
                "or set CHROMIUM to one"
            ) from None
        try:
            yield browser
        finally:
            browser.close()


def _ffmpeg() -> str:
    found = shutil.which("ffmpeg")
    if found:
        return found
    try:
        from imageio_ffmpeg import get_ffmpeg_exe
    except ImportError:
        raise PerpError('films need ffmpeg: install it, or pip install "perp[video]"') from None
    return get_ffmpeg_exe()
