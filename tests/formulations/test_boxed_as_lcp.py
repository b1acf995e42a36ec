"""Split and shifted forms against each other, against enumeration, and case by case."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import perp
from perp.formulations.boxed_as_lcp import boxed_as_shifted_lcp, boxed_as_split_lcp, split_parts

INF = np.inf
BOXES = {
    "document": (-1.0, 2.0),
    "fixed": (0.7, 0.7),
    "fixed at zero": (0.0, 0.0),
    "nonnegative": (0.0, INF),
    "nonpositive": (-INF, 0.0),
    "above": (0.3, 1.2),
    "below": (-1.2, -0.3),
    "from above zero": (0.3, INF),
    "up to below zero": (-INF, -0.3),
    "free": (-INF, INF),
}


def enumerated(A: np.ndarray, q: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """The solution by trying every active set: −1 at lo, 0 inside, +1 at hi."""
    n = q.size
    for sides in itertools.product((-1, 0, 1), repeat=n):
        side = np.array(sides)
        bound = np.where(side < 0, lo, np.where(side > 0, hi, 0.0))
        if np.isinf(bound).any():
            continue
        inner = side == 0
        z = bound.copy()
        z[inner] = np.linalg.solve(A[np.ix_(inner, inner)], -(q + A @ bound)[inner])
        w = A @ z + q
        right = (z >= lo - 1e-10) & (z <= hi + 1e-10)
        sign = np.where(side < 0, w >= -1e-10, np.where(side > 0, w <= 1e-10, True))
        if right.all() and (sign | (lo == hi)).all():
            return z
    raise AssertionError("no solution")


def spd(n: int, rng: np.random.Generator) -> np.ndarray:
    G = rng.standard_normal((n, n + 2))
    return G @ G.T / n + 0.1 * np.eye(n)


@pytest.mark.parametrize("form", ["split", "shifted"])
@pytest.mark.parametrize("names", list(itertools.combinations_with_replacement(BOXES, 2)))
def test_any_pair_of_boxes_agrees_with_enumeration(form: str, names: tuple[str, str]) -> None:
    rng = np.random.default_rng(sum(map(ord, "".join(names))))
    A, q = spd(3, rng), 2 * rng.standard_normal(3)
    lo, hi = (np.array([BOXES[name][side] for name in (*names, "document")]) for side in (0, 1))
    solution = perp.solve(perp.BoxedLCP(A, q, lo, hi), "lemke", formulation=form)
    assert solution.z == pytest.approx(enumerated(A, q, lo, hi), abs=1e-9)
    assert solution.w == pytest.approx(A @ solution.z + q, abs=1e-12)


def test_split_is_the_matrix_of_the_document() -> None:
    rng = np.random.default_rng(0)
    A, p, limit = spd(2, rng), rng.standard_normal(2), np.array([1.0, 2.0])
    lcp: Any = boxed_as_split_lcp(perp.BoxedLCP(A, p, -limit, 3 * limit)).problem
    one, none = np.eye(2), np.zeros((2, 2))
    expected = np.block(
        [[A, -A, one, none], [-A, A, none, one], [-one, none, none, none], [none, -one, none, none]]
    )
    assert np.allclose(lcp.M, expected, atol=0)
    assert np.allclose(lcp.q, [*p, *-p, *(3 * limit), *limit], atol=0)
    assert np.linalg.eigvalsh(lcp.M + lcp.M.T).min() >= -1e-12


def test_shifted_is_half_the_size_and_monotone() -> None:
    rng = np.random.default_rng(1)
    problem = perp.BoxedLCP(spd(4, rng), rng.standard_normal(4), -1.0, 1.0)
    split: Any = boxed_as_split_lcp(problem).problem
    shifted: Any = boxed_as_shifted_lcp(problem).problem
    assert (split.size, shifted.size) == (16, 8)
    assert np.linalg.eigvalsh(shifted.M + shifted.M.T).min() >= -1e-12


def test_sides_without_room_and_multipliers_without_bound_are_left_out() -> None:
    problem = perp.BoxedLCP(np.eye(4), np.ones(4), [0, 1, -INF, -1], [INF, 1, INF, 0])
    parts = split_parts(problem)
    assert parts.row.tolist() == [0, 2, 2, 3]
    assert parts.sign.tolist() == [1, 1, -1, -1]
    assert boxed_as_split_lcp(problem).problem.size == 5  # one β, for the lower bound of row 3
    assert boxed_as_shifted_lcp(problem).problem.size == 3  # rows 0 and 3, and β of row 3


@pytest.mark.parametrize(
    ("q", "case"),
    [
        (-3.0, ("2.1⁺", "1⁻", "slides at a bound")),
        (-0.5, ("2.2⁺", "1⁻", "holds")),
        (-1.0, ("2.2⁺", "1⁻", "holds")),  # just at the bound, with the equation still held
        (0.0, ("1⁺", "1⁻", "no force")),
        (0.5, ("1⁺", "2.2⁻", "holds")),
        (3.0, ("1⁺", "2.1⁻", "slides at a bound")),
    ],
)
@pytest.mark.parametrize("form", ["split", "shifted"])
def test_cases_of_the_document(q: float, case: tuple[str, str, str], form: str) -> None:
    # one slider of unit mass that would move with velocity q, held by a friction of at most 1 N·s
    solution = perp.solve(perp.BoxedLCP([[1.0]], [q], -1.0, 1.0), "lemke", formulation=form)
    assert tuple(solution.info["cases"][0]) == case
    assert solution.z[0] == pytest.approx(np.clip(-q, -1, 1))
    assert solution.w[0] == pytest.approx(q + np.clip(-q, -1, 1))


@pytest.mark.parametrize("solver", ["principal", "dantzig", "baraff", "pgs", "boxed-newton", "auto"])
def test_cases_and_forces_after_native_solves(solver: str) -> None:
    rng = np.random.default_rng(8)
    problem = perp.BoxedLCP(spd(6, rng), 3 * rng.standard_normal(6), -0.4, 0.6)
    native = perp.solve(problem, solver, tol=1e-11)
    split = perp.solve(problem, "lemke", formulation="split", tol=1e-11)
    assert native.cases == split.cases == split.info["cases"]
    assert {case.words for case in native.cases} >= {"slides at a bound", "holds"}
    for mine, documents in zip(native.split_forces, split.info["split"], strict=True):
        assert np.abs(mine - documents).max() <= 1e-8


def test_split_forces_are_the_unknowns_of_the_lcp() -> None:
    rng = np.random.default_rng(9)
    problem = perp.BoxedLCP(spd(5, rng), 3 * rng.standard_normal(5), -0.3, 0.5)
    turned = boxed_as_split_lcp(problem)
    assert isinstance(turned.problem, perp.LCP)
    x = perp.solve(turned.problem, "lemke", tol=1e-12).z
    assert turned.info is not None
    assert np.abs(np.concatenate(turned.info(x)["split"]) - x).max() <= 1e-9


@pytest.mark.parametrize("form", ["split", "shifted"])
def test_active_sets_survive(form: str) -> None:
    rng = np.random.default_rng(10)
    problem = perp.BoxedLCP(spd(8, rng), 2 * rng.standard_normal(8), -0.4, 0.6)
    native = perp.solve(problem, "principal")
    through = perp.solve(problem, "lemke", formulation=form)
    assert native.info["active_set"].size
    assert native.info["at_upper"].size
    for name in ("active_set", "at_upper"):
        assert np.array_equal(native.info[name], through.info[name])


def test_complementary_matrix_of_an_active_set() -> None:
    rng = np.random.default_rng(11)
    problem = perp.LCP(spd(6, rng), rng.standard_normal(6))
    solution = perp.solve(problem, "lemke")
    active = solution.info["active_set"]
    s = np.linalg.solve(perp.complementary_matrix(problem, active), problem.q)
    assert (s >= 0).all()
    inside = np.isin(np.arange(6), active)
    assert s == pytest.approx(np.where(inside, solution.z, solution.w))
    sparse = perp.LCP(sp.csr_array(problem.M), problem.q)
    assert np.array_equal(
        perp.complementary_matrix(sparse, inside), perp.complementary_matrix(problem, active)
    )
    assert np.array_equal(perp.complementary_matrix(problem, []), np.eye(6))
    with pytest.raises(perp.ProblemError, match="row 6"):
        perp.complementary_matrix(problem, [6])
    with pytest.raises(perp.ProblemError, match="booleans"):
        perp.complementary_matrix(problem, [0.5])
    with pytest.raises(perp.ProblemError, match="BoxedLCP"):
        _ = solution.cases


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_cases_do_not_depend_on_units(scale: float) -> None:
    problem = perp.BoxedLCP(np.eye(3), np.array([-3.0, -0.5, 0.0]) * scale, -scale, scale)
    solution = perp.solve(problem, "lemke", formulation="split")
    words = [case.words for case in solution.info["cases"]]
    assert words == ["slides at a bound", "holds", "no force"]


@pytest.mark.parametrize("form", ["split", "shifted"])
def test_friction_index_enters_the_lcp_exactly(form: str) -> None:
    # block on a slope: normal impulse 1, pulled along with 0.8, μ = 0.5, mass 1
    problem = perp.BoxedLCP(np.eye(2), [-1.0, -0.8], [0.0, -0.5], [INF, 0.5], friction_index=[-1, 0])
    solution = perp.solve(problem, "lemke", formulation=form)
    assert solution.z == pytest.approx([1.0, 0.5])
    assert solution.w == pytest.approx([0.0, -0.3])


@pytest.mark.parametrize("form", ["split", "shifted"])
def test_friction_bounds_of_one_sign(form: str) -> None:
    problem = perp.BoxedLCP(np.eye(2), [-2.0, 9.0], [0.0, 0.25], [INF, 0.5], friction_index=[-1, 0])
    assert perp.solve(problem, "lemke", formulation=form).z == pytest.approx([2.0, 0.5])


def test_a_limiting_row_that_may_be_negative_is_refused() -> None:
    problem = perp.BoxedLCP(np.eye(2), [1.0, 1.0], [-1.0, -0.5], [1.0, 0.5], friction_index=[-1, 0])
    with pytest.raises(perp.SolverMismatch, match="row 0 limits another row"):
        perp.solve(problem, "lemke", formulation="split")


@pytest.mark.parametrize("form", ["split", "shifted"])
def test_sparse_stays_sparse(form: str) -> None:
    rng = np.random.default_rng(3)
    A, q = spd(6, rng), rng.standard_normal(6)
    lo, hi = np.array([-1, 0, -INF, -INF, 0.2, -1]), np.array([1, INF, 0.5, INF, 0.4, -0.5])
    dense = perp.solve(perp.BoxedLCP(A, q, lo, hi), "lemke", formulation=form)
    sparse = perp.solve(perp.BoxedLCP(sp.csr_array(A), q, lo, hi), "lemke", formulation=form)
    assert sparse.z == pytest.approx(dense.z, abs=1e-12)
    build = boxed_as_split_lcp if form == "split" else boxed_as_shifted_lcp
    assert sp.issparse(build(perp.BoxedLCP(sp.csr_array(A), q, lo, hi)).problem.M)  # type: ignore[union-attr]


@pytest.mark.parametrize("form", ["split", "shifted"])
def test_the_start_of_a_solution_is_a_solution(form: str) -> None:
    rng = np.random.default_rng(4)
    problem = perp.BoxedLCP(spd(5, rng), 3 * rng.standard_normal(5), -1.0, 0.5)
    solution = perp.solve(problem, "pgs", tol=1e-13)
    build = boxed_as_split_lcp if form == "split" else boxed_as_shifted_lcp
    turned = build(problem)
    assert turned.start is not None
    assert perp.residual(turned.problem, turned.start(solution.z)) < 1e-11


def test_lcp_solvers_take_boxed_problems_by_themselves() -> None:
    solution = perp.solve(perp.BoxedLCP([[2.0]], [-4.0], -1.0, 1.0), "lemke")
    assert solution.formulation == "shifted"
    assert solution.z == pytest.approx([1.0])


def test_no_rows_at_all() -> None:
    solution = perp.solve(perp.BoxedLCP(np.zeros((0, 0)), [], [], []), "lemke", formulation="split")
    assert solution.solved
    assert solution.info["cases"] == []
