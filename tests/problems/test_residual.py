"""The residual: against an independent NumPy computation, free of units, and never fooled."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import scipy.sparse as sp
from second_opinion import law_violation

import generators
import perp
import twins


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("relaxed", [False, True])
def test_contact_residual_agrees_with_the_twin(seed, relaxed):
    problem = generators.contact(6, seed)
    problem = problem.as_relaxed() if relaxed else problem
    impulse = np.random.default_rng(seed + 100).standard_normal(problem.size)
    assert perp.residual(problem, impulse) == pytest.approx(
        twins.contact_residual(problem, impulse), rel=1e-9
    )
    if not relaxed:
        literature = perp.residuals(problem, impulse).literature
        assert literature == pytest.approx(twins.literature(problem, impulse), rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_boxed_residual_agrees_with_the_twin(seed):
    rng = np.random.default_rng(seed)
    for problem in (generators.lcp(7, seed), generators.boxed(9, seed)):
        z = rng.standard_normal(problem.size)
        assert perp.residual(problem, z) == pytest.approx(twins.boxed_residual(problem, z), rel=1e-13)
        sparse = perp.LCP(sp.csr_array(problem.M), problem.q)
        assert perp.residual(sparse, z) == pytest.approx(twins.boxed_residual(sparse, z), rel=1e-13)


def test_friction_index_bounds_follow_the_normal():
    problem = perp.BoxedLCP(
        np.eye(3), [-2, -5, 0.2], [0, -0.5, -0.5], [np.inf, 0.5, 0.5], friction_index=[-1, 0, 0]
    )
    assert perp.residual(problem, [2, 1, -0.2]) == pytest.approx(0, abs=1e-16)
    assert perp.residual(problem, [2, 1.5, -0.2]) > 0.01
    z = np.array([-1.0, 0.3, 0.1])
    assert perp.residual(problem, z) == pytest.approx(twins.boxed_residual(problem, z))


UNITS = [
    ("mass", 1e6, 1.0, 1.0),
    ("length", 1.0, 1e-3, 1.0),
    ("time", 1.0, 1.0, 10.0),
    ("all", 1e6, 1e-3, 10.0),
    ("tiny", 1e-8, 1e8, 1e-8),
]


@pytest.mark.parametrize(("name", "mass", "length", "time"), UNITS, ids=[unit[0] for unit in UNITS])
@pytest.mark.parametrize("kind", [1, 3, 4, 5, 6])
def test_units_change_neither_residual_nor_status(name, mass, length, time, kind):
    """W is 1/mass (1/(mass·length²) on rolling rows), q length/time (1/time), μ_r a length."""
    problem = generators.contact(5, 3, kinds=(kind,))
    rolling = problem.row_scale != 1.0
    velocity = np.where(rolling, 1 / time, length / time)
    impulse = mass * length / time * np.where(rolling, length, 1.0)
    W = problem.W * np.outer(velocity, 1 / impulse)
    sets = [perp.Rolling(s.mu, s.mu_r * length) if isinstance(s, perp.Rolling) else s for s in problem.sets]
    reduced = perp.ContactProblem(problem.W, problem.q, problem.sets)
    changed = perp.ContactProblem(W, problem.q * velocity, sets)
    x = np.random.default_rng(5).standard_normal(problem.size)
    assert perp.residual(changed, x * impulse) == pytest.approx(perp.residual(reduced, x), rel=1e-12)
    before = perp.solve(reduced, throw=False)
    after = perp.solve(changed, throw=False)
    assert after.status is before.status is perp.Status.SOLVED
    np.testing.assert_allclose(after.z / impulse, before.z, rtol=1e-5, atol=1e-6 * np.abs(before.z).max())


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_scaled_lcp_has_the_same_residual(scale):
    problem = generators.lcp(6, 1)
    z = np.random.default_rng(0).random(6)
    scaled = perp.LCP(problem.M, problem.q * scale)
    assert perp.residual(scaled, z * scale) == pytest.approx(perp.residual(problem, z), rel=1e-12)
    assert perp.residual(scaled, np.zeros(6)) > 0.05, "zero is no answer however small the data are"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_answers_are_infinitely_wrong(bad):
    z = np.zeros(4)
    z[2] = bad
    for problem in (
        generators.lcp(4),
        generators.boxed(4),
        perp.ContactProblem.coulomb(np.eye(4), -np.ones(4), 0.5, dimension=2),
    ):
        assert perp.residual(problem, z) == np.inf
        assert perp.residuals(problem, z).value == np.inf


def test_overflow_is_not_a_solution():
    problem = perp.LCP(1e300 * np.eye(2), [-1e300, 1.0])
    assert not perp.residual(problem, [1e300, 0.0]) <= 1e-8
    assert perp.residual(problem, [1.0, 0.0]) == 0


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1e8, 1e200])
@pytest.mark.parametrize("kind", ["contact", "boxed"])
def test_parts_survive_extreme_data(scale, kind):
    """Squares of 1e200 overflow and those of 1e-200 vanish; the relative parts must not notice."""
    rng = np.random.default_rng(0)
    if kind == "contact":
        base = perp.ContactProblem(
            np.eye(4) + 0.1, rng.standard_normal(4), [perp.Box(-0.1, 0.2), perp.Coulomb(0.5)]
        )
        sets = [perp.Box(-0.1 * scale, 0.2 * scale), perp.Coulomb(0.5)]
        scaled = perp.ContactProblem(base.W, base.q * scale, sets)
    else:
        base = perp.BoxedLCP(np.eye(4) + 0.1, rng.standard_normal(4), -0.1, 0.2)
        scaled = perp.BoxedLCP(base.M, base.q * scale, -0.1 * scale, 0.2 * scale)
    z = rng.standard_normal(4)
    expected, found = perp.residuals(base, z), perp.residuals(scaled, z * scale)
    for part in ("value", "primal", "dual", "complementarity", "literature", "literature_q"):
        assert getattr(found, part) == pytest.approx(getattr(expected, part), rel=1e-12), part
    assert found.approach_velocity == pytest.approx(expected.approach_velocity * scale)


def test_a_tiny_diagonal_hides_nothing():
    """W_ii z_i would call z_1 = 1e6 small; the column scale does not."""
    problem = perp.LCP([[1e-14, 1.0], [-1.0, 1e-14]], [1e6, 1e6])
    assert perp.residual(problem, [1e6, 0.0]) > 0.1
    assert perp.residual(problem, [0.0, 0.0]) == 0


def test_zero_matrix_and_zero_column():
    zero = perp.LCP(np.zeros((2, 2)), [1.0, 0.0])
    assert perp.residual(zero, [0, 5.0]) == 0
    assert perp.residual(zero, [1.0, 0]) > 0.1
    column = perp.LCP([[0.0, 1.0], [0.0, 1.0]], [1.0, -1.0])
    assert perp.residual(column, [0.0, 1.0]) == 0
    assert perp.residual(column, [1.0, 1.0]) > 0.1


def test_wrong_shape_and_type_are_named():
    with pytest.raises(perp.ProblemError, match="z has 3 entries: it needs 4"):
        perp.residual(generators.lcp(4), np.zeros(3))
    with pytest.raises(perp.ProblemError, match="dict is not a problem"):
        perp.residual({}, np.zeros(3))  # type: ignore[arg-type]


def test_parts_tell_what_is_wrong():
    problem = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.4, 0.3], 0.5)
    outside = perp.residuals(problem, [1.0, -2.0, 0.0])
    assert outside.primal > 0.1
    penetrating = perp.residuals(problem, [0.0, 0.0, 0.0])
    assert penetrating.primal == 0
    assert penetrating.approach_velocity == 1
    assert penetrating.dual > 0.1
    lifted = perp.residuals(problem, [3.0, -0.4, -0.3])
    assert lifted.complementarity > 0.1
    right = perp.residuals(problem, [1.0, -0.4, -0.3])
    assert right.value == 0
    assert right.sticking_velocity == 0
    creeping = perp.residuals(problem, [1.0, -0.3, -0.3])
    assert creeping.sticking_velocity == pytest.approx(0.1)


def test_dissipation_angle_of_misdirected_friction():
    problem = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 3.0, 0.0], 0.5)
    angle = 0.3
    r = perp.residuals(problem, [1.0, -0.5 * np.cos(angle), -0.5 * np.sin(angle)])
    u = np.array([3.0 - 0.5 * np.cos(angle), -0.5 * np.sin(angle)])
    assert r.dissipation_angle == pytest.approx(angle - np.arctan2(u[1], u[0]))


@pytest.mark.parametrize("far", [1e17, 1e30])
def test_a_large_answer_does_not_absorb_its_slack(far):
    """x − (x − w) is 0 in floating point once x is 1e16 times w; the residual must still see w."""
    M, q, z = [[1.0, -1], [-1, 1]], [1.0, 1], [far, far]
    assert perp.residual(perp.BoxedLCP(M, q, -np.inf, np.inf), z) >= 1
    assert perp.residual(perp.BoxedLCP([[0.0]], [-1.0], 0, np.inf), [far]) >= 1
    assert perp.residual(perp.ContactProblem(M, q, [perp.Free(), perp.Free()]), z) >= 1
    assert perp.residual(perp.ContactProblem(np.zeros((1, 1)), [-1.0], [perp.Box(0, np.inf)]), [far]) >= 1
    cone = perp.ContactProblem(np.zeros((2, 2)), [0.5, 0.5], [perp.Coulomb(0.5, dimension=2)], relaxed=True)
    assert perp.residual(cone, [far, 0.0]) >= 0.5


def test_a_nearly_singular_problem_is_not_called_infeasible():
    problem = perp.LCP([[1.0, -1], [-1, 1 + 1e-13]], [-1.0, -1])
    for solver in ("lemke", "dantzig", "auto"):
        assert perp.solve(problem, solver, throw=False).status is not perp.Status.INFEASIBLE


@pytest.mark.parametrize(
    "module",
    ["accurate_slack", "accurate_dynamics", "boxed_kernels", "data_size", "law_kernels", "row_verdict"],
)
def test_no_kernel_of_the_verdict_inherits_fast_mathematics(module):
    """A caller's reassociation, handed on by Numba, would turn the compensated sums into plain ones."""
    found = vars(importlib.import_module(f"perp.problems.{module}")).values()
    kernels = [kernel for kernel in found if hasattr(kernel, "targetoptions")]
    assert kernels
    assert all(kernel.targetoptions.get("fastmath") is False for kernel in kernels)


@pytest.mark.parametrize("seed", range(40))
def test_friction_outside_of_an_ellipse_counts_by_its_distance_whatever_the_axes(seed):
    """Axes from 0 to 1e160 and ∞ beside each other: squares of their ratios overflow and vanish."""
    rng = np.random.default_rng([seed, 17])
    k = int(rng.integers(1, 6))
    mu = 10.0 ** rng.uniform(-9, 9, k)
    mu[rng.integers(k)] = rng.choice([0.0, 1e-160, 1e160, np.inf, 1.0])
    impulse = np.concatenate([[1.0], rng.normal(size=k) * 10.0 ** rng.uniform(-9, 9)])
    # with W = 1 and q = −λ nothing moves: the residual is the distance of λ_T from its ellipse
    problem = perp.ContactProblem(np.eye(k + 1), -impulse, [perp.Elliptic(*mu)])
    outside = law_violation(problem, impulse)
    assert perp.residual(problem, impulse) == pytest.approx(outside, rel=1e-6, abs=1e-9)
