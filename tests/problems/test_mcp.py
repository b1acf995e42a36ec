"""The MCP as people have it: single bounds, no Jacobian, names; and what is said of bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

import perp
from perp.problems.mcp_derivatives import colour

INF = np.inf


def f(z):
    return np.array([z[0] ** 2 + z[1] - 3, z[0] - z[1] ** 3 + 1, np.exp(z[2]) - 2 + 0 * z[0]])


EXACT = lambda z: np.array([[2 * z[0], 1, 0], [1, -3 * z[1] ** 2, 0], [0, 0, np.exp(z[2])]])  # noqa: E731


@pytest.mark.parametrize("jacobian", [None, "differences", "complex-step", EXACT])
@pytest.mark.parametrize("pattern", [None, "detect", [[1, 1, 0], [1, 1, 0], [0, 0, 1]]])
def test_jacobians_of_every_kind_agree(jacobian, pattern):
    problem = perp.MCP(f, 0, INF, jacobian, start=[1.0, 1.0, 1.0], pattern=pattern)
    z = np.array([1.3, 0.7, 0.2])
    found = problem.derivative(z)
    assert issparse(found) == (pattern is not None and jacobian is not EXACT)
    dense = found.toarray() if issparse(found) else found
    np.testing.assert_allclose(dense, EXACT(z), atol=1e-14 if jacobian in ("complex-step", EXACT) else 1e-6)
    problem.check_jacobian()
    assert perp.solve(problem).solved


def test_a_banded_function_takes_as_many_evaluations_as_its_band_is_wide():
    n = 500
    calls = 0

    def banded(z):
        nonlocal calls
        calls += 1
        out = 4 * z - 1
        out[1:] -= z[:-1] ** 2
        out[:-1] -= np.sin(z[1:])
        return out

    problem = perp.MCP(banded, np.zeros(n), INF)
    problem.derivative(problem.first_point)  # finds the pattern, once
    calls = 0
    J = problem.derivative(np.linspace(0.1, 1, n))
    assert issparse(J)
    assert J.nnz == 3 * n - 2
    assert calls == 4  # one, and three groups


def test_columns_of_a_group_share_no_row():
    rng = np.random.default_rng(0)
    rows, columns = np.nonzero(rng.random((40, 40)) < 0.1)
    groups = colour(rows, columns, 40)
    for group in range(groups.max() + 1):
        used = np.concatenate([rows[columns == j] for j in np.flatnonzero(groups == group)])
        assert used.size == np.unique(used).size


def test_a_wrong_jacobian_is_found_and_said():
    def wrong(z):
        J = EXACT(z)
        J[1, 0] = 7.0
        return J

    problem = perp.MCP(f, 0, INF, wrong, start=[1.0, 1.0, 1.0], names=["coal", "iron", "wage"])
    with pytest.raises(
        perp.ProblemError, match=r"jacobian\(z\)\[1, 0\] is 7, .* give 1 .*row iron, variable coal"
    ):
        problem.check_jacobian()
    away = perp.MCP(lambda z: z**3 - 8, -INF, INF, lambda z: -np.diag(3 * z**2), start=[5.0])
    solution = perp.solve(away, throw=False)
    assert solution.solved or "The Jacobian may be wrong" in solution.message


def test_differences_stay_in_the_box():
    """Functions of prices are often not defined outside of it."""

    def root(z):
        assert (z >= 0).all()
        assert (z <= 4).all()
        return np.sqrt(z) + np.sqrt(4 - z) - 2.5

    problem = perp.MCP(root, [0.0, 0.0], [4.0, 4.0], start=[0.0, 4.0])
    assert np.isfinite(perp.solve(problem, throw=False).z).all()


def test_a_single_number_is_a_bound_for_all():
    problem = perp.MCP(lambda z: z - 2, 0, 1, start=np.zeros(3))
    assert perp.solve(problem).z.tolist() == [1, 1, 1]
    with pytest.raises(perp.ProblemError, match="give start"):
        perp.MCP(lambda z: z - 2, 0, 1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: perp.MCP(f, [0, 2, 0], [1, 1, 1]), r"lower\[1\] = 2.0 is greater than upper\[1\] = 1.0"),
        (lambda: perp.MCP(f, [0, np.nan, 0], 1), r"lower\[1\] is nan"),
        (lambda: perp.MCP(f, np.zeros(3), [1, 1]), r"upper has 2 entries: it needs 3"),
        (lambda: perp.MCP(3, 0, 1), "f is int"),
        (lambda: perp.MCP(f, np.zeros(3), 1, "exact"), "jacobian is exact"),
        (lambda: perp.MCP(f, np.zeros(3), 1, names=["a"]), "names has 1 entries: it needs 3"),
        (lambda: perp.MCP(f, np.zeros(3), 1, pattern=np.eye(2)), "pattern has 2 rows: it needs 3"),
        (lambda: perp.MCP(f, np.zeros(3), 1, pattern="guess"), "pattern is 'guess'"),
        (lambda: perp.MCP(lambda z: z + 1j, np.zeros(3), 1), "complex128: real numbers"),
        (lambda: perp.MCP(np.abs, np.zeros(3), 1, "complex-step"), "keeps imaginary parts"),
        (lambda: perp.MCP(f, np.zeros(3), 1, start=[1, 2]), "start has 2 entries|lower has 3 entries"),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(perp.ProblemError, match=words):
        make()


@np.errstate(invalid="ignore")
def test_nan_of_the_function_names_row_and_variables():
    problem = perp.MCP(
        lambda z: np.array([z[0] - 1, np.log(z[0] - 5) + z[1]]), [-INF] * 2, [INF] * 2,
        lambda z: np.array([[1.0, 0], [1 / (z[0] - 5), 1]]), start=[2.0, 3.0], names=["p", "q"],
    )  # fmt: skip
    solution = perp.solve(problem, throw=False)
    assert solution.status is perp.Status.EVALUATION_ERROR
    assert "f is nan in row 1 (q) at p = 2, q = 3" in solution.message


def test_what_the_function_raises_comes_through():
    class Mine(Exception):
        pass

    def angry(z):
        if z[0] > 0.5:
            raise Mine("not there")
        return z - 2

    with pytest.raises(Mine, match="not there"):
        perp.solve(perp.MCP(angry, [0.0], [INF], lambda z: np.eye(1)))


def test_worst_rows_are_named():
    problem = perp.MCP(
        lambda z: np.array([z[0] - 1, z[1] ** 2 + 1]), -INF, INF, start=[0.0, 0.0], names=["good", "hopeless"]
    )
    solution = perp.solve(problem, throw=False)
    assert solution.status is perp.Status.LOCAL_MINIMUM
    assert "hopeless" in solution.message


def test_sparse_affine_problems_can_be_saved(tmp_path):
    problem = perp.MCP.affine(csr_array(np.eye(3)), [-1.0, 2, 3], 0, INF, start=[1.0, 2, 3])
    problem.save(tmp_path / "a.npz")
    assert perp.load(tmp_path / "a.npz").equals(problem)


def test_a_function_of_all_its_variables_has_a_dense_jacobian():
    """Greedy groups of 10⁴ columns that all share rows took for ever, and their pattern 5 GB."""
    n = 300
    problem = perp.MCP(lambda z: z**2 + z.sum(), np.zeros(n), np.full(n, np.inf), start=np.ones(n))
    J = problem.derivative(np.ones(n))
    assert isinstance(J, np.ndarray)
    assert pytest.approx(1.0 + 2.0 * np.eye(n), abs=1e-5) == J
    rows, columns = np.nonzero(np.ones((40, 40)))
    assert sorted(colour(rows, columns, 40)) == list(range(40))
