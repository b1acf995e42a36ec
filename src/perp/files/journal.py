"""A file that changes in steps: whatever ends the process, the file is that of the last commit.

HDF5 writes to old and new places of its file in no order that would survive an interruption. Here those
writes stay in memory until `commit`, which appends everything new, then a journal of what changes in the old
part, and only then changes the old part and cuts the journal off. A process that ends before the journal is
complete leaves the old file with unused bytes behind it; one that ends later leaves a complete journal, which
the next reader applies. A full disk is noticed while appending, when nothing old has been touched.

`seal` writes the size and a checksum of everything into 16 bytes of the file, and `is_sealed` tells whether
they still fit. The checksum is a sum over pages, so that a commit costs only the pages that it changes.
"""

import contextlib
import fcntl
import hashlib
import io
import os
import struct
import zlib
from typing import Any

import numpy as np

PAGE = 4096
_END = struct.Struct("<QQI12s")  # where the journal begins, number of pages, checksum, mark
_MARK = b"perp-journal"
_SEAL = struct.Struct("<QQ")  # size of the file, sum over its pages


class JournalFile(io.RawIOBase):
    """Bytes of a file with uncommitted changes in memory, as h5py takes it in place of a path.

    It owns the descriptor from then on; a writable file is locked against other writers, or a BlockingIOError
    is raised.
    """

    def __init__(self, descriptor: int, *, writable: bool) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._pages: dict[int, bytearray] = {}
        self._place = 0
        if writable:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._size = os.fstat(descriptor).st_size
        self._recover()
        self._committed = self._size
        self._sum: int | None = None  # over the committed pages, known from the first seal on
        if writable and self._pages:
            self.commit()

    def _recover(self) -> None:
        """Take the pages of a complete journal at the end of the file as changes."""
        if self._size < _END.size:
            return
        start, count, checksum, mark = _END.unpack(
            os.pread(self._descriptor, _END.size, self._size - _END.size)
        )
        body_size = 8 + count * (8 + PAGE)
        if mark != _MARK or start + body_size + _END.size != self._size:
            return
        body = _read_all(self._descriptor, start, body_size)
        if zlib.crc32(body) != checksum:
            return
        (self._size,) = struct.unpack_from("<Q", body)
        numbers = np.frombuffer(body, "<u8", count, 8)
        first = 8 + 8 * count
        for k, number in enumerate(numbers.tolist()):
            self._pages[number] = bytearray(body[first + k * PAGE : first + (k + 1) * PAGE])

    def commit(self) -> None:
        """Put all changes on the disk, together.

        Raises:
            OSError: There is no room; the file is that of the last commit.
        """
        old = -(-self._committed // PAGE)
        fresh = {number: page for number, page in self._pages.items() if number >= old}
        changed = {number: page for number, page in self._pages.items() if number < old}
        journal = -(-max(self._size, old * PAGE) // PAGE) * PAGE
        try:
            for number in sorted(fresh):
                _write_all(self._descriptor, fresh[number], number * PAGE)
            if changed:
                numbers = sorted(changed)
                body = b"".join(
                    [struct.pack(f"<Q{len(numbers)}Q", self._size, *numbers), *(changed[k] for k in numbers)]
                )
                end = _END.pack(journal, len(numbers), zlib.crc32(body), _MARK)
                _write_all(self._descriptor, body + end, journal)
            os.fsync(self._descriptor)
        except OSError:
            self._sum = None
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._committed)
            raise
        for number in sorted(changed):
            _write_all(self._descriptor, changed[number], number * PAGE)
        if changed:
            os.fsync(self._descriptor)
        os.ftruncate(self._descriptor, self._size)
        self._committed = self._size
        self._pages.clear()

    def seal(self, place: int) -> None:
        """Write the size and the checksum of all that is to be committed next to `place`, 16 bytes."""
        self.seek(place)
        self.write(bytes(_SEAL.size))
        if self._sum is None or self._size < self._committed:
            self._sum = self._total(self._size, place)
        else:
            before = -(-self._committed // PAGE)
            for number, page in self._pages.items():
                if number < before:
                    old = _read_all(
                        self._descriptor, number * PAGE, min(PAGE, self._committed - number * PAGE)
                    )
                    self._sum -= _page_sum(number, old, place)
                self._sum += _page_sum(number, page, place)
            self._sum %= 1 << 64
        self.seek(place)
        self.write(_SEAL.pack(self._size, self._sum))

    def is_sealed(self, place: int) -> bool:
        """Whether the file is, byte for byte, what was sealed at `place`."""
        self.seek(place)
        size, total = _SEAL.unpack(self.read(_SEAL.size).ljust(_SEAL.size, b"\0"))
        return 0 < size <= self._size and self._total(size, place) == total

    def _total(self, size: int, place: int) -> int:
        total = 0
        self.seek(0)
        for number in range(-(-size // PAGE)):
            total += _page_sum(number, self.read(min(PAGE, size - number * PAGE)), place)
        return total % (1 << 64)

    def close(self) -> None:
        """Let go of the file; changes that were not committed are lost."""
        if not self.closed:
            os.close(self._descriptor)
        super().close()

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        return self._place

    def truncate(self, size: int | None = None) -> int:
        self._size = self._place if size is None else size
        return self._size

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._size - self._place))
        done = 0
        while done < count:
            number, offset = divmod(self._place, PAGE)
            page = self._pages.get(number)
            length = count - done if not self._pages else min(count - done, PAGE - offset)
            if page is None:
                found = _read_all(self._descriptor, self._place, length).ljust(length, b"\0")
            else:
                found = page[offset : offset + length]
            view[done : done + length] = found
            self._place += length
            done += length
        return count

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        done = 0
        while done < len(view):
            number, offset = divmod(self._place, PAGE)
            length = min(len(view) - done, PAGE - offset)
            page = self._pages.get(number)
            if page is None:
                found = _read_all(self._descriptor, number * PAGE, PAGE)
                page = self._pages[number] = bytearray(found.ljust(PAGE, b"\0"))
            page[offset : offset + length] = view[done : done + length]
            self._place += length
            done += length
        self._size = max(self._size, self._place)
        return done


def _page_sum(number: int, content: bytes | bytearray, place: int) -> int:
    """A number for one page: its bytes, zeros after the end of the file and where the seal is."""
    page = bytearray(content.ljust(PAGE, b"\0"))
    start = place - number * PAGE
    for i in range(max(0, start), min(PAGE, start + _SEAL.size)):
        page[i] = 0
    return int.from_bytes(hashlib.blake2b(page, digest_size=8, salt=number.to_bytes(16, "little")).digest())


def _read_all(descriptor: int, start: int, size: int) -> bytes:
    parts, done = [], 0
    while done < size and (part := os.pread(descriptor, size - done, start + done)):
        parts.append(part)
        done += len(part)
    return b"".join(parts)


def _write_all(descriptor: int, data: bytes | bytearray, start: int) -> None:
    view, done = memoryview(data), 0
    while done < len(view):
        done += os.pwrite(descriptor, view[done:], start + done)
