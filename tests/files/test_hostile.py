"""Files that lie about their size, point elsewhere or are not files at all: a FileError and little memory."""

from __future__ import annotations

import io
import os
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

import perp
from files.refusal import refusal
from perp.files import load, load_guess, load_solution, save

READERS = (load, load_guess, load_solution)
MIB = 2**20


def refused(path: Path, *, message: str = "", readers=(load,), memory: int = 16 * MIB) -> None:
    """Every reader refuses the file by name, without taking more than `memory` bytes."""
    for reader in readers:
        tracemalloc.start()
        with refusal(path, message):
            reader(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < memory


def npy(
    shape: str = "(2,)", code: str = "<f8", data: bytes = b"\0" * 16, header: bytes | None = None
) -> bytes:
    text = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    text = text if header is None else header
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def archive(path: Path, method: int = zipfile.ZIP_STORED, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


def test_what_is_not_a_file(tmp_path: Path):
    refused(tmp_path / "missing.npz", message="does not exist", readers=READERS)
    refused(tmp_path, message="is a directory", readers=READERS)
    refused(tmp_path / "a\0b.npz", message="cannot be opened", readers=READERS)
    refused(tmp_path / ("x" * 300), message="cannot be opened", readers=READERS)
    os.mkfifo(tmp_path / "pipe.npz")
    refused(tmp_path / "pipe.npz", message="is not an ordinary file", readers=READERS)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refused(tmp_path / "loop", message="cannot be opened", readers=READERS)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    refused(tmp_path / "dangling", message="does not exist", readers=READERS)


def test_no_permission(tmp_path: Path):
    path = archive(tmp_path / "a.npz", M=npy())
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    refused(path, message="cannot be opened", readers=READERS)


FOREIGN = {
    "nothing": b"",
    "a null": b"\0",
    "start of a zip": b"PK",
    "more of a zip": b"PK\x03\x04",
    "an empty zip": b"PK\x05\x06" + b"\0" * 18,
    "start of an HDF5": b"\x89HDF\r\n\x1a\n",
    "more of an HDF5": b"\x89HDF\r\n\x1a\n" + b"\0" * 99,
    "start of an array": b"\x93NUMPY\x01\0",
    "a PDF": b"%PDF-1.7",
    "a page": b"<html></html>",
    "letters": "größer".encode(),
    "every byte": bytes(range(256)) * 9,
    "a gzip": b"\x1f\x8b\x08",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_content_under_any_name(name: str, tmp_path: Path):
    for suffix in (".npz", ".hdf5", ".dat", ".json", ""):
        path = tmp_path / f"a{suffix}"
        path.write_bytes(FOREIGN[name])
        refused(path)


def test_unknown_suffixes(tmp_path: Path):
    for name in ("a.dat", "a", "a.mat", "a.npz.bak"):
        with refusal(tmp_path / name, r"use \.npz or \.hdf5"):
            save(perp.LCP([[1.0]], [1.0]), tmp_path / name)


def test_sparse_file_of_a_terabyte(tmp_path: Path):
    for name in ("a.dat", "a.json"):
        path = tmp_path / name
        path.write_bytes(b"3\n")
        os.truncate(path, 2**40)
        refused(path, message="at most", readers=(load, load_solution))
    path = archive(tmp_path / "a.npz", M=npy("(30000, 30000)"), q=npy())
    refused(path, message="claims shape")


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (npy("(1000000000000,)"), "claims shape"),
        (npy("(99999999999999999999999999,)"), "claims shape"),
        (npy("(100000000, 0)", data=b""), "."),
        (npy("(-1,)"), "not an array of numbers"),
        (npy("(2"), "not an array of numbers"),
        (npy("(1, 1, 1, 1, 1)"), "claims shape"),
        (npy("(3,)"), "claims shape"),
        (npy(code="|O"), "not an array of numbers"),
        (npy(code="|V8"), "not an array of numbers"),
        (npy(code="<c8"), "not an array of numbers"),
        (npy(code="<M8"), "not an array of numbers"),
        (npy(code="<f3"), "unknown type"),
        (npy(code="<U0", shape="()"), "1 to 8 bytes"),
        (npy(code="<U999999999"), "unknown type"),
        (npy(code="<U99999999"), "claims shape"),
        (npy(header=b"{'descr': " + b"(" * 900), "not an array of numbers"),
        (npy(header=b"__import__('os').abort()"), "not an array of numbers"),
        (b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1), "claims a header"),
        (b"\x93NUMPY\x09\x00", "not a NumPy array"),
        (b"", "not a NumPy array"),
    ],
)
def test_lying_headers_in_an_archive(member: bytes, message: str, tmp_path: Path):
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        refused(archive(tmp_path / "a.npz", method, M=member, q=npy()), message=message)


def test_zip_bombs(tmp_path: Path):
    path = archive(tmp_path / "a.npz", q=npy())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file, file.open("M.npy", "w") as stream:
        stream.write(npy("(41943040,)", data=b""))
        for _ in range(320):
            stream.write(b"\0" * MIB)
    assert path.stat().st_size < MIB
    refused(path, message="would take 335544320 bytes")
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refused(
            archive(tmp_path / "b.npz", method, M=npy("(2, 2)", data=b"\0" * 32), q=npy()),
            message="compressed",
        )


def test_an_archive_whose_directory_claims_more(tmp_path: Path):
    path = archive(tmp_path / "a.npz", M=npy("(20000000,)"), q=npy())
    content = bytearray(path.read_bytes())
    for marker, offset in ((b"PK\x03\x04", 18), (b"PK\x01\x02", 20)):
        at = content.index(marker) + offset
        content[at : at + 8] = struct.pack("<II", 2 * 10**8, 2 * 10**8)
    path.write_bytes(content)
    refused(path, message="more than the file can hold")


