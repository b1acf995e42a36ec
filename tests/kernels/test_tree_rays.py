"""`tree_rays` against bisection on the laws of the constraints."""

from __future__ import annotations

import numpy as np
import pytest

from perp.compilation.kernel import kernel
from perp.kernels.tree_islands import prepare
from perp.kernels.tree_problem import problem_view
from perp.kernels.tree_rays import follow_ray
from perp.kernels.tree_workspace import tree_workspace, workspace_view
from perp.problems.set_kernels import BOX, COULOMB, ELLIPTIC, NONNEGATIVE
from tree_problems import packed

SETS = [(COULOMB, 3, (0.7,)), (ELLIPTIC, 4, (0.5, 0.8, 0.1)), (NONNEGATIVE, 1, ()), (BOX, 1, (-0.4, 0.6))]


@kernel
def _ray(problem, workspace, centre, moved):
    p, w = problem_view(problem), workspace_view(workspace)
    prepare(p, w)
    w.centre[: centre.size] = centre
    p.impulse[: moved.size] = moved
    return follow_ray(p, w, 0, np.empty(8))


def inside(x: np.ndarray) -> bool:
    """Whether impulses of the sets are strictly within them."""
    disc = np.hypot(x[1], x[2]) < 0.7 * x[0]
    ellipse = np.linalg.norm(x[4:7] / [0.5, 0.8, 0.1]) < x[3]
    return bool(disc and ellipse and x[7] > 0.0 and -0.4 < x[8] < 0.6)


def event(x: np.ndarray, step: np.ndarray) -> float:
    """How far x may go along the step, by bisection."""
    low, high = 0.0, 1.0
    while inside(x + high * step) and high < 1e7:
        low, high = high, 2.0 * high
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if inside(x + middle * step) else (low, middle)
    return low


@pytest.mark.parametrize("seed", range(40))
def test_impulses_stop_at_the_first_event(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = sum(size for _, size, _ in SETS)
    p = packed([np.eye(6)], rng.normal(size=(rows, 6)), np.zeros(6), 0.0, SETS, 0.0)
    x = np.array([1.0, 0.2, -0.1, 1.0, 0.1, 0.2, 0.01, 0.5, 0.1])
    step = 0.05 * rng.normal(size=rows) * np.array([1, 1, 1, 1, 1, 1, 0.1, 1, 1])
    assert inside(x)
    assert _ray(p.struct, tree_workspace(p), x - step, x)
    far = event(x, step)
    np.testing.assert_allclose(p.impulse[:rows], x + far * step, rtol=1e-9, atol=1e-12)


def test_a_ray_that_leaves_no_set_is_not_followed() -> None:
    p = packed([np.eye(6)], np.ones((3, 6)), np.zeros(6), 0.0, [(COULOMB, 3, (0.5,))], 0.0)
    assert not _ray(p.struct, tree_workspace(p), np.array([1.0, 0.0, 0.0]), np.array([2.0, 0.1, 0.0]))


def test_a_contact_that_slips_already_does_not_stop_it() -> None:
    p = packed(
        [np.eye(6)], np.ones((4, 6)), np.zeros(6), 0.0, [(COULOMB, 3, (0.5,)), (NONNEGATIVE, 1, ())], 0.0
    )
    before, x = np.array([1.0, 0.5, 0.0, 1.0]), np.array([1.0, 0.5, 0.0, 0.9])
    assert _ray(p.struct, tree_workspace(p), before, x)
    np.testing.assert_allclose(p.impulse[:4], [1.0, 0.5, 0.0, 0.0], atol=1e-15)
