"""Runs one page as a reader would: its Python blocks and its `perp` lines, in order, in the current folder.

Usage: python -W error page_runner.py PAGE [sh]. Blocks share their names as in one session; with `sh` only shell
blocks are run. The folder first gets the files that pages speak of without writing them: an LCP, a contact problem,
a scene, and the scenes of examples/.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np

import perp
from perp.cli import main

# A command on a line of its own, as in the gallery. Its scenes run for a moment here: others test what they do.
LONE_COMMAND = re.compile(r"^`(perp [^`]+)`$", re.MULTILINE)
MOMENT = "0.1"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SCENE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="10 10 1" friction="0.5"/>
    <body name="box" pos="0 0 0.1">
      <freejoint/>
      <geom type="box" size="0.1 0.1 0.1" mass="1" friction="0.5"/>
    </body>
  </worldbody>
</mujoco>
"""


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of every fenced block."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def command_lines(block: str) -> list[str]:
    """The commands of a shell block, without comments."""
    lines = (line.split("#")[0].strip() for line in block.splitlines())
    return [line for line in lines if line]


def lone_commands(page: Path) -> list[str]:
    """Commands on lines of their own, with a short `--time`."""
    found = LONE_COMMAND.findall(page.read_text(encoding="utf-8"))
    return [re.sub(r"--time \S+", f"--time {MOMENT}", line) for line in found]


def prepare_folder() -> None:
    """The files that pages take for granted."""
    perp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]).save("problem.npz")
    perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.2, 0.0], 0.5).save("contact.npz")
    Path("scene.xml").write_text(SCENE, encoding="utf-8")
    shutil.copytree(Path(__file__).parents[1] / "examples" / "scenes", "examples/scenes")


def run_command(line: str) -> None:
    """One line of a shell block: `perp` is called; tests/docs/test_make.py sees to `make`."""
    words = shlex.split(line)
    if words[0] != "perp":
        return
    code = main(words[1:])
    if code != 0:
        raise SystemExit(f"`{line}` ended with exit code {code}")


def run_page(page: Path, languages: tuple[str, ...]) -> None:
    """The page's blocks in these languages, from the top."""
    names: dict[str, object] = {"__name__": "__main__"}
    for number, (language, text) in enumerate(blocks(page), 1):
        if language not in languages:
            continue
        if language == "python":
            exec(compile(text, f"{page.name}, block {number}", "exec"), names)
        else:
            for line in command_lines(text):
                run_command(line)
    for line in lone_commands(page):
        run_command(line)


if __name__ == "__main__":
    prepare_folder()
    run_page(Path(sys.argv[1]), ("python", "sh") if len(sys.argv) == 2 else (sys.argv[2],))
