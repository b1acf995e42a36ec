"""Nesterov–Todd scaling of cones, and central paths of a body at rest on redundant contacts."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.compilation.kernel import whole
from perp.kernels.cone_scaling import divide, inverse_square, room, scale, scaling, unscale


def inside(rng: np.random.Generator, m: int) -> np.ndarray:
    x = rng.normal(size=m)
    x[0] = np.linalg.norm(x[1:]) + rng.uniform(1e-3, 1.0)
    return x


@pytest.mark.parametrize("m", [1, 2, 3, 6])
def test_scaling_takes_z_and_s_to_the_same_point(m):
    rng = np.random.default_rng(m)
    for _ in range(20):
        s, z, w, a, b = inside(rng, m), inside(rng, m), np.empty(m), np.empty(m), np.empty(m)
        eta = whole(scaling)(s, z, 0, m, w)
        whole(scale)(w, eta, 0, m, z, 0, a, 0)
        whole(unscale)(w, eta, 0, m, s, 0, b, 0)
        np.testing.assert_allclose(a, b, rtol=1e-9)
        V = np.array([[whole(inverse_square)(w, eta, 0, i, j) for j in range(m)] for i in range(m)])
        whole(unscale)(w, eta, 0, m, s, 0, a, 0)
        whole(unscale)(w, eta, 0, m, a, 0, b, 0)
        np.testing.assert_allclose(V @ s, b, rtol=1e-8)


@pytest.mark.parametrize("m", [1, 2, 3, 6])
def test_division_undoes_the_jordan_product(m):
    rng = np.random.default_rng(10 + m)
    x, v, out = inside(rng, m), rng.normal(size=m), np.empty(m)
    product = np.concatenate([[x @ v], x[0] * v[1:] + v[0] * x[1:]])
    whole(divide)(x, 0, product, 0, m, out, 0)
    np.testing.assert_allclose(out, v, rtol=1e-9)


@pytest.mark.parametrize("m", [1, 2, 3, 6])
def test_room_ends_on_the_surface_of_the_cone(m):
    rng = np.random.default_rng(20 + m)
    for _ in range(50):
        x, dx = inside(rng, m), rng.normal(size=m)
        t = whole(room)(x, dx, 0, m)
        if t < 1e20:
            end = x + t * dx
            assert abs(end[0] - np.linalg.norm(end[1:])) < 1e-9 * np.linalg.norm(end) + 1e-12
        far = min(t, 1e3) * 0.999
        assert (x + far * dx)[0] >= np.linalg.norm((x + far * dx)[1:])


def box_on_four_corners(pull: float, mu: float = 0.5) -> perp.ContactProblem:
    """A unit cube on four contacts after a step: 12 rows on 6 unknowns; `pull` is the free sliding speed."""
    frame = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    corners = [(x, y, -0.5) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
    J = np.vstack([np.hstack([frame, np.cross(corner, frame)]) for corner in corners])
    inverse = np.array([1.0, 1.0, 1.0, 6.0, 6.0, 6.0])
    return perp.ContactProblem.coulomb((J * inverse) @ J.T, J @ [pull, 0.0, -0.1, 0.0, 0.0, 0.0], mu)


@pytest.mark.parametrize("pull", [0.0, 0.03])
def test_a_box_that_sticks_on_redundant_contacts_is_solved_by_the_relaxation(pull):
    problem = box_on_four_corners(pull)
    impulse = perp.solve(problem.as_relaxed(), "interior-point", tol=1e-10).z
    assert perp.residual(problem, impulse) < 1e-8
    total = impulse.reshape(4, 3).sum(axis=0)
    np.testing.assert_allclose(total, [0.1, -pull, 0.0], atol=1e-8)


@pytest.mark.parametrize("pull", [0.0, 0.03, 0.2])
def test_the_path_of_exact_friction_rests_or_slides_as_the_textbook_says(pull):
    problem = box_on_four_corners(pull)
    impulse = perp.solve(problem, "interior-point").z
    np.testing.assert_allclose(impulse.reshape(4, 3).sum(axis=0), [0.1, -min(pull, 0.05), 0.0], atol=1e-8)


def test_the_relaxation_is_followed_too():
    problem = box_on_four_corners(0.2).as_relaxed()
    impulse = perp.solve(problem, "interior-point", tol=1e-10).z
    assert perp.residual(problem, impulse) < 1e-8
    assert perp.residual(problem.as_exact(), impulse) > 1e-2
