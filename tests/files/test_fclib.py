"""FCLib files: every group and every storage form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

import perp
from files.refusal import refusal
from perp.files import load, load_guess

FORMS = ("columns", "rows", "triplets", "reserved")
W = sp.csr_array(np.array([[2.0, 0.1, 0], [0.2, 3, 0], [0, 0.3, 4]]))
MASS = sp.csr_array(np.array([[2.0, 0.5, 0, 0], [0.5, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4]]))
J = sp.csr_array(np.array([[1.0, 0, 0, 0.5], [0, 2, 0, 0], [0, 0, 3, 0]]))


def opened(path: Path) -> Any:
    return h5py.File(path, "a")


def put_matrix(group: h5py.Group, M, form: str) -> None:
    """A matrix as FCLib writes it; "reserved" is triplets with room for more, as old versions left it."""
    spare = 4 if form == "reserved" else 0
    if form in ("columns", "rows"):
        C = sp.csc_array(M) if form == "columns" else sp.csr_array(M)
        nz, p, i, x = (-1 if form == "columns" else -2), C.indptr, C.indices, C.data
    else:
        C = sp.coo_array(M)
        nz, p, i = C.nnz, C.col, C.row
        x = np.append(C.data, np.zeros(spare))
    for name, value in (("m", M.shape[0]), ("n", M.shape[1]), ("nz", nz), ("nzmax", C.nnz + spare)):
        group[name] = np.array([value], dtype=np.int32)
    group["p"], group["i"], group["x"] = np.int32(p), np.int32(i), x


def write(path: Path, group: str, matrices: dict, vectors: dict, *, dimension: int = 3, form: str = "rows"):
    with h5py.File(path, "w") as file:
        file[f"{group}/spacedim"] = np.array([dimension], dtype=np.int32)
        for name, M in matrices.items():
            put_matrix(file.create_group(f"{group}/{name}"), M, form)
        for name, value in vectors.items():
            file[f"{group}/vectors/{name}"] = np.asarray(value, dtype=float)
    return path


LOCAL = ({"W": W}, {"q": [-1, 0.5, 0], "mu": [0.7]})
GLOBAL = ({"M": MASS, "H": J.T}, {"f": [1, 2, 3, 4], "w": [0.1, 0.2, 0.3], "mu": [0.7]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.hdf5"


@pytest.mark.parametrize("form", FORMS)
def test_local(form: str, path: Path):
    problem = load(write(path, "fclib_local", *LOCAL, form=form))
    assert problem.equals(perp.ContactProblem.coulomb(W, [-1, 0.5, 0], [0.7]))


@pytest.mark.parametrize("form", FORMS)
def test_global(form: str, path: Path):
    problem = load(write(path, "fclib_global", *GLOBAL, form=form))
    expected = perp.ContactProblem.from_dynamics(MASS, J, [1, 2, 3, 4], [0.1, 0.2, 0.3], [perp.Coulomb(0.7)])
    assert problem.equals(expected)


def test_plane(path: Path):
    vectors = {"q": [1, 2], "mu": [0.7]}
    problem = load(write(path, "fclib_local", {"W": W[:2, :2]}, vectors, dimension=2))
    assert problem.equals(perp.ContactProblem.coulomb(W[:2, :2], [1, 2], [0.7], dimension=2))


@pytest.mark.parametrize("kind", ["local", "global"])
def test_rolling(kind: str, path: Path):
    vectors = {"mu": [0.7], "mu_r": [0.1]}
    sets = [perp.Rolling(0.7, 0.1)]
    if kind == "local":
        matrices, more = {"W": sp.eye_array(5)}, {"q": np.ones(5)}
        expected = perp.ContactProblem(sp.eye_array(5), np.ones(5), sets)
    else:
        H = sp.random_array((4, 5), density=0.6, rng=np.random.default_rng(0))
        matrices, more = {"M": MASS, "H": H}, {"f": np.ones(4), "w": np.zeros(5)}
        expected = perp.ContactProblem.from_dynamics(MASS, H.T, np.ones(4), np.zeros(5), sets)
    problem = load(write(path, f"fclib_{kind}_rolling", matrices, vectors | more, dimension=5))
    assert problem.equals(expected)


def test_bilateral_rows_of_a_global_problem_come_last(path: Path):
    G = sp.csc_array(np.array([[0.0], [0], [1], [-1]]))
    matrices, vectors = GLOBAL
    problem = load(write(path, "fclib_global", matrices | {"G": G}, vectors | {"b": [0.4]}, form="columns"))
    assert isinstance(problem, perp.ContactProblem)
    assert problem.sets.kinds() == {"Free": 1, "Coulomb": 1}
    r, multiplier = np.array([1.0, 0.2, 0.1]), 0.7
    v = np.linalg.solve(MASS.toarray(), J.T @ r + G.toarray()[:, 0] * multiplier + [1, 2, 3, 4])
    u = problem.evaluate(np.append(r, multiplier))
    assert np.allclose(u[:3], J @ v + [0.1, 0.2, 0.3])
    assert np.allclose(u[3:], G.T @ v + [0.4])


def test_bilateral_rows_of_a_local_problem_come_last(path: Path):
    V, R = sp.csr_array(np.array([[0.5], [0], [1]])), sp.csr_array(np.array([[2.0]]))
    matrices, vectors = LOCAL
    problem = load(write(path, "fclib_local", matrices | {"V": V, "R": R}, vectors | {"s": [0.4]}))
    assert isinstance(problem, perp.ContactProblem)
    r, multiplier = np.array([1.0, 0.2, 0.1]), np.array([0.7])
    u = problem.evaluate(np.append(r, multiplier))
    assert np.allclose(u[:3], W @ r + V @ multiplier + vectors["q"])
    assert np.allclose(u[3:], V.T @ r + R @ multiplier + [0.4])


def test_half_a_mass(path: Path):
    matrices, vectors = GLOBAL
    problem: Any = load(write(path, "fclib_global", matrices | {"M": sp.csr_array(sp.tril(MASS))}, vectors))
    assert np.array_equal(problem.dynamics.mass.toarray(), MASS.toarray())


def test_guesses(path: Path):
    write(path, "fclib_local", *LOCAL)
    with opened(path) as file:
        file["guesses/1/r"], file["guesses/1/u"], file["guesses/1/l"] = (
            np.ones(3),
            np.ones(3),
            np.array([2.0]),
        )
        file["solution/r"], file["solution/u"] = np.zeros(3), np.ones(3)
    guesses = load_guess(path)
    assert {name: vector.tolist() for name, vector in guesses.items()} == {
        "guess_r": [1, 1, 1, 2],
        "guess_u": [1, 1, 1, 0],
    }
    with opened(path) as file:
        file["solution/r"][1] = 0.5
    assert load_guess(path)["sol_r"].tolist() == [0, 0.5, 0]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("spacedim", [4], "dimension = 4"),
        ("spacedim", [3, 3], "spacedim has 2 entries"),
        ("spacedim", [3.0], "whole numbers are needed"),
        ("W/nz", [-3], "nz = -3 is not a storage form"),
        ("W/nz", [2], "has 6 rows and 4 columns of triplets"),
        ("W/nz", [2**31 - 1], "has 6 rows and 4 columns of triplets"),
        ("W/m", [10**9], r"W has shape \(1000000000, 3\)"),
        ("W/m", [-3], "W has shape"),
        ("W/p", [0, 2, 1, 6], "do not start at 0 and grow"),
        ("W/p", [0, 2, 4, 10**9], "it needs 1000000000"),
        ("W/i", [0, 1, 0, 1, 1, 3], r"indices\[5\] = 3 is out of range"),
        ("W/x", [1.0, 2], "has 2 values"),
        ("W/x", [np.nan] * 6, "every entry must be finite"),
        ("W/x", [["a", "b"]], "entries of another type"),
        ("W/x", [[1.0] * 3] * 2, "a vector is needed"),
        ("vectors/q", None, "has no fclib_local/vectors/q"),
        ("vectors", None, "has no fclib_local/vectors/q"),
        ("vectors/mu", [-1.0], "is negative"),
    ],
)
def test_damaged_content(name: str, value, message: str, path: Path):
    write(path, "fclib_local", *LOCAL)
    with opened(path) as file:
        del file[f"fclib_local/{name}"]
        if value is not None:
            file[f"fclib_local/{name}"] = value
    with refusal(path, message):
        load(path)


def test_no_problem_and_two_problems(path: Path):
    with h5py.File(path, "w") as file:
        file["x"] = 1
    with refusal(path, "not an FCLib file"):
        load(path)
    write(path, "fclib_local", *LOCAL)
    with opened(path) as file:
        file["fclib_global/spacedim"] = 3
    with refusal(path, "several problems: fclib_local, fclib_global"):
        load(path)


@pytest.mark.parametrize("size", [-1, 0, 1, 2, 3, 7, 2**62])
def test_a_false_layout_mark_is_ignored(size: int, path: Path):
    write(path, "fclib_local", *LOCAL)
    with opened(path) as file:
        file["fclib_local/W"].attrs["perp_block_size"] = size
    assert load(path).equals(perp.ContactProblem.coulomb(W, [-1, 0.5, 0], [0.7]))


@pytest.mark.parametrize("options", [{"compression": "gzip"}, {"shuffle": True}, {"fletcher32": True}, {}])
def test_repacked_files_are_read(options: dict, path: Path):
    write(path, "fclib_local", *LOCAL)
    with opened(path) as file:
        for name in ("W/x", "W/i", "vectors/q"):
            value = file[f"fclib_local/{name}"][()]
            del file[f"fclib_local/{name}"]
            file.create_dataset(f"fclib_local/{name}", data=value, chunks=(2,), **options)
    assert load(path).equals(perp.ContactProblem.coulomb(W, [-1, 0.5, 0], [0.7]))
