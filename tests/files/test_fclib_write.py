"""FCLib files out: the problem comes back bit for bit, and others can read the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

import generators
import perp
from files.refusal import refusal
from perp.files import load, save

W = sp.csr_array(np.array([[2.0, 0.1, 0], [0.2, 3, 0], [0, 0.3, 4]]))
MASS = sp.csr_array(np.array([[2.0, 0.5, 0, 0], [0.5, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4]]))
J = sp.csr_array(np.array([[1.0, 0, 0, 0.5], [0, 2, 0, 0], [0, 0, 3, 0]]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.hdf5"


def contacts(*sets, dense: bool = True, seed: int = 0) -> perp.ContactProblem:
    rows = sum(member.dimension for member in sets)
    M = generators.spd(rows, np.random.default_rng(seed))
    return perp.ContactProblem(M if dense else sp.csr_array(M), np.linspace(-1, 1, rows), sets)


def bodies(mass, jacobian, *sets, **options) -> perp.ContactProblem:
    rows, n = jacobian.shape
    return perp.ContactProblem.from_dynamics(
        mass, jacobian, np.arange(n) / 3, np.arange(rows) / 7, sets, **options
    )


BLOCKS = np.array([generators.spd(2, np.random.default_rng(k)) for k in range(2)])
HELD = {
    "dense W": contacts(perp.Coulomb(0.5), perp.Coulomb(0.1)),
    "plane": contacts(perp.Coulomb(0.5, 2), perp.Coulomb(0.1, 2)),
    "sparse W": contacts(perp.Coulomb(0.5), dense=False),
    "rolling": contacts(perp.Rolling(0.5, 0.01), perp.Rolling(0.2, 0)),
    "dense with joints": contacts(perp.Coulomb(0.5), perp.Free(), perp.Free()),
    "sparse with joints": contacts(perp.Coulomb(0.5), perp.Free(), dense=False),
    "joints only": contacts(perp.Free(), perp.Free()),
    "nothing": contacts(),
    "unsymmetric W": perp.ContactProblem.coulomb(W, [0, 1, 2], [0.3]),
    "sparse bodies": bodies(MASS, J, perp.Coulomb(0.5)),
    "dense bodies": bodies(MASS.toarray(), J.toarray(), perp.Coulomb(0.5)),
    "blocks": bodies(BLOCKS, J, perp.Coulomb(0.5)),
    "blocks and dense J": bodies(BLOCKS, J.toarray(), perp.Coulomb(0.5, 2), perp.Free()),
    "explicit zeros": bodies(sp.csr_array(([1.0, 0, 0, 2], [0, 1, 0, 1], [0, 2, 4]), shape=(2, 2)),
                             sp.csr_array(np.ones((3, 2))), perp.Coulomb(0.5)),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_round_trip(name: str, path: Path):
    problem = HELD[name]
    save(problem, path)
    assert problem.equals(load(path))


def test_same_problem_same_bytes(tmp_path: Path):
    for name in ("a.h5", "b.h5"):
        save(HELD["blocks"], tmp_path / name)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_layout_is_that_of_fclib(path: Path):
    save(HELD["sparse bodies"], path)
    with h5py.File(path) as file:
        group: Any = file["fclib_global"]
        expected = {
            "M/m": [4],
            "M/n": [4],
            "M/nz": [-1],
            "H/m": [4],
            "H/n": [3],
            "H/nz": [-1],
            "spacedim": [3],
        }
        for name, value in expected.items():
            dataset = group[name]
            assert (dataset.dtype, dataset[()].tolist()) == (np.int32, value)
        parts = [group[f"H/{part}"][()] for part in "xip"]
        assert np.array_equal(sp.csc_array(tuple(parts), shape=(4, 3)).toarray(), J.T.toarray())
        assert group["vectors/mu"][()].tolist() == [0.5]


REFUSED = {
    "an LCP": (perp.LCP(np.eye(2), [1, 2]), "holds contact problems, not type LCP: use .npz"),
    "frictionless": (contacts(perp.Nonnegative()), "Coulomb or Rolling, not Sets"),
    "two kinds": (contacts(perp.Coulomb(0.1), perp.Rolling(0.1, 0.1)), "contacts of one kind"),
    "two dimensions": (contacts(perp.Coulomb(0.1), perp.Coulomb(0.1, 2)), "contacts of one kind"),
    "joints first": (contacts(perp.Free(), perp.Coulomb(0.1)), "after the contacts only"),
    "relaxed": (HELD["dense W"].as_relaxed(), "no mark for a relaxed problem"),
    "compliance": (bodies(MASS, J, perp.Coulomb(0.5), compliance=0.1), "no place for compliance"),
    "one-sided mass": (
        bodies(sp.csr_array(np.array([[1, 1e-9], [0, 1]])), sp.csr_array(np.ones((3, 2))), perp.Coulomb(1.0)),
        "one side of the diagonal",
    ),
    "unsymmetric joints": (
        perp.ContactProblem(np.arange(16.0).reshape(4, 4), np.zeros(4), [perp.Coulomb(1.0), perp.Free()]),
        "of a symmetric W only",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, path: Path):
    problem, message = REFUSED[name]
    with refusal(path, message):
        save(problem, path)
    assert not path.exists()
    save(problem, path.with_suffix(".npz"))  # which the message advises
    assert problem.equals(load(path.with_suffix(".npz")))
