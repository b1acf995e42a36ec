"""Recordings as HDF5: tables that grow, beside groups that are written once or replaced.

    /about               JSON: format, versions, names, settings
    /start, /geometry, /scene, /tree   written once
    /steps, /contacts    one dataset per column, one row per step and per contact
    /snapshot            the whole state after the last step, to go on from
    /checksum            size and checksum of the whole file, renewed with every chunk

All of a chunk is committed together through `JournalFile`, so that rows, contacts and snapshot always belong
to the same step, whatever ended the process. HDF5's classic file layout is used: it has no mark for "open for
writing" that would keep a file shut after a crash.
"""

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np

from perp.files.journal import JournalFile
from perp.files.reading import PathName, open_regular, reason
from perp.problems.errors import FileError

FORMAT = "perp recording 5"
# Bytes of a row group on the disk: large enough to read fast, small enough to rewrite with each chunk.
_CHUNK_BYTES = 1 << 16
_CHUNK_ROWS = 1024
# Rows of so few numbers (a point, a frame) are packed number by number: what is alike lies together.
_FEW = 9
_SNAPSHOT_ROWS = 128
# Bytes of like place of all numbers beside each other, then deflated. Deflate never packs tighter than
# 1032 to 1, so that a header that promises more than that is a lie.
_PACKED: dict[str, Any] = {"compression": "gzip", "compression_opts": 6, "shuffle": True}
_WORTH_PACKING, _TIGHTEST = 1 << 12, 1032

Arrays = Mapping[str, np.ndarray]


