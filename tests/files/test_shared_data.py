"""Every real file: the right type, its numbers bit for bit, and the same problem after save and load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perp
from files.shared_data import FOLDER, OWN, shared_file, shared_files
from perp.files import load, load_guess, save

TYPES = {"lcp": perp.LCP, "mlcp": perp.BoxedLCP, "relay": perp.BoxedLCP}


def dense(M):
    return M if isinstance(M, np.ndarray) else M.toarray()


def csc(arrays, name):
    """An independent reading of a matrix in compressed columns."""
    data, indices, indptr, shape = (
        arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape")
    )
    M = np.zeros(shape)
    for j in range(shape[1]):
        for k in range(indptr[j], indptr[j + 1]):
            M[indices[k], j] += data[k]
    return M


def test_a_clone_has_a_selection_of_small_files_with_their_origin():
    files = [path for path in OWN.rglob("*") if path.is_file()]
    problems = [path for path in files if path.suffix in (".npz", ".hdf5")]
    assert len(problems) == 84 + 5
    assert {path.relative_to(OWN).as_posix() for path in files} - {
        path.relative_to(OWN).as_posix() for path in problems
    } == {"README.md"}
    assert max(path.stat().st_size for path in files) < 2**20
    assert sum(path.stat().st_size for path in files) < 4 * 2**20
    about = (OWN / "README.md").read_text(encoding="utf-8")
    assert "Siconos" in about
    assert "Apache-2.0" in about
    kinds = {path.name.split("__")[0] for path in problems if path.suffix == ".npz"}
    assert kinds == {"fc2d", "fc3d", "gfc2d", "gfc3d", "grfc3d", "rfc3d", "lcp", "mlcp", "relay"}


def test_all_files_are_there_where_they_lie_beside_the_checkout():
    if not FOLDER.exists():
        pytest.skip("no ../shared/data")
    assert len(list(FOLDER.glob("problems/*.npz"))) >= 87
    for path in (*OWN.rglob("*.hdf5"), *OWN.rglob("*.npz")):
        assert path.read_bytes() == (FOLDER / path.relative_to(OWN)).read_bytes()


@pytest.mark.parametrize("path", shared_files("problems/*.npz"))
def test_npz_of_siconos(path: Path, tmp_path: Path):
    problem: Any = load(path)
    kind = path.name.split("__")[0]
    assert type(problem) is TYPES.get(kind, perp.ContactProblem)
    if isinstance(problem, perp.ContactProblem):
        assert (problem.dynamics is not None) == kind.startswith("g")
    assert_survives(problem, tmp_path)


@pytest.mark.parametrize("path", shared_files("fclib/*.hdf5"))
def test_fclib(path: Path, tmp_path: Path):
    problem: Any = load(path)
    assert isinstance(problem, perp.ContactProblem)
    assert_survives(problem, tmp_path)


def assert_survives(problem, folder: Path):
    save(problem, folder / "copy.npz")
    assert problem.equals(load(folder / "copy.npz"))
    if isinstance(problem, perp.ContactProblem):
        save(problem, folder / "copy.hdf5")
        assert problem.equals(load(folder / "copy.hdf5"))


@pytest.mark.parametrize("path", shared_files("problems/fc*.npz", "problems/rfc*.npz"))
def test_reduced_numbers(path: Path):
    problem: Any = load(path)
    with np.load(path, allow_pickle=False) as arrays:
        assert np.array_equal(problem.q, arrays["q"])
        assert np.array_equal(problem.sets.a, arrays["mu"])
        assert set(problem.sets.dimension) <= {int(arrays["dimension"])}
        if "mu_r" in arrays:
            assert np.array_equal(problem.sets.b, arrays["mu_r"])
        if problem.size < 400:
            assert np.array_equal(dense(problem.W), csc(arrays, "W"))


@pytest.mark.parametrize("path", shared_files("problems/g*fc*.npz"))
def test_global_numbers(path: Path):
    problem: Any = load(path)
    dynamics = problem.dynamics
    with np.load(path, allow_pickle=False) as arrays:
        assert np.array_equal(dynamics.momentum, arrays["q"])
        assert np.array_equal(dynamics.bias, arrays["b"])
        if dynamics.momentum.size < 800:
            assert np.array_equal(dense(dynamics.mass), csc(arrays, "M"))
            assert np.array_equal(dense(dynamics.jacobian).T, csc(arrays, "H"))


@pytest.mark.parametrize("path", shared_files("problems/mlcp*.npz"))
def test_mixed_numbers(path: Path):
    problem: Any = load(path)
    with np.load(path, allow_pickle=False) as arrays:
        M, comp = arrays["M"], arrays["is_comp"]
        assert np.array_equal(problem.q, arrays["q"])
        assert np.array_equal(problem.lo, np.where(comp, 0.0, -np.inf))
        assert np.all(problem.hi == np.inf)
        if M.shape[0] == M.shape[1]:
            assert np.array_equal(problem.M, M)


def test_rectangular_mixed_problem_is_squared_up():
    problem: Any = load(shared_file("problems/mlcp__Rectangular_mlcp.npz"))
    # Rows: equation, complementary, equation. Variables: free, complementary, and one that is in no row.
    assert problem.M.tolist() == [[1, -1, 0], [-1, -1, 0], [1, 1, 0]]
    assert problem.lo.tolist() == [-np.inf, 0, -np.inf]


@pytest.mark.parametrize("path", shared_files("problems/relay*.npz"))
def test_relay_numbers(path: Path):
    problem: Any = load(path)
    with np.load(path, allow_pickle=False) as arrays:
        for name, key in (("M", "M"), ("q", "q"), ("lo", "lb"), ("hi", "ub")):
            assert np.array_equal(getattr(problem, name), arrays[key])


@pytest.mark.parametrize(
    ("fclib", "npz"),
    [
        ("Capsules-i97-269", "fc3d__Capsules-i97-269"),
        ("local_problem_test", "fc3d__local_problem_test"),
        ("Box_Stacks-i0035-31-0", "gfc3d__Box_Stacks-i0035-31-0"),
        ("Chute-ndof-768-nc-4-3", "grfc3d__Chute-ndof-768-nc-4-3"),
    ],
)
def test_two_files_of_one_problem(fclib: str, npz: str):
    first, second = shared_file(f"fclib/{fclib}.hdf5"), shared_file(f"problems/{npz}.npz")
    assert load(first).equals(load(second))
    guesses, others = load_guess(first), load_guess(second)
    assert guesses.keys() == others.keys()
    assert all(np.array_equal(guesses[name], others[name]) for name in guesses)


def test_half_a_mass_is_completed():
    problem: Any = load(shared_file("fclib/CubeH8.hdf5"))
    mass = problem.dynamics.mass
    with np.load(shared_file("problems/gfc3d__CubeH8.npz"), allow_pickle=False) as arrays:
        assert np.array_equal(mass.toarray(), csc(arrays, "M"))
    assert abs(mass - mass.T).max() == 0


def test_guesses():
    guesses = load_guess(shared_file("fclib/Capsules-i97-269.hdf5"))
    # The stored solution of this file has impulses that are all zero: it is left out.
    assert set(guesses) == {"guess_r", "guess_u"}
    assert guesses["guess_r"].shape == (648,)
    assert guesses["guess_r"].any()
    assert load_guess(shared_file("problems/lcp__lcp_CPS_1.npz")) == {}
