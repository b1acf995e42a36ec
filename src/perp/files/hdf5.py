"""Numbers out of HDF5 files: h5py reads them in a child process that has little memory and time.

A file of nine kilobytes with a few changed bytes made libhdf5 2.0 take 23 gigabytes and then crash, and no
check before or after can prevent that: here it ends the child, and the file is refused. pyfive 1.3, which
has no libhdf5, does not withstand such files either: it allocates whatever a size says (16 GB for a file of
1,400 bytes) and checks by `assert`, which -O removes.
"""

import faulthandler
import json
import os
import resource
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from perp.files.reading import MIB, Budget, PathName, open_regular, reason, refusals
from perp.problems.errors import FileError

MAGIC = b"\x89HDF\r\n\x1a\n"
# FCLib's largest group has a dozen members, its deepest path three names; a damaged file may go in circles.
_MAX_MEMBERS, _MAX_DEPTH = 10_000, 4
# No filter packs tighter than deflate: 1032 to 1.
_TIGHTEST = 1032
# What the child may take beside the numbers [bytes], and how long [s].
_SPARE, _PATIENCE = 256 * MIB, 60


class NumberFile:
    """The datasets of an HDF5 file.

    Members by path within the file are the numbers of a dataset, None for a group, words for what is neither;
    attributes are whole numbers attached to groups, by path of the group.
    """

    def __init__(self, path: PathName, members: dict[str, Any], attributes: dict[str, Any]) -> None:
        self.path, self._members, self._attributes = path, members, attributes

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def whole_numbers(self, name: str) -> np.ndarray:
        """A dataset of integers, as it is stored."""
        array = self._read(name)
        if array.dtype.kind not in "iu":
            raise FileError(self.path, f"{name} has entries of type {array.dtype}: whole numbers are needed")
        return array

    def numbers(self, name: str) -> np.ndarray:
        """A dataset of real numbers as a vector of float64."""
        return self._read(name).astype(np.float64, copy=False)

    def whole_number(self, name: str) -> int:
        """A dataset with a single integer."""
        array = self.whole_numbers(name)
        if array.size != 1:
            raise FileError(self.path, f"{name} has {array.size} entries: one is needed")
        return int(array[0])

    def attribute(self, name: str, key: str) -> int | None:
        """A whole number attached to a group; None where there is none."""
        return self._attributes.get(name, {}).get(key)

    def _read(self, name: str) -> np.ndarray:
        found = self._members.get(name, "")
        if isinstance(found, np.ndarray):
            return found
        if name not in self._members:
            raise FileError(self.path, f"has no {name}")
        raise FileError(self.path, f"{name} {found or 'is not a dataset'}")


def read_numbers(path: PathName, only: tuple[str, ...] = ()) -> NumberFile:
    """Everything in an HDF5 file, or `only` some of its groups; of the others their names."""
    import h5py  # noqa: F401  once, not in every child

    with open_regular(path) as (handle, size), refusals(path):
        ours, theirs = os.pipe()
        with warnings.catch_warnings():
            # of threads, which the child has none of: it neither computes nor waits for any lock of theirs
            warnings.simplefilter("ignore")
            child = os.fork()
        if not child:
            _serve(handle.fileno(), theirs, Budget(path, size), only)
        os.close(theirs)
        members, attributes = {}, {}
        try:
            with os.fdopen(ours, "rb") as pipe:
                words, members, attributes = _received(pipe)
        except (ValueError, EOFError):
            words = "is damaged: HDF5 breaks down on it"
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if words:
        raise FileError(path, words)
    return NumberFile(path, members, attributes)


def _received(pipe: IO[bytes]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """What the child has sent: words where it refuses, members, attributes; then come the numbers."""
    words, members, attributes = json.loads(pipe.readline())
    for name, found in members.items():
        if isinstance(found, list):
            members[name] = array = np.empty(found[1], dtype=found[0])
            if pipe.readinto(memoryview(array).cast("B")) != array.nbytes:  # type: ignore[attr-defined]
                raise EOFError
    return words, members, attributes


def _serve(descriptor: int, pipe: int, budget: Budget, only: tuple[str, ...]) -> NoReturn:
    """The child: send everything and end, by whatever comes first."""
    try:
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        memory = pages * resource.getpagesize() + 2 * budget.left + _SPARE
        for kind, most in (
            (resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, _PATIENCE), (resource.RLIMIT_CORE, 0),
        ):  # fmt: skip
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))
        arrays, members, attributes, words = [], {}, {}, ""
        try:
            arrays = _collect(descriptor, budget, only, members, attributes)
        except FileError as error:
            words, arrays, members = error.message, [], {}
        except (OSError, ValueError, RuntimeError, LookupError, TypeError, MemoryError) as error:
            words, arrays, members = f"is damaged: {reason(error)}", [], {}
        with os.fdopen(pipe, "wb") as out:
            out.write(json.dumps([words, members, attributes]).encode() + b"\n")
            for array in arrays:
                out.write(array.data.cast("B"))
    finally:
        os._exit(0)


def _collect(
    descriptor: int,
    budget: Budget,
    only: tuple[str, ...],
    members: dict[str, Any],
    attributes: dict[str, Any],
) -> list[np.ndarray]:
    """Members and attributes into the dictionaries, type and size in place of numbers; the numbers."""
    import h5py

    arrays: list[np.ndarray] = []
    with h5py.File(f"/proc/self/fd/{descriptor}", "r", locking=False) as file:
        for name, node in _walk(file, only):
            found = node
            if isinstance(node, h5py.Group):
                found = None
                attributes[name] = {
                    key: int(value)
                    for key, value in node.attrs.items()
                    if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iu"
                }
            elif isinstance(node, h5py.Dataset):
                found = _objection(node, name, budget)
                if found is None:
                    array = np.atleast_1d(np.asarray(node[()]))
                    arrays.append(array.astype(array.dtype.newbyteorder("="), copy=False))
                    found = [arrays[-1].dtype.str, array.size]
            elif not isinstance(node, str):
                found = "is neither a group nor a dataset"
            members[name] = found
            if len(members) > _MAX_MEMBERS:
                raise FileError(budget.path, f"has more than {_MAX_MEMBERS} members")
    return arrays


def _walk(file: Any, only: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Every object by its path; words in place of a link to elsewhere."""
    import h5py

    pending = [("", file, 0)]
    while pending:
        path, group, depth = pending.pop()
        for name in group:
            place = f"{path}{name}"
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                yield place, "is a link to elsewhere, which is not followed"
                continue
            node = group[name]
            if depth or not only or name in only or not isinstance(node, h5py.Group):
                yield place, node
                if isinstance(node, h5py.Group) and depth < _MAX_DEPTH:
                    pending.append((f"{place}/", node, depth + 1))
            else:
                yield place, "is not read"


def _objection(data: Any, name: str, budget: Budget) -> str | None:
    """Why a dataset is not a vector of numbers of a possible size, or None."""
    if data.shape is None:
        return "has no shape that can be read"
    if data.dtype.kind not in "iuf" or data.dtype.itemsize > 8:
        return "has entries of another type than numbers of up to 8 bytes"
    if len(data.shape) > 1:
        return f"has shape {data.shape}: a vector is needed"
    if data.external or data.is_virtual:
        return "keeps its numbers in other files, which are not opened"
    if data.nbytes > max(budget.file_size, _TIGHTEST * data.id.get_storage_size()):
        return f"claims {data.nbytes} bytes, more than the file can hold"
    budget.spend(data.nbytes, name)
    return None