class RecordingFile:
    """A recording that is being written.

    `create` begins one and `resume` goes on with one; each `append` is kept whole or not at all.
    """

    def __init__(self, path: Path, stream: JournalFile, file: Any) -> None:
        self.path, self._stream, self._file = path, stream, file
        self._whole = True

    @classmethod
    def create(
        cls,
        path: PathName,
        about: Mapping[str, Any],
        groups: Mapping[str, Arrays],
        tables: Mapping[str, Arrays],
        *,
        force: bool = False,
    ) -> Self:
        """Begin a file; it appears under its name once it is complete as far as it goes.

        `groups` are written once; `tables` are columns without rows, which say how each row looks.
        """
        import h5py

        path = Path(path)
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise FileError(path, "is a directory")
        if target.exists() and not force:
            raise FileError(path, "exists already; --force (force=True) replaces it")
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        try:
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            raise FileError(path, f"cannot be written: {reason(error)}") from error
        try:
            stream = JournalFile(descriptor, writable=True)
            out = cls(path, stream, h5py.File(stream, "w", libver="earliest"))
            out._begin(about, groups, tables)
            out._commit("before the first step")
            _publish(temporary, target, force=force)
        except OSError as error:
            raise FileError(path, f"cannot be written: {reason(error)}") from error
        finally:
            temporary.unlink(missing_ok=True)
        return out

    @classmethod
    def resume(cls, path: PathName) -> Self:
        """Go on with a file, from its last committed chunk, unless another process is writing it."""
        import h5py

        path = Path(path)
        check_recording(path)
        try:
            stream = JournalFile(os.open(path, os.O_RDWR), writable=True)
            file = h5py.File(stream, "r+", libver="earliest")
            try:
                _verify(path, stream, file)
            except FileError:
                file.close()
                stream.close()
                raise
            return cls(path, stream, file)
        except (BlockingIOError, PermissionError) as error:
            busy = "another process is writing it" if isinstance(error, BlockingIOError) else reason(error)
            raise FileError(path, f"cannot be continued: {busy}") from error
        except (OSError, ValueError, RuntimeError) as error:
            raise FileError(path, f"cannot be continued: {reason(error)}") from error

    def append(self, tables: Mapping[str, Arrays], snapshot: Arrays, *, when: str) -> None:
        """Add rows and replace the snapshot; `when` says in a message how far the run was.

        Where there is no room, or the disk fails, the file holds everything up to the last append.
        """
        if not self._whole:
            return
        self._whole = False  # until all of it is written: what an interruption leaves is never committed
        for table, columns in tables.items():
            for name, rows in columns.items():
                dataset = self._file[table][name]
                before = dataset.shape[0]
                dataset.resize(before + rows.shape[0], axis=0)
                dataset[before:] = _storable(rows)
        _replace(self._file.require_group("snapshot"), snapshot)
        self._commit(when)
        self._whole = True

    def close(self) -> None:
        """Close the file; what was not appended is lost."""
        # the stream is in memory: closing HDF5 writes there, and nothing of it reaches the disk
        with suppress(OSError, ValueError, RuntimeError):
            self._file.close()
        self._stream.close()

    def _begin(
        self, about: Mapping[str, Any], groups: Mapping[str, Arrays], tables: Mapping[str, Arrays]
    ) -> None:
        self._file["checksum"] = np.zeros(2, np.uint64)
        text = json.dumps({"format": FORMAT, **about}, ensure_ascii=False)
        self._file["about"] = np.frombuffer(text.encode(), np.uint8)
        for name, arrays in groups.items():
            group = self._file.create_group(name)
            for key, array in arrays.items():
                values = _storable(np.asarray(array))
                how: dict[str, Any] = {}
                if values.nbytes > _WORTH_PACKING:  # column by column: x of all vertices are alike, then y
                    how = {"chunks": (len(values), *(1 for _ in values.shape[1:])), **_PACKED}
                group.create_dataset(key, data=values, **how)
        for name, columns in tables.items():
            group = self._file.create_group(name)
            for key, empty in columns.items():
                row = _storable(empty)
                count = max(1, int(np.prod(row.shape[1:])))
                chunk = min(_CHUNK_ROWS, max(1, _CHUNK_BYTES // (row.dtype.itemsize * count)))
                inner = [1 if count <= _FEW else max(1, n) for n in row.shape[1:]]
                group.create_dataset(
                    key,
                    shape=(0, *row.shape[1:]),
                    dtype=row.dtype,
                    # an axis of length 0 (no motors) still needs a chunk of length 1, and room for it
                    maxshape=(None, *(n or None for n in row.shape[1:])),
                    chunks=(chunk, *inner),
                    **_PACKED,
                )

    def _commit(self, when: str) -> None:
        try:
            self._file.flush()
            self._stream.seal(_place_of_checksum(self.path, self._file))
            self._stream.commit()
        except OSError as error:
            raise FileError(
                self.path, f"cannot be written {when}: {reason(error)}; what was recorded before is kept"
            ) from error


def read_recording(
    path: PathName, only: tuple[str, ...] = ()
) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
    """What a recording is about, and its arrays by group: all of them, or `only` some groups."""
    import h5py

    check_recording(path)
    try:
        with (
            JournalFile(os.open(path, os.O_RDONLY), writable=False) as stream,
            h5py.File(stream, "r") as file,
        ):
            about = _read_about(path, file)
            _verify(path, stream, file)
            groups = {
                name: {key: _read(path, f"{name}/{key}", data) for key, data in _members(group)}
                for name, group in _members(file)
                if isinstance(group, h5py.Group) and (not only or name in only)
            }
    except FileError:
        raise
    except (OSError, ValueError, RuntimeError, LookupError, TypeError, AttributeError) as error:
        raise FileError(path, f"cannot be read: {reason(error)}") from error
    return about, groups


def check_recording(path: PathName) -> None:
    """Refuse what cannot be a recording, with a reason."""
    with open_regular(path) as (handle, _):
        if handle.read(8) != b"\x89HDF\r\n\x1a\n":
            scene = str(path).lower().endswith((".xml", ".urdf", ".mjcf"))
            why = "`perp simulate` makes one of a scene" if scene else "it is not an HDF5 file"
            raise FileError(path, f"is not a recording: {why}")


def _place_of_checksum(path: PathName, file: Any) -> int:
    """Where in the file the checksum is."""
    place = file["checksum"].id.get_offset() if "checksum" in file else None
    if place is None:
        raise FileError(path, "has no checksum")
    return place


def _verify(path: PathName, stream: JournalFile, file: Any) -> None:
    """Refuse a file of which a single byte has changed since it was written."""
    if not stream.is_sealed(_place_of_checksum(path, file)):
        raise FileError(path, "is damaged: its checksum is not that of its content")


def _publish(temporary: Path, target: Path, *, force: bool) -> None:
    """Give a finished file its name."""
    if force:
        temporary.replace(target)
        return
    try:
        target.hardlink_to(temporary)  # unlike a rename this never replaces a file that has just appeared
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        temporary.replace(target)


def _replace(group: Any, arrays: Arrays) -> None:
    for name in set(group) - set(arrays):
        del group[name]
    for name, array in arrays.items():
        values = _storable(np.asarray(array))
        if name in group and group[name].dtype == values.dtype and group[name].ndim == values.ndim:
            if values.ndim:
                group[name].resize(values.shape)
            group[name][...] = values
            continue
        if name in group:
            del group[name]
        if not values.ndim:
            group[name] = values
            continue
        # contacts come and go: the first axis gets room to grow
        chunks = (max(values.shape[0], _SNAPSHOT_ROWS), *(max(1, n) for n in values.shape[1:]))
        group.create_dataset(name, data=values, maxshape=(None,) * values.ndim, chunks=chunks)


def _storable(array: np.ndarray) -> np.ndarray:
    """Text, which is ASCII here, as bytes: HDF5 has no letters of four bytes."""
    return array.astype(f"S{array.dtype.itemsize // 4}") if array.dtype.kind == "U" else array


def _members(group: Any) -> list[tuple[str, Any]]:
    return [(name, group[name]) for name in group]


def _read(path: PathName, name: str, data: Any) -> np.ndarray:
    # a header may promise more than the file holds, and HDF5 would fill memory with zeros
    tightest = _TIGHTEST if data.compression else 1
    if data.nbytes > tightest * data.id.get_storage_size():
        raise FileError(path, f"{name} is not complete")
    values = data[()]
    return values.astype(f"U{values.dtype.itemsize}") if values.dtype.kind == "S" else values


def _read_about(path: PathName, file: Any) -> dict[str, Any]:
    if "about" not in file:
        raise FileError(path, "is not a recording: it has no text about a run")
    about = json.loads(_read(path, "about", file["about"]).tobytes())
    found = about.get("format") if isinstance(about, dict) else None
    if isinstance(found, str) and found != FORMAT and found.startswith(FORMAT.rpartition(" ")[0]):
        raise FileError(
            path, f"is a {found!r}, and this perp reads {FORMAT!r}: read it with the perp that wrote it"
        )
    if found != FORMAT:
        raise FileError(path, f"is not a recording of this version ({FORMAT})")
    return about
