"""What a scene may include: files of its own folder and below, so that a stranger's scene opens nothing else.

mujoco takes `<include file="…">` relative to the main file, or absolute, and would put any file's text into
its messages. Whoever wants to include from elsewhere reads the scene with mujoco and passes the MjSpec.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from perp.scenes.model import SceneError

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_INCLUDE = re.compile(r"<\s*include\b([^>]*)>", re.IGNORECASE)
_FILE = re.compile(r"\bfile\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


def check_includes(text: str, folder: Path, called: str) -> None:
    """Refuse a scene that includes, itself or through others, a file outside of its folder.

    Args:
        text: The XML.
        folder: Where names of files begin.
        called: How a message calls the scene.

    Raises:
        SceneError: It does; the message names the file.
    """
    root = folder.resolve()
    todo, seen = [(text, called)], set[Path]()
    while todo:
        text, where = todo.pop()
        for tag in _INCLUDE.finditer(_COMMENT.sub("", text)):
            found = _FILE.search(tag[1])
            if found is None:
                continue
            name = unescape(found[1] if found[1] is not None else found[2])
            file = (root / name).resolve()
            if not file.is_relative_to(root):
                raise SceneError(
                    f"{where}: includes {name!r}, which is not in the scene's folder or below; "
                    "read the scene with mujoco.MjSpec.from_file to allow that"
                )
            if file not in seen and file.is_file():
                seen.add(file)
                todo.append((file.read_text(encoding="utf-8", errors="replace"), str(file)))
