"""Sweeps on bodies: the same impulses as sweeps on W, without forming it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import generators
import perp
from perp.kernels.body_form import body_form_of, body_velocity, has_body_form
from perp.kernels.body_sweep import body_sweep, body_sweeps
from perp.kernels.packed import pack
from perp.kernels.residual import workspace
from perp.kernels.sweep import sweeps


def bodies(
    seed: int,
    *,
    kinds=(0, 1, 2, 3, 4, 5, 6),
    count=12,
    width=6,
    relaxed=False,
    compliance=0.0,
    sparse_mass=False,
):
    """Random constraints between random pairs of bodies, some with the ground."""
    rng = np.random.default_rng(seed)
    sets = [generators.member(rng, int(rng.choice(kinds))) for _ in range(count)]
    rows = sum(s.dimension for s in sets)
    number = 5
    J = np.zeros((rows, width * number))
    i = 0
    for s in sets:
        for body in rng.choice(number, size=int(rng.integers(1, 3)), replace=False):
            J[i : i + s.dimension, width * body : width * (body + 1)] = rng.normal(size=(s.dimension, width))
        i += s.dimension
    mass = np.array([generators.spd(width, rng, shift=0.5) for _ in range(number)])
    if sparse_mass:
        order = rng.permutation(width * number)
        mass = sp.csr_array(sp.block_diag(mass).tocsr()[order][:, order])
        J = J[:, order]
    return perp.ContactProblem.from_dynamics(
        mass, sp.csr_array(J), rng.normal(size=width * number), 0.1 * rng.normal(size=rows), sets,
        compliance=compliance, relaxed=relaxed,
    )  # fmt: skip


CASES = [
    {},
    {"kinds": (3,)},
    {"width": 3},
    {"relaxed": True},
    {"compliance": 0.3},
    {"sparse_mass": True},
    {"kinds": (3, 5), "sparse_mass": True, "compliance": 0.1},
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_sweeps_equal_those_on_the_delassus_matrix(seed, case):
    problem = bodies(seed, **case)
    form, packed = body_form_of(problem), pack(problem)
    x, y, v = np.zeros(packed.rows), np.zeros(packed.rows), np.zeros(form.unknown[-1])
    for _ in range(4):
        body_sweeps(form, x, v, 3)
        sweeps(packed.struct, y, 3)
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-9 * np.abs(y).max())
    kept = v.copy()
    body_velocity(form, x, v)
    np.testing.assert_allclose(v, kept, atol=1e-10 * np.abs(v).max())


def test_backward_sweep_is_a_forward_sweep_over_the_reversed_constraints():
    problem = bodies(1, kinds=(3,))
    dynamics: Any = problem.dynamics
    rows = np.arange(problem.size).reshape(-1, 3)[::-1].ravel()
    turned = perp.ContactProblem.from_dynamics(
        dynamics.mass, sp.csr_array(dynamics.jacobian.toarray()[rows]), dynamics.momentum, dynamics.bias[rows],
        [problem.sets[c] for c in range(problem.contact_count)][::-1],
    )  # fmt: skip
    here, there = body_form_of(problem), body_form_of(turned)
    x, y = np.zeros(problem.size), np.zeros(problem.size)
    v, w, b = np.zeros(here.unknown[-1]), np.zeros(here.unknown[-1]), workspace()
    body_sweep(here, x, v, True, b)
    body_sweep(there, y, w, False, b)
    np.testing.assert_allclose(x[rows], y, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_block_gauss_seidel_on_bodies_solves_and_never_forms_w(case):
    problem = bodies(2, **{**case, "kinds": (0, 1, 2, 3, 4, 6)})
    solution = perp.solve(problem, "block-gauss-seidel", tol=1e-6, options={"work_on": "bodies"})
    assert solution.residual <= 1e-6
    assert "W" not in problem.__dict__
    twin = perp.solve(problem, "block-gauss-seidel", tol=1e-6, options={"work_on": "delassus"})
    assert twin.iterations == solution.iterations


def test_warm_start_on_bodies_needs_no_sweep():
    problem = bodies(3, kinds=(3,))
    first = perp.solve(problem, "block-gauss-seidel", tol=1e-7)
    assert perp.solve(problem, "block-gauss-seidel", tol=1e-7, start=first).iterations == 0


def test_problems_without_bodies_are_refused_by_name():
    problem = generators.contact(4, 1)
    assert not has_body_form(problem)
    with pytest.raises(perp.ProblemError, match="sparse Jacobian"):
        perp.solve(problem, "block-gauss-seidel", options={"work_on": "bodies"})
    with pytest.raises(perp.PerpError, match="work_on"):
        perp.solve(problem, "block-gauss-seidel", options={"work_on": "pairs"})
