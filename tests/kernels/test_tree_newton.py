"""`tree_newton` against the shared residual, dense algebra and finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.compilation.kernel import whole
from perp.kernels.friction_laws import OPEN, ROOM, SLIPPING, STICKING, linearise, violation
from perp.problems.set_kernels import BOX, COULOMB, ELLIPTIC, FREE, NONNEGATIVE, ROLLING
from tree_problems import packed, solved


def random_scene(rng, trees, contacts, freedoms):
    """Trees with contacts against the world and each other, and some scalar rows; more rows than freedoms."""
    masses = []
    for _ in range(trees):
        n = int(rng.integers(*freedoms))
        A = rng.normal(size=(n, n))
        masses.append(A @ A.T + n * np.eye(n))
    bound = np.concatenate([[0], np.cumsum([m.shape[0] for m in masses])])
    sets, rows = [], []
    for c in range(contacts):
        mine = rng.choice(trees, size=min(trees, 1 + (c % 3 == 0)), replace=False)
        if c % 5 == 4:
            kind = [(FREE, 1, ()), (NONNEGATIVE, 1, ()), (BOX, 1, (-0.3, 0.2))][c % 3]
        else:
            kind = (COULOMB, 3, (rng.uniform(0, 1),))
        block = np.zeros((kind[1], bound[-1]))
        for t in mine:
            block[:, bound[t] : bound[t + 1]] = rng.normal(size=(kind[1], bound[t + 1] - bound[t]))
        sets.append(kind)
        rows.append(block)
    J = np.vstack(rows)
    velocity = rng.normal(size=bound[-1])
    return masses, J, velocity, 0.1 * rng.normal(size=J.shape[0]), sets


def as_contact_problem(masses, J, velocity, bias, sets, compliance):
    make = {FREE: perp.Free, NONNEGATIVE: perp.Nonnegative, BOX: perp.Box, COULOMB: perp.Coulomb}
    from scipy.linalg import block_diag

    M = block_diag(*masses)
    return perp.ContactProblem.from_dynamics(
        M, J, M @ velocity, bias, [make[kind](*p) for kind, _, p in sets], compliance=compliance
    )


@pytest.mark.parametrize("seed", range(30))
def test_answers_satisfy_the_shared_residual(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees = int(rng.integers(1, 8))
    data = random_scene(rng, trees, int(rng.integers(1, 3 * trees + 2)), (1, 8))
    J = data[1]
    # equalities that contradict each other have no answer; a little compliance makes any problem one that has
    compliance = np.full(J.shape[0], 1e-3)
    p = packed(*data, compliance)
    info, worst = solved(p)
    assert info[1] == 0
    assert worst <= 1.0
    assert perp.residual(as_contact_problem(*data, compliance), p.impulse) < 1e-10


def test_redundant_equalities_and_contacts_cost_nothing() -> None:
    # a box on four contacts with every row three times over: rank 6 of 36
    corners = np.array([[x, y, -0.1] for x in (-0.2, 0.2) for y in (-0.2, 0.2)])
    axes = np.eye(3)[[2, 0, 1]]
    rows = [np.concatenate([axis, np.cross(r, axis)]) for r in np.vstack([corners] * 3) for axis in axes]
    M = np.diag([2.0, 2.0, 2.0, 0.03, 0.03, 0.05])
    velocity = np.array([0.02, 0.0, -0.0981, 0.0, 0.0, 0.0])
    p = packed([M], np.array(rows), velocity, 0.0, [(COULOMB, 3, (0.5,))] * 12, 0.0)
    info, _ = solved(p)
    assert info[1] == 0
    assert info[2] <= 4
    np.testing.assert_allclose(p.velocity, 0.0, atol=1e-12)
    np.testing.assert_allclose(p.impulse[0::3].sum(), 2.0 * 0.0981, rtol=1e-10)


def test_a_pushed_box_slides_by_the_formula() -> None:
    M = np.diag([2.0, 2.0, 2.0])
    mu = 0.3
    p = packed([M], np.eye(3)[[2, 0, 1]], np.array([0.5, 0.0, -0.2]), 0.0, [(COULOMB, 3, (mu,))], 0.0)
    info, _ = solved(p)
    assert info[1] == 0
    np.testing.assert_allclose(p.velocity, [0.5 - mu * 0.2, 0.0, 0.0], atol=1e-13)


@pytest.mark.parametrize(("mu", "slides"), [(0.0, True), (1e9, False), (np.inf, False)])
def test_any_friction_coefficient(mu: float, slides: bool) -> None:
    p = packed([np.eye(3)], np.eye(3)[[2, 0, 1]], np.array([0.5, 0.1, -0.2]), 0.0, [(COULOMB, 3, (mu,))], 0.0)
    info, _ = solved(p)
    assert info[1] == 0
    expected = [0.5, 0.1, 0.0] if slides else [0.0, 0.0, 0.0]
    np.testing.assert_allclose(p.velocity, expected, atol=1e-12)


def test_cohesion_holds_a_body_that_is_pulled() -> None:
    # pull 0.2, cohesion 0.3: held, and friction up to μ (λ_N + c)
    sets = [(COULOMB, 3, (0.5, 0.0, 0.0, 0.0, 0.0, 0.3))]
    p = packed([np.eye(3)], np.eye(3)[[2, 0, 1]], np.array([0.5, 0.0, 0.2]), 0.0, sets, 0.0)
    info, _ = solved(p)
    assert info[1] == 0
    np.testing.assert_allclose(p.velocity, [0.5 - 0.5 * (-0.2 + 0.3), 0.0, 0.0], atol=1e-12)


KINDS = [
    (COULOMB, 2, (0.7,)),
    (COULOMB, 3, (0.7,)),
    (ELLIPTIC, 3, (0.7, 0.2)),
    (ELLIPTIC, 4, (0.7, 0.5, 0.02)),
    (ELLIPTIC, 6, (0.7, 0.5, 0.02, 0.01, 0.003)),
    (ELLIPTIC, 4, (0.7, 0.0, 0.02)),
    (ROLLING, 5, (0.7, 0.05)),
]


def discs(kind: int, size: int, parameters: np.ndarray) -> list[tuple[range, float, np.ndarray]]:
    """Rows, friction and stretches of the discs of a set."""
    if kind == ROLLING:
        return [(range(1 + 2 * k, 3 + 2 * k), float(parameters[k]), np.ones(2)) for k in range(2)]
    rows = range(1, size)
    if kind == COULOMB:
        return [(rows, float(parameters[0]), np.ones(size - 1))]
    mu = float(parameters[parameters > 0.0][0])
    return [(rows, mu, parameters[: size - 1] / mu)]


def room_and_block(rng: np.random.Generator, parameters: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Room for the law of one constraint, and a tangential block, without directions of no friction."""
    A = rng.normal(size=(6, 6))
    block = A @ A.T + 0.1 * np.eye(6)
    for k, mu in enumerate(parameters):
        if mu == 0.0:
            block[k + 1], block[:, k + 1], block[k + 1, k + 1] = 0.0, 0.0, 1.0
    return np.zeros(ROOM), block


