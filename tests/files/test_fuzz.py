"""Thousands of changed bytes: whatever happens to a file, only a FileError comes out.

A slice of a longer run: each seed changes, cuts, deletes or inserts bytes of a small file of one format.
"""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

import generators
import perp
from files import siconos_text as text
from perp.files import load, load_guess, load_solution, save

ROUNDS = 150
BYTES = (0, 1, 0x7F, 0x80, 0xFF, ord("9"), ord("-"), ord(" "))


def change(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    at, kind = rng.randrange(len(data)), rng.random()
    if kind < 0.15:
        return bytes(data[:at])
    if kind < 0.25:
        del data[at : at + rng.randrange(1, 64)]
    elif kind < 0.35:
        data[at:at] = rng.randbytes(rng.randrange(1, 16))
    else:
        for _ in range(rng.choice([1, 1, 2, 4, 16])):
            data[rng.randrange(len(data))] = rng.choice([*BYTES, rng.randrange(256)])
    return bytes(data)


def change_inside(content: bytes, rng: random.Random) -> bytes:
    """The same inside one member of an archive, whose checksums are then right."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(result, "w") as new:
        changed = rng.choice(old.namelist())
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data, rng) if name == changed else data)
    return result.getvalue()


def saved(problem, name: str, folder: Path) -> bytes:
    save(problem, folder / name)
    return (folder / name).read_bytes()


def with_guesses(folder: Path) -> bytes:
    path = folder / "b.hdf5"
    save(generators.contact(4, kinds=(3,)), path)
    with h5py.File(path, "a") as file:
        file["guesses/1/r"], file["solution/r"] = np.ones(12), np.ones(12)
    return path.read_bytes()


def siconos_npz(folder: Path) -> bytes:
    W = sp.csc_array(np.eye(3))
    np.savez_compressed(
        folder / "s.npz", W_data=W.data, W_indices=W.indices, W_indptr=W.indptr, W_shape=W.shape,
        q=np.ones(3), mu=np.ones(1), dimension=3, guess_r=np.ones(3),
    )  # fmt: skip
    return (folder / "s.npz").read_bytes()


def dat(storage: str) -> bytes:
    W = np.kron(np.array([[1, 0], [0.5, 1]]), np.ones((3, 3)))
    return ("3\n2\n" + text.matrix(W, storage, 3) + text.vector(np.ones(8))).encode()


SOURCES = {
    "npz": lambda folder: saved(generators.contact(5), "a.npz", folder),
    "sparse npz": lambda folder: saved(perp.LCP(sp.csr_array(np.eye(4)), np.ones(4)), "a.npz", folder),
    "siconos npz": siconos_npz,
    "fclib local": lambda folder: saved(
        perp.ContactProblem.coulomb(sp.eye_array(6), np.ones(6), 0.5), "a.hdf5", folder
    ),
    "fclib global": with_guesses,
    **{f"dat {storage}": lambda _, storage=storage: dat(storage) for storage in text.STORAGES},
}


@pytest.mark.parametrize("name", SOURCES)
def test_only_file_errors(name: str, tmp_path: Path):
    content = SOURCES[name](tmp_path)
    path = tmp_path / "changed"
    rng = random.Random(f"{name} 1")
    outcomes = {"read": 0, "refused": 0}
    for _ in range(ROUNDS):
        inside = "npz" in name and rng.random() < 0.7
        path.write_bytes(change_inside(content, rng) if inside else change(content, rng))
        for reader in (load, load_guess, load_solution):
            try:
                reader(path)
                outcomes["read"] += 1
            except perp.FileError:
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 0  # the changes neither destroy everything nor go unnoticed
