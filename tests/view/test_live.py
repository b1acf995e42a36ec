"""The page of a run that goes on: who may talk to it, what it is told, and what it may ask of the run."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np
import pytest

import perp
from perp.scenes import library
from perp.view.live import LivePage, show
from perp.view.live_frames import CONTACT_WIDTH
from view.conftest import SCENES
from view.looking import opened, picture, wait_until


class Runner:
    """A run in a thread, as the command has it in its main one."""

    def __init__(self, simulation: perp.Simulation, **options: Any) -> None:
        self.simulation = simulation
        self.page = LivePage(simulation, port=18400, open_browser=False, **options)
        self.stop: list[int] = []
        self.resets = 0
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self.stop:
            if self.page.before_step(lambda: self.stop):
                self.resets += 1
            elif not self.stop:
                self.page.add(self.simulation.step())

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.append(1)
        self.thread.join()
        self.page.close()

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, bytes]:
        port = urlsplit(self.page.url).port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        words = {
            "Host": f"localhost:{port}",
            "X-Perp": "1",
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        connection.request(method, path, body, {k: v for k, v in words.items() if v})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def send(self, **words: Any) -> int:
        return self.ask("POST", "/command", json.dumps(words))[0]

    def frames(self, run: int = 0, after: int = 0) -> tuple[dict[str, Any], np.ndarray]:
        status, content = self.ask("GET", f"/frames?run={run}&after={after}")
        assert status == 200
        size = struct.unpack("<I", content[:4])[0]
        return json.loads(content[4 : 4 + size]), np.frombuffer(content[4 + size :], "<f4")

    def until(self, condition: Any) -> None:
        while not condition():
            threading.Event().wait(0.01)


@pytest.fixture
def box() -> Iterator[Runner]:
    with Runner(perp.Simulation(library.box_on_plane(), step=0.01)) as runner:
        yield runner


def test_only_its_own_page_may_talk_to_it(box: Runner) -> None:
    port = urlsplit(box.page.url).port
    foreign = ("http://evil.example", f"http://evil.example:{port}", "null", "http://localhost:1", "http://[")
    for origin in foreign:
        assert box.ask("GET", "/", Origin=origin)[0] == 403
        assert box.ask("GET", "/frames?run=0&after=0", Origin=origin)[0] == 403
        assert box.ask("POST", "/command", '{"kind": "pause"}', Origin=origin)[0] == 403
    assert box.ask("GET", "/", Host=f"evil.example:{port}")[0] == 403
    assert box.ask("POST", "/command", '{"kind": "pause"}', Host="evil.example")[0] == 403
    assert box.ask("POST", "/command", '{"kind": "pause"}', X_Perp="")[0] == 403
    assert box.page.playing
    for origin in (f"http://localhost:{port}", f"http://127.0.0.1:{port}", ""):
        assert box.ask("GET", "/", Origin=origin)[0] == 200
    assert box.ask("GET", "/secrets")[0] == 404
    assert box.ask("GET", "/../../etc/passwd")[0] == 404
    # nobody but this machine: the other addresses of it do not answer
    own = {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in own - {"127.0.0.1"} - {a for a in own if str(a).startswith("127.")}:
        with pytest.raises(OSError), socket.create_connection((str(address), port), timeout=2):  # noqa: PT011
            pass


@pytest.mark.parametrize(
    "body",
    ["", "[]", "{}", '{"kind": "explode"}', '{"kind": "speed", "speed": -1}', '{"kind": "speed", "speed": "NaN"}',
     '{"kind": "push", "body": 7, "local": [0, 0, 0], "target": [0, 0, 0]}',
     '{"kind": "push", "body": 0, "local": [0, 0], "target": [0, 0, 0]}',
     '{"kind": "push", "body": 0, "local": [0, 0, 0], "target": [0, 0, 1e999]}', "[" * 60_000, "x" * 70_000],
)  # fmt: skip
def test_what_is_no_command_is_refused_and_does_nothing(box: Runner, body: str) -> None:
    try:
        assert box.ask("POST", "/command", body)[0] == 400
    except ConnectionError:  # what is too long is not even read
        assert len(body) > 65536
    for query in ("", "?run=a&after=0", "?run=0"):
        assert box.ask("GET", f"/frames{query}")[0] == 400
    assert box.page.playing
    assert not box.simulation.wrench.any()


def test_frames_hold_poses_contacts_and_figures() -> None:
    sim = perp.Simulation(library.box_on_plane(), step=0.01)
    runner = Runner(sim)
    # before the run begins: a step that is under way when a run is paused is taken
    runner.send(kind="pause")
    assert not runner.page.playing
    with runner:
        before = sim.time
        assert runner.send(kind="step") == 204
        runner.until(lambda: sim.time > before)
        runner.until(lambda: runner.frames()[0]["figures"]["steps"] == round(sim.time / 0.01))
        header, numbers = runner.frames()
        assert sim.time == pytest.approx(before + 0.01)
        lines = numbers[: header["frames"] * 12].reshape(-1, 12)
        assert lines[-1, 0] == pytest.approx(sim.time)
        assert lines[-1, 5:8] == pytest.approx(sim.body("box").position, abs=1e-6)
        contacts = numbers[header["frames"] * 12 :].reshape(-1, CONTACT_WIDTH)
        assert len(contacts) == sum(header["counts"])
        assert contacts[-4:, 6:9].sum(axis=0) == pytest.approx([0, 0, 9.81], abs=1e-3)
        more, none = runner.frames(header["run"], header["frames"])
        assert more["frames"] == 0
        assert none.size == 0
        assert header["figures"]["residual"] == pytest.approx(sim.last.residual, rel=10, abs=1e-9)


def test_reset_begins_a_new_run_and_a_recorded_one_is_not_reset(tmp_path: Path) -> None:
    sim = perp.Simulation(library.sphere_on_plane(height=5), step=0.01)
    with Runner(sim) as runner:
        runner.until(lambda: sim.time > 0.1)
        run = runner.frames()[0]["run"]
        runner.send(kind="reset")
        runner.until(lambda: runner.resets == 1)
        header, _ = runner.frames(run, 10**6)
        assert header["run"] == run + 1
        assert header["first"] == 0
    with Runner(perp.Simulation(library.box_on_plane(), step=0.01), resettable=False) as runner:
        assert runner.send(kind="reset") == 400


@pytest.mark.parametrize(("speed", "seconds"), [(1.0, 0.3), (0.1, 3.0), (0.0, 0.0)])
def test_slow_motion_is_slow(speed: float, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that only goes on while the page waits; speed 0 is no waiting at all."""
    clock = [0.0]

    def sleep(pause: float) -> None:
        clock[0] += pause

    monkeypatch.setattr("perp.view.live.time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    sim = perp.Simulation(library.sphere_on_plane(height=50), step=0.001)
    with LivePage(sim, port=18400, open_browser=False) as page:
        page._obey({"kind": "speed", "speed": speed})
        for _ in range(300):
            page.before_step()
            page.add(sim.step())
    assert clock[0] == pytest.approx(seconds, abs=0.02)


def test_an_ended_run_is_started_over_by_the_page() -> None:
    sim = perp.Simulation(library.sphere_on_plane(height=5), step=0.01)
    runner = Runner(sim)
    for _ in range(3):
        runner.page.add(sim.step())
    runner.page.finish("a problem")
    runs: list[tuple[float, bool, str]] = []

    def again() -> None:
        state = runner.frames()[0]
        runs.append((sim.time, state["finished"], state["problem"]))
        runner.page.add(sim.step())
        runner.page.finish()

    waiting = threading.Thread(target=runner.page.wait, args=(again,), daemon=True)
    waiting.start()
    runner.until(lambda: runner.frames()[0]["again"])
    for count in (1, 2):
        assert runner.send(kind="reset") == 204
        runner.until(lambda count=count: len(runs) == count and runner.frames()[0]["finished"])
    assert runs == [(0.0, False, "")] * 2
    header, _ = runner.frames()
    assert (header["run"], header["frames"]) == (3, 2)
    runner.page.close()
    waiting.join()  # a page that is closed waits for nothing


def test_a_push_pulls_the_body_to_the_mouse_and_ends() -> None:
    scene = '<mujoco><option gravity="0 0 0"/><worldbody><body name="ball"><freejoint/><geom size="0.1" mass="3"/></body></worldbody></mujoco>'
    sim = perp.Simulation(scene, step=0.01)
    sim.apply_force("ball", (0.0, 0.0, 0.5))
    with Runner(sim) as runner:
        runner.send(kind="speed", speed=0)
        runner.send(kind="push", body=0, local=[0, 0, 0], target=[1.0, 0.0, 0.0])
        runner.until(lambda: abs(sim.body("ball").position[0] - 1.0) < 1e-3)
        runner.send(kind="release")
        runner.until(lambda: runner.page._push is None)
        assert sim.wrench[0] == pytest.approx([0, 0, 0.5, 0, 0, 0])  # what was there before is there again


def test_show_runs_with_a_controller() -> None:
    sim = perp.Simulation(library.rover(), step=0.01)
    asked: list[float] = []

    def policy(simulation: perp.Simulation) -> None:
        asked.append(simulation.time)

    with show(sim, 0.05, policy, port=18450, open_browser=False) as page:
        assert page.url.startswith("http://localhost:")
    assert len(asked) == 5
    assert sim.time == pytest.approx(0.05)


TIME = "window.player.time"


def test_in_a_browser_one_pauses_steps_pushes_and_resets(browser: Any) -> None:
    sim = perp.Simulation(SCENES / "box-on-slope.xml")
    with (
        Runner(sim, title="<i>slope</i>") as runner,
        opened(browser, runner.page.url, width=780, height=420) as page,
    ):
        wait_until(page, f"window.player && {TIME} > 0.1")
        assert page.inner_text("#title") == "<i>slope</i>"
        page.click("#play")
        runner.until(lambda: not runner.page.playing)
        wait_until(page, "!player.live.state.playing && player.frames.end === player.time")
        assert picture(page, "#view").std() > 0.02
        before = sim.time
        page.keyboard.press("ArrowRight")
        runner.until(lambda: sim.time > before)
        assert sim.time == pytest.approx(before + 0.01)
        wait_until(page, "player.frames.end === player.time && !player.dirty")
        # where on the page is a body?
        x, y = page.evaluate("""() => {
            const box = player.renderer.canvas.getBoundingClientRect();
            for (let x = box.left; x < box.right; x += 6) for (let y = box.top; y < box.bottom; y += 6) {
                const { eye, direction } = player.camera.hand.ray({ clientX: x, clientY: y });
                if (player.camera.hand.nearest(eye, direction)) return [x, y];
            }
        }""")
        page.keyboard.down("Control")
        page.mouse.move(x + 3, y + 3)
        page.mouse.down()
        page.mouse.move(x + 60, y - 60, steps=3)
        runner.until(lambda: runner.page._push is not None)
        page.mouse.up()
        page.keyboard.up("Control")
        runner.until(lambda: runner.page._push is None)
        run = page.evaluate("player.live.run")
        page.click("#restart")
        runner.until(lambda: runner.resets == 1)
        # the run goes on meanwhile: its first frame tells that it began again
        wait_until(page, f"player.live.run > {run} && player.frames.begin < 0.02")
        hosts = {urlsplit(url).hostname for url in page.requests if not url.startswith(("blob:", "data:"))}
        assert hosts == {"localhost"}


def test_simulate_view_shows_the_run_and_replays_it_then(browser: Any, tmp_path: Path) -> None:
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
                wait_until(page, f"window.player && {TIME} > 0.1")
                assert page.locator("#restart").is_hidden()  # what is in a file is not undone
                page.click("#play")
                wait_until(page, "!player.live.state.playing")
                stopped = page.evaluate("player.frames.end")
                page.click("#play")
                wait_until(page, f"{TIME} > {stopped} + 0.05")
                run.send_signal(signal.SIGINT)
                assert run.stderr.readline().startswith("Replaying at ")
                recording = perp.Recording.open(out)
                assert recording.time[-1] > stopped
                wait_until(page, "!player.running")
                assert "ended · stopped at t = " in page.inner_text("#subtitle")
                assert f"{len(recording)} steps of 0.01 s" in page.inner_text("#subtitle")
                page.click("#play")  # from its start
                wait_until(page, f"{TIME} < {stopped}")
                run.send_signal(signal.SIGINT)
                assert "stopped at t = " in run.stdout.read()
            assert run.wait() == 130
        finally:
            run.kill()
