"""Siconos problems as plain arrays: told apart by the names of their arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import perp
from files.refusal import refusal
from perp.files import load, load_guess

W = np.array([[2.0, 0.1, 0], [0.2, 3, 0], [0, 0.3, 4]])
H = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3], [0.5, 0, 0]])


def columns(name: str, M: np.ndarray) -> dict[str, np.ndarray]:
    C = sp.csc_array(M)
    parts = {part: getattr(C, part) for part in ("data", "indices", "indptr")}
    return {f"{name}_{part}": np.asarray(value) for part, value in (parts | {"shape": M.shape}).items()}


LOCAL = columns("W", W) | {"q": np.array([-1.0, 0.5, 0]), "mu": np.array([0.7]), "dimension": np.array(3)}
GLOBAL = (
    columns("M", np.diag([1.0, 2, 3, 4]))
    | columns("H", H)
    | {"q": np.arange(4.0), "b": np.array([0.1, 0.2, 0.3]), "mu": np.array([0.7]), "dimension": np.array(3)}
)
MIXED = {"M": W[:, :2], "q": np.arange(3.0), "is_comp": np.array([True, False, False])}


def write(path: Path, arrays: dict) -> Path:
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.npz"


def test_reduced_friction(path: Path):
    expected = perp.ContactProblem.coulomb(sp.csr_array(W), [-1.0, 0.5, 0], [0.7])
    assert load(write(path, LOCAL)).equals(expected)


def test_friction_in_the_plane(path: Path):
    arrays = LOCAL | columns("W", W[:2, :2]) | {"q": np.ones(2), "dimension": np.array(2)}
    expected = perp.ContactProblem.coulomb(sp.csr_array(W[:2, :2]), [1.0, 1], [0.7], dimension=2)
    assert load(write(path, arrays)).equals(expected)


def test_rolling_friction(path: Path):
    arrays = columns("W", np.eye(5)) | {"q": np.ones(5), "mu": np.array([0.7]), "dimension": np.array(5)}
    expected = perp.ContactProblem(sp.eye_array(5), np.ones(5), [perp.Rolling(0.7, 0.1)])
    assert load(write(path, arrays | {"mu_r": np.array([0.1])})).equals(expected)


def test_global_friction(path: Path):
    expected = perp.ContactProblem.from_dynamics(
        sp.csr_array(np.diag([1.0, 2, 3, 4])),
        sp.csr_array(H.T),
        np.arange(4.0),
        [0.1, 0.2, 0.3],
        [perp.Coulomb(0.7)],
    )
    assert load(write(path, GLOBAL)).equals(expected)


def test_lcp_and_relay(path: Path):
    assert load(write(path, {"M": W, "q": np.ones(3)})).equals(perp.LCP(W, [1.0, 1, 1]))
    relay = {"M": W, "q": np.ones(3), "lb": -np.ones(3), "ub": np.array([1.0, 2, np.inf])}
    assert load(write(path, relay)).equals(perp.BoxedLCP(W, [1.0, 1, 1], -1.0, [1, 2, np.inf]))


def test_mixed(path: Path):
    problem = load(write(path, MIXED | {"M": W}))
    inf = np.inf
    assert problem.equals(perp.BoxedLCP(W, np.arange(3.0), [0, -inf, -inf], inf))


def test_rectangular_mixed(path: Path):
    # The complementary row is the first, the complementary variable the second.
    blocks = {"blocks_rows": np.array([0, 1, 2]), "blocks_is_comp": np.array([0, 1])}
    problem = load(write(path, MIXED | blocks))
    assert isinstance(problem, perp.BoxedLCP)
    assert np.array_equal(problem.M, np.column_stack([W[:, 1], W[:, 0], np.zeros(3)]))
    assert problem.lo.tolist() == [0, -np.inf, -np.inf]


def test_guesses(path: Path):
    solved = {"guess_r": np.ones(3), "sol_r": np.array([0.0, 1, 0]), "sol_u": np.zeros(3)}
    guesses = load_guess(write(path, LOCAL | solved))
    assert set(guesses) == {"guess_r", "sol_r", "sol_u"}
    guesses = load_guess(write(path, LOCAL | solved | {"sol_r": np.zeros(3)}))
    assert set(guesses) == {"guess_r"}
    write(path, LOCAL | {"guess_r": np.array([np.nan, 0, 0])})
    with refusal(path, r"guess_r\[0\] is nan"):
        load_guess(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": W}, "no arrays of a problem"),
        ({"M": W}, "no arrays of a problem"),
        (LOCAL | {"q": np.ones(4)}, r"W has shape \(3, 3\): the vectors need \(4, 4\)"),
        (LOCAL | {"W_shape": np.array([3, 10**12])}, "W has shape"),
        (LOCAL | {"W_shape": np.array([3.0, 3.0])}, "W_shape is not a vector of whole numbers"),
        (LOCAL | {"W_indptr": np.array([0, 2, 1, 6])}, "do not start at 0 and grow"),
        (LOCAL | {"W_indptr": np.array([0, 2, 4, 10**12])}, "has 6 entries: it needs 1000000000000"),
        (LOCAL | {"W_indptr": np.array([0, 6])}, "has 2 pointers: it needs 4"),
        (LOCAL | {"W_indices": np.array([0, 1, 0, 1, 2, 3])}, r"indices\[5\] = 3 is out of range"),
        (LOCAL | {"W_indices": np.array([0, 1, 0, 1, 2, -1])}, r"indices\[5\] = -1 is out of range"),
        (LOCAL | {"W_data": np.full(6, np.inf)}, "every entry must be finite"),
        (LOCAL | {"W_data": None}, "no arrays of a problem"),
        (LOCAL | {"mu": np.array([-0.1])}, r"mu\[0\] = -0.1 is negative"),
        (LOCAL | {"mu": np.array([0.1, 0.1])}, "6 rows in 2 constraints: 3 rows are needed"),
        (LOCAL | {"dimension": np.array(4)}, "dimension = 4: 2 or 3 is needed"),
        (LOCAL | {"dimension": np.array(3.5)}, "dimension is not a single whole number"),
        (LOCAL | {"mu_r": np.array([0.1])}, "5 is needed with rolling friction"),
        (GLOBAL | {"b": np.ones(2)}, r"H has shape \(4, 3\): the vectors need \(4, 2\)"),
        (MIXED, "has no array 'blocks_rows'"),
        (
            MIXED | {"blocks_rows": np.array([0, 5, 2]), "blocks_is_comp": np.array([0, 1])},
            "does not divide 2 variables",
        ),
        (
            MIXED | {"blocks_rows": np.array([0, 1, 2]), "blocks_is_comp": np.array([1, 1])},
            "1 complementary rows face 2 complementary variables",
        ),
        (
            MIXED | {"M": W.T[:2], "q": np.ones(2), "is_comp": np.array([True, False])}
            | {"blocks_rows": np.array([0, 1, 3]), "blocks_is_comp": np.array([1, 0])},
            "2 rows cannot determine 3 variables",
        ),
        (MIXED | {"is_comp": np.arange(3)}, "is_comp not a vector of booleans"),
        ({"M": W, "q": np.ones(3), "lb": np.ones(3), "ub": -np.ones(3)}, r"lo\[0\] = 1.0 is greater than hi"),
    ],
)  # fmt: skip
def test_damaged_content(arrays: dict, message: str, path: Path):
    write(path, arrays)
    with refusal(path, message):
        load(path)