def slipping_point(law, rng, at=None):
    """A point of the law where all discs slip, or one next to `at` (normal impulse, directions, slips)."""
    kind, size, parameters = law
    parts = discs(kind, size, parameters[:5])
    if at is None:
        n, e, slips = rng.uniform(0.5, 2.0), [rng.normal(size=len(g)) for _, _, g in parts], []
        slips = [rng.uniform(0.1, 3.0) for _ in parts]
    else:
        n, e, slips = at
        n, slips = n + 1e-5 * rng.normal(), [s + 1e-5 * rng.normal() for s in slips]
        e = [v + 1e-5 * rng.normal(size=v.size) for v in e]
    x, u = np.zeros(6), np.zeros(6)
    x[0] = n - parameters[5]
    for k, (rows, mu, g) in enumerate(parts):
        e[k] = np.where(g > 0.0, e[k], 0.0) / np.linalg.norm(e[k][g > 0.0])
        for r, i in enumerate(rows):
            x[i] = g[r] * mu * n * e[k][r]
            u[i] = -slips[k] * e[k][r] / g[r] if g[r] > 0.0 else 0.3
    return x, u, (n, e, slips)


@pytest.mark.parametrize(("kind", "size", "parameters"), KINDS)
def test_equations_are_the_tangent_plane_of_the_law(kind: int, size: int, parameters: tuple) -> None:
    rng = np.random.default_rng(size)
    full = np.zeros(6)
    full[: len(parameters)] = parameters
    full[5] = 0.0 if size == 6 else 0.1
    law = kind, size, full
    for recalled in [False, True] * 10:
        d = rng.uniform(0.3, 2.0, 3)
        room, block = room_and_block(rng, parameters)
        x, u, at = slipping_point(law, rng)
        state = whole(linearise)(kind, full, size, d, x, u, (block, recalled), room)
        assert state == SLIPPING
        np.testing.assert_allclose(room[1, :size], 0.0, atol=1e-12)
        near_x, near_u, _ = slipping_point(law, rng, at)
        B, C = room[8 : 8 + size, :size], room[14 : 14 + size, :size]
        change = B @ (near_x - x)[:size] + C @ (near_u - u)[:size]
        np.testing.assert_allclose(change, 0.0, atol=1e-8)
        assert np.linalg.matrix_rank(np.hstack([B, C])) == size


@pytest.mark.parametrize(("kind", "size", "parameters"), KINDS)
def test_what_sticks_and_what_is_open_stays_so(kind: int, size: int, parameters: tuple) -> None:
    rng = np.random.default_rng(size)
    full = np.zeros(6)
    full[: len(parameters)] = parameters
    room, block = room_and_block(rng, parameters)
    x, u, _ = slipping_point((kind, size, full), rng)
    x[1:] *= 0.9
    d = np.array([0.4, 0.7, 1.9])
    state = whole(linearise)(kind, full, size, d, x, np.zeros(6), (block, False), room)
    assert state == (SLIPPING if 0.0 in parameters else STICKING)
    np.testing.assert_allclose(room[1, :size], 0.0, atol=1e-14)
    u[0] = 0.1
    assert whole(linearise)(kind, full, size, d, np.zeros(6), u, (block, False), room) == OPEN
    np.testing.assert_array_equal(room[1, :size], 0.0)


