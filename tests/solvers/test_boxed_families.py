"""Every solver for boxed problems on every problem that it claims, dense, sparse and as bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import perp

INF = np.inf
SWEEPS = ["pgs", "psor", "symmetric-psor", "jacobi", "nncg"]
DIRECT = [
    "subspace-minimisation",
    "minimum-map",
    "boxed-newton",
    "fischer-burmeister",
    "boxed-interior-point",
]
PLAIN = [*SWEEPS, *DIRECT, "mprgp"]
FOLLOWING = ["pgs", "psor", "symmetric-psor", "nncg", "subspace-minimisation", "boxed-newton"]
NEWTON = ["minimum-map", "boxed-newton", "fischer-burmeister", "boxed-interior-point"]


def spd(n: int, rng: np.random.Generator, shift: float = 0.1) -> np.ndarray:
    G = rng.standard_normal((n, n))
    return G @ G.T / n + shift * np.eye(n)


def boxed(n: int, seed: int) -> perp.BoxedLCP:
    """All kinds of bounds: two-sided, one-sided, fixed, free, of one sign."""
    rng = np.random.default_rng(seed)
    limit = rng.uniform(0.05, 1.0, n)
    lo, hi = -limit, limit.copy()
    kind = np.arange(n) % 7
    lo[kind == 1] = 0.0
    hi[kind == 1] = INF
    hi[kind == 2] = lo[kind == 2]
    lo[kind == 3] = -INF
    lo[kind == 4], hi[kind == 4] = -INF, INF
    lo[kind == 5] = 0.5 * hi[kind == 5]
    return perp.BoxedLCP(spd(n, rng), rng.standard_normal(n), lo, hi)


def rank_deficient(n: int, rank: int, seed: int) -> perp.LCP:
    """Frictionless contacts on bodies with `rank` degrees of freedom: forces not unique, motion unique."""
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((n, rank))
    return perp.LCP(J @ J.T, J @ rng.standard_normal(rank))


def stack(levels: int, mu: float | None = None) -> perp.ContactProblem:
    """Unit masses on top of each other in the plane, in dynamics form; with μ each contact has friction."""
    rows, values, columns = [], [], []
    width = 1 if mu is None else 2
    for level in range(levels):
        for axis in range(width):
            row = width * level + axis
            rows.append(row)
            columns.append(2 * level + axis)
            values.append(1.0)
            if level:
                rows.append(row)
                columns.append(2 * (level - 1) + axis)
                values.append(-1.0)
    J = sp.csr_array((values, (rows, columns)), shape=(width * levels, 2 * levels))
    momentum = np.tile([-0.0981, 0.03], levels)
    sets = [perp.Nonnegative() if mu is None else perp.Coulomb(mu, 2)] * levels
    return perp.ContactProblem.from_dynamics(np.tile(np.eye(2), (levels, 1, 1)), J, momentum, sets=sets)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("solver", PLAIN)
def test_boxes_of_every_kind(solver: str, sparse: bool) -> None:
    problem = boxed(30, 1)
    reference = perp.solve(problem, "lemke", formulation="split", tol=1e-12)
    if sparse:
        problem = perp.BoxedLCP(sp.csr_array(problem.M), problem.q, problem.lo, problem.hi)
    solution = perp.solve(problem, solver, tol=1e-9)
    assert solution.z == pytest.approx(reference.z, abs=1e-6)
    assert solution.solver == solver
    assert solution.formulation is None


@pytest.mark.parametrize("solver", PLAIN)
@pytest.mark.parametrize("seed", range(3))
def test_rank_deficient_lcps(solver: str, seed: int) -> None:
    problem = rank_deficient(40, 15, seed)
    solution = perp.solve(problem, solver, tol=1e-7)
    reference = perp.solve(problem, "subspace-minimisation", tol=1e-10)
    # forces are not unique, velocities are
    assert solution.w == pytest.approx(reference.w, abs=1e-4)


@pytest.mark.parametrize("solver", NEWTON)
def test_nonsymmetric_positive_definite(solver: str) -> None:
    rng = np.random.default_rng(0)
    n = 40
    S = rng.standard_normal((n, n))
    M = spd(n, rng, 0.05) + 2 * (S - S.T) / np.sqrt(n)
    z = np.where(rng.random(n) < 0.5, rng.random(n) + 0.1, 0.0)
    w = np.where(z > 0, 0.0, rng.random(n) + 0.1)
    for matrix in (M, sp.csr_array(M)):
        assert perp.solve(perp.LCP(matrix, w - M @ z), solver).z == pytest.approx(z, abs=1e-6)


@pytest.mark.parametrize("solver", [*FOLLOWING, "dantzig"])
@pytest.mark.parametrize("sparse", [False, True])
def test_friction_index_block_that_is_pushed(solver: str, sparse: bool) -> None:
    # a block with normal impulse 1, pushed along the first tangent beyond μ = 0.4 and along the second below
    # it
    M = np.diag([1.0, 2.0, 2.0])
    problem = perp.BoxedLCP(
        sp.csr_array(M) if sparse else M,
        [-1.0, -1.8, 0.2], [0, -0.4, -0.4], [INF, 0.4, 0.4], friction_index=[-1, 0, 0],
    )  # fmt: skip
    solution = perp.solve(problem, solver, tol=1e-10)
    assert solution.z == pytest.approx([1.0, 0.4, -0.1])


@pytest.mark.parametrize("solver", FOLLOWING)
@pytest.mark.parametrize("seed", range(3))
def test_rank_deficient_contacts_with_friction_index(solver: str, seed: int) -> None:
    """Contacts with more rows than degrees of freedom, bounds that follow the normals."""
    rng = np.random.default_rng(seed)
    count = 6
    J = rng.standard_normal((3 * count, 12))
    M = J @ J.T + 1e-9 * np.eye(3 * count)
    lo, hi = np.tile([0.0, -0.3, -0.3], count), np.tile([INF, 0.3, 0.3], count)
    index = np.repeat(3 * np.arange(count), 3)
    index[::3] = -1
    problem = perp.BoxedLCP(M, J @ rng.standard_normal(12), lo, hi, friction_index=index)
    solution = perp.solve(problem, solver, tol=1e-7)
    low, high = problem.bounds(solution.z)
    assert (solution.z >= low - 1e-6).all()
    assert (solution.z <= high + 1e-6).all()


@pytest.mark.parametrize("solver", ["pgs", "psor", "symmetric-psor", "nncg"])
@pytest.mark.parametrize("mu", [None, 0.5])
def test_bodies_are_swept_without_forming_w(solver: str, mu: float | None) -> None:
    problem = stack(6, mu)
    solution = perp.solve(problem, solver, tol=1e-10)
    carried = 0.0981 * np.arange(6, 0, -1)
    width = 1 if mu is None else 2
    assert solution.z[::width] == pytest.approx(carried, rel=1e-7)


@pytest.mark.parametrize("compliance", [0.0, 0.3])
def test_scale_of_the_residual_needs_no_w(compliance: float) -> None:
    problem = stack(3000)
    dynamics: Any = problem.dynamics
    problem = perp.ContactProblem.from_dynamics(
        dynamics.mass, dynamics.jacobian, dynamics.momentum, sets=problem.sets, compliance=compliance
    )
    solution = perp.solve(problem, "nncg", throw=False, max_iterations=10)
    assert "W" not in problem.__dict__
    scale = np.array(problem.column_scale)
    assert np.array_equal(scale, abs(problem.W).max(axis=0).toarray().ravel())
    assert solution.residual == perp.residual(
        perp.ContactProblem.from_dynamics(
            dynamics.mass, dynamics.jacobian, dynamics.momentum, sets=problem.sets, compliance=compliance
        ),
        solution.z,
    )


def test_sweeps_over_bodies_and_over_w_agree() -> None:
    problem = stack(5, 0.2)
    formed = perp.ContactProblem(problem.W, problem.q, problem.sets)
    by_bodies = perp.solve(problem, "pgs", max_iterations=7, tol=1e-15, throw=False)
    by_matrix = perp.solve(formed, "pgs", max_iterations=7, tol=1e-15, throw=False)
    assert by_bodies.z == pytest.approx(by_matrix.z, abs=1e-14)


@pytest.mark.parametrize("solver", PLAIN)
def test_scaled_problems_take_the_same_iterations(solver: str) -> None:
    problem = boxed(14, 3)
    counts = []
    for force, velocity in ((1.0, 1.0), (1e-8, 1.0), (1.0, 1e8), (1e8, 1e-8)):
        scaled = perp.BoxedLCP(
            problem.M * (velocity / force), problem.q * velocity, problem.lo * force, problem.hi * force
        )
        counts.append(perp.solve(scaled, solver, tol=1e-8).iterations)
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("solver", PLAIN)
@pytest.mark.parametrize("matrix", [np.zeros((0, 0)), np.zeros((2, 2)), np.eye(1), np.diag([1.0, 0.0])])
def test_degenerate_matrices(solver: str, matrix: np.ndarray) -> None:
    n = matrix.shape[0]
    # the rows without a diagonal are satisfied by their own bounds
    problem = perp.BoxedLCP(matrix, -np.ones(n), 0.0, 2.0)
    solution = perp.solve(problem, solver)
    diagonal = matrix.diagonal()
    assert solution.z == pytest.approx(np.where(diagonal > 0, 1.0, 2.0))


@pytest.mark.parametrize("solver", PLAIN)
def test_a_start_at_the_solution_ends_at_once(solver: str) -> None:
    problem = boxed(20, 5)
    solution = perp.solve(problem, "subspace-minimisation", tol=1e-12)
    again = perp.solve(problem, solver, start=solution)
    assert again.iterations <= (20 if solver == "boxed-interior-point" else 2)


@pytest.mark.parametrize("solver", PLAIN)
def test_a_row_that_cannot_be_satisfied_is_proved(solver: str) -> None:
    M = np.array([[1.0, 0.2, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 0.0]])
    solution = perp.solve(perp.LCP(M, [-1.0, -1.0, -1.0]), solver, throw=False, max_iterations=200)
    assert solution.status is perp.Status.INFEASIBLE
    assert solution.info["row"] == 2
    assert np.isfinite(solution.z).all()


@pytest.mark.parametrize("solver", PLAIN)
def test_no_solution_is_never_called_one(solver: str) -> None:
    # w₁ + w₂ = −1 for every z: no proof from a single row, and no solution
    problem = perp.LCP([[1.0, -1.0], [-1.0, 1.0]], [-0.5, -0.5])
    solution = perp.solve(problem, solver, throw=False, max_iterations=300)
    assert not solution.solved
    assert solution.residual > 1e-3 or not np.isfinite(solution.residual)
    assert np.isfinite(solution.z).all()


@pytest.mark.parametrize("solver", SWEEPS)
def test_divergence_is_reported_with_its_iteration(solver: str) -> None:
    M = np.array([[1.0, 5.0], [-5.0, 1.0]])  # positive definite, not symmetric: sweeps fly apart
    solution = perp.solve(perp.BoxedLCP(M, [1.0, 1.0], -INF, INF), solver, throw=False)
    assert solution.status is perp.Status.DIVERGED
    assert 0 < solution.info["diverged_at"] == solution.iterations
    assert "Divergence was seen" in solution.message
    assert np.isfinite(solution.z).all()


@pytest.mark.parametrize("solver", PLAIN)
def test_iteration_and_time_limits_are_truthful(solver: str) -> None:
    problem = boxed(25, 6)
    solution = perp.solve(problem, solver, max_iterations=0, tol=1e-14, throw=False)
    assert solution.status in (perp.Status.ITERATION_LIMIT, perp.Status.SOLVED)
    assert solution.iterations == 0
    slow = perp.solve(problem, solver, time_limit=1e-9, tol=1e-14, throw=False)
    assert slow.status in (perp.Status.TIME_LIMIT, perp.Status.SOLVED)


@pytest.mark.parametrize(
    ("solver", "options", "message"),
    [
        ("psor", {"relaxation": 2.0}, "relaxation"),
        ("psor", {"order": "sideways"}, "order"),
        ("symmetric-psor", {"relaxation": 0.0}, "relaxation"),
        ("jacobi", {"damping": -1.0}, "damping"),
        ("fischer-burmeister", {"penalty": 0.0}, "penalty"),
    ],
)
def test_bad_options_are_refused(solver: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(perp.SolverError, match=message):
        perp.solve(boxed(3, 0), solver, options=options)


def test_refusals_say_why() -> None:
    nonsymmetric = perp.LCP([[1.0, 1.0], [0.0, 1.0]], [-1.0, -1.0])
    with pytest.raises(perp.SolverMismatch, match="not symmetric"):
        perp.solve(nonsymmetric, "mprgp")
    following = perp.BoxedLCP(np.eye(2), [-1, -1], [0, -1], [INF, 1], friction_index=[-1, 0])
    for solver in ("minimum-map", "fischer-burmeister", "boxed-interior-point", "mprgp"):
        with pytest.raises(perp.SolverMismatch, match="follow their normals"):
            perp.solve(following, solver)


@pytest.mark.parametrize("order", ["forward", "backward", "random"])
def test_orders_reach_the_same_answer_and_repeat(order: str) -> None:
    problem = boxed(30, 8)
    first, second = (perp.solve(problem, "psor", options={"order": order}, tol=1e-11) for _ in range(2))
    assert first.z.tobytes() == second.z.tobytes()
    assert first.z == pytest.approx(perp.solve(problem, "boxed-newton").z, abs=1e-8)


def test_a_random_order_depends_on_its_seed_only() -> None:
    problem = boxed(30, 9)
    runs = [
        perp.solve(problem, "psor", options={"order": "random", "seed": seed}, max_iterations=5, throw=False)
        for seed in (1, 1, 2)
    ]
    assert runs[0].z.tobytes() == runs[1].z.tobytes() != runs[2].z.tobytes()


def test_penalised_fischer_burmeister_agrees_with_the_plain_one() -> None:
    problem = boxed(30, 10)
    plain = perp.solve(problem, "fischer-burmeister", tol=1e-10)
    penalised = perp.solve(problem, "fischer-burmeister", options={"penalty": 0.95}, tol=1e-10)
    assert penalised.z == pytest.approx(plain.z, abs=1e-8)


def test_jacobi_converges_where_the_plain_diagonal_does_not() -> None:
    # the matrix of ones plus a little: plain Jacobi has spectral radius n − 1
    n = 10
    M = np.ones((n, n)) + 0.01 * np.eye(n)
    assert perp.solve(perp.BoxedLCP(M, -np.ones(n), -1.0, 1.0), "jacobi", tol=1e-6).solved


def test_large_mass_ratio() -> None:
    rng = np.random.default_rng(11)
    scale = np.diag(10.0 ** rng.uniform(-3, 3, 20))
    problem = perp.BoxedLCP(scale @ spd(20, rng) @ scale, rng.standard_normal(20), -1.0, 1.0)
    for solver in DIRECT:
        assert perp.solve(problem, solver).residual <= 1e-8
