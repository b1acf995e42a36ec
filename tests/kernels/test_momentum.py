"""Sweeps with momentum: the same answers as plain sweeps, sooner where information has far to travel."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import perp
from perp.kernels.packed import pack
from perp.kernels.sweep import MOST, momentum_sweeps, sweeps


def columns(count: int, height: int) -> perp.ContactProblem:
    """Columns of point masses that stand side by side and lean on each other, let go on a floor."""
    mass = np.tile(np.eye(3), (count * height, 1, 1))
    rows, bodies = [], []
    for column in range(count):
        for level in range(height):
            here = column * height + level
            bodies.append((here, here - 1 if level else -1, np.eye(3)[[2, 0, 1]]))
            if column and level % 3 == 2:
                bodies.append((here, here - height, np.eye(3)))
    for one, other, frame in bodies:
        block = np.zeros((3, 3 * count * height))
        block[:, 3 * one : 3 * one + 3] = frame
        if other >= 0:
            block[:, 3 * other : 3 * other + 3] = -frame
        rows.append(sp.csr_array(block))
    velocity = 0.01 * np.random.default_rng(0).normal(size=3 * count * height)
    velocity[2::3] -= 0.1
    return perp.ContactProblem.from_dynamics(
        mass, sp.csr_array(sp.vstack(rows)), velocity, None, [perp.Coulomb(0.5)] * len(bodies)
    )


def test_a_high_column_converges_sooner_than_with_plain_sweeps():
    problem = columns(1, 40)
    packed = pack(problem)
    x, y, plain = np.zeros(problem.size), np.zeros(problem.size), np.zeros(problem.size)
    beta = np.zeros(problem.contact_count)
    momentum_sweeps(packed.struct, x, y, beta, 200)
    sweeps(packed.struct, plain, 400)
    assert perp.residual(problem, x) < 0.1 * perp.residual(problem, plain)
    assert beta.min() >= 0.0
    assert beta.max() <= MOST


def test_a_solution_stays_where_it_is():
    problem = columns(2, 6)
    z = perp.solve(problem, tol=1e-12).z
    x, y = z.copy(), z.copy()
    momentum_sweeps(pack(problem).struct, x, y, np.full(problem.contact_count, MOST), 10)
    assert perp.residual(problem, x) <= 1e-11


def without_mass(problem):
    """The same with W: `auto` takes a problem with a mass to Newton's method in the velocities of its bodies."""
    return perp.ContactProblem(problem.W, problem.q, problem.sets)


def test_auto_needs_no_newton_step_for_many_contacts_at_low_accuracy():
    problem = without_mass(columns(16, 18))
    assert problem.contact_count >= 300
    first = perp.solve(problem, tol=1e-4)
    assert first.residual <= 1e-4
    assert {stage["solver"] for stage in first.info["stages"]} == {"block-gauss-seidel"}
    again = perp.solve(problem, tol=1e-4)
    assert np.array_equal(first.z, again.z)


def test_auto_stops_at_the_limit_of_iterations():
    problem = without_mass(columns(16, 18))
    solution = perp.solve(problem, tol=1e-12, max_iterations=60, throw=False)
    assert solution.status is perp.Status.ITERATION_LIMIT