def test_a_disc_comes_to_the_answer_of_its_own_block() -> None:
    # with the block of the contact itself one step from anywhere is the answer, where it slips or sticks
    rng = np.random.default_rng(5)
    slips = 0
    for _ in range(40):
        room, block = room_and_block(rng, ())
        block[1:, 0] = 0.0
        S, mu, d = block[1:3, 1:3], 0.5, np.array([2.0, 1.0, 1.0])
        parameter = np.array([mu, 0, 0, 0, 0, 0.0])
        free = np.array([-1.0, *rng.normal(size=2)])
        x = np.array([0.5, 0.2, 0.1])  # the normal impulse is that of the answer: 2 · 0.5 − 1 = 0
        W = np.zeros((3, 3))
        W[0, 0], W[1:, 1:], state = d[0], S, OPEN
        for _ in range(8):
            u = W @ x + free
            state = whole(linearise)(COULOMB, parameter, 3, d, x, u, (block, False), room)
            x = x - np.linalg.solve(room[8:11, :3] + room[14:17, :3] @ W, room[1, :3])
        u = W @ x + free
        slips += state == SLIPPING
        np.testing.assert_allclose(u[0], 0.0, atol=1e-13)
        if state == SLIPPING:
            np.testing.assert_allclose(x[1:], -mu * x[0] * u[1:] / np.linalg.norm(u[1:]), atol=1e-11)
        else:
            np.testing.assert_allclose(u[1:], 0.0, atol=1e-12)
            assert np.linalg.norm(x[1:]) <= mu * x[0] * (1 + 1e-12)
    assert 5 < slips < 35


def test_a_first_step_keeps_what_impulses_of_the_last_problem_hold() -> None:
    # a body that sticks is pushed up a little: the velocity says open, the impulse says closed
    parameter, d = np.array([0.5, 0, 0, 0, 0, 0.0]), np.ones(3)
    room, block = room_and_block(np.random.default_rng(0), ())
    x, u = np.array([0.1, 0.02, 0.0]), np.array([0.3, 0.1, 0.0])
    assert whole(linearise)(COULOMB, parameter, 3, d, x, u, (block, True), room) == STICKING
    np.testing.assert_array_equal(room[1, :3], u)
    # friction at its limit goes on slipping, as fast as the velocity says along it
    x, u = np.array([0.1, 0.03, 0.04]), np.array([0.3, -0.3, -0.1])
    assert whole(linearise)(COULOMB, parameter, 3, d, x, u, (block, True), room) == SLIPPING
    # across its direction (0.6, 0.8): slip times impulse + radius times velocity
    across, B, C = np.array([-0.8, 0.6]), room[8:11, :3], room[14:17, :3]
    share = 0.05 + 0.26
    np.testing.assert_allclose(across @ B[1:, 1:] @ across, 0.26 / share, rtol=1e-12)
    np.testing.assert_allclose(across @ C[1:, 1:] @ across, 0.05 / share, rtol=1e-12)
    # what carries nothing has nothing to keep
    assert whole(linearise)(COULOMB, parameter, 3, d, np.zeros(3), u, (block, True), room) == OPEN


def test_elliptic_slip_opposes_velocity_in_the_metric_of_the_cone() -> None:
    # maximal dissipation on ‖λ_i / μ_i‖ ≤ λ_N: λ_i = −λ_N μ_i² u_i / ‖μ u‖
    mu = (0.6, 0.3, 0.05)
    p = packed(
        [np.diag([1.0, 1.0, 1.0, 0.02])], np.eye(4)[[2, 0, 1, 3]], np.array([1.0, -2.0, -0.5, 9.0]), 0.0,
        [(ELLIPTIC, 4, mu)], 0.0,
    )  # fmt: skip
    info, _ = solved(p)
    assert info[1] == 0
    u, push = p.row_velocity, p.impulse
    weighed = np.array(mu) * u[1:4]
    np.testing.assert_allclose(
        push[1:4], -push[0] * np.array(mu) * weighed / np.linalg.norm(weighed), rtol=1e-9
    )


def test_the_residual_does_not_shrink_with_friction() -> None:
    g, unit = np.zeros(6), np.ones(6)
    for mu in (0.5, 1e9, np.inf):
        parameter = np.array([mu, 0, 0, 0, 0, 0.0])
        worst, _ = whole(violation)(
            COULOMB, parameter, 3, 2.0 * np.ones(3), np.zeros(3), np.array([-1.0, 0.1, 0.2]), unit, g
        )
        assert worst >= 1.0
