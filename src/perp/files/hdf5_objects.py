"""The objects of an HDF5 file: how groups and datasets are found and what their headers say.

FCLib files are read without libhdf5. A file of nine kilobytes with a few changed bytes made libhdf5 2.0 take
23 gigabytes and then crash, and no check before or after can prevent that. What FCLib needs of the format is
small: superblocks 0 to 3, object headers 1 and 2, groups as symbol tables or with links in their header.

pyfive 1.3 in its place does not withstand the same files: it allocates whatever a size says (16 GB for a file
of 1,400 bytes, more than 3 GB for 2 of 500 changed FCLib files), reads a header that continues in itself as
if it were whole, checks by `assert`, which -O removes, and needs numcodecs, a compiled package of 36 MB.

Reference: The HDF Group, "HDF5 File Format Specification Version 3.0".
"""

from __future__ import annotations

from typing import IO, NamedTuple

from perp.problems.errors import ProblemError

MAGIC = b"\x89HDF\r\n\x1a\n"
UNDEFINED = 2**64 - 1
ELSEWHERE = -1  # in place of an address: a soft or an external link
# FCLib's largest group has a dozen members; a damaged file may seem to have millions.
_MAX_LINKS = 10_000
_MAX_HEADER = 2**20  # bytes

DATASPACE, LINK_INFO, DATATYPE, OLD_FILL, FILL, LINK, EXTERNAL, LAYOUT = 1, 2, 3, 4, 5, 6, 7, 8
FILTERS, ATTRIBUTE, CONTINUATION, SYMBOL_TABLE = 11, 12, 16, 17
_SHARED = 2  # flag of a message that is kept elsewhere


class Message(NamedTuple):
    """One message of an object's header."""

    kind: int
    fields: bytes


class FileBytes:
    """The bytes of a file by address; nothing beyond the end is asked for."""

    def __init__(self, handle: IO[bytes], size: int) -> None:
        self._handle = handle
        self.size = size

    def at(self, address: int, size: int, name: str) -> bytes:
        """The `size` bytes at an address."""
        if size > self.size or address > self.size - size:
            raise ProblemError(f"{name} claims {size} bytes at {address}: the file has {self.size}")
        self._handle.seek(address)
        data = self._handle.read(size)
        if len(data) != size:
            raise ProblemError(f"{name} ends after {len(data)} of {size} bytes")
        return data


class Fields:
    """A cursor over the fields of a structure; numbers are little-endian."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name
        self.at = 0

    @property
    def left(self) -> int:
        """Bytes that have not been taken."""
        return len(self._data) - self.at

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        if size > self.left:
            raise ProblemError(f"{self._name} is cut short")
        self.at += size
        return self._data[self.at - size : self.at]

    def number(self, size: int) -> int:
        """The next `size` bytes as a number without sign."""
        return int.from_bytes(self.take(size), "little")

    def numbers(self, count: int, size: int) -> list[int]:
        """The next `count` numbers of `size` bytes each."""
        return [self.number(size) for _ in range(count)]

    def align(self, size: int = 8) -> None:
        """Go on to the next multiple of `size`."""
        self.take(min(-self.at % size, self.left))


def root_address(file: FileBytes) -> int:
    """Where the header of the root group is."""
    start = file.at(0, min(file.size, 96), "the superblock")
    fields = Fields(start[8:], "the superblock")
    version = fields.number(1)
    if version in (0, 1):
        fields.take(4)
        widths = fields.numbers(2, 1)
        fields.take(9 if version == 0 else 13)
        base, _, end, _, _, root = fields.numbers(6, 8)
    elif version in (2, 3):
        widths = fields.numbers(2, 1)
        fields.take(1)
        base, _, end, root = fields.numbers(4, 8)
    else:
        raise ProblemError(f"the superblock has version {version}: 0 to 3 are read")
    if widths != [8, 8] or base != 0:
        raise ProblemError("addresses of other than 8 bytes, or a file within a file, are not read")
    if end > file.size:
        raise ProblemError(f"the file is truncated: it has {file.size} of {end} bytes")
    return root


def read_header(file: FileBytes, address: int, name: str) -> list[Message]:
    """The messages of an object's header, with those of its continuations."""
    old = file.at(address, 4, name) != b"OHDR"
    read = _first_old_block if old else _first_new_block
    data, tracked = read(file, address, name)
    blocks, total, messages = [data], len(data), []
    while blocks:
        for message in _split(blocks.pop(0), name, old=old, tracked=tracked):
            if message.kind != CONTINUATION:
                messages.append(message)
                continue
            where, size = Fields(message.fields, name).numbers(2, 8)
            total += size + 1
            if total > _MAX_HEADER:  # libhdf5 follows a circle until there is no memory left
                raise ProblemError(f"{name} has a header without end")
            block = file.at(where, size, name)
            blocks.append(block if old else block[4:-4])  # without its signature and checksum
    return messages


