"""Boxes and pyramids in place of friction cones: exact where they should be, and honest where they are
not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import perp
from perp.formulations.contact_as_pyramid import contact_as_pyramid

G, H, MU = 9.81, 0.01, 0.5


def sliding_block(direction: float, speed: float = 1.0) -> perp.ContactProblem:
    """One contact of a unit mass that slides in the plane under an angle [rad] to the first tangent."""
    q = [-G * H, speed * np.cos(direction), speed * np.sin(direction)]
    return perp.ContactProblem.coulomb(np.eye(3), q, MU)


def random_contacts(count: int, seed: int, *, sparse: bool = False) -> perp.ContactProblem:
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((3 * count, 4 * count))
    q = rng.standard_normal(3 * count)
    q[::3] -= 1.0
    W = J @ J.T
    return perp.ContactProblem.coulomb(sp.csr_array(W) if sparse else W, q, MU)


def test_friction_along_a_corner_of_the_pyramid_is_exact() -> None:
    solution = perp.solve(sliding_block(np.pi / 4), "lemke", formulation="stewart-trinkle")
    assert solution.solved
    friction = MU * G * H / np.sqrt(2)
    assert solution.z == pytest.approx([G * H, -friction, -friction])
    assert solution.info["facets"] == 8


@pytest.mark.parametrize("facets", [4, 6, 8, 16, 32])
def test_friction_between_corners_is_off_by_what_the_polygon_says(facets: int) -> None:
    # the best corner is π/k away from the direction of sliding
    problem = sliding_block(np.pi / facets)
    solution = perp.solve(problem, "lemke", formulation=f"stewart-trinkle:{facets}", throw=False)
    assert solution.status is perp.Status.APPROXIMATE
    opposing = -solution.z[1:] @ [np.cos(np.pi / facets), np.sin(np.pi / facets)]
    assert opposing == pytest.approx(MU * G * H * np.cos(np.pi / facets))
    assert solution.info["cone_error"] == solution.residual > 1e-8


def test_box_friction_is_too_strong_along_its_diagonal() -> None:
    solution = perp.solve(sliding_block(np.pi / 4), "pgs", formulation="box", throw=False)
    assert solution.status is perp.Status.APPROXIMATE
    assert np.linalg.norm(solution.z[1:]) == pytest.approx(np.sqrt(2) * MU * G * H)
    assert solution.info["cone_error"] > 1e-3
    with pytest.raises(perp.NotSolved, match="approximation"):
        perp.solve(sliding_block(np.pi / 4), "pgs", formulation="box")


def test_a_sticking_contact_solves_the_cone_too() -> None:
    solution = perp.solve(sliding_block(0.3, speed=0.01), "lemke", formulation="stewart-trinkle")
    assert solution.solved
    assert solution.w == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_more_facets_come_closer_to_the_cone(sparse: bool) -> None:
    problem = random_contacts(3, 2, sparse=sparse)
    exact = perp.solve(problem, tol=1e-10)
    errors = []
    for facets in (4, 16, 64):
        solution = perp.solve(problem, "lemke", formulation=f"stewart-trinkle:{facets}", throw=False)
        assert solution.status is perp.Status.APPROXIMATE
        errors.append(np.abs(solution.w - exact.w).max())
    assert errors[2] < 0.3 * errors[0]
    assert errors[1] <= errors[0] * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["pgs", "block-gauss-seidel", "boxed-newton", "lemke"])
def test_friction_in_the_plane_is_exactly_a_box(solver: str) -> None:
    rng = np.random.default_rng(7)
    J = rng.standard_normal((6, 9))
    q = rng.standard_normal(6)
    q[::2] -= 1.0
    problem = perp.ContactProblem.coulomb(J @ J.T, q, MU, dimension=2)
    form = "rows+shifted" if solver == "lemke" else None
    solution = perp.solve(problem, solver, formulation=form, tol=1e-10)
    reference = perp.solve(problem, "block-gauss-seidel", tol=1e-12)
    assert solution.w == pytest.approx(reference.w, abs=1e-8)


@pytest.mark.parametrize("form", ["stewart-trinkle", "anitescu-potra"])
def test_every_set_goes_through_the_pyramid(form: str) -> None:
    rng = np.random.default_rng(8)
    sets = [
        perp.Coulomb(0.5), perp.Free(), perp.Elliptic(0.3, 0.6), perp.Box(-0.2, 0.1),
        perp.Rolling(0.4, 0.05), perp.Nonnegative(), perp.Coulomb(0.2, 2),
    ]  # fmt: skip
    rows = perp.Sets(sets).rows
    J = rng.standard_normal((rows, rows + 4))
    q = rng.standard_normal(rows) - 0.5
    problem = perp.ContactProblem(J @ J.T, q, perp.Sets(sets))
    solution = perp.solve(problem, "boxed-newton", formulation=f"{form}:16", throw=False)
    assert solution.status is perp.Status.APPROXIMATE
    exact = perp.solve(problem, tol=1e-10)
    assert np.abs(solution.w - exact.w).max() < 0.2 * np.abs(exact.w).max()
    assert solution.residual < 0.2
    assert solution.w[3] == pytest.approx(0, abs=1e-9)  # the joint


def test_anitescu_potra_leaves_out_open_contacts_and_gaps() -> None:
    # two contacts of one mass: one closed with a gap error of −1 mm, one open by 1 mm over a step of 10 ms
    jacobian = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]] * 2)
    problem = perp.ContactProblem.from_dynamics(
        np.eye(3), jacobian, [-0.5, 0, 0], [-0.1, 0, 0, 0.1, 0, 0], perp.Sets.coulomb([MU, MU])
    )
    position = perp.solve(problem, "lemke", formulation="stewart-trinkle", throw=False)
    velocity = perp.solve(problem, "lemke", formulation="anitescu-potra", throw=False)
    assert position.z[[0, 3]] == pytest.approx([0.6, 0.0])  # pushes the gap error out
    assert velocity.z[[0, 3]] == pytest.approx([0.5, 0.0])  # stops the approach, no more
    assert velocity.status is perp.Status.APPROXIMATE


def test_bad_facets_and_relaxations_are_refused() -> None:
    problem = sliding_block(0.1)
    for facets in (2, 5):
        with pytest.raises(perp.ProblemError, match=f"facets = {facets}"):
            contact_as_pyramid(problem, facets)
    with pytest.raises(perp.SolverMismatch, match="relaxation"):
        perp.solve(problem.as_relaxed(), "lemke", formulation="stewart-trinkle")
    with pytest.raises(perp.SolverMismatch, match="friction in space"):
        perp.solve(problem, "pgs")
