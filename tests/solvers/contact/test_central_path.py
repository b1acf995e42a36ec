"""The central path of exact friction: its scaling, bodies at rest on redundant contacts, huge friction."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.kernels.elimination import eliminate
from perp.solvers.contact.canonical import blocks_of
from perp.solvers.contact.central_path import cones_of, follow_path
from perp.solvers.contact.cone_scaling import divide, inverse_square, room, scale, scaling, unscale


def inside(rng: np.random.Generator, m: int) -> np.ndarray:
    x = rng.normal(size=m)
    x[0] = np.linalg.norm(x[1:]) + rng.uniform(1e-3, 1.0)
    return x


@pytest.mark.parametrize("m", [1, 2, 3])
def test_scaling_takes_z_and_s_to_the_same_point(m):
    rng = np.random.default_rng(m)
    for _ in range(20):
        s, z, w, a, b = inside(rng, m), inside(rng, m), np.empty(m), np.empty(m), np.empty(m)
        eta = scaling(s, z, 0, m, w)
        scale(w, eta, 0, m, z, 0, a, 0)
        unscale(w, eta, 0, m, s, 0, b, 0)
        np.testing.assert_allclose(a, b, rtol=1e-9)
        V = np.array([[inverse_square(w, eta, 0, i, j) for j in range(m)] for i in range(m)])
        unscale(w, eta, 0, m, s, 0, a, 0)
        unscale(w, eta, 0, m, a, 0, b, 0)
        np.testing.assert_allclose(V @ s, b, rtol=1e-8)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_division_undoes_the_jordan_product(m):
    rng = np.random.default_rng(10 + m)
    x, v, out = inside(rng, m), rng.normal(size=m), np.empty(m)
    product = np.concatenate([[x @ v], x[0] * v[1:] + v[0] * x[1:]])
    divide(x, 0, product, 0, m, out, 0)
    np.testing.assert_allclose(out, v, rtol=1e-9)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_room_ends_on_the_surface_of_the_cone(m):
    rng = np.random.default_rng(20 + m)
    for _ in range(50):
        x, dx = inside(rng, m), rng.normal(size=m)
        t = room(x, dx, 0, m)
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


def along_path(problem: perp.ContactProblem, kappa: float = np.inf, cap: float = np.inf) -> np.ndarray:
    blocks = blocks_of(problem)
    x = np.zeros(problem.size)
    follow_path(blocks, eliminate(blocks.first, blocks.column), x, 1e-11, kappa, cap, 80)
    return blocks.scale * x


@pytest.mark.parametrize("kappa", [1e-3, np.inf])
@pytest.mark.parametrize("pull", [0.0, 0.03, 0.2])
def test_a_box_on_redundant_contacts_rests_or_slides_as_the_textbook_says(pull, kappa):
    problem = box_on_four_corners(pull)
    impulse = along_path(problem, kappa)
    assert perp.residual(problem, impulse) < 1e-8
    total = impulse.reshape(4, 3).sum(axis=0)
    np.testing.assert_allclose(total, [0.1, -min(pull, 0.05), 0.0], atol=1e-8)


def test_the_relaxation_is_followed_too():
    problem = box_on_four_corners(0.2).as_relaxed()
    impulse = along_path(problem)
    assert perp.residual(problem, impulse) < 1e-8
    assert perp.residual(problem.as_exact(), impulse) > 1e-2


def test_cones_leave_out_what_has_no_friction():
    sets = [
        perp.Free(),
        perp.Box(-1.0, np.inf),
        perp.Coulomb(0.0),
        perp.Elliptic(0.5, 0.0),
        perp.Rolling(0.3, 0.0),
    ]
    problem = perp.ContactProblem(np.eye(13), np.ones(13), sets)
    first, owner, row, _, _, friction, fixed = cones_of(blocks_of(problem), np.inf)
    assert list(owner) == [1, 2, 3, 4]
    assert list(np.diff(first)) == [1, 1, 2, 3]
    assert list(np.flatnonzero(fixed)) == [3, 4, 7, 11, 12]
    assert list(row) == [1, 2, 5, 6, 8, 9, 10]
    np.testing.assert_allclose(friction, [0, 0, 0, 0.5, 0, 0.3, 0.3])
