"""Residuals of problems in dynamics form against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.sparse import csr_array

import perp
from perp.problems.accurate_dynamics import accurate_velocity, round_off_shows


def solve_exactly(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction]:
    """A⁻¹ b by elimination with fractions."""
    n = len(b)
    rows = [[*A[i], b[i]] for i in range(n)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def exact_velocity(mass, J, p, b, compliance, impulse) -> np.ndarray:
    """J M⁻¹ (p + Jᵀ λ) + b + Σ λ from the doubles as they are."""
    rational = np.vectorize(Fraction, otypes=[object])
    mass, J, p, b, compliance, impulse = (rational(x) for x in (mass, J, p, b, compliance, impulse))
    v = solve_exactly(mass.tolist(), (p + J.T @ impulse).tolist())
    return (J @ np.array(v, dtype=object) + b + compliance * impulse).astype(float)


def squeezed(seed: int, condition: float):
    """Two bodies that opposing contacts squeeze with impulses far larger than the data."""
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(2):
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        block = Q @ np.diag([1.0, condition**0.5, condition]) @ Q.T
        blocks.append(0.5 * (block + block.T))
    half = rng.normal(size=(6, 6))
    J = np.vstack([half, -0.7 * half])
    impulse = 1e4 * rng.uniform(0.3, 1.0, 6)
    impulse = np.concatenate([impulse, impulse / 0.7])
    p, b = 1e-12 * rng.normal(size=6), 1e-12 * rng.normal(size=12)
    compliance = np.zeros(12)
    compliance[2] = 1e-16
    return np.array(blocks), J, p, b, compliance, impulse


@pytest.mark.parametrize("form", ["blocks", "dense", "sparse"])
@pytest.mark.parametrize("condition", [1.0, 1e6])
@pytest.mark.parametrize("seed", range(3))
def test_velocities_and_residual_are_those_of_exact_arithmetic(seed, condition, form):
    blocks, J, p, b, compliance, impulse = squeezed(seed, condition)
    whole = block_diag(*blocks)
    mass = {"blocks": blocks, "dense": whole, "sparse": csr_array(whole)}[form]
    jacobian = J if form == "dense" else csr_array(J)
    sets = [perp.Free()] * 12
    problem = perp.ContactProblem.from_dynamics(mass, jacobian, p, b, sets, compliance=compliance)
    u = exact_velocity(whole, J, p, b, compliance, impulse)
    assert round_off_shows(problem, impulse)
    assert accurate_velocity(problem.dynamics, impulse) == pytest.approx(u, rel=1e-9, abs=1e-22)
    expected = np.abs(u).max() / np.abs(problem.q).max()
    assert perp.residual(problem, impulse) == pytest.approx(expected, rel=1e-9)
    # what plain arithmetic makes of it is another number
    assert np.abs(problem.evaluate(impulse) - u).max() > 0.01 * np.abs(u).max()


def test_plain_data_are_not_looked_at_twice():
    mass = np.tile(np.diag([1.0, 1.0, 1.0, 0.1, 0.1, 0.1]), (4, 1, 1))
    rng = np.random.default_rng(0)
    J = csr_array(rng.normal(size=(12, 24)))
    problem = perp.ContactProblem.from_dynamics(
        mass, J, rng.normal(size=24), 0.0, perp.Sets.coulomb(np.full(4, 0.5))
    )
    solution = perp.solve(problem)
    assert not round_off_shows(problem, solution.z)
