"""What a kernel is made of: a stamp that changes when any source changes that its machine code may contain.

Compiled code contains the kernels that it calls, the constants that these read and the layout of the tuples
that they take. So the stamp of a file covers its text, the texts of what it imports from this package, which
is followed through every module that deals with numba, and the fields of all named tuples of the package: a
kernel need not import the type of an argument whose fields it reads by position.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1]

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w.]+))", re.MULTILINE
)
_TUPLE = re.compile(r"^class[ \t]+\w+\((?:\w+\.)?NamedTuple\):\n(?:[ \t]+[^\n]*\n|\n)*", re.MULTILINE)
_FIELD = re.compile(r"^ {4}\w+[ \t]*:.*", re.MULTILINE)


class Source(NamedTuple):
    """One file of the package."""

    digest: bytes  # of its name within the package and its text
    imports: tuple[Path, ...]  # files of this package, followed only from modules that deal with numba
    fields: str  # of the named tuples that it defines


# Of files, with the kernels that have them: a process makes hundreds, each of dozens of files.
_stamps: dict[Path, tuple[bytes, set[str]]] = {}


def stamp(file: Path, kernel: str) -> bytes:
    """Digest of everything that the machine code of a kernel may depend on within the package.

    All kernels of a file share it, as they are made while their module is loaded. A kernel that is made a
    second time tells that its module has been loaded anew.
    """
    known = _stamps.get(file)
    if known is None or kernel in known[1]:
        known = _stamps[file] = digest(file), set()
    known[1].add(kernel)
    return known[0]


def digest(file: Path, package: Path = PACKAGE) -> bytes:
    """The digest of `stamp`, of the sources as they are now."""
    total = sha256(_tuples(package))
    for path in sorted(parts(file, package), key=str):
        total.update(_source(path, package).digest)
    return total.digest()


def parts(file: Path, package: Path = PACKAGE) -> set[Path]:
    """The files of the package that a kernel in `file` may be made of: its own, and what it imports."""
    seen = {file}
    ahead = [file]
    while ahead:
        for found in _source(ahead.pop(), package).imports:
            if found not in seen:
                seen.add(found)
                ahead.append(found)
    return seen


@cache
def _tuples(package: Path) -> bytes:
    """Digest of the fields of all named tuples of the package."""
    total = sha256()
    for path in sorted(package.rglob("*.py")):
        fields = _source(path, package).fields
        if fields:
            total.update(f"{path.relative_to(package).as_posix()}\n{fields}\n".encode())
    return total.digest()


def _source(path: Path, package: Path) -> Source:
    state = path.stat()
    return _read(path, package, state.st_mtime_ns, state.st_size)


@cache
def _read(path: Path, package: Path, modified: int, size: int) -> Source:
    # Modified and size are arguments so that a file that changes while the process runs is read again.
    content = path.read_bytes()
    text = content.decode("utf-8")
    compiles = "numba" in text or "compilation.kernel" in text or "@pivot_" in text
    blocks = _TUPLE.findall(text) if "NamedTuple" in text else []
    fields = "\n".join(line for block in blocks for line in _FIELD.findall(block))
    name = path.relative_to(package).as_posix() if path.is_relative_to(package) else path.name
    named = sha256(name.encode() + b"\0" + content).digest()
    return Source(named, tuple(_imports(text, package)) if compiles else (), fields)


def _imports(text: str, package: Path) -> list[Path]:
    found = []
    for origin, names, plain in _IMPORT.findall(text):
        module = origin or plain
        if module.split(".")[0] != package.name:
            continue
        candidates = [module, *(f"{module}.{name}" for name in re.findall(r"\w+", names))]
        for candidate in candidates:
            base = package.joinpath(*candidate.split(".")[1:])
            found += [path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()]
    return found
