"""Everything that a file can contain is hostile: markup in names, entities, bombs, pickles, code."""

from __future__ import annotations

import ast
import os
import pickle
import tracemalloc
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import perp
from perp.scenes import SceneError, library
from perp.scenes.stored import compiled_scene
from view.looking import opened, wait_until

SOURCE = Path(__file__).parents[1] / "src" / "perp"
FORBIDDEN = (
    "eval", "exec", "pickle.load", "pickle.loads", "marshal.loads", "os.system", "allow_pickle", "shell",
)  # fmt: skip
EVIL = "<img src=x onerror='window.hacked=1'></script><script>window.hacked=1</script>\"'&{{data}}"


def test_names_with_markup_are_only_words_on_the_page(browser: Any, tmp_path: Path) -> None:
    run = perp.Simulation(library.box_on_plane(), step=0.01).run(0.03)
    evil = replace(run, body_names=(EVIL,), geom_names=(EVIL,) * len(run.geom_names))
    text = evil.to_html(tmp_path / "evil.html", title=EVIL)
    assert "<img src=x" not in text
    with opened(browser, (tmp_path / "evil.html").as_uri()) as page:
        wait_until(page, "Boolean(window.player && !window.player.dirty)")
        assert page.inner_text("#title") == EVIL
        assert page.inner_text("#follow option:nth-child(2)") == EVIL
        assert page.evaluate("[window.hacked, document.images.length, document.scripts.length]") == [
            None,
            0,
            3,
        ]


def test_names_with_markup_of_a_scene_are_only_words_on_a_live_page(browser: Any) -> None:
    from perp.view.live import LivePage

    scene = library.box_on_plane().replace(
        'name="box"', 'name="&lt;img src=x onerror=&apos;window.hacked=1&apos;&gt;"'
    )
    with (
        LivePage(perp.Simulation(scene, step=0.01), title=EVIL, port=18500, open_browser=False) as live,
        opened(browser, live.url) as page,
    ):
        wait_until(page, "Boolean(window.player && !window.player.dirty)")
        assert page.inner_text("#title") == EVIL
        assert page.evaluate("[window.hacked, document.images.length]") == [None, 0]


def test_names_cannot_command_a_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from perp.cli import main

    scene, run = tmp_path / "scene.xml", tmp_path / "run.h5"
    scene.write_text(library.box_on_plane().replace('name="box"', 'name="&#27;[2Jbox"'), encoding="utf-8")
    with pytest.raises(SceneError, match=r"the name '\\x1b\[2Jbox': control characters"):
        perp.Simulation(scene)
    made = perp.Simulation(library.box_on_plane(), step=0.01).run(0.03)
    replace(made, about=made.about | {"body_names": ["\x1b[2Jbox"]}).save(run)
    # what mujoco's message repeats, and a recording that was made up
    bad = library.box_on_plane().replace('type="box"', 'type="&#27;[2J"')
    scene.write_text(bad, encoding="utf-8")
    codes = main(["simulate", str(scene)]), main(["info", str(run)])
    said = "".join(capfd.readouterr())
    assert codes == (2, 0)
    assert said.count("\\x1b[2J") == 2
    assert "\x1b" not in said


def test_a_file_in_another_encoding_says_so(tmp_path: Path) -> None:
    scene = tmp_path / "scene.xml"
    scene.write_bytes(library.box_on_plane().replace('name="box"', 'name="Gerät"').encode("latin-1"))
    with pytest.raises(SceneError, match="not UTF-8: save the file as UTF-8"):
        perp.Simulation(scene)
    scene.write_text(library.box_on_plane().replace('name="box"', 'name="Gerät"'), encoding="utf-8")
    assert perp.Simulation(scene).body_names == ("Gerät",)


def laughs(depth: int) -> str:
    lines = ['<!ENTITY l0 "ha">']
    lines += [f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, depth)]
    return f"<!DOCTYPE robot [{''.join(lines)}]>"


def test_entities_of_a_urdf_neither_explode_nor_read_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret", encoding="utf-8")
    link = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    bomb = f'{laughs(12)}<robot name="r">{link.format("&l11;")}</robot>'
    outside = f'<!DOCTYPE robot [<!ENTITY x SYSTEM "{secret.as_uri()}">]><robot name="r">{link.format("&x;")}</robot>'
    for name, text in (("bomb.urdf", bomb), ("outside.urdf", outside)):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        tracemalloc.start()
        try:
            words = " ".join(perp.Simulation(path, free_base=True, step=0.01).body_names)
        except perp.PerpError as error:
            words = str(error)
        assert tracemalloc.get_traced_memory()[1] < 2**26
        tracemalloc.stop()
        assert "the secret" not in words
        assert len(words) < 10_000


def test_a_stored_scene_that_explodes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from perp.scenes import stored

    monkeypatch.setattr(stored, "_MOST_BYTES", 2**20)
    bomb = np.frombuffer(zlib.compress(b"\0" * 2**24), np.uint8)
    with pytest.raises(SceneError, match="damaged"):
        compiled_scene({"compressed": bomb}, ())
    for content in (b"", b"not packed", zlib.compress(b"no scene"), zlib.compress(b"\0" * 100)[:-3]):
        with pytest.raises(SceneError):
            compiled_scene({"compressed": np.frombuffer(content, np.uint8)}, ())


def test_a_recording_that_promises_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    perp.Simulation(library.box_on_plane(), step=0.01).run(0.03, out=path)
    with h5py.File(path, "r+") as file:
        del file["steps/time"]
        file.create_dataset("steps/time", shape=(10**11,), chunks=(1000,), compression="gzip", dtype="f8")
    tracemalloc.start()
    with pytest.raises(perp.FileError):
        perp.Recording.open(path)
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()


class Burglar:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("burgled",)


def test_pickles_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.npz").write_bytes(pickle.dumps(Burglar()))
    np.savez("inside.npz", M=np.array([Burglar()], dtype=object), q=np.zeros(1))
    Path("run.h5").write_bytes(pickle.dumps(Burglar()))
    for name in ("plain.npz", "inside.npz"):
        with pytest.raises(perp.FileError):
            perp.load(name)
    with pytest.raises(perp.FileError):
        perp.Recording.open("run.h5")
    with pytest.raises(perp.PerpError):
        perp.Simulation("plain.npz")
    assert not Path("burgled").exists()


# Code that perp writes itself, and answers of processes that it has started itself.
ALLOWED = {
    ("expressions.py", "exec"),
    ("processes.py", "pickle.load"),
    ("completion.py", "shell"),  # the name of one
}


def test_nothing_in_the_package_unpickles_or_runs_text() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                words = [
                    word.arg for word in node.keywords if getattr(word.value, "value", True) is not False
                ]
                called = ast.unparse(node.func)
                found |= {(path.name, name) for name in (called, *words) if name in FORBIDDEN}
    assert found == ALLOWED
