"""Answers in files: what is written is read back bit for bit, whatever the format."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

import perp
from files.refusal import refusal
from perp.files import load_solution, save, save_solution

Z = np.array([1 / 3, -0.0, 5e-324, 1e300])
SUFFIXES = [".npz", ".json", ".npy", ".txt", ".csv"]


def answer(z=Z, *, contact: bool = False) -> perp.Solution:
    kind = perp.ContactSolution if contact else perp.Solution
    problem = perp.LCP(np.eye(4), np.zeros(4))
    return kind(problem, z, 2 * z / 3, perp.Status.SOLVED, 1e-12, 1e-8, np.int64(7), "lemke", "split")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("contact", [True, False])
def test_round_trip(suffix: str, contact: bool, tmp_path: Path):
    path = tmp_path / f"a{suffix}"
    save_solution(answer(contact=contact), path)
    z = load_solution(path)
    assert z.dtype == np.float64
    assert z.tobytes() == Z.tobytes()


def test_the_method_of_solutions(tmp_path: Path):
    answer().save(tmp_path / "a.json")
    assert load_solution(tmp_path / "a.json").tobytes() == Z.tobytes()


@pytest.mark.parametrize("contact", [True, False])
def test_details(contact: bool, tmp_path: Path):
    expected = {
        "status": "SOLVED",
        "residual": 1e-12,
        "iterations": 7,
        "solver": "lemke",
        "formulation": "split",
    }
    vectors = ("impulse", "velocity") if contact else ("z", "w")
    save_solution(answer(contact=contact), tmp_path / "a.json")
    data = json.loads((tmp_path / "a.json").read_text())
    save_solution(answer(contact=contact), tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        for name, value in expected.items():
            assert data[name] == value == archive[name]
        for name, value in zip(vectors, (Z, 2 * Z / 3), strict=True):
            assert np.array_equal(archive[name], value)
            assert data[name] == value.tolist()


def test_an_answer_that_is_not_finite(tmp_path: Path):
    diverged = answer(np.array([1.0, np.nan]))
    with refusal(tmp_path / "a.json", "JSON cannot hold"):
        save_solution(diverged, tmp_path / "a.json")
    save_solution(diverged, tmp_path / "a.npz")
    with refusal(tmp_path / "a.npz", r"z\[1\] is nan"):
        load_solution(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "text", ["1 2.5\n-3", "1,2.5,-3\n", "1; 2.5; -3", "[1, 2.5, -3]", ' {"z": [1, 2.5, -3]}', '{"impulse":[1,2.5,-3]}']
)  # fmt: skip
def test_vectors_in_text(text: str, tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text(text)
    assert load_solution(path).tolist() == [1, 2.5, -3]


def test_vectors_in_numpy_files(tmp_path: Path):
    np.save(tmp_path / "a.npy", np.arange(3, dtype=np.int32))
    assert load_solution(tmp_path / "a.npy").tolist() == [0, 1, 2]
    np.savez(tmp_path / "b.npz", z=np.ones(2), impulse=np.zeros(3))
    assert load_solution(tmp_path / "b.npz").tolist() == [0, 0, 0]


def test_solution_of_an_fclib_file(tmp_path: Path):
    path = tmp_path / "a.hdf5"
    save(perp.ContactProblem.coulomb(np.eye(3), [1.0, 2, 3], 0.5), path)
    with refusal(path, "has no impulse"):
        load_solution(path)
    with h5py.File(path, "a") as file:
        file["solution/r"] = np.array([1.0, 2, 3])
    assert load_solution(path).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 2 x", "'x' is not a number"),
        ("1 inf", r"z\[1\] is inf"),
        ("{}", "has no impulse"),
        ('{"z": 3}', "a list of numbers"),
        ('{"z": [1, "2"]}', "a list of numbers"),
        ('{"z": [true]}', "a list of numbers"),
        ('{"z": [NaN]}', r"z\[0\] is nan"),
        ('{"z": [1', "not valid JSON"),
        ("[[1, 2]]", "a list of numbers"),
        ("[" * 100_000, "not valid JSON"),
        (f"[1{'0' * 400}]", "too large"),
        (f"[1{'0' * 5000}]", "not valid JSON"),
    ],
)
def test_refused_text(content: str, message: str, tmp_path: Path):
    path = tmp_path / "a.json"
    path.write_text(content)
    with refusal(path, message):
        load_solution(path)


@pytest.mark.parametrize(
    "array", [np.ones((2, 2)), np.array(1.0), np.array([True]), np.array(["a"]), np.array([1j])]
)
def test_refused_arrays(array: np.ndarray, tmp_path: Path):
    np.save(tmp_path / "a.npy", array)
    with refusal(tmp_path / "a.npy"):
        load_solution(tmp_path / "a.npy")


def test_paths_that_cannot_be_written(tmp_path: Path):
    with refusal(tmp_path / "a.mat", r"use \.npz, \.json"):
        save_solution(answer(), tmp_path / "a.mat")
    with refusal(tmp_path / "no folder" / "a.npz", "cannot be written"):
        save_solution(answer(), tmp_path / "no folder" / "a.npz")
