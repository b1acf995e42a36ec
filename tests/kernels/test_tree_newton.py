"""`tree_newton` against the shared residual, dense algebra and finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.compilation.kernel import whole
from perp.kernels.friction_laws import linearise, recalled_velocities, violation
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


def equations(law, d, x, u, weights, lengths=None):
    """The law of a set as equations, in numpy, with given weights of impulses against slip in its discs.

    With `lengths` those of a slipping disc are multiplied by ‖y‖ over the length that is given for it.
    """
    kind, size, parameters = law
    group = np.array([d[0], d[1], d[1], d[2], d[2], d[2]])[:size]
    push = d[0] * (x[0] + parameters[5]) - u[0]
    if push <= 0.0:
        return group * (x[:size] + np.eye(size)[0] * parameters[5])
    F = u[:size].copy()
    for k, ((rows, mu, g), t) in enumerate(zip(discs(kind, size, parameters[:5]), weights, strict=True)):
        i, radius = list(rows), mu * push / d[0]
        y = direction(x, u, i, g, t)
        if np.linalg.norm(y) > t * radius:
            over = 1.0 if lengths is None else np.linalg.norm(y) / lengths[k]
            F[i] = over * group[i] * (x[i] - g * radius * y / np.linalg.norm(y))
        F[i] = np.where(g > 0.0, F[i], group[i] * x[i])
    return F


def direction(x, u, rows, g, t):
    """The vector y of a disc."""
    return np.array([t * x[k] / s - s * u[k] if s > 0.0 else 0.0 for k, s in zip(rows, g, strict=True)])


@pytest.mark.parametrize(("kind", "size", "parameters"), KINDS)
def test_derivatives_of_the_equations(kind: int, size: int, parameters: tuple[float, ...]) -> None:
    rng = np.random.default_rng(size)
    full = np.zeros(6)
    full[: len(parameters)] = parameters
    full[5] = 0.0 if size == 6 else 0.1
    g, F, B, C = np.zeros(6), np.zeros(6), np.zeros((6, 6)), np.zeros((6, 6))
    slipping, law = 0, (kind, size, full)
    for _ in range(80):
        x, u, d = rng.normal(size=6), rng.normal(size=6), np.array([0.4, 0.7, 1.9])
        x[0] += 1.0
        push = x[0] + full[5] - u[0] / d[0]
        for rows, mu, s in discs(kind, size, full[:5]):
            # friction within its limit; impulses beyond it are cut in the slopes
            some = [k for k, stretch in zip(rows, s, strict=True) if stretch > 0.0]
            far = np.linalg.norm(x[some] / s[s > 0.0])
            x[some] *= min(1.0, 0.9 * mu * max(push, 0.0) / far)
        state = whole(linearise)(kind, full, size, d, x, u, g, (F, B, C))
        # slip and impulses of one size, within two decades of the mobility
        weights = [
            np.clip(np.linalg.norm(s * u[list(rows)]) / (mu * push), 0.01 * d[1], d[1]) if push > 0 else d[1]
            for rows, mu, s in discs(kind, size, full[:5])
        ]
        np.testing.assert_allclose(equations(law, d, x, u, weights), F[:size], rtol=1e-12, atol=1e-12)
        lengths, against = [], False
        for (rows, _, s), t in zip(discs(kind, size, full[:5]), weights, strict=True):
            y = direction(x, u, rows, s, t)
            lengths.append(np.linalg.norm(y))
            against |= np.divide(x[list(rows)], s, out=np.zeros(len(s)), where=s > 0.0) @ y < 0.0
        if against:  # the bend is lowered there
            continue
        slipping += state > 1
        for k in range(size):
            for vector, J in ((x, B), (u, C)):
                step, keep = 1e-7, vector[k]
                ends = []
                for vector[k] in (keep - step, keep + step):
                    ends.append(equations(law, d, x, u, weights, lengths))
                vector[k] = keep
                slope = (ends[1] - ends[0]) / (2 * step)
                np.testing.assert_allclose(slope, J[:size, k], rtol=2e-5, atol=2e-5)
    assert slipping > 5


def test_a_first_step_keeps_what_impulses_of_the_last_problem_hold() -> None:
    # a body that sticks is pushed up a little: the velocity says open, the impulse says closed
    parameter = np.array([0.5, 0, 0, 0, 0, 0.0])
    x, u, near = np.array([0.1, 0.02, 0.0]), np.array([0.3, 0.1, 0.0]), np.full(6, np.nan)
    assert whole(recalled_velocities)(COULOMB, parameter, 3, x, u, np.zeros(6), near)
    np.testing.assert_array_equal(near[:3], 0.0)
    # friction at its limit goes on slipping, as fast as the velocity says along it
    x = np.array([0.1, 0.03, 0.04])
    u = np.array([0.3, -0.3, -0.1])
    assert whole(recalled_velocities)(COULOMB, parameter, 3, x, u, np.zeros(6), near)
    np.testing.assert_allclose(near[:3], [0.0, -0.26 * 0.6, -0.26 * 0.8], rtol=1e-12)
    assert not whole(recalled_velocities)(COULOMB, parameter, 3, np.zeros(3), u, np.zeros(6), near)


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
