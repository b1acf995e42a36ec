"""The interior point method against optimality conditions, and against Clarabel."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csc_array

from perp.problems.cone_program import ConeProgram
from perp.solvers.interior.cone_interior import minimise


def random_program(seed: int, *, rank: int | None = None) -> ConeProgram:
    """A program that is feasible by construction and bounded by its quadratic or by its cones."""
    rng = np.random.default_rng(seed)
    n, zero, nonnegative, cones = 12, 2, 4, (3, 4, 2)
    rows = zero + nonnegative + sum(cones)
    factor = rng.normal(size=(n, n if rank is None else rank))
    G = rng.normal(size=(rows, n))
    slack = np.concatenate([np.zeros(zero), np.ones(nonnegative), *(np.eye(1, size)[0] for size in cones)])
    y = np.concatenate([rng.normal(size=zero), np.ones(nonnegative), *(np.eye(1, size)[0] for size in cones)])
    P = factor @ factor.T
    x = rng.normal(size=n)
    return ConeProgram(
        csc_array(P),
        G.T @ y - P @ x,
        csc_array(G),
        slack - G @ x,
        zero,
        nonnegative,
        cones,
        start=np.zeros(n),
    )


def optimality(program: ConeProgram, x: np.ndarray, y: np.ndarray) -> float:
    s = program.slack(x)
    errors = [
        np.abs(program.P @ x + program.c - program.G.T @ y).max(),
        np.abs(s[: program.zero]).max(initial=0),
    ]
    line = slice(program.zero, program.zero + program.nonnegative)
    errors += [-s[line].min(initial=0), -y[line].min(initial=0), abs(s[program.zero :] @ y[program.zero :])]
    starts = program.cone_starts
    for a, b in itertools.pairwise(starts):
        errors += [np.linalg.norm(v[a + 1 : b]) - v[a] for v in (s, y)]
    return max(errors)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rank", [None, 5, 0])
def test_optimality_conditions_hold_to_round_off(seed: int, rank: int | None) -> None:
    program = random_program(seed, rank=rank)
    x, y, _, reason = minimise(program)
    assert reason is None
    assert optimality(program, x, y) < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_same_optimum_as_clarabel(seed: int) -> None:
    clarabel = pytest.importorskip("clarabel")
    program = random_program(seed)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.ZeroConeT(program.zero), clarabel.NonnegativeConeT(program.nonnegative)]
    cones += [clarabel.SecondOrderConeT(size) for size in program.second_order]
    from scipy.sparse import csc_matrix, triu

    answer = clarabel.DefaultSolver(
        csc_matrix(triu(program.P)), program.c, csc_matrix(-program.G), program.h, cones, settings
    ).solve()
    assert minimise(program)[0] == pytest.approx(np.array(answer.x), abs=1e-4)


def test_a_program_without_constraints_is_a_linear_system() -> None:
    P = np.diag([2.0, 4.0])
    program = ConeProgram(
        csc_array(P), np.array([-2.0, 4.0]), csc_array((0, 2)), np.zeros(0), 0, 0, (), start=np.zeros(2)
    )
    assert minimise(program)[0] == pytest.approx([1.0, -1.0])


def test_an_infeasible_program_is_not_called_solved() -> None:
    G, h = csc_array([[1.0], [-1.0]]), np.array([-1.0, -1.0])
    program = ConeProgram(csc_array([[1.0]]), np.zeros(1), G, h, 0, 2, (), start=np.zeros(1))
    x, y, _, _ = minimise(program)
    assert optimality(program, x, y) > 1e-3
