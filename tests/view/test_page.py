"""The standalone page: what it holds, and that it plays in a browser without asking anybody for anything."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perp
from perp.view import page as page_module
from perp.view.page import packed, page_text
from view.looking import opened, picture, settled, wait_until

DRAWN = "Boolean(window.player && !window.player.dirty)"
KINDS = {"f4": "<f4", "i2": "<i2", "u4": "<u4", "i4": "<i4", "i1": "i1"}


def arrays_of(header: dict[str, Any], blob: bytes) -> dict[str, np.ndarray]:
    return {
        name: np.frombuffer(blob, KINDS[kind], size, offset)
        for name, (kind, offset, size) in header["arrays"].items()
    }


def test_poses_come_back_to_a_tenth_of_a_millimetre(recording: perp.Recording) -> None:
    header, blob = packed(recording)
    arrays = arrays_of(header, blob)
    frames, bodies = header["frames"], len(recording.body_names)
    assert frames == len(recording) + 1
    whole = np.cumsum(arrays["position"].reshape(frames, bodies, 3), axis=0, dtype=np.int16)
    low, span = (arrays[f"position_{part}"].reshape(bodies, 3) for part in ("low", "span"))
    found = low + (whole + 32767.0) / 65534.0 * span
    assert np.abs(found[1:] - recording.positions).max() < 1e-4
    assert np.abs(found[0] - recording.start_position).max() < 1e-4
    turns = np.cumsum(arrays["quaternion"].reshape(frames, bodies, 4), axis=0, dtype=np.int16) / 32767.0
    assert np.abs(np.einsum("fbi,fbi->fb", turns[1:], recording.quaternions)).min() > 1 - 1e-4


def test_forces_are_drawn_on_what_moves(recording: perp.Recording) -> None:
    """On a slope of 20° the forces on one cube add up to its weight when it does not accelerate."""
    arrays = arrays_of(*packed(recording))
    force = arrays["contact_force"].reshape(-1, 3) * arrays["force_largest"][0] / 32767
    last = slice(*arrays["contact_start"][[-2, -1]].tolist())
    sticks = arrays["contact_state"][last] == 1
    assert sticks.sum() == 4
    assert force[last][sticks].sum(axis=0) == pytest.approx([0, 0, 9.81], abs=2e-3)


def test_a_long_run_is_thinned_and_says_so(
    recording: perp.Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "_MOST_FRAMES", 20)
    header, blob = packed(recording)
    arrays = arrays_of(header, blob)
    assert header["stride"] == 3
    assert header["frames"] == 18
    assert arrays["time"][-1] == pytest.approx(recording.time[-1])
    assert arrays["plot_time"].size == len(recording)
    assert arrays["residual"] == pytest.approx(recording.residual)


def test_the_page_is_one_file_that_names_nothing_outside(recording: perp.Recording, tmp_path: Path) -> None:
    recording.to_html(tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert re.findall(r"""(?:src|href)=["'](?!data:)[^"']*""", text) == []
    assert "http://" not in text
    assert "https://" not in text
    assert "default-src 'none'" in text
    data = re.search(r'id="data">([^<]*)<', text)
    assert data is not None
    header = json.loads(re.search(r'id="header">([^<]*)<', text).group(1))  # type: ignore[union-attr]
    kind, offset, size = list(header["arrays"].values())[-1]
    assert len(gzip.decompress(base64.b64decode(data.group(1)))) == offset + size * int(kind[1])


def test_a_name_cannot_leave_the_script(recording: perp.Recording) -> None:
    bodies = ("</script><script>alert(1)</script>", *recording.body_names[1:])
    text = page_text(replace(recording, body_names=bodies), "<b>&")
    assert "alert(1)</script>" not in text
    assert "<title>&lt;b&gt;&amp;</title>" in text


def test_a_recording_without_steps_is_refused(recording: perp.Recording, tmp_path: Path) -> None:
    with pytest.raises(perp.ProblemError, match="no steps"):
        replace(recording, time=recording.time[:0]).to_html(tmp_path / "empty.html")


@pytest.fixture(scope="module")
def address(recording: perp.Recording, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "run.html"
    recording.to_html(path, title="Box on slope")
    return path.as_uri()


def seconds(page: Any) -> float:
    return float(page.inner_text("#time").split()[0])


def test_in_a_browser_it_shows_the_scene_and_asks_nobody(browser: Any, address: str) -> None:
    with opened(browser, f"{address}#t=0.3&theme=light") as page:
        wait_until(page, DRAWN)
        assert page.inner_text("#title") == "Box on slope"
        assert "50 steps of 0.01 s, from t = 0 to 0.5 s" in page.inner_text("#subtitle")
        scene = picture(page, "#view")
        assert scene.std() > 0.03
        page.click("#forces")
        page.click("#cones")
        wait_until(page, DRAWN)
        changed = np.abs(picture(page, "#view") - scene).max(axis=-1) > 0.1
        assert 0.001 < changed.mean() < 0.2, "arrows and cones were drawn, and nothing else changed"
        for plot in ("#energy", "#residual", "#contacts"):
            assert picture(page, plot).std() > 0.02
        assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
        assert len([url for url in page.requests if url.startswith("file:")]) == 1


def test_in_a_browser_the_controls_work(browser: Any, address: str, recording: perp.Recording) -> None:
    with opened(browser, f"{address}#play=0") as page:
        wait_until(page, DRAWN)
        assert seconds(page) == 0.0
        page.select_option("#speed", "0.05")  # a busy machine must not be at the end before the second click
        page.click("#play")
        wait_until(page, "parseFloat(document.getElementById('time').textContent) > 0.05")
        page.click("#play")
        # A frame that was under way may still be drawn.
        stopped = settled(page, "document.getElementById('time').textContent")
        assert float(stopped.split()[0]) < recording.time[-1]
        page.locator("#scrub").fill("0.4")
        wait_until(page, "document.getElementById('time').textContent.startsWith('0.400')")
        page.keyboard.press("ArrowRight")
        wait_until(page, "document.getElementById('time').textContent.startsWith('0.410')")
        page.keyboard.press("Home")
        page.keyboard.press("]")
        assert page.input_value("#speed") == "0.1"


def test_in_a_browser_the_speed_counts(browser: Any, address: str) -> None:
    """A quarter of the speed takes four times as long: the player is asked for its time after given ticks."""
    with opened(browser, f"{address}#play=0") as page:
        wait_until(page, DRAWN)
        advance = """speed => {
            document.getElementById("speed").value = speed;
            Object.assign(player, { playing: true, time: 0.1, before: 1000 });
            player.tick(1040);
            player.playing = false;
            return player.time - 0.1;
        }"""
        assert page.evaluate(advance, "1") == pytest.approx(0.04)
        assert page.evaluate(advance, "0.25") == pytest.approx(0.01)
        assert page.evaluate(advance, "4") == pytest.approx(0.16)


@pytest.mark.parametrize("width", [390, 1280])
def test_in_a_browser_nothing_sticks_out_at_the_side(browser: Any, address: str, width: int) -> None:
    with opened(browser, f"{address}#t=0.1", width=width, height=800) as page:
        wait_until(page, DRAWN)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        box = page.locator("#loop").bounding_box()
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= 800
        page.click("#theme")
        page.click("#help")
        assert page.locator("#keys").is_visible()
