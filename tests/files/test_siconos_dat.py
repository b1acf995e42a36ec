"""Siconos's text format in every storage form; the kind of problem is told from the numbers alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import perp
from files import siconos_text as text
from files.refusal import refusal
from perp.files import load, siconos_dat

RNG = np.random.default_rng(5)
A4 = np.array([[2.0, 0.1, 0, 0], [0.3, 4, 0, 0], [0, 0, 5, -0.25], [0, 0, 0.5, 6]])
A6 = np.kron(np.array([[1, 0], [0.5, 1]]), RNG.standard_normal((3, 3)))
A10 = np.kron(np.eye(2), RNG.standard_normal((5, 5)))
MASS = np.kron(np.eye(2), np.array([[2.0, 0.5], [0.5, 3]]))
H = np.zeros((4, 6))
H[[0, 1, 2, 3, 0], [0, 1, 3, 4, 5]] = [1.0, -2, 0.5, 3, 1 / 3]
Q = RNG.standard_normal(10)


def parse(content: bytes) -> Any:
    return siconos_dat.parse_problem(content)


def dense(M):
    return M if isinstance(M, np.ndarray) else M.toarray()


def local(W, mu, *more, storage="dense", dimension=3) -> str:
    head = f"{dimension}\n{len(mu)}\n" + text.matrix(W, storage, dimension)
    return head + "".join(map(text.vector, (Q[: len(W)], mu, *more)))


def affine(M, *more, storage="dense") -> str:
    return f"{len(M)}\n" + text.matrix(M, storage, 2) + "".join(map(text.vector, (Q[: len(M)], *more)))


def mixed(flags: tuple[int, int], storage="dense") -> str:
    whole = "0 1 4 \n0 1 \n" + text.matrix(A4, storage) + text.vector(Q[:4])
    pieces = [A4[:1, :1], A4[1:, 1:], A4[:1, 1:], A4[1:, :1], Q[:1], Q[1:4]]
    return f"{flags[0]}\n{flags[1]}\n1\n3\n" + whole * flags[0] + "".join(
        text.vector(np.ravel(piece)) for piece in pieces
    ) * flags[1]  # fmt: skip


@pytest.mark.parametrize("storage", text.STORAGES)
def test_friction(storage: str):
    problem = parse(local(A6, [0.3, 0.7], storage=storage).encode())
    assert isinstance(problem, perp.ContactProblem)
    assert np.array_equal(dense(problem.W), A6)
    assert isinstance(problem.W, np.ndarray) == (storage == "dense")
    assert np.array_equal(problem.q, Q[:6])
    assert problem.sets.equals(perp.Sets.coulomb([0.3, 0.7]))


@pytest.mark.parametrize("storage", text.STORAGES)
def test_friction_in_the_plane_and_rolling(storage: str):
    plane = parse(local(A4, [0.3, 0.7], storage=storage, dimension=2).encode())
    assert isinstance(plane, perp.ContactProblem)
    assert plane.sets.equals(perp.Sets.coulomb([0.3, 0.7], dimension=2))
    rolling = parse(local(A10, [0.3, 0.7], [0.1, 0.2], storage=storage, dimension=5).encode())
    assert isinstance(rolling, perp.ContactProblem)
    assert rolling.sets.equals(perp.Sets.rolling([0.3, 0.7], [0.1, 0.2]))
    assert np.array_equal(dense(rolling.W), A10)


def global_text(storage: str = "triplets", mass: np.ndarray = MASS) -> str:
    matrices = text.matrix(mass, storage, 2) + text.matrix(H, storage, 2)
    return "3\n2\n" + matrices + "".join(map(text.vector, (Q[:4], Q[:6], [0.3, 0.7])))


@pytest.mark.parametrize("storage", text.STORAGES)
def test_global_friction(storage: str):
    problem = parse(global_text(storage).encode())
    assert isinstance(problem, perp.ContactProblem)
    assert problem.dynamics is not None
    assert np.array_equal(dense(problem.dynamics.mass), MASS)
    assert np.array_equal(dense(problem.dynamics.jacobian), H.T)
    assert np.array_equal(problem.dynamics.momentum, Q[:4])
    assert np.array_equal(problem.dynamics.bias, Q[:6])


def test_global_friction_of_the_same_size_as_a_local_one():
    # M alone has the shape of W here; what follows it tells the two apart.
    body = text.matrix(np.eye(3), "dense") * 2 + text.vector(-np.ones(3)) + text.vector(np.zeros(3))
    problem = parse(f"3\n1\n{body}{text.vector([0.1])}0\n".encode())
    assert isinstance(problem, perp.ContactProblem)
    assert problem.dynamics is not None


def test_half_a_mass_is_completed():
    problem = parse(global_text(mass=np.triu(MASS)).encode())
    assert np.array_equal(problem.dynamics.mass.toarray(), MASS)


def test_no_contacts():
    for storage in ("dense", "triplets", "columns", "blocks"):
        matrices = text.matrix(MASS, storage, 2) + text.matrix(np.zeros((4, 0)), storage)
        problem = parse(f"2\n0\n{matrices}{text.vector(Q[:4])}\n\n".encode())
        assert (problem.size, problem.dynamics.momentum.size) == (0, 4)


@pytest.mark.parametrize("storage", text.STORAGES)
def test_lcp_and_relay(storage: str):
    lcp = parse(affine(A4, storage=storage).encode())
    assert isinstance(lcp, perp.LCP)
    assert np.array_equal(dense(lcp.M), A4)
    assert np.array_equal(lcp.q, Q[:4])
    relay = parse(affine(A4, -np.ones(4), [1, 2, 3, np.inf], storage=storage).encode())
    assert isinstance(relay, perp.BoxedLCP)
    assert np.array_equal(dense(relay.M), A4)
    assert relay.lo.tolist() == [-1] * 4
    assert relay.hi.tolist() == [1, 2, 3, np.inf]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("storage", ["dense", "triplets", "columns"])
def test_small_lcps_are_not_taken_for_something_else(n: int, storage: str):
    M = np.diag(np.arange(1.0, n + 1))
    problem = parse(affine(M, storage=storage).encode())
    assert problem.equals(perp.LCP(M if storage == "dense" else sp.csr_array(M), Q[:n]))


@pytest.mark.parametrize("flags", [(1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("storage", ["dense", "triplets"])
def test_mixed(flags: tuple[int, int], storage: str):
    problem = parse(mixed(flags, storage).encode())
    assert isinstance(problem, perp.BoxedLCP)
    assert np.array_equal(dense(problem.M), A4)
    assert np.array_equal(problem.q, Q[:4])
    assert problem.lo.tolist() == [-np.inf, 0, 0, 0]


def test_rectangular_mixed_takes_the_end_of_q_from_b():
    # As Siconos writes it: as many entries of q as M has columns, then A, B, C, D, a and b.
    M = np.array([[1.0, -1], [-1, -1], [1, 1]])
    body = text.matrix(M, "dense") + text.vector([0, 1]) + text.vector([1, 1, -1, 1, 0, -1])
    problem = parse(f"1\n1\n1\n1\n0 1 2 \n0 1 \n{body}".encode())
    assert problem.M.tolist() == [[1, 0, -1], [-1, 0, -1], [1, 0, 1]]
    assert problem.q.tolist() == [0, 1, -1]
    assert problem.lo.tolist() == [-np.inf, -np.inf, 0]


def test_what_siconos_ignores_is_ignored():
    for tail in ("0\n", "1\n", "\nRemark 4.1 of z_1 + z_2 = 1\n"):
        assert parse((local(A6, [0.3, 0.7]) + tail).encode()).equals(parse(local(A6, [0.3, 0.7]).encode()))
    assert isinstance(parse((affine(A4) + "\nz_1 = 0 1 2\n").encode()), perp.LCP)
    assert isinstance(parse((mixed((1, 1)) + "1.5 2.5\n").encode()), perp.BoxedLCP)


TEXTS = {
    "friction": local(A6, [0.3, 0.7]),
    "friction, blocks": local(A6, [0.3, 0.7], storage="blocks"),
    "rolling": local(A10, [0.3, 0.7], [0.1, 0.2], dimension=5, storage="columns"),
    "global": global_text(),
    "LCP": affine(A4),
    "LCP, rows": affine(A4, storage="rows"),
    "mixed": mixed((1, 1)),
    "mixed in pieces": mixed((0, 1)),
}


@pytest.mark.parametrize("name", TEXTS)
def test_cut_anywhere(name: str):
    whole = TEXTS[name].encode()
    problem = parse(whole)
    step = max(1, len(whole) // 150)
    for end in {*range(0, len(whole), step), *range(len(whole) - 40, len(whole))}:
        try:
            cut = parse(whole[:end])
        except perp.ProblemError:
            continue
        assert cut.equals(problem)  # only white space, or a part that is there twice, was cut


def test_a_relay_cut_in_its_bounds_is_not_an_lcp():
    whole = affine(A4, -np.ones(4), np.ones(4))
    bounds = len(affine(A4)) + 3
    for end in range(bounds, len(whole) - 2):
        with pytest.raises(perp.ProblemError):
            parse(whole[:end].encode())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a problem in Siconos's text format"),
        ("hello world", "not a problem in Siconos's text format"),
        ("3 1000000000000 0 3000000000000 3000000000000", "not a problem"),
        ("1000000000000\n0\n1000000000000 1000000000000\n", "not a problem"),
        ("3 2 0 600000000000 600000000000 6 6", "has shape"),
        ("3 2 2 6 6 1 CSparse triplet: 6-by-6, nzmax: 9 nnz: 9", "words are needed"),
        ("99999999999999999999999 0", "not a problem"),
        ("-3 1 0 3 3 3 3", "not a problem"),
        (affine(A4).replace("4\n0\n4", "4\n7\n4"), "not a problem"),
        (local(A6, [0.3, 0.7]).replace("0\n6\n6", "0\n6\n5"), r"W has shape \(6, 5\)"),
        (local(A6, [0.3, 0.7]).replace("6\t6", "6\t7"), r"\(6, 6\) and then \(6, 7\)"),
        (local(A6, [0.3, -0.7]), r"mu\[1\] = -0.7 is negative"),
        (local(A6, [0.3, np.nan]), r"mu\[1\] is nan"),
        (local(np.full((6, 6), np.inf), [0.3, 0.7]), "every entry must be finite"),
        (local(A6, [0.3, 0.7]) + "0.5 0.5\n", "2 words are left over"),
        (local(A6, [0.3, 0.7]).replace("e+", "_e+", 1), "is not a number"),
        (global_text().replace("    0 0 :", "    0 9 :", 1), r"columns\[0\] = 9 is out of range"),
        (global_text().replace("    0 0 :", "    0 -1 :", 1), "'-1' is not a whole number"),
        (global_text().replace("    0 0 :", "    0 0 ;", 1), "row column : value"),
        (global_text().replace("4-by-4", "4-by-5", 1), "and then '4-by-5,'"),
        (global_text().replace("nnz: 8", "nnz: 800000000000000000", 1), "words are needed"),
        (global_text().replace("\n1\nCSparse", "\n4\nCSparse", 1), "sparse form 4"),
        (global_text("columns").replace("col 1", "col 2", 1), "column 2 at"),
        (global_text("columns").replace("locations 2 to", "locations 1 to", 1), "column 1 at 1"),
        (global_text("columns").replace("to 1", "to 99999999", 1), "words are needed"),
        (mixed((1, 1)).replace("0 1 4", "0 9 4"), "."),
        (mixed((1, 1)).replace("0 1 \n", "1 1 \n"), "4 complementary variables in blocks, 3 in the head"),
        (affine(A4, [1, 1, 1, 1], [0, 0, 0, 0]), r"lo\[0\] = 1.0 is greater"),
    ],
)
def test_damaged_content(content: str, message: str, tmp_path: Path):
    path = tmp_path / "a.dat"
    path.write_text(content)
    with refusal(path, message):
        load(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("4\n2\n2\n3\t6\n", "4\n2\n2\n6\t3\n"),  # sizes that shrink
        ("3\n4\n0\t2\t4", "3\n4\n0\t4\t2"),  # rows that shrink
        ("3\n4\n0\t2\t4", "3\n4\n0\t2\t9"),  # a row that ends beyond the blocks
        ("0\t1\t0\t1\n", "0\t7\t0\t1\n"),  # a block column that does not exist
        ("0\t1\t0\t1\n0\n", "0\t1\t0\t1\n5\n"),  # blocks that are not in order
        ("4\n2\n2\n", "4\n2000000000\n2\n"),
    ],
)
def test_damaged_blocks(old: str, new: str):
    whole = local(np.ones((6, 6)), [0.3, 0.7], storage="blocks")
    assert old in whole
    with pytest.raises(perp.ProblemError):
        parse(whole.replace(old, new, 1).encode())


def test_empty_block_rows_at_the_end_may_be_left_out():
    W = np.kron(np.diag([1.0, 0]), np.ones((3, 3)))
    whole = local(W, [0.3, 0.7], storage="blocks")
    assert "3\n1\n0\t1\t1\n" in whole
    problem = parse(whole.replace("3\n1\n0\t1\t1\n", "2\n1\n0\t1\n").encode())
    assert np.array_equal(problem.W.toarray(), W)
