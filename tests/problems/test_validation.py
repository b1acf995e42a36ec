"""Bad input: every error names the argument, the index and the value, before anything is solved."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import perp

EYE = np.eye(3)
ONES = np.ones(3)
NAN_MATRIX = np.array([[1.0, 0, 0], [0, 1, np.nan], [0, 0, 1]])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: perp.LCP(NAN_MATRIX, ONES), r"M\[1, 2\] is nan"),
        (lambda: perp.LCP(sp.csr_array(NAN_MATRIX), ONES), r"M\[1, 2\] is nan"),
        (lambda: perp.LCP(EYE, [0, np.inf, 0]), r"q\[1\] is inf"),
        (lambda: perp.LCP(np.ones((2, 3)), ONES), r"M has shape \(2, 3\): a square"),
        (lambda: perp.LCP(sp.csr_array(np.ones((2, 3))), ONES), r"M has shape \(2, 3\): a square"),
        (lambda: perp.LCP(ONES, ONES), r"M has shape \(3,\): a two-dimensional"),
        (lambda: perp.LCP(EYE, np.ones(4)), r"q has 4 entries: it needs 3"),
        (lambda: perp.LCP(EYE, np.ones((3, 1))), r"q has shape \(3, 1\): a one-dimensional"),
        (lambda: perp.LCP(EYE * 1j, ONES), r"M has entries of type complex128"),
        (lambda: perp.LCP(EYE, ["a", "b", "c"]), r"q has entries of type <U1"),
        (lambda: perp.LCP([[1, 2], [3]], [1, 2]), r"M is not an array of numbers"),
        (lambda: perp.LCP(EYE, None), r"q has entries of type object"),
        (lambda: perp.BoxedLCP(EYE, ONES, [0, 1, 0], [1, 0, 1]), r"lo\[1\] = 1.0 is greater than hi\[1\] = 0.0"),
        (lambda: perp.BoxedLCP(EYE, ONES, np.nan, 1), r"lo\[0\] is nan"),
        (lambda: perp.BoxedLCP(EYE, ONES, np.inf, np.inf), r"lo\[0\] = inf, hi\[0\] = inf: no number"),
        (lambda: perp.BoxedLCP(EYE, ONES, -1, [1, 1]), r"hi has 2 entries: it needs 3"),
        (lambda: perp.BoxedLCP(EYE, ONES, -1, 1, friction_index=[-1, 3, 0]), r"friction_index\[1\] = 3 is out of range"),
        (lambda: perp.BoxedLCP(EYE, ONES, -1, 1, friction_index=[-1, -2, 0]), r"friction_index\[1\] = -2 is out of"),
        (lambda: perp.BoxedLCP(EYE, ONES, -1, 1, friction_index=[-1, 1, 0]), r"friction_index\[1\] = 1 points to itself"),
        (lambda: perp.BoxedLCP(EYE, ONES, -1, 1, friction_index=[-1, 0, 1]), r"friction_index\[2\] = 1 .* itself limited"),
        (lambda: perp.BoxedLCP(EYE, ONES, -1, 1, friction_index=[-1, 0.5, 0]), r"whole numbers"),
        (lambda: perp.BoxedLCP(EYE, ONES, -1, 1, friction_index=[0]), r"friction_index has shape \(1,\)"),
        (lambda: perp.BoxedLCP(EYE, ONES, -1, np.inf, friction_index=[-1, 0, 0]), r"hi\[1\] = inf.*finite bounds"),
        (lambda: perp.MCP(lambda z: z, [0], [1], 3), r"jacobian is int"),
        (lambda: perp.MCP(lambda z: z[:1], [0, 0], [1, 1], lambda z: EYE), r"f\(z\) has shape \(1,\)"),
        (lambda: perp.MCP(lambda z: z, [2, 0], [1, 1], lambda z: EYE), r"lower\[0\] = 2.0 is greater"),
        (lambda: perp.Coulomb(-0.1), r"Coulomb.mu = -0.1 is negative"),
        (lambda: perp.Coulomb(np.nan), r"Coulomb.mu is nan"),
        (lambda: perp.Coulomb("x"), r"Coulomb.mu is 'x'"),
        (lambda: perp.Coulomb(0.5, dimension=4), r"Coulomb.dimension = 4"),
        (lambda: perp.Elliptic(0.1, -1), r"Elliptic.mu\[1\] = -1.0 is negative"),
        (lambda: perp.Rolling(0.1, np.nan), r"Rolling.mu_r is nan"),
        (lambda: perp.Box(1, 0), r"Box lo = 1.0, hi = 0.0"),
        (lambda: perp.ContactProblem(EYE, ONES, [perp.Coulomb(0.1), perp.Free()]), r"sets have 4 rows .*: 3 rows are"),
        (lambda: perp.ContactProblem(EYE, ONES, ["Coulomb"]), r"sets\[0\] is str"),
        (lambda: perp.ContactProblem.coulomb(EYE, ONES, [-0.5]), r"mu\[0\] = -0.5 is negative"),
        (lambda: perp.ContactProblem.coulomb(EYE, ONES, [0.5, 0.5]), r"sets have 6 rows"),
        (lambda: perp.ContactProblem.coulomb(EYE, ONES, 0.5, dimension=7), r"dimension"),
        (lambda: perp.ContactProblem.coulomb(EYE[:2], ONES, 0.5), r"W has shape \(2, 3\)"),
        (lambda: perp.Sets.from_arrays([9], [[0, 0]], [1]), r"kind\[0\] = 9"),
        (lambda: perp.Sets.from_arrays([3], [[0.1, 0]], [5]), r"dimension\[0\] = 5 does not fit Coulomb"),
        (lambda: perp.Sets.from_arrays([2], [[1.0, 0]], [1]), r"Box at constraint 0: lo = 1.0"),
    ],
)  # fmt: skip
def test_bad_problem_is_refused_by_name(build, message):
    with pytest.raises(perp.ProblemError, match=message):
        build()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.array([[1.0, 0.5], [0, 1]]), np.eye(2)[:1], np.ones(2)), r"mass\[0, 1\] = 0.5 but the opposite entry is 0.0"),
        ((sp.csr_array([[1.0, 0.5], [0, 1]]), np.eye(2)[:1], np.ones(2)), r"mass\[.*\] = .* a mass is symmetric"),
        ((np.array([[[1.0, 0.5], [0, 1]]]), np.eye(2)[:1], np.ones(2)), r"mass\[0, 0, 1\]"),
        ((np.diag([1.0, -1]), np.eye(2)[:1], np.ones(2)), r"mass\[1, 1\] = -1.0: a mass is positive"),
        ((np.eye(2), np.eye(3)[:1], np.ones(2)), r"jacobian has 3 columns: it needs 2"),
        ((np.eye(2), np.eye(2)[:1], np.ones(3)), r"momentum has 3 entries: it needs 2"),
        ((np.eye(2), np.eye(2)[:1], np.ones(2), np.ones(2)), r"bias has 2 entries: it needs 1"),
        ((np.ones((1, 2, 3)), np.eye(2)[:1], np.ones(2)), r"mass has shape \(1, 2, 3\)"),
    ],
)  # fmt: skip
def test_bad_dynamics_is_refused_by_name(arguments, message):
    mass, jacobian, momentum, *bias = arguments
    with pytest.raises(perp.ProblemError, match=message):
        perp.ContactProblem.from_dynamics(mass, jacobian, momentum, *(bias or [0.0]), sets=[perp.Free()])


def test_negative_compliance_is_refused():
    with pytest.raises(perp.ProblemError, match=r"compliance\[0\] = -1.0 is negative"):
        perp.ContactProblem.from_dynamics(EYE, EYE[:1], ONES, sets=[perp.Free()], compliance=-1)


@pytest.mark.parametrize(
    "mass", [np.array([[1.0, 2], [2, 1]]), sp.csr_array([[1.0, 2], [2, 1]]), np.array([[[1.0, 2], [2, 1]]])]
)
def test_indefinite_mass_is_reported_when_it_is_first_used(mass):
    problem = perp.ContactProblem.from_dynamics(mass, np.eye(2), np.ones(2), sets=[perp.Free(), perp.Free()])
    with pytest.raises(perp.ProblemError, match="mass is not positive definite"):
        _ = problem.W


def test_integers_float32_and_lists_are_converted():
    for M, q in (
        ([[2, 1], [1, 2]], [-5, -6]),
        (np.array([[2, 1], [1, 2]], dtype=np.float32), np.array([-5, -6], dtype=np.int8)),
    ):
        problem = perp.LCP(M, q)
        assert problem.M.dtype == problem.q.dtype == np.float64
        np.testing.assert_allclose(perp.solve(problem, "lemke").z, [4 / 3, 7 / 3], rtol=1e-15)


def test_read_only_and_strided_arrays_are_accepted_and_never_modified():
    big = np.arange(64.0).reshape(8, 8) + 100 * np.eye(8)
    M, q = big[::2, ::2], -np.arange(16.0)[::4]
    assert not M.flags.c_contiguous
    M_before, q_before = M.copy(), q.copy()
    big.flags.writeable = False
    q.flags.writeable = False
    for copy in (True, False):
        solution = perp.solve(perp.LCP(M, q, copy=copy), "pgs")
        assert solution.solved
    np.testing.assert_array_equal(M, M_before)
    np.testing.assert_array_equal(q, q_before)


@pytest.mark.parametrize("sparse", [False, True])
def test_problems_are_frozen(sparse):
    M, q = EYE.copy(), -ONES.copy()
    problem = perp.LCP(sp.csr_array(M) if sparse else M, q)
    q[0] = np.nan
    assert problem.q[0] == -1
    with pytest.raises(AttributeError):
        problem.q = ONES  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        problem.q[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        (problem.M.data if sparse else problem.M)[0] = 1


def test_sparse_input_is_made_canonical_without_touching_the_original():
    duplicated = sp.csr_array(
        (np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2)
    )
    before = duplicated.data.copy()
    for copy in (True, False):
        problem = perp.LCP(duplicated, [1, 1], copy=copy)
        np.testing.assert_array_equal(problem.M.toarray(), [[0, 3], [5, 0]])
        assert problem.M.indices.dtype == np.int32
    np.testing.assert_array_equal(duplicated.data, before)


def test_explicit_zeros_are_kept():
    M = sp.coo_array((np.array([0.0, 1.0]), (np.array([0, 1]), np.array([1, 1]))), shape=(2, 2))
    assert perp.LCP(M, [1, 1]).M.nnz == 2


def test_empty_problems_are_valid_and_solved():
    empty = np.zeros((0, 0))
    for problem in (
        perp.LCP(empty, []),
        perp.LCP(sp.csr_array((0, 0)), []),
        perp.BoxedLCP(empty, [], [], []),
        perp.ContactProblem(empty, [], []),
        perp.ContactProblem.coulomb(empty, [], []),
        perp.ContactProblem.from_dynamics(np.eye(2), np.zeros((0, 2)), np.ones(2)),
        perp.MCP.affine(empty, [], [], []),
    ):
        solution = perp.solve(problem)
        assert solution.solved
        assert solution.residual == 0
        assert solution.z.shape == (0,)


def test_from_ax_b_converts_the_sign():
    A, b = np.array([[2.0, 0], [0, 4]]), np.array([2.0, -4])
    problem = perp.BoxedLCP.from_ax_b(A, b, -10, 10)
    np.testing.assert_array_equal(problem.q, -b)
    np.testing.assert_allclose(perp.solve(problem).z, [1, -1])


def test_a_friction_chain_is_refused_even_when_written_backwards():
    with pytest.raises(perp.ProblemError, match="itself limited"):
        perp.BoxedLCP(EYE, ONES, -1, 1, friction_index=[1, 2, -1])