def _first_old_block(file: FileBytes, address: int, name: str) -> tuple[bytes, bool]:
    fields = Fields(file.at(address, 16, name), name)
    if fields.number(1) != 1:
        raise ProblemError(f"{name} has no header that can be read")
    fields.take(7)
    return file.at(address + 16, min(fields.number(4), _MAX_HEADER), name), False


def _first_new_block(file: FileBytes, address: int, name: str) -> tuple[bytes, bool]:
    fields = Fields(file.at(address, min(34, file.size - address), name)[4:], name)
    version, flags = fields.numbers(2, 1)
    if version != 2:
        raise ProblemError(f"{name} has a header of version {version}: 1 and 2 are read")
    fields.take((16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0))
    size = fields.number(1 << (flags & 3))
    return file.at(address + 4 + fields.at, min(size, _MAX_HEADER), name), bool(flags & 4)


def _split(block: bytes, name: str, *, old: bool, tracked: bool) -> list[Message]:
    """The messages of one block."""
    fields, messages = Fields(block, name), []
    head = 8 if old else 6 if tracked else 4
    while fields.left >= head:  # less is a gap
        kind, size, flags = fields.number(2 if old else 1), fields.number(2), fields.number(1)
        fields.take(head - (5 if old else 4))
        content = fields.take(size)
        if flags & _SHARED and kind in (DATASPACE, DATATYPE, FILL, FILTERS):
            raise ProblemError(f"{name} shares a part of its header with others, which is not read")
        messages.append(Message(kind, content))
    return messages


def read_links(file: FileBytes, messages: list[Message], name: str) -> dict[str, int]:
    """The members of a group with the addresses of their headers; `ELSEWHERE` for a link out of the group."""
    links: dict[str, int] = {}
    for kind, content in messages:
        fields = Fields(content, name)
        if kind == SYMBOL_TABLE:
            tree, heap = fields.numbers(2, 8)
            links |= _read_symbol_table(file, tree, heap, name)
        elif kind == LINK:
            links |= _read_link(fields)
        elif kind == LINK_INFO:
            flags = fields.numbers(2, 1)[1]
            fields.take(8 if flags & 1 else 0)
            if fields.number(8) != UNDEFINED:
                raise ProblemError(f"{name} keeps its members in a way that is not read: use h5repack")
    return links


def _read_link(fields: Fields) -> dict[str, int]:
    flags = fields.numbers(2, 1)[1]
    kind = fields.number(1) if flags & 8 else 0
    fields.take((8 if flags & 4 else 0) + (1 if flags & 16 else 0))
    name = fields.take(fields.number(1 << (flags & 3)))
    return {name.decode("utf-8", "replace"): fields.number(8) if kind == 0 else ELSEWHERE}


def _read_symbol_table(file: FileBytes, tree: int, heap: int, name: str) -> dict[str, int]:
    """The members of an old group: a tree whose leaves list them, and a heap with their names."""
    fields = Fields(file.at(heap, 32, name), name)
    fields.take(8)
    size, _, where = fields.numbers(3, 8)
    names = file.at(where, size, name)
    links: dict[str, int] = {}
    for leaf in tree_leaves(file, tree, 0, 8, name):
        fields = Fields(file.at(leaf.address, 8, name), name)
        fields.take(6)
        count = fields.number(2)
        if len(links) + count > _MAX_LINKS:
            raise ProblemError(f"{name} has more than {_MAX_LINKS} members")
        entries = Fields(file.at(leaf.address + 8, 40 * count, name), name)
        for _ in range(count):
            offset, address, cached = entries.number(8), entries.number(8), entries.number(4)
            entries.take(20)
            text = names[offset : names.find(b"\0", offset)]
            links[text.decode("utf-8", "replace")] = ELSEWHERE if cached == 2 else address
    return links


class Leaf(NamedTuple):
    """A child of the lowest level of a tree, with the key before it."""

    key: bytes
    address: int


def tree_leaves(file: FileBytes, address: int, kind: int, key_size: int, name: str) -> list[Leaf]:
    """What a tree (version 1) leads to, in order; kind 0 is a group's, 1 a dataset's."""
    pending, leaves, visited = [address], [], 0
    while pending:
        address = pending.pop(0)
        visited += 1
        # A tree that is there has 16 bytes or more for each of its branches.
        if visited + len(pending) + len(leaves) > 16 + file.size // 16:
            raise ProblemError(f"{name} has a tree without end")
        fields = Fields(file.at(address, 24, name), name)
        if fields.take(4) != b"TREE" or fields.number(1) != kind:
            raise ProblemError(f"{name} has no tree where its header says")
        level, count = fields.number(1), fields.number(2)
        body = Fields(file.at(address + 24, count * (key_size + 8), name), name)
        children = [Leaf(body.take(key_size), body.number(8)) for _ in range(count)]
        if level:
            pending.extend(child.address for child in children)
        else:
            leaves.extend(children)
    return leaves
