"""Projection and normal-cone residual of every set, against an independent implementation and Moreau's theorem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perp
import twins

MEMBERS = [
    perp.Free(),
    perp.Nonnegative(),
    perp.Box(-0.5, 2.0),
    perp.Box(-np.inf, 1.0),
    perp.Box(0.3, 0.3),
    perp.Coulomb(0.5),
    perp.Coulomb(0.0),
    perp.Coulomb(1e6),
    perp.Coulomb(0.7, dimension=2),
    perp.Elliptic(0.5, 0.1),
    perp.Elliptic(2.0, 2.0),
    perp.Rolling(0.5, 0.1),
    perp.Rolling(0.0, 0.3),
    perp.Rolling(0.4, 0.0),
]
numbers = st.floats(-100, 100, allow_subnormal=False)


@pytest.mark.parametrize("member", MEMBERS, ids=repr)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_projection_agrees_with_the_twin(member, data):
    x = np.array(data.draw(st.lists(numbers, min_size=member.dimension, max_size=member.dimension)))
    expected = twins.project(member, x)
    np.testing.assert_allclose(member.project(x), expected, atol=1e-12 * (1 + np.abs(x).max()), rtol=1e-9)


@pytest.mark.parametrize("member", [m for m in MEMBERS if not isinstance(m, perp.Box)], ids=repr)
def test_moreau_decomposition_of_cones(member):
    """X = P_K(x) − P_K*(−x) with orthogonal parts, so x − P_K(x) is in the polar cone."""
    rng = np.random.default_rng(1)
    for x in rng.standard_normal((50, member.dimension)) * np.logspace(-8, 8, 50)[:, None]:
        p = member.project(x)
        scale = float(np.linalg.norm(x))
        assert abs(p @ (x - p)) <= 1e-9 * scale**2
        np.testing.assert_allclose(member.project(p), p, atol=1e-13 * scale, rtol=1e-10)
        np.testing.assert_allclose(member.project(x - p), 0, atol=3e-8 * scale)


@pytest.mark.parametrize("kind", [perp.Elliptic(0.4, 0.4), perp.Elliptic(1e-3, 1e-3), perp.Elliptic(7, 7)])
def test_elliptic_with_equal_coefficients_is_coulomb(kind):
    rng = np.random.default_rng(2)
    for x in rng.standard_normal((100, 3)):
        np.testing.assert_allclose(
            kind.project(x), perp.Coulomb(kind.mu[0]).project(x), atol=1e-14, rtol=1e-12
        )


@pytest.mark.parametrize("mu", [(0.0, 0.3), (0.3, 0.0), (0.0, 0.0)])
def test_elliptic_with_a_frictionless_direction(mu):
    member = perp.Elliptic(*mu)
    x = np.array([0.2, 1.0, -1.0])
    p = member.project(x)
    for i in (0, 1):
        if mu[i] == 0:
            assert p[1 + i] == 0
    if mu == (0.0, 0.3):
        np.testing.assert_allclose(p[[0, 2]], perp.Coulomb(0.3, dimension=2).project(x[[0, 2]]), atol=1e-14)


@pytest.mark.parametrize("member", MEMBERS, ids=repr)
def test_nan_is_never_hidden(member):
    for i in range(member.dimension):
        x = np.full(member.dimension, 0.5)
        x[i] = np.nan
        assert np.isnan(member.project(x)).any()
        assert np.isnan(member.residual(x, np.zeros(member.dimension)))


def test_coulomb_residual_is_zero_exactly_at_stick_slip_and_open():
    member = perp.Coulomb(0.5)
    assert member.residual([2, 0.6, 0.8], [0, 0, 0]) == 0
    assert member.residual([0, 0, 0], [0.3, 1, 2]) == 0
    assert member.residual([2, -0.6, -0.8], [0, 0.3, 0.4]) == pytest.approx(0, abs=1e-15)
    assert member.residual([2, 0.6, 0.8], [0, 0.3, 0.4]) > 0.1, "friction that pushes along the sliding"
    assert member.residual([2, -0.5, -0.5], [0, 0.3, 0.3]) > 0.1, "sliding with the cone not used up"
    assert member.residual([2, 0, 0], [0.1, 0, 0]) > 0.05, "a force on an open contact"
    assert member.residual([0, 0, 0], [-0.1, 0, 0]) > 0.05, "penetration"


def test_relaxed_residual_lifts_a_sliding_contact():
    """Without Γ a sliding contact must separate at μ times its speed."""
    member = perp.Coulomb(0.5)
    assert member.residual([1, -0.5, 0], [0.1, 0.2, 0], relaxed=True) == pytest.approx(0, abs=1e-15)
    assert member.residual([1, -0.5, 0], [0.0, 0.2, 0], relaxed=True) > 0.01


def test_a_product_knows_its_members():
    members = [perp.Free(), perp.Coulomb(0.5, dimension=2), perp.Rolling(0.1, 0.2), perp.Box(-1, 1)]
    sets = perp.Sets(members)
    assert list(sets) == members
    assert sets.rows == 9
    assert sets.kinds() == {"Free": 1, "Box": 1, "Coulomb": 1, "Rolling": 1}
    assert list(sets.subset(np.array([2, 0]))) == [members[2], members[0]]
    x = np.random.default_rng(0).standard_normal(9)
    expected = np.concatenate(
        [m.project(x[sets.start[c] : sets.start[c + 1]]) for c, m in enumerate(members)]
    )
    np.testing.assert_array_equal(sets.project(x), expected)
