"""The numbers of an HDF5 dataset: type, shape, and where the bytes are.

Whole numbers and IEEE floating point numbers in vectors, contiguous, in the header, or in chunks (with
deflate, shuffle and checksums). What the header claims is compared with the bytes that are there before
memory is taken for it.
"""

from __future__ import annotations

import math
import zlib
from typing import NamedTuple

import numpy as np

from perp.files.hdf5_objects import (
    DATASPACE,
    DATATYPE,
    EXTERNAL,
    FILL,
    FILTERS,
    LAYOUT,
    OLD_FILL,
    UNDEFINED,
    Fields,
    FileBytes,
    Message,
    tree_leaves,
)
from perp.files.reading import Budget
from perp.problems.errors import ProblemError

_COMPACT, _CONTIGUOUS, _CHUNKED = range(3)
_DEFLATE, _SHUFFLE, _CHECKSUM = 1, 2, 3
_REPACK = "use h5repack -l CONTI -f NONE"
# Precision, exponent's place and size, mantissa's place and size, exponent's bias; by size in bytes.
_IEEE = {4: (32, 23, 8, 0, 23, 127), 8: (64, 52, 11, 0, 52, 1023)}


def read_vector(file: FileBytes, messages: list[Message], name: str, budget: Budget) -> np.ndarray:
    """The numbers of a dataset with at most one dimension, as one vector in native byte order."""
    header: dict[int, bytes] = {}
    for kind, content in messages:
        header.setdefault(kind, content)
    if not {DATASPACE, DATATYPE, LAYOUT} <= header.keys():
        raise ProblemError(f"{name} is not a dataset")
    if EXTERNAL in header:
        raise ProblemError(f"{name} keeps its numbers in other files, which are not opened")
    element = number_type(header[DATATYPE], name)
    shape = read_shape(header[DATASPACE], name)
    if len(shape) > 1:
        raise ProblemError(f"{name} has shape {tuple(shape)}: a vector is needed")
    count = math.prod(shape)
    data = _read_bytes(file, header, element.itemsize * count, element.itemsize, name, budget)
    return np.frombuffer(data, dtype=element, count=count).astype(element.newbyteorder("="), copy=False)


def number_type(content: bytes, name: str) -> np.dtype:
    """The type of a dataset's entries."""
    fields = Fields(content, name)
    kind = fields.number(1) & 15
    flags, sign, _ = fields.numbers(3, 1)
    size = fields.number(4)
    order = ">" if flags & 1 else "<"
    if kind == 0 and size in (1, 2, 4, 8) and fields.numbers(2, 2) == [0, 8 * size]:
        return np.dtype(f"{order}{'i' if flags & 8 else 'u'}{size}")
    if kind == 1 and size in _IEEE and sign == 8 * size - 1 and not flags & 0x40:
        offset, precision = fields.numbers(2, 2)
        if (offset, (precision, *fields.numbers(4, 1), fields.number(4))) == (0, _IEEE[size]):
            return np.dtype(f"{order}f{size}")
    raise ProblemError(f"{name} has entries of another type than numbers of up to 8 bytes")


def read_shape(content: bytes, name: str) -> list[int]:
    """The sizes of a dataset's dimensions."""
    fields = Fields(content, name)
    version, dimensions = fields.numbers(2, 1)
    fields.take(6 if version == 1 else 1)
    if version not in (1, 2) or (version == 2 and fields.number(1) == 2):
        raise ProblemError(f"{name} has no shape that can be read")
    return fields.numbers(dimensions, 8)


def _read_bytes(
    file: FileBytes, header: dict[int, bytes], claim: int, width: int, name: str, budget: Budget
) -> bytes:
    """The `claim` bytes of a dataset whose entries have `width` bytes."""
    fields = Fields(header[LAYOUT], name)
    version = fields.number(1)
    if version not in (3, 4):
        raise ProblemError(f"{name} has a layout of version {version}, which is not read: {_REPACK}")
    kind = fields.number(1)
    if kind == _COMPACT:
        data = fields.take(fields.number(2))
        if len(data) < claim:
            raise ProblemError(f"{name} claims {claim} bytes and stores fewer")
        return data[:claim]
    if kind not in (_CONTIGUOUS, _CHUNKED) or (kind == _CHUNKED and version == 4):
        raise ProblemError(f"{name} is stored in a way that is not read: {_REPACK}")
    dimensions = fields.number(1) if kind == _CHUNKED else 0
    address = fields.number(8)
    if address == UNDEFINED:
        return _never_written(file, header, claim, name, budget)
    if kind == _CONTIGUOUS:
        if fields.number(8) < claim:
            raise ProblemError(f"{name} claims {claim} bytes and stores fewer")
        budget.spend(claim, name)
        return file.at(address, claim, name)
    count, size = fields.numbers(2, 4)
    if dimensions != 2 or size != width or not count:
        raise ProblemError(f"{name} has chunks that do not fit its entries")
    chunks = _Chunks(address, count * width, width, _filters(header.get(FILTERS), name))
    return _read_chunks(file, chunks, claim, name, budget)


