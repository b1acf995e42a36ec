"""perp's own layout: bit for bit, the same bytes for the same problem, never pickled."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import generators
import perp
from files.refusal import refusal
from perp.files import load, save
from perp.files.arrays import open_archive

# The smallest subnormal, both zeros, and numbers without a short decimal form.
AWKWARD = np.array([5e-324, -0.0, 0.0, 1 / 3, -1e308])
SPARSE = sp.csr_array(np.array([[2.0, 0, 0.5], [0, 0, 0], [-0.5, 0, 4]]))
EXPLICIT_ZERO = sp.csr_array(([1.0, 0.0, -0.0], [0, 1, 1], [0, 2, 3]), shape=(2, 2))


def mixture(**options) -> perp.ContactProblem:
    sets = [perp.Free(), perp.Nonnegative(), perp.Box(-np.inf, 2.0), perp.Coulomb(0.5), perp.Coulomb(0.2, 2)]
    sets += [perp.Elliptic(0.1, 0.9), perp.Rolling(0.3, 0.01)]
    rows = sum(member.dimension for member in sets)
    W = generators.spd(rows, np.random.default_rng(3))
    return perp.ContactProblem(W, np.linspace(-1, 1, rows), sets, **options)


def dynamics(mass, *, sparse: bool, compliance: float = 0.0) -> perp.ContactProblem:
    J = np.random.default_rng(4).standard_normal((6, 4))
    return perp.ContactProblem.from_dynamics(
        mass,
        sp.csr_array(J) if sparse else J,
        np.arange(4.0),
        np.linspace(0, 1, 6),
        [perp.Coulomb(0.5), perp.Elliptic(0.5, 0.6)],
        compliance=compliance,
    )


PROBLEMS = {
    "LCP": generators.lcp(5),
    "empty LCP": perp.LCP(np.zeros((0, 0)), []),
    "sparse LCP": perp.LCP(SPARSE, [1.0, -2.0, 0.0]),
    "LCP with awkward numbers": perp.LCP(np.diag(AWKWARD), AWKWARD),
    "LCP with explicit zeros": perp.LCP(EXPLICIT_ZERO, [0.0, -0.0]),
    "boxed": generators.boxed(12),
    "sparse boxed": perp.BoxedLCP(SPARSE, [1.0, 2, 3], -np.inf, [0.0, np.inf, 1]),
    "friction index": perp.BoxedLCP(
        np.eye(3), [1.0, 2, 3], [0.0, -0.5, -0.5], [np.inf, 0.5, 0.5], friction_index=[-1, 0, 0]
    ),
    "affine MCP": perp.MCP.affine(np.eye(2), [1.0, 2], [0.0, -np.inf], [np.inf, 3]),
    "sparse MCP with start": perp.MCP.affine(SPARSE, [1.0, 2, 3], 0.0, np.inf, start=[1.0, 2, 3]),
    "mixture of sets": mixture(),
    "relaxed": mixture(relaxed=True),
    "sparse W": perp.ContactProblem.coulomb(SPARSE, [-1.0, 0, 0], 0.3),
    "no contacts": perp.ContactProblem.coulomb(np.zeros((0, 0)), [], []),
    "dense mass": dynamics(generators.spd(4, np.random.default_rng(0)), sparse=False),
    "blocks of mass": dynamics(np.array([np.eye(2), 3 * np.eye(2)]), sparse=True, compliance=0.25),
    "sparse mass": dynamics(sp.diags_array([1.0, 2, 3, 4]), sparse=True),
    "dynamics of every set": generators.contact(9, 2),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_round_trip(name: str, tmp_path: Path):
    problem = PROBLEMS[name]
    save(problem, tmp_path / "a.npz")
    again = load(tmp_path / "a.npz")
    assert type(again) is type(problem)
    assert problem.equals(again)
    save(again, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_start_of_an_mcp_survives(tmp_path: Path):
    save(PROBLEMS["sparse MCP with start"], tmp_path / "a.npz")
    again = load(tmp_path / "a.npz")
    assert isinstance(again, perp.MCP)
    assert again.start is not None
    assert again.start.tolist() == [1, 2, 3]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 6).flatmap(lambda n: st.tuples(
    arrays.arrays(np.float64, (n, n), elements=st.floats(allow_nan=False, allow_infinity=False)),
    arrays.arrays(np.float64, n, elements=st.floats(allow_nan=False, allow_infinity=False)),
)))  # fmt: skip
def test_any_lcp_round_trips(tmp_path_factory: pytest.TempPathFactory, data):
    folder = tmp_path_factory.mktemp("any")
    for M in (data[0], sp.csr_array(data[0])):
        problem = perp.LCP(M, data[1])
        save(problem, folder / "a.npz")
        assert problem.equals(load(folder / "a.npz"))


def test_numpy_reads_it_without_pickle(tmp_path: Path):
    save(PROBLEMS["sparse boxed"], tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        assert archive["perp_format"] == 1
        assert archive["perp_kind"] == "BoxedLCP"
        assert archive["hi"].tolist() == [0, np.inf, 1]
        assert archive["M_indptr"].tolist() == [0, 2, 2, 4]


def test_functions_cannot_be_saved(tmp_path: Path):
    problem = perp.MCP(lambda z: z, [0.0], [np.inf], lambda z: np.eye(1))
    with refusal(tmp_path / "a.npz", "nonlinear MCP"):
        save(problem, tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())


class Bomb:
    """Unpickling it would raise."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_pickles_are_not_loaded(tmp_path: Path):
    path = tmp_path / "a.npz"
    np.savez(path, M=np.array([Bomb()], dtype=object), q=np.zeros(1))
    with refusal(path, "M is not an array of numbers"):
        load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("M.npy", pickle.dumps(Bomb()))
        archive.writestr("q.npy", b"")
    with refusal(path, "M is not a NumPy array"):
        load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"perp_format": np.array(2)}, "layout 2 of perp"),
        ({"perp_format": np.array(1.0)}, "perp_format is not a single whole number"),
        ({"perp_kind": np.array("SQP")}, "holds a 'SQP'"),
        ({"perp_kind": np.array(["LCP", "LCP"])}, "perp_kind is not a single text"),
        ({"M": None}, "has no array 'M_shape'"),
        ({"q": None}, "has no array 'q'"),
        ({"q": np.array(["a"])}, "q is text"),
        ({"q": np.array([1.0, np.nan])}, r"q\[1\] is nan"),
        ({"q": np.array([1j, 1])}, "q is not an array of numbers"),
        ({"q": np.array([1, 2], dtype=np.longdouble)}, "1 to 8 bytes"),
        ({"M": np.zeros((2, 2, 2, 2))}, "claims shape"),
        ({"M": None, "M_shape": np.array([2, -2])}, "M_shape is not a pair of sizes"),
    ],
)
def test_damaged_content(change, message: str, tmp_path: Path):
    path = tmp_path / "a.npz"
    content = {"perp_format": np.array(1), "perp_kind": np.array("LCP"), "M": np.eye(2), "q": np.ones(2)}
    np.savez(path, **{name: value for name, value in (content | change).items() if value is not None})
    with refusal(path, message):
        load(path)


def test_other_byte_orders_types_and_layouts_are_converted(tmp_path: Path):
    path = tmp_path / "a.npz"
    M = np.asfortranarray(np.arange(4, dtype=">i2").reshape(2, 2))
    np.savez_compressed(path, M=M, q=np.array([1, 2], dtype=">f4"))
    assert load(path).equals(perp.LCP([[0, 1], [2, 3]], [1, 2]))
    with open_archive(path) as archive:
        assert archive.read("M").dtype == np.int16
        assert archive.read("M").flags.c_contiguous


def test_too_large_to_be_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("perp.files.arrays.MAX_BYTES", 100)
    with refusal(tmp_path / "a.npz", "at most 100 can be read back"):
        save(PROBLEMS["LCP"], tmp_path / "a.npz")
