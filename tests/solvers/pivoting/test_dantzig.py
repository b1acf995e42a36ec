"""Dantzig's driving beyond semidefinite matrices, and with friction bounds that follow in rounds."""

import numpy as np
import pytest

import perp


def boxed(rng, M):
    n = M.shape[0]
    lo = np.where(rng.random(n) < 0.3, -np.inf, -rng.random(n))
    hi = np.where(rng.random(n) < 0.3, np.inf, rng.random(n))
    pinned = np.isfinite(lo) & (rng.random(n) < 0.1)
    hi[pinned] = lo[pinned]
    return perp.BoxedLCP(M, rng.standard_normal(n), lo, hi)


@pytest.mark.parametrize("seed", range(40))
def test_nonsymmetric_positive_definite_boxes_like_lemke(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    A, B = rng.standard_normal((2, n, n))
    problem = boxed(rng, A @ A.T / n + 0.05 * np.eye(n) + B - B.T)
    solution = perp.solve(problem, "dantzig", tol=1e-10)
    assert np.abs(solution.z - perp.solve(problem, "lemke", tol=1e-10).z).max() <= 1e-7
    w, free = solution.w, solution.info["active_set"]
    assert np.abs(w[free]).max(initial=0.0) <= 1e-9 * np.abs(problem.q).max()


def test_nonsymmetric_singular_semidefinite():
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(2, 12))
        A, B = rng.standard_normal((n, n // 2)), rng.standard_normal((n, n))
        assert perp.solve(perp.LCP(A @ A.T + B - B.T, rng.standard_normal(n)), "dantzig").solved


def test_symmetric_indefinite_as_far_as_it_goes():
    """Of those with a solution (by enumeration) a fair part is solved; no other ends as solved or proved."""
    rng = np.random.default_rng(1)
    solvable = solved = 0
    for _ in range(120):
        A = rng.standard_normal((6, 6))
        problem = perp.LCP(A + A.T, rng.standard_normal(6))
        exists = perp.solve(problem, "direct", throw=False).solved
        solution = perp.solve(problem, "dantzig", throw=False)
        solvable += exists
        solved += solution.solved
        assert exists or solution.status is not perp.Status.SOLVED
        if exists:
            assert solution.status is not perp.Status.INFEASIBLE
        if solution.status is perp.Status.STALLED and "rows_left" in solution.info:
            assert "broke down" in solution.message
            assert solution.info["rows_left"].size
    assert solved >= 0.35 * solvable


def test_friction_rounds_are_those_of_frozen_bounds():
    """A block pushed along a plane: 9.81 N of weight, μ = 0.5, and every push from stick to slip."""
    for push, mu in [(2.0, 0.5), (6.0, 0.5), (-6.0, 0.5)]:
        problem = perp.BoxedLCP(np.eye(2), [-9.81, push], [0, -mu], [np.inf, mu], friction_index=[-1, 0])
        solution = perp.solve(problem, "dantzig", tol=1e-12)
        assert solution.z[0] == pytest.approx(9.81)
        assert solution.z[1] == pytest.approx(np.clip(-push, -mu * 9.81, mu * 9.81))
        assert solution.info["rounds"] >= 2


def test_friction_that_does_not_contract_stalls_and_moving_bounds_solves_it():
    """Strong coupling between a normal and its friction: frozen bounds jump for ever."""
    M = np.array([[1.0, 0.95], [0.95, 1.0]])
    problem = perp.BoxedLCP(M, [-1.0, 3.0], [0, -3.0], [np.inf, 3.0], friction_index=[-1, 0])
    rounds = perp.solve(problem, "dantzig", throw=False)
    together = perp.solve(problem, "moving-bounds", throw=False)
    assert together.solved or rounds.status is perp.Status.STALLED


def joint(rule, load):
    """Dry friction in a joint: row 0 holds (free, force −load), row 1 is limited by half of that force."""
    return perp.BoxedLCP(
        np.eye(2), [load, -5.0], [-np.inf, -0.5], [np.inf, 0.5], friction_index=[-1, 0], negative_limit=rule
    )


@pytest.mark.parametrize("solver", ["dantzig", "pgs", "boxed-newton", "auto"])
@pytest.mark.parametrize("load", [4.0, -4.0])
def test_negative_limiting_row(solver, load):
    assert perp.solve(joint("magnitude", load), solver).z == pytest.approx([-load, 2.0])
    assert perp.solve(joint("zero", load), solver).z == pytest.approx([-load, 2.0 if load < 0 else 0.0])


def test_negative_limit_is_judged_saved_and_checked(tmp_path):
    problem = joint("magnitude", 4.0)
    assert perp.residual(problem, [-4.0, 2.0]) == 0.0
    assert perp.residual(joint("zero", 4.0), [-4.0, 2.0]) > 0.1
    problem.save(tmp_path / "joint.npz")
    assert perp.load(tmp_path / "joint.npz").equals(problem)
    assert not problem.equals(joint("zero", 4.0))
    with pytest.raises(perp.ProblemError, match="negative_limit = 'abs'"):
        joint("abs", 1.0)
    with pytest.raises(perp.SolverMismatch):
        perp.solve(problem, "moving-bounds")
    with pytest.raises(perp.SolverMismatch):
        perp.solve(problem, "lemke")
    ode = perp.BoxedLCP.from_ax_b(np.eye(2), [-4.0, 5.0], problem.lo, problem.hi, friction_index=[-1, 0],
                                  negative_limit="magnitude")  # fmt: skip
    assert ode.equals(problem)
