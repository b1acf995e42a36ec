"""What mkdocs calls while it builds the site: links that leave `docs/` lead to pages made from those files.

On a code host a page may link to `../examples/demo.py` or `../CHANGELOG.md`. The site has no such files, so
each one that is linked becomes a page of its own below `repository/`, Markdown as it is and anything else as
a listing.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
FOLDER = "repository"
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")
LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".xml": "xml", ".sh": "sh", ".yml": "yaml"}


def on_files(files: Files, config: Any) -> Files:
    """Add a page for every file outside docs/ that some page leads to, directly or through such a page."""
    for file in [*files.documentation_pages()]:
        _add_linked(file.src_uri, _source(file.src_uri).read_text(encoding="utf-8"), files, config)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links that leave docs/ into links to those pages."""
    here = page.file.src_uri

    def replace(match: re.Match[str]) -> str:
        path = repository_path(here, match[1])
        target = None if path is None else page_of(path)
        if target is None:
            return match[0]
        return posixpath.relpath(target, posixpath.dirname(here) or ".") + (match[2] or "")

    return LINK.sub(replace, markdown)


def repository_path(page: str, link: str) -> str | None:
    """The file in the repository that a link leads to, as a path from its root; None if there is none.

    Args:
        page: The page with the link, as a path below docs/.
        link: The link's target, relative to the page.
    """
    path = posixpath.normpath(posixpath.join(posixpath.dirname(_origin(page)), link))
    return path if not path.startswith("..") and (ROOT / path).is_file() else None


def page_of(path: str) -> str | None:
    """The page of the site for a file of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{FOLDER}/{path}" if path.endswith(".md") else f"{FOLDER}/{path}.md"


def _origin(page: str) -> str:
    """Where a page's text is kept, as a path from the root of the repository."""
    if not page.startswith(FOLDER + "/"):
        return "docs/" + page
    path = page.removeprefix(FOLDER + "/")
    return path if (ROOT / path).is_file() else path.removesuffix(".md")


def _source(page: str) -> Path:
    return ROOT / _origin(page)


def _add_linked(page: str, text: str, files: Files, config: Any) -> None:
    for link, _ in LINK.findall(text):
        path = repository_path(page, link)
        if path is None or path.startswith("docs/"):
            continue
        target = page_of(path)
        if target is None or files.get_file_from_path(target) is not None:
            continue
        content = (ROOT / path).read_text(encoding="utf-8")
        shown = content if path.endswith(".md") else _listing(path, content)
        files.append(File.generated(config, target, content=shown))
        _add_linked(target, shown, files, config)


def _listing(path: str, content: str) -> str:
    language = LANGUAGES.get(Path(path).suffix, "text")
    return f"# {Path(path).name}\n\n`{path}`\n\n````{language}\n{content}\n````\n"
