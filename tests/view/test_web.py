"""The viser page: frames of a run in pieces, and the page in a browser, replaying and live."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

import perp
from perp.view import web
from perp.view.frames import Frames
from view.conftest import SCENES
from view.looking import opened, picture, settled, wait_until


def test_frames_of_pieces_are_those_of_the_whole() -> None:
    whole = perp.Simulation(SCENES / "box-on-slope.xml", step=0.01).run(0.2)
    sim = perp.Simulation(SCENES / "box-on-slope.xml", step=0.01)
    first = sim.run(0.05)
    frames = Frames(first)
    for seconds in (0.01, 0.1, 0.04):
        frames.extend(sim.run(seconds))
    assert len(frames) == len(whole) + 1
    assert frames.times[1:] == pytest.approx(whole.time)
    for frame in range(1, len(frames)):
        position, quaternion = frames.pose(frame)
        assert np.array_equal(position, whole.positions[frame - 1])
        assert np.array_equal(quaternion, whole.quaternions[frame - 1])
        rows = frames.contacts(frame)
        assert rows is not None
        assert np.array_equal(frames.piece(frame).contact_force[rows], whole.contacts(frame - 1).force)
    assert np.array_equal(frames.pose(0)[0], whole.start_position)
    assert [frames.at(t) for t in (0.0, 0.0149, 0.02, 9.0)] == [0, 1, 2, 20]
    curves = frames.curves(1000)
    assert curves["total"] + whole.potential_energy[0] == pytest.approx(whole.energy)
    assert curves["residual"] == pytest.approx(whole.residual / whole.tolerance)
    assert (curves["stick"] + curves["slip"] + curves["open"]).tolist() == whole.contact_count.tolist()
    assert frames.curves(7)["residual"].max() == curves["residual"].max()


def test_without_viser_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(perp.PerpError, match=r"pip install 'perp\[viewer\]'"):
        web.Viewer(open_browser=False)


@pytest.fixture
def viewer() -> Iterator[web.Viewer]:
    pytest.importorskip("viser", reason="pip install 'perp[viewer]'")
    with web.Viewer(port=18080, open_browser=False) as viewer:
        yield viewer


TIME = """parseFloat([...document.querySelectorAll("input")]
    .filter(input => input.offsetParent && /^[0-9.]+$/.test(input.value))[0]?.value)"""


def test_in_a_browser_the_page_shows_plays_and_asks_nobody_else(
    browser: Any, viewer: web.Viewer, recording: perp.Recording
) -> None:
    viewer.extend(recording)
    viewer.finish()
    with opened(browser, viewer.url, width=780, height=420) as page:
        sockets: list[str] = []
        page.on("websocket", lambda socket: sockets.append(socket.url))
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Play").wait_for()
        settled(page, TIME)
        wait_until(page, "document.querySelectorAll('canvas').length >= 4")  # the scene and three plots
        for _ in range(100):
            if picture(page, "canvas").std() > 0.03:
                break
            page.wait_for_timeout(100)
        assert picture(page, "canvas").std() > 0.03
        assert not viewer.playing
        number = page.locator("input:visible").first
        number.fill("0.2")
        number.press("Enter")
        wait_until(page, f"Math.abs({TIME} - 0.2) < 1e-6")
        page.locator("input:visible").nth(1).click()
        page.get_by_role("option", name="0.25×").click()
        page.get_by_role("button", name="Play").click()
        wait_until(page, f"Math.abs({TIME} - 0.2) > 0.02")
        assert viewer.speed == 0.25
        hosts = {
            urlsplit(url).hostname
            for url in [*page.requests, *sockets]
            if not url.startswith(("blob:", "data:"))
        }
        assert hosts == {"localhost"}


def test_a_run_is_shown_while_it_goes_on(viewer: web.Viewer) -> None:
    sim = perp.Simulation(SCENES / "box-on-slope.xml", step=0.01)
    viewer.extend(sim.run(0.03))
    viewer.extend(sim.run(0.03))
    while viewer.time < 0.06 - 1e-9:
        time.sleep(0.02)
    assert viewer.time == pytest.approx(0.06)
    viewer.finish()
    assert viewer.time < 0.06


def test_show_runs_a_simulation() -> None:
    pytest.importorskip("viser", reason="pip install 'perp[viewer]'")
    sim = perp.Simulation(SCENES / "box-on-slope.xml", step=0.01)
    viewer = web.show(sim, seconds=0.1, port=18090, open_browser=False, wait=False)
    viewer.close()
    assert sim.time == pytest.approx(0.1)
    assert not viewer.open
    viewer.wait()


def test_simulate_view_shows_the_run_while_it_goes_on_and_replays_it_then(
    browser: Any, tmp_path: Path
) -> None:
    pytest.importorskip("viser", reason="pip install 'perp[viewer]'")
    out = tmp_path / "run.h5"
    words = ["simulate", str(SCENES / "quadruped.xml"), "--time", "3600", "--view", "--out", str(out)]
    # a test run in the background hands down SIGINT as ignored
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{listen}; from perp.cli import main; raise SystemExit(main())", *words]
    environment = {**os.environ, "BROWSER": "true"}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as run:
        try:
            assert run.stderr is not None
            assert run.stdout is not None
            line = run.stderr.readline()
            assert line.startswith("Showing the run at http://localhost:"), line
            with opened(browser, line.split()[-1], width=780, height=420) as page:
                pause = page.get_by_role("button", name="Pause")
                pause.wait_for()
                wait_until(page, f"{TIME} > 0.1")
                first = page.evaluate(TIME)
                wait_until(page, f"{TIME} > {first} + 0.05")  # the newest step is shown
                pause.click()
                page.get_by_role("button", name="Play").wait_for()
                stopped = settled(page, TIME)  # the run itself waits
                page.get_by_role("button", name="Play").click()
                wait_until(page, f"{TIME} > {stopped} + 0.05")
                run.send_signal(signal.SIGINT)
                assert run.stderr.readline().startswith("Replaying at ")
                recording = perp.Recording.open(out)
                assert recording.time[-1] > stopped
                wait_until(page, f"{TIME} < {first}")
                run.send_signal(signal.SIGINT)
                assert "stopped at t = " in run.stdout.read()
            assert run.wait() == 130
        finally:
            run.kill()


def test_a_page_of_another_site_is_refused(viewer: web.Viewer) -> None:
    """A browser names the site whose page opens the websocket; only pages of this server may."""
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    port = urlsplit(viewer.url).port
    address = f"ws://127.0.0.1:{port}"
    for origin in (
        "http://evil.example",
        f"http://evil.example:{port}",
        "null",
        "http://localhost:1",
        "http://[",
    ):
        with pytest.raises(InvalidStatus) as caught, connect(address, origin=origin):
            pass
        assert caught.value.response.status_code == 403
    with pytest.raises(InvalidStatus), connect(address, additional_headers={"Host": f"evil.example:{port}"}):
        pass
    for own in (f"http://localhost:{port}", f"http://127.0.0.1:{port}", None):
        with connect(address, origin=own, subprotocols=["viser-v1.1.1"]):
            pass
