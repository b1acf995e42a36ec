"""NumPy arrays in `.npy` and `.npz` files, read without trusting a header and never pickled."""

import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO

import numpy as np

from perp.files.reading import MAX_BYTES, Budget, PathName, open_regular, reason, refusals
from perp.files.writing import replacing
from perp.problems.errors import FileError

NPY_MAGIC = b"\x93NUMPY"
_MAX_HEADER = 4096
_DTYPE = re.compile(rb"'descr'\s*:\s*'([<>|=][biufU]\d{1,9})'")
_ORDER = re.compile(rb"'fortran_order'\s*:\s*(True|False)")
_SHAPE = re.compile(rb"'shape'\s*:\s*\(([\d\s,]*)\)")
# Stored and deflated are what NumPy writes; the other methods of zip are bombs' favourites.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DEFLATE_RATIO = 1032  # no deflated byte expands further
_EPOCH = (1980, 1, 1, 0, 0, 0)


class ArrayArchive:
    """The arrays of one open `.npz` file; each is read when it is asked for."""

    def __init__(self, path: PathName, archive: zipfile.ZipFile, budget: Budget) -> None:
        self.path = path
        self._archive = archive
        self._budget = budget
        self._members = {m.filename.removesuffix(".npy"): m for m in archive.infolist()}

    @property
    def names(self) -> set[str]:
        """The names of the arrays."""
        return set(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> np.ndarray:
        """The array of numbers or truth values called `name`, in native byte order."""
        array = self._read(name)
        if array.dtype.kind == "U":
            raise FileError(self.path, f"{name} is text: numbers are needed")
        return array

    def _read(self, name: str) -> np.ndarray:
        member = self._members.get(name)
        if member is None:
            raise FileError(self.path, f"has no array {name!r}")
        if member.compress_type not in _METHODS or member.flag_bits & 1:
            raise FileError(self.path, f"{name} is encrypted or compressed in a way that is not read")
        expansion = _DEFLATE_RATIO if member.compress_type == zipfile.ZIP_DEFLATED else 1
        if member.file_size > expansion * min(member.compress_size, self._budget.file_size):
            raise FileError(self.path, f"{name} claims {member.file_size} bytes, more than the file can hold")
        with _zip_refusals(self.path, name), self._archive.open(member) as stream:
            return read_npy(self.path, stream, name, member.file_size, self._budget)

    def scalar(self, name: str) -> int:
        """A single whole number or truth value."""
        array = self.read(name)
        if array.size != 1 or array.dtype.kind not in "biu":
            raise FileError(self.path, f"{name} is not a single whole number")
        return int(array.reshape(()))

    def text(self, name: str) -> str:
        """A single string."""
        array = self._read(name)
        if array.size != 1 or array.dtype.kind != "U":
            raise FileError(self.path, f"{name} is not a single text")
        try:
            return str(array.reshape(()))
        except ValueError:
            raise FileError(self.path, f"{name} is not a valid text") from None


@contextmanager
def open_archive(path: PathName) -> Iterator[ArrayArchive]:
    """Open an `.npz` file."""
    with open_regular(path) as (handle, size), refusals(path):
        with _zip_refusals(path, "the archive"):
            archive = zipfile.ZipFile(handle)
        with archive:
            yield ArrayArchive(path, archive, Budget(path, size))


def read_npy(path: PathName, stream: IO[bytes], name: str, size: int, budget: Budget) -> np.ndarray:
    """One array in NumPy's own format, of which the stream has `size` bytes.

    A header that claims more is refused before anything is allocated.
    """
    header, length = _read_header(path, stream, name)
    dtype, order, shape = _DTYPE.search(header), _ORDER.search(header), _SHAPE.search(header)
    if dtype is None or order is None or shape is None:
        raise FileError(path, f"{name} is not an array of numbers")
    element = _element(path, name, dtype[1].decode())
    axes = tuple(int(n) for n in shape[1].replace(b",", b" ").split())
    claim = math.prod(axes) * element.itemsize
    if len(axes) > 3 or claim > size - length:
        raise FileError(path, f"{name} claims shape {axes} of {element}, but {size - length} bytes are there")
    budget.spend(claim, name)
    data = stream.read(claim)
    if len(data) != claim:
        raise FileError(path, f"{name} ends after {len(data)} of {claim} bytes")
    array = np.frombuffer(data, dtype=element).reshape(axes, order="F" if order[1] == b"True" else "C")
    if element.kind == "b":
        return array.view(np.uint8) != 0  # a damaged truth value may be neither 0 nor 1
    return array.astype(element.newbyteorder("="), order="C", copy=False)


def write_archive(path: PathName, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an `.npz` file whose bytes depend on the arrays only: no clock, no compression, no pickle.

    Uncompressed, so that no header claims more than the file has.
    """
    total = sum(array.nbytes for array in arrays.values())
    if total > MAX_BYTES:
        raise FileError(path, f"the problem takes {total} bytes: at most {MAX_BYTES} can be read back")
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False)


def _read_header(path: PathName, stream: IO[bytes], name: str) -> tuple[bytes, int]:
    """The dictionary that describes an array, as text, and how many bytes lie before the numbers."""
    start = stream.read(8)
    if start[:6] != NPY_MAGIC or len(start) != 8 or start[6] not in (1, 2, 3):
        raise FileError(path, f"{name} is not a NumPy array")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    if length > _MAX_HEADER:
        raise FileError(path, f"{name} claims a header of {length} bytes")
    return stream.read(length), 8 + width + length


def _element(path: PathName, name: str, code: str) -> np.dtype:
    try:
        element = np.dtype(code)
    except TypeError:
        raise FileError(path, f"{name} has entries of unknown type {code!r}") from None
    if element.itemsize == 0 or (element.itemsize > 8 and element.kind != "U"):
        raise FileError(path, f"{name} has entries of type {code!r}: 1 to 8 bytes each are read")
    return element


@contextmanager
def _zip_refusals(path: PathName, name: str) -> Iterator[None]:
    """Turns what the zip reader raises on damaged data into a `FileError`."""
    try:
        yield
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, OSError) as error:
        raise FileError(path, f"{name} is damaged: {reason(error)}") from error
    except (ValueError, RuntimeError, NotImplementedError, OverflowError) as error:
        raise FileError(path, f"{name} cannot be unpacked: {reason(error)}") from error
