"""Every vendor that is installed solves the block; the others are skipped by name; none can break a solve."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import perp
from perp.comparison.cells import table_cells
from perp.models.box_on_slope import box_on_slope
from perp.problems import Status
from perp.problems.cone_program import ConeProgram
from perp.solvers import registry
from perp.solvers.external.adapter import Reply, Request, vendor
from perp.solvers.registry import Package

TRUTH = {0.0: (9.81, 0.0), 25.0: (8.890879391, 4.145885148)}
CELLS = [cell for cell in table_cells() if cell.row != "perp"]
# A squared cone has no gradient at its apex, where the sticking primal and the free dual are: see the notes of the page.
STALL_AT_THE_APEX = {"casadi-sqp", "gams-snopt"}


def skip_without_licence(solution: perp.Solution) -> None:
    """The demo licence of GAMS ends some weeks after the release of gamspy_base that it came with."""
    if "licen" in solution.message.lower():
        pytest.skip(solution.message)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.row} {cell.column}")
def test_every_installed_vendor_finds_the_forces_of_the_sticking_block(cell) -> None:
    info = registry.find(cell.solver)
    if not info.available:
        pytest.skip(f"{cell.solver}: {info.reason}")
    model = box_on_slope(angle=25.0, mu=1.0)
    solution = perp.solve(
        model.problem, cell.solver, formulation=cell.formulation, options=cell.options or None, tol=1e-10,
        time_limit=600.0, throw=False,
    )  # fmt: skip
    assert solution.message.startswith(f"{cell.solver} said: ")
    skip_without_licence(solution)
    if cell.solver in STALL_AT_THE_APEX and solution.status not in (Status.SOLVED, Status.INACCURATE):
        return
    assert solution.residual < 1e-5
    contacts = solution.z.reshape(-1, 3) / model.step
    assert (contacts[:, 0].sum(), np.hypot(*contacts[:, 1:].sum(axis=0))) == pytest.approx(
        TRUTH[25.0], abs=1e-4
    )


@pytest.mark.parametrize("solver", ["clarabel", "scs"])
@pytest.mark.parametrize("angle", TRUTH)
def test_cone_solvers_reach_round_off_in_force_units(solver: str, angle: float) -> None:
    if not registry.find(solver).available:
        pytest.skip(f"{solver} is not installed")
    model = box_on_slope(angle=angle)
    for formulation in ("dual", "primal"):
        assert perp.solve(model.problem, solver, formulation=formulation, tol=1e-10).residual < 1e-10


def test_a_vendor_that_raises_becomes_a_failed_answer_with_its_words() -> None:
    @vendor("raising", takes=ConeProgram, needs=Package("numpy", ""), summary="", finest=1e-9)
    def raising(request: Request) -> Reply:
        raise RuntimeError("licence expired on\nMonday")

    try:
        solution = perp.solve(box_on_slope().problem, "raising", formulation="dual", throw=False)
    finally:
        registry.unregister("raising")
    assert solution.status is Status.FAILED
    assert solution.message == "raising said: RuntimeError: licence expired on Monday"


@pytest.mark.parametrize("x", [np.full(12, np.nan), np.zeros(12), np.full(12, 1e3)])
def test_a_vendor_that_claims_success_with_a_wrong_answer_is_not_believed(x) -> None:
    @vendor("boasting", takes=ConeProgram, needs=Package("numpy", ""), summary="", finest=1e-9)
    def boasting(request: Request) -> Reply:
        return Reply(x, None, "optimal")

    try:
        solution = perp.solve(box_on_slope().problem, "boasting", formulation="dual", throw=False)
    finally:
        registry.unregister("boasting")
    assert not solution.solved


def test_right_totals_with_a_wrong_distribution_are_caught() -> None:
    model = box_on_slope(angle=25.0)
    right = perp.solve(model.problem, "mcp-newton", formulation="equations_of_motion").z.reshape(-1, 3)
    wrong = right.copy()
    wrong[:, 0] = right[::-1, 0]
    assert wrong.sum(axis=0) == pytest.approx(right.sum(axis=0))
    assert perp.residual(model.problem, wrong.ravel()) > 1e-2


def test_one_tolerance_is_mapped_and_floored() -> None:
    asked: list[float] = []

    @vendor("asking", takes=ConeProgram, needs=Package("numpy", ""), summary="", finest=1e-9)
    def asking(request: Request) -> Reply:
        asked.append(request.tolerance)
        return Reply(None, words="no", reason=Status.FAILED)

    try:
        for tol in (1e-4, 1e-12):
            perp.solve(box_on_slope().problem, "asking", formulation="dual", tol=tol, throw=False)
    finally:
        registry.unregister("asking")
    assert asked == [pytest.approx(1e-6), 1e-9]


def test_lindo_is_listed_with_the_reason() -> None:
    info = registry.find("gams-lindo")
    assert info.reason == "Lindo has no add-on package for GAMSPy, and its own needs a licence"
    with pytest.raises(perp.SolverMissing):
        perp.solve(box_on_slope().problem, "gams-lindo", formulation="dual")


def test_gams_reports_a_model_beyond_its_licence_in_words() -> None:
    if not registry.find("gams-conopt").available:
        pytest.skip("gams-conopt: GAMS is not installed")
    count = 400
    # contacts that do not know of each other: the model has many variables and few entries
    problem = perp.ContactProblem.coulomb(
        sp.eye_array(3 * count, format="csr"), np.random.default_rng(0).normal(size=3 * count), 0.5
    )
    solution = perp.solve(problem, "gams-conopt", formulation="dual", throw=False, time_limit=600.0)
    assert solution.status is Status.FAILED
    assert "licen" in solution.message.lower()


def test_a_time_limit_holds_for_gams() -> None:
    if not registry.find("gams-miles").available:
        pytest.skip("gams-miles: GAMS is not installed")
    from perp.models.pile import pile

    solution = perp.solve(
        pile().problem, "gams-miles", formulation="equations_of_motion", time_limit=0.5, throw=False
    )
    assert solution.status in (Status.TIME_LIMIT, Status.STALLED, Status.FAILED)


@pytest.mark.parametrize(("solver", "published"), [("gams-ipopt", 9.81004453), ("gams-pathnlp", 9.809653585)])
def test_published_digits_of_2014_are_reproduced(solver: str, published: float) -> None:
    if not registry.find(solver).available:
        pytest.skip(f"{solver}: GAMS is not installed")
    model = box_on_slope(angle=0.0)
    solution = perp.solve(
        model.problem,
        solver,
        formulation="dual_published",
        options={"model": "nlp", "defaults": True},
        throw=False,
    )
    skip_without_licence(solution)
    assert solution.z[::3].sum() / model.step == pytest.approx(published, abs=6e-9)
    assert solution.residual > 1e-6


@pytest.mark.parametrize("solver", ["gams-path", "gams-miles"])
def test_a_problem_of_joints_alone_has_no_friction_in_its_gams_model(solver: str) -> None:
    if not registry.find(solver).available:
        pytest.skip(f"{solver}: GAMS is not installed")
    problem = perp.ContactProblem(np.diag([2.0, 3.0]), [1.0, 2.0], [perp.Free(), perp.Free()])
    solution = perp.solve(problem, solver, formulation="equations_of_motion", throw=False)
    skip_without_licence(solution)
    assert solution.solved
    assert solution.z == pytest.approx([-1 / 2, -2 / 3])
