"""Derivatives of contact problems against differences of solves, closed forms and random search."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import generators
import perp

H = 1e-6
KINDS = {
    "free": 0, "nonnegative": 1, "box": 2, "coulomb": 3, "elliptic": 4, "rolling": 5, "plane": 6,
}  # fmt: skip


def solved(problem):
    return perp.solve(problem, tol=1e-12, throw=False)


def changed(problem, changes, t):
    """The problem with its data moved by t along the changes."""
    d, sets = problem.dynamics, problem.sets
    moved = perp.problems.Sets.from_arrays(
        sets.kind, sets.parameters + t * changes["dparameters"], sets.dimension
    )
    return perp.ContactProblem.from_dynamics(
        d.mass + t * changes["dmass"], d.jacobian + t * changes["djacobian"],
        d.momentum + t * changes["dmomentum"], d.bias + t * changes["dbias"], moved,
        compliance=d.compliance + t * changes["dcompliance"], relaxed=problem.relaxed,
    )  # fmt: skip


def directions(problem, rng):
    d, sets = problem.dynamics, problem.sets
    A = rng.standard_normal(d.mass.shape)
    dp = np.where(np.isfinite(sets.parameters), sets.parameters, 0.0) * rng.standard_normal((sets.count, 6))
    dp[sets.kind < 2] = 0.0
    return {
        "dmass": A + A.T, "djacobian": rng.standard_normal(d.jacobian.shape),
        "dmomentum": rng.standard_normal(d.momentum.size), "dbias": rng.standard_normal(d.bias.size),
        "dcompliance": rng.standard_normal(d.bias.size), "dparameters": dp,
    }  # fmt: skip


def check(problem, seed, rtol=2e-6):
    """jvp against central differences, vjp against jvp; None at a switch."""
    rng = np.random.default_rng(seed)
    derivative = perp.derivative(problem, solved(problem))
    if derivative.degenerate.any():
        return None
    changes = directions(problem, rng)
    found = derivative.jvp(**changes)
    best = np.inf
    for h in (1e-5, 1e-6, 1e-7):
        plus, minus = (solved(changed(problem, changes, t)) for t in (h, -h))
        if not (plus.solved and minus.solved):
            continue
        if (perp.derivative(plus.problem, plus).mode != perp.derivative(minus.problem, minus).mode).any():
            continue
        off = [
            np.abs((a - b) / (2 * h) - c).max() / (1 + np.abs(c).max())
            for a, b, c in (
                (plus.impulse, minus.impulse, found.impulse), (plus.velocity, minus.velocity, found.velocity),
                (plus.body_velocity, minus.body_velocity, found.body_velocity),
            )
        ]  # fmt: skip
        best = min(best, max(off))
    if best == np.inf:
        return None
    assert best < rtol, (seed, best, derivative.mode)
    g, k, m = (rng.standard_normal(x.size) for x in (found.impulse, found.velocity, found.body_velocity))
    gradient = derivative.vjp(impulse=g, velocity=k, body_velocity=m)
    left = g @ found.impulse + k @ found.velocity + m @ found.body_velocity
    right = sum(
        float((getattr(gradient, name[1:]) * changes[name]).sum())
        for name in ("dmass", "djacobian", "dmomentum", "dbias", "dcompliance", "dparameters")
    )
    assert left == pytest.approx(right, rel=1e-7, abs=1e-9)
    return set(derivative.mode.tolist())


def with_compliance(problem, rng, relaxed):
    d = problem.dynamics
    return perp.ContactProblem.from_dynamics(
        d.mass, d.jacobian, d.momentum, d.bias, problem.sets,
        compliance=rng.uniform(0.05, 0.3, d.bias.size), relaxed=relaxed,
    )  # fmt: skip


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_against_differences_by_kind(kind, relaxed):
    seen = set()
    for seed in range(12):
        problem = generators.contact(3, seed, kinds=(KINDS[kind],))
        problem = with_compliance(problem, np.random.default_rng(seed), relaxed)
        seen |= check(problem, seed) or set()
    expected = {
        "free": {"free"}, "nonnegative": {"open", "closed"}, "box": {"lower", "upper"},
        "coulomb": {"open", "stick", "slide"}, "elliptic": {"open", "slide"}, "plane": {"open", "stick", "slide"},
        "rolling": {"open", "slide and roll"},
    }  # fmt: skip
    assert expected[kind] <= seen


@pytest.mark.parametrize("seed", range(12))
def test_mixtures_against_differences(seed):
    problem = generators.contact(5, 100 + seed)
    check(with_compliance(problem, np.random.default_rng(seed), seed % 3 == 0), seed)


def test_many_tangents_zero_coefficients_and_cohesion():
    """Elliptic sets with one to five tangents, some without friction; cohesion on all."""
    seen = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mu = rng.uniform(0.1, 0.8, 1 + seed % 5) * (4 if seed % 2 else 1)
        if seed % 4 == 3 and mu.size > 1:
            mu[1] = 0.0
        sets = [perp.Elliptic(*mu, cohesion=0.1), perp.Coulomb(0.3, cohesion=0.2)]
        rows = sum(s.dimension for s in sets)
        n = rows + 3
        problem = perp.ContactProblem.from_dynamics(
            generators.spd(n, rng, shift=0.5), rng.standard_normal((rows, n)) / np.sqrt(n),
            (0.2 if seed % 2 else 2) * rng.standard_normal(n), np.zeros(rows), sets,
            compliance=np.full(rows, 0.1),
        )  # fmt: skip
        seen |= check(problem, seed) or set()
    assert {"open", "slide", "stick"} <= seen


@pytest.mark.parametrize("sparse", [False, True])
def test_delassus_form(sparse):
    """The same through W and q, dense and sparse."""
    kind = csr_array if sparse else np.asarray
    rng = np.random.default_rng(1)
    base = generators.contact(4, 7, kinds=(3,))
    W, q = np.asarray(base.W) + 0.1 * np.eye(12), base.q
    A = rng.standard_normal(W.shape)
    dW, dq, dmu = A + A.T, rng.standard_normal(12), rng.standard_normal(4)

    def make(t):
        return perp.ContactProblem.coulomb(kind(W + t * dW), q + t * dq, base.sets.a + t * dmu)

    derivative = perp.derivative(make(0.0), solved(make(0.0)), verify=True)
    found = derivative.jvp(dW=dW, dq=dq, dmu=dmu)
    expected = (solved(make(H)).impulse - solved(make(-H)).impulse) / (2 * H)
    np.testing.assert_allclose(found.impulse, expected, atol=1e-5 * (1 + np.abs(expected).max()))
    g = rng.standard_normal(12)
    gradient = derivative.vjp(impulse=g)
    total = (gradient.W * dW).sum() + gradient.q @ dq + gradient.mu @ dmu
    assert g @ found.impulse == pytest.approx(float(total), rel=1e-9)


def test_sliding_block_closed_form():
    """A point of mass m pushed down by p_N slides with u = u₀ − μ p_N/m: du/dμ = −p_N/m, dλ_T/dμ = −p_N."""
    m, down, speed, mu = 2.0, 3.0, 5.0, 0.4
    problem = perp.ContactProblem.from_dynamics(
        m * np.eye(3), np.eye(3), [-down, m * speed, 0.0], 0.0, [perp.Coulomb(mu)]
    )
    derivative = perp.derivative(problem, perp.solve(problem))
    assert derivative.mode.tolist() == ["slide"]
    found = derivative.jvp(dmu=1.0)
    np.testing.assert_allclose(found.impulse, [0, -down, 0], atol=1e-9)
    np.testing.assert_allclose(found.velocity, [0, -down / m, 0], atol=1e-9)
    # a sideways push turns the velocity: the impulse follows with the curvature of the cone
    found = derivative.jvp(dmomentum=[0, 0, 1.0])
    left = speed - mu * down / m
    assert found.velocity[2] == pytest.approx(1 / m * left / (left + mu * down / m))


def box_on_corners(momentum, mu=0.5, mass=2.0):
    """A box on its four lower corners: twelve rows, six freedoms."""
    half = 0.5
    corners = [(x, y) for x in (-half, half) for y in (-half, half)]
    J = np.zeros((12, 6))
    for k, (x, y) in enumerate(corners):
        arm = np.array([x, y, -half])
        for r, axis in enumerate(([0, 0, 1.0], [1.0, 0, 0], [0, 1.0, 0])):
            J[3 * k + r] = np.concatenate([axis, np.cross(arm, axis)])
    M = np.diag([mass] * 3 + [mass / 6] * 3)
    return perp.ContactProblem.from_dynamics(M, J, momentum, 0.0, [perp.Coulomb(mu)] * 4)


def test_redundant_corners_have_unique_velocities():
    """Four corners that stick: no velocity changes with momentum; a vertex of the impulses tells the same."""
    problem = box_on_corners([0.1, 0, -2.0, 0, 0, 0])
    solution = perp.solve(problem, tol=1e-12)
    derivative = perp.derivative(problem, solution, verify=True)
    assert not derivative.unique
    assert derivative.velocity_unique
    found = derivative.jvp(dmomentum=[0.3, 0.2, -0.1, 0.05, -0.04, 0.02])
    assert found.consistent
    assert found.body_velocity is not None
    np.testing.assert_allclose(found.body_velocity, 0, atol=1e-9)
    # all on two corners of a diagonal: the other two seem to be at a switch, and are not
    problem = box_on_corners([0.0, 0, -2.0, 0, 0, 0])
    vertex = np.zeros(12)
    vertex[[0, 9]] = 1.0
    from perp.derivatives.contact import ContactDerivative

    at_vertex = ContactDerivative(problem, vertex)
    assert at_vertex.mode.tolist() == ["stick"] * 4
    assert not at_vertex.degenerate.any()
    moved = at_vertex.jvp(dmomentum=[0, 0, 0, 0.1, 0.1, 0]).body_velocity
    assert moved is not None
    np.testing.assert_allclose(moved, 0, atol=1e-8)


def test_redundant_corners_that_slide():
    """A box that slides straight: dv/dμ = −p_N/m, whatever the corners carry."""
    problem = box_on_corners([8.0, 0, -2.0, 0, 0, 0])
    derivative = perp.derivative(problem, perp.solve(problem, tol=1e-12))
    assert derivative.mode.tolist() == ["slide"] * 4
    found = derivative.jvp(dmu=np.ones(4))
    assert found.body_velocity is not None
    np.testing.assert_allclose(found.body_velocity[:3], [-1.0, 0, 0], atol=1e-8)


def test_contradicting_change_is_named():
    """One corner of four is lowered: three carry the box, which no derivative of this mode can tell."""
    problem = box_on_corners([0.0, 0, -2.0, 0, 0, 0])
    derivative = perp.derivative(problem, perp.solve(problem, tol=1e-12))
    change = np.zeros(12)
    change[0] = -1.0
    assert not derivative.jvp(dbias=change).consistent


def test_switch_is_named_and_one_sided():
    """A contact that only just touches: open is taken, degenerate says so, and verify refuses."""
    problem = perp.ContactProblem.from_dynamics(np.eye(3), np.eye(3), np.zeros(3), 0.0, [perp.Coulomb(0.5)])
    solution = perp.solve(problem)
    derivative = perp.derivative(problem, solution)
    assert derivative.degenerate.all()
    assert derivative.mode.tolist() == ["open"]
    assert "open" in derivative.one_sided
    np.testing.assert_allclose(derivative.jvp(dmomentum=[1.0, 0, 0]).velocity, [1.0, 0, 0])
    with pytest.raises(perp.derivatives.DerivativeError, match="switch"):
        perp.derivative(problem, solution, verify=True)


def test_verify_finds_a_wrong_derivative(monkeypatch):
    problem = with_compliance(generators.contact(3, 5, kinds=(3,)), np.random.default_rng(0), False)
    solution = solved(problem)
    perp.derivative(problem, solution, verify=True)
    from perp.derivatives import contact

    honest = contact.ContactDerivative._look

    def wrong(self, impulse):
        honest(self, impulse)
        self._C *= 1.0 + 0.1 * np.arange(36).reshape(6, 6)
        self._D *= 1.2
        self._B *= 1.0 + 0.3 * np.arange(36).reshape(6, 6)

    monkeypatch.setattr(contact.ContactDerivative, "_look", wrong)
    with pytest.raises(perp.derivatives.DerivativeError, match="differs"):
        perp.derivative(problem, solution, verify=True)


def test_bad_arguments():
    problem = generators.contact(2, 3, kinds=(3,))
    derivative = perp.derivative(problem, solved(problem))
    with pytest.raises(perp.ProblemError, match="dnothing"):
        derivative.jvp(dnothing=1.0)
    with pytest.raises(perp.ProblemError, match="dparameters"):
        derivative.jvp(dparameters=np.zeros((1, 6)))


@pytest.mark.parametrize("sets", [[perp.Coulomb(0.4)], [perp.Elliptic(0.4, 0.2)], [perp.Nonnegative()] * 3])
def test_smoothed_derivatives_are_those_of_the_path(sets):
    """Differences of the point of the path; κ → 0 is the derivative itself."""

    def found(momentum, kappa=1e-2):
        problem = perp.ContactProblem.from_dynamics(2 * np.eye(3), np.eye(3), momentum, 0.0, sets)
        return perp.derivative(problem, perp.solve(problem), smoothing=kappa)

    start, e = np.array([-3.0, 2.0, 0.5]), 1e-6 * np.array([0.3, -1.0, 0.7])
    mine = found(start).jvp(dmomentum=1e6 * e)
    # τ is a share of what is at work, which changes with the data: it is held
    size = float(found(start).problem.data_size.max())
    scaled = [1e-2 * (size / float(found(start + s * e).problem.data_size.max())) ** 2 for s in (1, -1)]
    ends = [found(start + s * e, k).impulse for s, k in zip((1, -1), scaled, strict=True)]
    np.testing.assert_allclose((ends[0] - ends[1]) / 2e-6, mine.impulse, rtol=1e-5, atol=1e-7)
    exact = found(start, 0.0).jvp(dmomentum=1e6 * e).velocity
    np.testing.assert_allclose(found(start, 1e-9).jvp(dmomentum=1e6 * e).velocity, exact, atol=1e-4)


def test_smoothing_is_refused_where_there_is_no_path():
    problem = generators.contact(2, 3, kinds=(3,))
    solution = solved(problem)
    with pytest.raises(perp.ProblemError, match="smoothing"):
        perp.derivative(problem, solution, smoothing=-1.0)
    with pytest.raises(perp.SolverMismatch, match="smoothing"):
        perp.derivative(problem, solution, smoothing=1e-3, verify=True)
