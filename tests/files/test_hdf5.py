"""Numbers of HDF5 files through a child process against h5py in this one, and files that break libhdf5."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import h5py
import numpy as np
import pytest

from files.refusal import refusal
from files.shared_data import shared_files
from perp.files import hdf5
from perp.files.hdf5 import read_numbers

VERSIONS = ["earliest", "v108", "v110", "latest"]
TYPES = ["i1", "u1", "<i2", ">u2", "<i4", ">i4", "<u8", ">i8", "<f4", ">f4", "<f8", ">f8"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.h5"


def assert_same_as_h5py(path: Path) -> int:
    """Reads every dataset of numbers and every attribute with a single whole number both ways."""
    count = 0

    def compare(name: str, node) -> None:
        nonlocal count
        for key, value in node.attrs.items():
            if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iu":
                assert file.attribute(name, key) == value
                count += 1
        if isinstance(node, h5py.Dataset) and node.dtype.kind in "iuf":
            read = file.numbers if node.dtype.kind == "f" else file.whole_numbers
            expected = node[()].reshape(-1)
            wide = expected.astype(np.float64 if node.dtype.kind == "f" else node.dtype.newbyteorder("="))
            assert np.array_equal(read(name), wide)
            assert read(name).dtype == wide.dtype
            count += 1

    file = read_numbers(path)
    with h5py.File(path) as reference:
        reference.visititems(compare)
    return count


@pytest.mark.parametrize("path", shared_files("fclib/*.hdf5"))
def test_real_files(path: Path):
    assert assert_same_as_h5py(path) > 10


@pytest.mark.parametrize("version", VERSIONS)
def test_types_shapes_and_attributes(version: str, path: Path):
    with h5py.File(path, "w", libver=version) as file:
        for k, code in enumerate(TYPES):
            group = file.create_group(f"é {k % 3}/{k // 3}")
            group.attrs["size"] = -7 + k
            group.attrs["text"], group.attrs["pair"] = "x", [1, 2]
            group[f"{k}"] = np.arange(-2 if "u" not in code else 0, 5).astype(code)
            group["scalar"], group["none"] = np.array(k, dtype=code), np.zeros(0, dtype=code)
    assert assert_same_as_h5py(path) == 4 * len(TYPES)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("options", [
    {}, {"compression": "gzip"}, {"shuffle": True}, {"fletcher32": True},
    {"compression": 9, "shuffle": True, "fletcher32": True},
])  # fmt: skip
def test_chunks(version: str, options: dict, path: Path):
    rng = np.random.default_rng(0)
    with h5py.File(path, "w", libver=version) as file:
        for size in (1, 2, 7, 3000):
            file.create_dataset(f"f{size}", data=rng.standard_normal(size), chunks=(min(size, 3),), **options)
            file.create_dataset(
                f"i{size}", data=np.arange(size, dtype=np.int16), chunks=(min(size, 64),), **options
            )
    assert assert_same_as_h5py(path) == 8


def test_compact_datasets(path: Path):
    with h5py.File(path, "w") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((3,))
        dataset = h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_DOUBLE, space, properties)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1.0, 2, 3]))
    assert assert_same_as_h5py(path) == 1


def test_large_groups_and_headers(path: Path):
    with h5py.File(path, "w") as file:
        for k in range(700):  # more than fit one level of the tree
            file[f"member {k}"] = k
        node = file.create_group("attributed")
        for k in range(60):  # more than fit the first block of the header
            node.attrs[f"attribute {k}"] = k
    assert assert_same_as_h5py(path) == 760


@pytest.mark.parametrize("version", ["v108", "latest"])
def test_groups_in_heaps(version: str, path: Path):
    with h5py.File(path, "w", libver=version) as file:
        for k in range(20):
            file[f"g/{k}"] = k
    assert assert_same_as_h5py(path) == 20


def test_only_some_groups_are_read(path: Path):
    with h5py.File(path, "w") as file:
        file["g/x"], file["h/x"] = 1, 2
    file = read_numbers(path, only=("g",))
    assert file.whole_number("g/x") == 1
    assert "h" in file
    assert "h/x" not in file


def test_missing_and_misplaced_names(path: Path):
    with h5py.File(path, "w") as file:
        file["g/x"] = np.arange(3)
    file = read_numbers(path)
    assert "g" in file
    assert "g/x" in file
    for name in ("h", "g/y", "g/x/z", "h/x", "g/x/z/w"):
        assert name not in file
    with refusal(path, "has no h/x"):
        file.numbers("h/x")
    with refusal(path, "g is not a dataset"):
        file.numbers("g")


def test_groups_that_go_in_circles(path: Path):
    with h5py.File(path, "w") as file:
        file["g/again"] = file["/"]
        file["g/x"] = 1
    assert read_numbers(path).whole_number("g/again/g/x") == 1


def continuation(content: bytes) -> int:
    """Where the first continuation message of an old header is."""
    return content.index(struct.pack("<HHI", 16, 16, 0))


@pytest.mark.parametrize(("address", "size"), [(None, 24), (0, 2**30), (2**40, 2**30), (2**64 - 1, 2**30)])
def test_a_header_that_continues_in_itself_or_nowhere(address: int | None, size: int, path: Path):
    with h5py.File(path, "w") as file:
        for k in range(60):
            file.attrs[f"attribute {k}"] = k
    content = bytearray(path.read_bytes())
    at = continuation(content)
    content[at + 8 : at + 24] = struct.pack("<QQ", at if address is None else address, size)
    path.write_bytes(content)
    with refusal(path, "is damaged"):
        read_numbers(path).numbers("x")


def test_a_child_that_is_killed(path: Path, monkeypatch: pytest.MonkeyPatch):
    with h5py.File(path, "w") as file:
        file["x"] = 1
    monkeypatch.setattr(hdf5, "_collect", lambda *_: os.abort())
    with refusal(path, "HDF5 breaks down on it"):
        read_numbers(path)
    monkeypatch.setattr(hdf5, "_collect", lambda *_: [bytearray(2**40)])
    with refusal(path, "is damaged"):
        read_numbers(path)


@pytest.mark.parametrize("version", VERSIONS)
def test_truncated(version: str, path: Path):
    with h5py.File(path, "w", libver=version) as file:
        file["x"] = np.arange(100.0)
    whole = path.read_bytes()
    for end in (9, 40, 90, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with refusal(path, "is damaged"):
            read_numbers(path)