def test_encrypted_and_nested_archives(tmp_path: Path):
    path = archive(tmp_path / "a.npz", M=npy(), q=npy())
    content = bytearray(path.read_bytes())
    for marker, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(marker) + offset] |= 1
    path.write_bytes(content)
    refused(path, message="encrypted")
    inner = io.BytesIO()
    np.savez(inner, M=np.eye(2), q=np.ones(2))
    refused(archive(tmp_path / "b.npz", M=inner.getvalue(), q=npy()), message="not a NumPy array")


def test_a_refused_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*args) -> int:
        raise PermissionError(13, "Permission denied")

    path = archive(tmp_path / "a.npz", M=npy())
    monkeypatch.setattr(os, "open", refuse)
    refused(path, message="cannot be opened: Permission denied", readers=READERS)


@pytest.fixture
def fclib(tmp_path: Path) -> Path:
    path = tmp_path / "a.hdf5"
    save(perp.ContactProblem.coulomb(np.eye(3), [1.0, 2, 3], 0.5), path)
    return path


def spoil(path: Path, name: str, make) -> None:
    with h5py.File(path, "a") as file:
        del file[f"fclib_local/{name}"]
        make(file, f"fclib_local/{name}")


def huge(file: h5py.File, name: str, **options) -> None:
    file.create_dataset(name, shape=(10**11,), dtype="f8", **options)


HOSTILE = {
    "chunks that were never written": (lambda f, n: huge(f, n, chunks=(1024,)), "claims 800000000000 bytes"),
    "chunks with a fill value": (lambda f, n: huge(f, n, chunks=(1024,), fillvalue=1.0), "claims 800000000000"),
    "compressed chunks that were never written": (
        lambda f, n: huge(f, n, chunks=(1024,), compression="gzip"),
        "claims 800000000000",
    ),
    "chunks of which few were written": (
        lambda f, n: f.create_dataset(n, shape=(2 * 10**7,), chunks=(1024,), dtype="f8").__setitem__(0, 1.0),
        "claims 160000000 bytes",
    ),
    "an object type": (lambda f, n: f.create_dataset(n, data=["a", "b"]), "entries of another type"),
    "a variable length": (
        lambda f, n: f.create_dataset(n, shape=(3,), dtype=h5py.vlen_dtype("f8")),
        "entries of another type",
    ),
    "a compound": (
        lambda f, n: f.create_dataset(n, data=np.zeros(3, dtype=[("a", "f8")])),
        "entries of another type",
    ),
    "a reference": (lambda f, n: f.create_dataset(n, shape=(3,), dtype=h5py.ref_dtype), "entries of another type"),
    "complex numbers": (lambda f, n: f.create_dataset(n, data=np.zeros(3, complex)), "entries of another type"),
    "extended precision": (
        lambda f, n: f.create_dataset(n, data=np.zeros(3, np.longdouble)),
        "entries of another type",
    ),
    "nothing": (lambda f, n: f.create_dataset(n, data=h5py.Empty("f8")), "no shape that can be read"),
    "a group": (lambda f, n: f.create_group(n), "is not a dataset"),
    "a soft link": (lambda f, n: f.__setitem__(n, h5py.SoftLink("/fclib_local/W/x")), "is a link to elsewhere"),
    "a link to itself": (lambda f, n: f.__setitem__(n, h5py.SoftLink("/" + n)), "link to elsewhere|has no"),
    "an external link": (
        lambda f, n: f.__setitem__(n, h5py.ExternalLink("/etc/passwd", "/x")),
        "link to elsewhere|has no|damaged",
    ),
    "external storage": (
        lambda f, n: f.create_dataset(n, shape=(3,), dtype="f8", external=[("/etc/passwd", 0, 24)]),
        "other files",
    ),
    "a matrix": (lambda f, n: f.create_dataset(n, data=np.eye(3)), "a vector is needed"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_datasets(name: str, fclib: Path):
    make, message = HOSTILE[name]
    spoil(fclib, "vectors/q", make)
    refused(fclib, message=message)


def test_virtual_datasets(fclib: Path, tmp_path: Path):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = np.ones(3)
    layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", shape=(3,))
    spoil(fclib, "vectors/q", lambda file, name: file.create_virtual_dataset(name, layout))
    refused(fclib, message="other files")


def test_hdf5_bomb(fclib: Path):
    def bomb(file: h5py.File, name: str) -> None:
        dataset = file.create_dataset(name, (40 * MIB,), dtype="f8", chunks=(MIB,), compression="gzip")
        for chunk in range(40):
            dataset.id.write_direct_chunk((chunk * MIB,), zlib.compress(b"\0" * 8 * MIB, 9))

    spoil(fclib, "vectors/q", bomb)
    assert fclib.stat().st_size < MIB
    refused(fclib, message="too many for a file of")


def test_small_vectors_of_zeros_that_were_never_written_are_read(fclib: Path):
    spoil(fclib, "vectors/q", lambda file, name: file.create_dataset(name, shape=(3,), dtype="f8"))
    assert load(fclib).equals(perp.ContactProblem.coulomb(np.eye(3), np.zeros(3), 0.5))


def test_a_saved_file_that_grew_or_shrank(fclib: Path, tmp_path: Path):
    npz = tmp_path / "b.npz"
    save(perp.LCP(np.eye(3), np.ones(3)), npz)
    for path in (fclib, npz):
        whole = path.read_bytes()
        for end in (1, 8, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:end])
            refused(path)
