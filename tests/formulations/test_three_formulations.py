"""Three formulations, one block: closed forms to the digits that were asked for, relaxations under their own name."""

from __future__ import annotations

import math

import numpy as np
import pytest

import perp
from perp.models.box_on_slope import box_on_slope
from perp.models.catalogue import build
from perp.problems import Status

WEIGHT = 9.81
COLUMNS = {"dual": "cone-interior", "primal": "cone-interior", "equations_of_motion": "mcp-newton"}


def forces(model, solution) -> tuple[float, float]:
    contacts = solution.z.reshape(-1, 3) / model.step
    return float(contacts[:, 0].sum()), float(np.hypot(*contacts[:, 1:].sum(axis=0)))


@pytest.mark.parametrize("angle", [0.0, 25.0])
@pytest.mark.parametrize("formulation", COLUMNS)
def test_sticking_block_presses_and_holds_with_its_weight(formulation: str, angle: float) -> None:
    model = box_on_slope(angle=angle, mu=1.0)
    solution = perp.solve(model.problem, COLUMNS[formulation], formulation=formulation, tol=1e-11)
    normal, tangential = forces(model, solution)
    assert normal == pytest.approx(WEIGHT * math.cos(math.radians(angle)), abs=1e-9)
    assert tangential == pytest.approx(WEIGHT * math.sin(math.radians(angle)), abs=1e-9)
    assert solution.formulation == formulation


@pytest.mark.parametrize("formulation", ["primal", "equations_of_motion", "dual_fixed_point"])
def test_sliding_block_in_the_exact_formulations(formulation: str) -> None:
    model = box_on_slope(angle=25.0, mu=0.3)
    solver = COLUMNS.get(formulation, "cone-interior")
    normal, tangential = forces(model, perp.solve(model.problem, solver, formulation=formulation, tol=1e-11))
    assert normal == pytest.approx(8.890879391, abs=1e-8)
    assert tangential == pytest.approx(2.667263817, abs=1e-8)


@pytest.mark.parametrize(
    ("formulation", "solver", "expected"),
    [
        ("dual", "cone-interior", (9.297839, 2.789352)),
        ("equations_of_motion_relaxed", "mcp-newton", (9.297839, 2.789352)),
        ("primal_published", "cone-interior", (9.642721, 2.892816)),
    ],
)
def test_relaxations_of_the_sliding_block_say_so(formulation: str, solver: str, expected) -> None:
    model = box_on_slope(angle=25.0, mu=0.3)
    solution = perp.solve(model.problem, solver, formulation=formulation, throw=False)
    assert forces(model, solution) == pytest.approx(expected, abs=1e-6)
    assert solution.status is Status.RELAXED
    assert solution.residual > 1e-2


def test_a_relaxed_problem_is_judged_without_the_correction() -> None:
    relaxed = box_on_slope(angle=25.0, mu=0.3).problem.as_relaxed()
    for solver, formulation in (("cone-interior", None), ("cone-interior", "primal"), ("mcp-newton", None)):
        solution = perp.solve(relaxed, solver, formulation=formulation)
        assert solution.solved
        assert perp.residual(relaxed.as_exact(), solution.z) > 1e-2


def test_a_cone_solver_takes_an_exact_problem_through_the_exact_formulation() -> None:
    problem = box_on_slope(angle=25.0, mu=0.3).problem
    solution = perp.solve(problem, "cone-interior")
    assert solution.formulation == "dual_fixed_point"
    assert solution.info["outer_iterations"] >= 1


@pytest.mark.parametrize("name", ["sphere-on-slope", "stack", "wedge", "slider-crank", "chain", "pile"])
@pytest.mark.parametrize("formulation", ["primal", "dual_fixed_point", "equations_of_motion"])
def test_exact_formulations_solve_every_model(name: str, formulation: str) -> None:
    problem = build(name).problem
    solution = perp.solve(problem, COLUMNS.get(formulation, "cone-interior"), formulation=formulation)
    assert solution.residual <= 1e-8