def _never_written(file: FileBytes, header: dict[int, bytes], claim: int, name: str, budget: Budget) -> bytes:
    """Zeros: FCLib files have vectors of zeros for which nothing was written."""
    if claim > file.size:
        raise ProblemError(f"{name} claims {claim} bytes, none of which were written")
    if any(_fill_value(header[kind], kind, name).strip(b"\0") for kind in (FILL, OLD_FILL) if kind in header):
        raise ProblemError(f"{name} was never written, and is not zero by default")
    budget.spend(claim, name)
    return bytes(claim)


def _fill_value(content: bytes, kind: int, name: str) -> bytes:
    fields = Fields(content, name)
    if kind == FILL:
        version = fields.number(1)
        flags = fields.number(1) if version == 3 else fields.numbers(3, 1)[2] << 5
        if not flags & 0x20:
            return b""
    return fields.take(fields.number(4))


class _Chunks(NamedTuple):
    """How a dataset is stored in chunks: where their tree is, bytes of a chunk and of an entry, filters."""

    tree: int
    size: int
    width: int
    filters: list[int]


def _read_chunks(file: FileBytes, chunks: _Chunks, claim: int, name: str, budget: Budget) -> bytes:
    """The bytes of a dataset in chunks; what has no chunk is zero."""
    leaves = tree_leaves(file, chunks.tree, 1, 24, name)
    if claim > chunks.size * len(leaves):
        raise ProblemError(f"{name} claims {claim} bytes, of which {len(leaves)} chunks are there")
    budget.spend(claim + chunks.size, name)
    result = bytearray(claim)
    for leaf in leaves:
        key = Fields(leaf.key, name)
        stored, skipped, position = key.number(4), key.number(4), key.number(8) * chunks.width
        if skipped or position % chunks.size or position >= claim:
            raise ProblemError(f"{name} has a chunk where none can be")
        data = _unpack(file.at(leaf.address, stored, name), chunks, name)[: claim - position]
        result[position : position + len(data)] = data
    return bytes(result)


def _filters(pipeline: bytes | None, name: str) -> list[int]:
    """The filters that the chunks went through, in order."""
    if pipeline is None:
        return []
    fields = Fields(pipeline, name)
    version, count = fields.numbers(2, 1)
    fields.take(6 if version == 1 else 0)
    filters = []
    for _ in range(count):
        identifier = fields.number(2)
        text = fields.number(2) if version == 1 or identifier >= 256 else 0
        _, values = fields.numbers(2, 2)
        fields.take(text + 4 * values + (4 if version == 1 and values % 2 else 0))
        filters.append(identifier)
    if version not in (1, 2) or not {_DEFLATE, _SHUFFLE, _CHECKSUM}.issuperset(filters):
        raise ProblemError(f"{name} is compressed in a way that is not read: {_REPACK}")
    return filters


def _unpack(data: bytes, chunks: _Chunks, name: str) -> bytes:
    """A chunk from what is stored of it."""
    for identifier in reversed(chunks.filters):
        if identifier == _CHECKSUM:
            data = data[:-4]
        elif identifier == _DEFLATE:
            data = _inflate(data, chunks.size + 4, name)  # a checksum may be inside
        elif len(data) == chunks.size:
            data = np.frombuffer(data, np.uint8).reshape(chunks.width, -1).T.tobytes()
    if len(data) != chunks.size:
        raise ProblemError(f"{name} has a chunk of {len(data)} bytes: it needs {chunks.size}")
    return data


def _inflate(data: bytes, limit: int, name: str) -> bytes:
    """A deflated stream of at most `limit` bytes."""
    stream = zlib.decompressobj()
    try:
        result = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise ProblemError(f"{name} is damaged: {error}") from None
    if not stream.eof:
        raise ProblemError(f"{name} has a chunk that is cut short or expands to more than {limit} bytes")
    return result
