"""What a scene may include: files of its package, so that a stranger's scene opens nothing else.

mujoco takes `<include file="…">` relative to the main file, or absolute, and would put any file's text into
its messages. Robots that share parts include `../parts/base.xml`: the nearest folder at or above the scene
that is marked as a package is the limit, and without such a mark the scene's own folder.
Whoever wants to include from elsewhere reads the scene with mujoco and passes the MjSpec.
"""

import re
from html import unescape
from pathlib import Path

from perp.scenes.model import SceneError

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_INCLUDE = re.compile(r"<\s*include\b([^>]*)>", re.IGNORECASE)
_FILE = re.compile(r"\bfile\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
# What lies at the root of a Python package or a ROS package.
_MARKS = ("__init__.py", "setup.py", "pyproject.toml", "package.xml")


def check_includes(text: str, folder: Path, called: str) -> None:
    """Refuse a scene that includes, itself or through others, a file outside of its package.

    The message names the file, and calls the scene `called`; names of files begin in `folder`.
    """
    folder = folder.resolve()
    marked = (up for up in (folder, *folder.parents) if any((up / mark).exists() for mark in _MARKS))
    root = next(marked, folder)
    todo, seen = [(text, called)], set[Path]()
    while todo:
        text, where = todo.pop()
        for tag in _INCLUDE.finditer(_COMMENT.sub("", text)):
            found = _FILE.search(tag[1])
            if found is None:
                continue
            name = unescape(found[1] if found[1] is not None else found[2])
            file = (folder / name).resolve()
            if not file.is_relative_to(root):
                raise SceneError(
                    f"{where}: includes {name!r}, which is not in the scene's folder or package "
                    f"({root}); read the scene with mujoco.MjSpec.from_file to allow that"
                )
            if file not in seen and file.is_file():
                seen.add(file)
                todo.append((file.read_text(encoding="utf-8", errors="replace"), str(file)))
