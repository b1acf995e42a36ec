"""Elliptic cones with one to five tangents and cohesion: closed forms, every solver, files, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from second_opinion import law_violation

import perp
import twins

COEFFICIENTS = [(0.5,), (0.5, 0.2), (0.6, 0.3, 0.05), (0.5, 0.5, 0.04, 0.02), (0.7, 0.4, 0.05, 0.03, 0.02)]
SOLVERS = ["auto", "block-gauss-seidel", "newton", "newton-fb", "proximal-point", "interior-point", "admm"]


def mixture(seed: int, *, cohesion: float = 0.0, relaxed: bool = False) -> perp.ContactProblem:
    """One contact of each size on two bodies, with a joint; some tangents are without friction."""
    rng = np.random.default_rng(seed)
    sets = [perp.Elliptic(*mu, cohesion=cohesion) for mu in COEFFICIENTS]
    sets += [perp.Free(), perp.Elliptic(0.4, 0.0, 0.0, 0.03), perp.Coulomb(0.5, cohesion=cohesion)]
    rows = sum(member.dimension for member in sets)
    J = rng.normal(size=(rows, 30))
    return perp.ContactProblem(J @ J.T, J @ rng.normal(size=30), sets, relaxed=relaxed)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("cohesion", [0.0, 0.05])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_of_cones_takes_them(solver, cohesion, relaxed):
    problem = mixture(1, cohesion=cohesion, relaxed=relaxed)
    solution = perp.solve(problem, solver, throw=False)
    assert solution.residual <= 1e-8
    assert twins.contact_residual(problem, solution.z) <= 1e-7
    assert law_violation(problem, solution.z) <= 1e-6


@pytest.mark.parametrize("formulation", ["dual", "primal"])
def test_the_relaxation_is_the_cone_program_of_clarabel(formulation):
    problem = mixture(2, cohesion=0.03, relaxed=True)
    there = perp.solve(problem, "clarabel", formulation=formulation, tol=1e-9, throw=False)
    here = perp.solve(problem)
    # its own tolerances are on other quantities
    np.testing.assert_allclose(there.w, here.w, atol=1e-3)


@pytest.mark.parametrize("k", range(1, 6))
def test_a_spherical_cone_with_any_number_of_tangents_slides_against_the_velocity(k):
    mu, q = 0.4, np.concatenate([[-1.0], np.arange(1.0, k + 1.0)])
    solution = perp.solve(perp.ContactProblem(np.eye(k + 1), q, [perp.Elliptic(*[mu] * k)]))
    slip = q[1:] / np.linalg.norm(q[1:])
    # rows that turn have the length 1 here, so that all tangents are alike
    np.testing.assert_allclose(solution.z, np.concatenate([[1.0], -mu * slip]), atol=1e-8)


def test_one_tangent_is_a_contact_in_the_plane_and_a_zero_takes_a_row_away():
    W, q = np.array([[2.0, 0.3], [0.3, 1.5]]), [-1.0, 0.9]
    plane = perp.solve(perp.ContactProblem(W, q, [perp.Coulomb(0.3, dimension=2)])).z
    np.testing.assert_allclose(
        perp.solve(perp.ContactProblem(W, q, [perp.Elliptic(0.3)])).z, plane, atol=1e-9
    )
    wide = np.eye(4)
    wide[np.ix_([0, 2], [0, 2])] = W
    free = perp.solve(perp.ContactProblem(wide, [-1.0, 5.0, 0.9, -3.0], [perp.Elliptic(0.0, 0.3, 0.0)])).z
    np.testing.assert_allclose(free, [plane[0], 0.0, plane[1], 0.0], atol=1e-9)


def test_cohesion_holds_a_contact_up_to_its_strength_and_lets_go_beyond():
    held = perp.solve(perp.ContactProblem(np.eye(3), [0.3, 0.0, 0.0], [perp.Coulomb(0.5, cohesion=0.4)]))
    np.testing.assert_allclose(held.z, [-0.3, 0.0, 0.0], atol=1e-9)
    torn = perp.solve(perp.ContactProblem(np.eye(3), [0.6, 0.0, 0.0], [perp.Coulomb(0.5, cohesion=0.4)]))
    np.testing.assert_allclose(torn.z, [-0.4, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(torn.w, [0.2, 0.0, 0.0], atol=1e-9)
    # friction at rest on a contact that is pulled: μ (λ_N + c) = 0.5 · (−0.1 + 0.4)
    slid = perp.solve(perp.ContactProblem(np.eye(3), [0.1, 1.0, 0.0], [perp.Coulomb(0.5, cohesion=0.4)]))
    np.testing.assert_allclose(slid.z, [-0.1, -0.15, 0.0], atol=1e-9)


def test_projection_onto_a_cohesive_cone_moves_its_apex():
    member, bare = perp.Elliptic(0.5, 0.2, 0.1, cohesion=0.7), perp.Elliptic(0.5, 0.2, 0.1)
    for x in np.random.default_rng(0).normal(size=(50, 4)):
        apex = np.array([0.7, 0.0, 0.0, 0.0])
        expected = bare.project(x + apex) - apex
        np.testing.assert_allclose(member.project(x), expected, atol=1e-15)
        np.testing.assert_allclose(bare.project(x), twins.project(bare, x), atol=1e-9)


def test_files_keep_them(tmp_path):
    problem = mixture(3, cohesion=0.2)
    problem.save(tmp_path / "problem.npz")
    assert problem.equals(perp.load(tmp_path / "problem.npz"))
    with pytest.raises(perp.PerpError, match=r"use \.npz"):
        problem.save(tmp_path / "problem.hdf5")


def test_a_start_of_a_cohesive_problem_is_its_own():
    problem = mixture(4, cohesion=0.1)
    first = perp.solve(problem)
    assert perp.solve(problem, start=first).iterations <= 2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (perp.Elliptic, "0 coefficients"),
        (lambda: perp.Elliptic(*[0.1] * 6), "6 coefficients"),
        (lambda: perp.Elliptic(0.1, -0.2), r"Elliptic.mu\[1\] = -0.2 is negative"),
        (lambda: perp.Coulomb(0.1, cohesion=-1.0), "Coulomb.cohesion = -1.0 is negative"),
        (lambda: perp.Rolling(0.1, 0.1, cohesion=np.inf), "Rolling.cohesion"),
        (lambda: perp.Sets.from_arrays([4], [[0.1] * 5 + [-1.0]], [6]), r"parameters\[0, 5\] = -1.0"),
        (lambda: perp.Sets.from_arrays([4], [[0.1] * 6], [7]), "dimension"),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(perp.ProblemError, match=words):
        make()
