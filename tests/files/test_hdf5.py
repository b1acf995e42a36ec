"""perp's own HDF5 reader against h5py, over every version of the format that FCLib files may have."""

from __future__ import annotations

import struct
from pathlib import Path

import h5py
import numpy as np
import pytest

import perp
from files.refusal import refusal
from files.shared_data import shared_files
from perp.files.hdf5 import open_numbers

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

    with h5py.File(path) as reference, open_numbers(path) as file:
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


@pytest.mark.parametrize("version", ["earliest", "v108"])
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
def test_groups_in_heaps_are_refused(version: str, path: Path):
    with h5py.File(path, "w", libver=version) as file:
        for k in range(20):
            file[f"g/{k}"] = k
    with open_numbers(path) as file, pytest.raises(perp.ProblemError, match="h5repack"):
        file.whole_number("g/3")


def test_missing_and_misplaced_names(path: Path):
    with h5py.File(path, "w") as file:
        file["g/x"] = np.arange(3)
    with open_numbers(path) as file:
        assert "g" in file
        assert "g/x" in file
        for name in ("h", "g/y", "g/x/z", "h/x", "g/x/z/w"):
            assert name not in file
        with refusal(path, "has no h/x"):
            file.numbers("h/x")
        with pytest.raises(perp.ProblemError, match="g is not a dataset"):
            file.numbers("g")


def continuation(content: bytes) -> int:
    """Where the first continuation message of an old header is."""
    return content.index(struct.pack("<HHI", 16, 16, 0))


def test_a_header_that_continues_in_itself(path: Path):
    with h5py.File(path, "w") as file:
        for k in range(60):
            file.attrs[f"attribute {k}"] = k
    content = bytearray(path.read_bytes())
    at = continuation(content)
    content[at + 8 : at + 24] = struct.pack("<QQ", at, 24)
    path.write_bytes(content)
    with refusal(path, "header without end"), open_numbers(path):
        pass


@pytest.mark.parametrize("address", [0, 2**40, 2**64 - 1])
def test_a_header_that_continues_nowhere(address: int, path: Path):
    with h5py.File(path, "w") as file:
        for k in range(60):
            file.attrs[f"attribute {k}"] = k
    content = bytearray(path.read_bytes())
    at = continuation(content)
    content[at + 8 : at + 24] = struct.pack("<QQ", address, 2**30)
    path.write_bytes(content)
    with refusal(path, r"claims 1073741824 bytes|without end"), open_numbers(path):
        pass


def test_a_tree_that_grows_out_of_itself(path: Path):
    with h5py.File(path, "w") as file:
        for k in range(3):
            file[f"{k}"] = k
    content = bytearray(path.read_bytes())
    at = content.index(b"TREE")
    content[at + 5] = 1  # not the lowest level
    content[at + 32 : at + 40] = struct.pack("<Q", at)
    path.write_bytes(content)
    with refusal(path, "tree without end"), open_numbers(path) as file:
        file.whole_number("0")


@pytest.mark.parametrize("version", VERSIONS)
def test_truncated(version: str, path: Path):
    with h5py.File(path, "w", libver=version) as file:
        file["x"] = np.arange(100.0)
    whole = path.read_bytes()
    for end in (9, 40, 90, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with refusal(path, r"truncated|cut short"), open_numbers(path) as file:
            file.numbers("x")


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (8, b"\x07", "superblock has version 7"),
        (13, b"\x04\x04", "addresses of other than 8 bytes"),
        (24, b"\x01", "a file within a file"),
        (64, b"\xff" * 8, "the root group claims"),
        (64, b"\x00" * 8, "no header that can be read"),
    ],
)
def test_damaged_superblocks(offset: int, value: bytes, message: str, path: Path):
    with h5py.File(path, "w") as file:
        file["x"] = 1
    content = bytearray(path.read_bytes())
    content[offset : offset + len(value)] = value
    path.write_bytes(content)
    with refusal(path, message), open_numbers(path):
        pass
