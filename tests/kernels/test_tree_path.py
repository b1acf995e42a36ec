"""Hard impacts on more contacts than freedoms, where active sets cycle: the central path leads to the answer."""

from __future__ import annotations

import numpy as np

import perp
from perp.problems.set_kernels import ELLIPTIC
from tree_problems import packed, solved

FRICTION = (1.0, 1.0, 5e-3, 1e-4, 1e-4)


def casters(seed: int):
    """A base of 50 kg that lands on four light wheels with three contacts each: 72 rows, 14 freedoms."""
    rng = np.random.default_rng(seed)
    M = np.diag([50.0, 50.0, 50.0, 3.0, 3.0, 3.0] + [2e-3, 4e-4] * 4)
    rows = []
    for k in range(4):
        corner = 0.2 * np.array([1 - 2 * (k % 2), 1 - 2 * (k // 2), -0.5])
        for _ in range(3):
            arm = corner + rng.normal(scale=0.01, size=3)
            normal = np.array([0, 0, 1]) + rng.normal(scale=0.05, size=3)
            normal /= np.linalg.norm(normal)
            first = np.cross([0, 1, 0], normal)
            first /= np.linalg.norm(first)
            axes = np.array([normal, first, np.cross(normal, first)])
            swivel, axle = np.array([0, 0, 1]), np.array([0, 1, 0])
            below = rng.normal((0.02, 0.0, -0.03), 0.01)
            for axis in axes:
                row = np.zeros(14)
                row[:3], row[3:6] = axis, np.cross(arm, axis)
                row[6 + 2 * k], row[7 + 2 * k] = np.cross(swivel, below) @ axis, np.cross(axle, below) @ axis
                rows.append(row)
            for axis in axes:
                row = np.zeros(14)
                row[3:6] = axis
                row[6 + 2 * k], row[7 + 2 * k] = swivel @ axis, axle @ axis
                rows.append(row)
    velocity = rng.normal(scale=0.3, size=14)
    velocity[2] = -rng.uniform(0.05, 1.0)
    return M, np.array(rows), velocity


def test_landings_on_casters_are_solved() -> None:
    """Eleven of twelve; some are too hard for Newton's method alone, which has twenty steps before the path."""
    missed, steps = 0, []
    for seed in range(12):
        M, J, velocity = casters(seed)
        bias = np.zeros(72)
        p = packed([M], J, velocity, bias, [(ELLIPTIC, 6, FRICTION)] * 12, 0.0, unit=1e-10)
        info, worst = solved(p, limit=200)
        missed += int(info[1])
        if not info[1]:
            steps.append(int(info[2]))
            assert worst <= 1.0
            problem = perp.ContactProblem.from_dynamics(
                M, J, M @ velocity, bias, [perp.Elliptic(*FRICTION)] * 12
            )
            assert perp.residual(problem, p.impulse) < 1e-7
    assert missed <= 1
    assert max(steps) > 20