@pytest.mark.parametrize("formulation", ["primal", "dual_fixed_point", "equations_of_motion"])
@pytest.mark.parametrize("seed", range(3))
def test_every_set_comes_through_every_formulation(formulation: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets = [
        perp.Free(), perp.Nonnegative(), perp.Box(-0.3, 0.2), perp.Box(-np.inf, 0.1), perp.Coulomb(0.4),
        perp.Coulomb(0.5, 2), perp.Elliptic(0.3, 0.7), perp.Rolling(0.5, 0.05), perp.Coulomb(0.0),
    ]  # fmt: skip
    rows = sum(member.dimension for member in sets)
    n = rows + 4
    factor = rng.normal(size=(n, n)) / np.sqrt(n)
    problem = perp.ContactProblem.from_dynamics(
        factor @ factor.T + np.eye(n), rng.normal(size=(rows, n)), rng.normal(size=n), 0.1 * rng.normal(size=rows), sets,
        compliance=np.where(np.arange(rows) % 5 == 0, 0.1, 0.0),
    )  # fmt: skip
    reference = perp.solve(problem, "block-gauss-seidel", tol=1e-12)
    solution = perp.solve(
        problem, COLUMNS.get(formulation, "cone-interior"), formulation=formulation, tol=1e-9
    )
    assert solution.z == pytest.approx(reference.z, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("formulation", COLUMNS)
def test_units_do_not_matter(formulation: str, scale: float) -> None:
    model = box_on_slope(angle=25.0)
    dynamics = model.problem.dynamics
    assert dynamics is not None
    other = perp.ContactProblem.from_dynamics(
        dynamics.mass * scale, dynamics.jacobian, dynamics.momentum * scale**2, 0.0, model.problem.sets
    )
    assert perp.solve(other, COLUMNS[formulation], formulation=formulation, tol=1e-10).solved


def test_a_problem_without_bodies_gets_some() -> None:
    model = box_on_slope(angle=25.0, mu=0.3)
    reduced = perp.ContactProblem(model.problem.W, model.problem.q, model.problem.sets)
    for formulation in ("primal", "equations_of_motion", "dual_fixed_point"):
        solution = perp.solve(
            reduced, COLUMNS.get(formulation, "cone-interior"), formulation=formulation, tol=1e-10
        )
        assert forces(model, solution) == pytest.approx((8.890879391, 2.667263817), abs=1e-8)


def test_an_asymmetric_delassus_matrix_is_refused_by_name() -> None:
    problem = perp.ContactProblem.coulomb(np.eye(3) + np.eye(3, k=1), [-1.0, 0.0, 0.0], 0.5)
    with pytest.raises(perp.SolverMismatch, match="symmetric"):
        perp.solve(problem, "cone-interior", formulation="dual")


def test_a_start_is_used_by_every_formulation() -> None:
    model = box_on_slope(angle=25.0, mu=0.3)
    exact = perp.solve(model.problem, "mcp-newton", formulation="equations_of_motion", tol=1e-12)
    again = perp.solve(model.problem, "mcp-newton", formulation="equations_of_motion", start=exact, tol=1e-10)
    assert again.iterations == 0


def test_an_open_contact_carries_nothing() -> None:
    problem = perp.ContactProblem.coulomb(np.eye(6), [-1.0, 0.2, 0.0, 1.0, 0.5, 0.0], 0.5)
    for formulation in ("primal", "equations_of_motion", "dual_fixed_point"):
        solution = perp.solve(
            problem, COLUMNS.get(formulation, "cone-interior"), formulation=formulation, tol=1e-9
        )
        assert solution.z[3:] == pytest.approx(0.0, abs=1e-8)
        assert solution.z[:3] == pytest.approx([1.0, -0.2, 0.0], abs=1e-8)


@pytest.mark.parametrize("formulation", ["dual", "primal", "dual_fixed_point", "equations_of_motion"])
def test_a_problem_without_solution_is_not_called_solved_and_an_empty_one_is(formulation: str) -> None:
    solver = COLUMNS.get(formulation, "cone-interior")
    torn = perp.ContactProblem(np.zeros((1, 1)), [1.0], [perp.Free()])
    status = perp.solve(torn, solver, formulation=formulation, throw=False).status
    assert status is (Status.LOCAL_MINIMUM if solver == "mcp-newton" else Status.STALLED)
    empty = perp.ContactProblem(np.zeros((0, 0)), np.zeros(0), [])
    assert perp.solve(empty, solver, formulation=formulation).solved
