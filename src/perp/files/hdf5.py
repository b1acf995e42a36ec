"""Numbers out of HDF5 files, without libhdf5 and without trusting what a header says about size or place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from perp.files.hdf5_datasets import number_type, read_shape, read_vector
from perp.files.hdf5_objects import (
    ATTRIBUTE,
    ELSEWHERE,
    MAGIC,
    Fields,
    FileBytes,
    Message,
    read_header,
    read_links,
    root_address,
)
from perp.files.reading import Budget, PathName, open_regular, refusals
from perp.problems.errors import FileError

__all__ = ["MAGIC", "NumberFile", "open_numbers"]


class NumberFile:
    """The datasets of one open HDF5 file."""

    def __init__(self, path: PathName, file: FileBytes) -> None:
        self.path = path
        self._file = file
        self._budget = Budget(path, file.size)
        # Headers and members by path; the root group's path is empty.
        root = read_header(file, root_address(file), "the root group")
        self._headers: dict[str, list[Message]] = {"": root}
        self._members: dict[str, dict[str, int]] = {}

    def __contains__(self, name: str) -> bool:
        return self._header(name) is not None

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
        for kind, content in self._header(name) or ():
            if kind == ATTRIBUTE:
                found, value = _read_attribute(content, name)
                if found == key:
                    return value
        return None

    def _read(self, name: str) -> np.ndarray:
        header = self._header(name)
        if header is None:
            raise FileError(self.path, f"has no {name}")
        return read_vector(self._file, header, name, self._budget)

    def _header(self, name: str) -> list[Message] | None:
        """The header of the object called `name`; None where there is none."""
        if name not in self._headers:
            group, _, member = name.rpartition("/")
            header = self._header(group)
            if header is None:
                return None
            if group not in self._members:
                self._members[group] = read_links(self._file, header, group or "the root group")
            address = self._members[group].get(member)
            if address is None:
                return None
            if address == ELSEWHERE:
                raise FileError(self.path, f"{name} is a link to elsewhere, which is not followed")
            self._headers[name] = read_header(self._file, address, name)
        return self._headers[name]


@contextmanager
def open_numbers(path: PathName) -> Iterator[NumberFile]:
    """Open an HDF5 file for reading.

    Raises:
        FileError: The path cannot be opened or is not an HDF5 file.
    """
    with open_regular(path) as (handle, size), refusals(path):
        yield NumberFile(path, FileBytes(handle, size))


def _read_attribute(content: bytes, name: str) -> tuple[str, int | None]:
    """Name and value of an attribute; None for a value that is not a single whole number."""
    fields = Fields(content, name)
    version, flags = fields.numbers(2, 1)
    sizes = fields.numbers(3, 2)
    fields.take(1 if version == 3 else 0)
    parts = []
    for size in sizes:
        parts.append(fields.take(size))
        if version == 1:
            fields.align()
    key = parts[0].rstrip(b"\0").decode("utf-8", "replace")
    kind = parts[1][:1]
    if version not in (1, 2, 3) or (version > 1 and flags) or kind[0] & 15 or read_shape(parts[2], name):
        return key, None
    element = number_type(parts[1], name)
    return key, int(np.frombuffer(fields.take(element.itemsize), element)[0])
