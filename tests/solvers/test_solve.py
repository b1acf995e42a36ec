"""`solve`: who marks the work, what is raised, and what a solution carries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import generators
import perp
from perp.solvers import Attempt, Control, Package, register, unregister


@pytest.fixture
def toy():
    """Registers solvers by name and forgets them afterwards."""
    names: list[str] = []

    def add(name, algorithm, **keywords):
        register(name, **{"takes": perp.LCP, "summary": "a toy", **keywords})(algorithm)
        names.append(name)

    yield add
    for name in names:
        unregister(name)


def test_a_solution_carries_what_is_needed_to_trust_it():
    problem = generators.lcp(6)
    solution = perp.solve(problem, "lemke")
    assert solution.status is perp.Status.SOLVED
    assert solution.residual <= 1e-8
    assert solution.residuals.value == solution.residual
    np.testing.assert_allclose(solution.w, problem.M @ solution.z + problem.q, atol=1e-14)
    assert solution.solver == "lemke"
    assert solution.formulation is None
    assert solution.iterations == solution.info["pivots"] > 0
    assert solution.build_time >= 0
    assert solution.solve_time > 0
    assert solution.history is None
    with pytest.raises(AttributeError):
        solution.z = np.zeros(6)  # type: ignore[misc]


def test_a_contact_solution_has_impulse_and_velocity():
    solution = perp.solve(generators.contact(4))
    assert isinstance(solution, perp.ContactSolution)
    assert solution.impulse is solution.z
    assert solution.velocity is solution.w


def test_auto_says_which_solver_it_chose():
    solution = perp.solve(generators.lcp(5))
    assert solution.solver in {info.name for info in perp.solvers()} - {"auto"}
    assert solution.info["chosen_by"] == "auto"
    assert solution.solver in [stage["solver"] for stage in solution.info["stages"]]


def test_an_algorithm_cannot_mark_its_own_work(toy):
    def liar(problem, control, options):
        return Attempt(np.zeros(problem.size), 3, perp.Status.SOLVED, message="trust me")

    toy("liar", liar)
    solution = perp.solve(generators.lcp(4), "liar", throw=False)
    assert solution.status is perp.Status.INACCURATE
    assert solution.message == "trust me"


def test_nan_from_an_algorithm_is_not_solved(toy):
    toy("nan", lambda problem, control, options: Attempt(np.full(problem.size, np.nan), 1))
    solution = perp.solve(generators.lcp(4), "nan", throw=False)
    assert solution.status is perp.Status.INACCURATE
    assert solution.residual == np.inf


def test_a_false_proof_of_infeasibility_is_rejected(toy):
    def pessimist(problem, control, options):
        return Attempt(
            np.zeros(problem.size), 1, perp.Status.INFEASIBLE, {"certificate": np.ones(problem.size)}
        )

    toy("pessimist", pessimist)
    assert perp.solve(generators.lcp(4), "pessimist", throw=False).status is perp.Status.FAILED


def test_infeasible_problem_has_a_checked_certificate():
    problem = perp.LCP([[0.0, -1.0], [1.0, 0.0]], [-1.0, -1.0])
    with pytest.raises(perp.NotSolved) as caught:
        perp.solve(problem)
    solution = caught.value.solution
    assert solution.status is perp.Status.INFEASIBLE
    v = solution.info["certificate"]
    assert (v >= 0).all()
    assert (problem.M.T @ v <= 1e-12).all()
    assert problem.q @ v < 0


def test_not_solved_carries_problem_and_solution_and_can_be_saved(tmp_path):
    problem = generators.lcp(30, 3)
    with pytest.raises(
        perp.NotSolved, match=r"pgs: Not solved: the iteration limit .* tolerance 1e-08"
    ) as caught:
        perp.solve(problem, "pgs", max_iterations=2)
    assert caught.value.problem is problem
    assert caught.value.solution.iterations == 2
    caught.value.save(tmp_path / "failed.npz")
    assert perp.load(tmp_path / "failed.npz").equals(problem)


def test_throw_false_returns_the_best_answer():
    solution = perp.solve(generators.lcp(30, 3), "pgs", max_iterations=2, throw=False)
    assert solution.status is perp.Status.ITERATION_LIMIT
    assert not solution.solved
    assert np.isfinite(solution.z).all()


def test_time_limit_is_kept():
    problem = generators.lcp(200, 1)
    perp.solve(problem, "pgs", throw=False, max_iterations=1)
    solution = perp.solve(problem, "pgs", tol=1e-300, time_limit=1e-9, throw=False)
    assert solution.status is perp.Status.TIME_LIMIT


def test_history_records_decreasing_residuals():
    solution = perp.solve(generators.lcp(30, 3), "pgs", history=True)
    history = solution.history
    assert history is not None
    assert history.iterations[0] == 0
    assert (np.diff(history.iterations) > 0).all()
    assert (np.diff(history.times) >= 0).all()
    assert history.residuals[-1] == solution.residual < history.residuals[0]


def test_start_is_used():
    problem = generators.lcp(30, 3)
    cold = perp.solve(problem, "pgs")
    for start in (cold, cold.z):
        assert perp.solve(problem, "pgs", start=start).iterations == 0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"start": np.zeros(3)}, "start has 3 entries: it needs 4"),
        ({"start": [0, 0, np.nan, 0]}, r"start\[2\] is nan"),
        ({"tol": 0.0}, "tol = 0.0"),
        ({"tol": np.nan}, "tol = nan"),
        ({"max_iterations": -1}, "max_iterations = -1"),
        ({"max_iterations": 1.5}, "max_iterations = 1.5"),
        ({"time_limit": 0}, "time_limit = 0"),
    ],
)
def test_bad_arguments_are_named(keywords, message):
    with pytest.raises(perp.ProblemError, match=message):
        perp.solve(generators.lcp(4), "pgs", **keywords)


def test_what_is_not_a_problem_is_refused():
    with pytest.raises(perp.ProblemError, match="ndarray is not a problem"):
        perp.solve(np.eye(3))  # type: ignore[arg-type]


def test_unknown_solver_lists_close_matches():
    with pytest.raises(perp.UnknownSolver, match="Did you mean 'lemke'"):
        perp.solve(generators.lcp(4), "lemkee")
    with pytest.raises(perp.UnknownSolver, match=r"There are: .*lemke"):
        perp.solve(generators.lcp(4), "zzzzzz")
    with pytest.raises(perp.UnknownSolver, match="no formulation is called 'xyz'"):
        perp.solve(generators.lcp(4), "lemke", formulation="xyz")


def test_a_solver_that_cannot_take_the_problem_says_why_and_what_can():
    with pytest.raises(
        perp.SolverMismatch, match=r"lemke cannot take this ContactProblem: it takes LCP.*These can: .*block"
    ):
        perp.solve(perp.ContactProblem.coulomb(np.eye(3), np.ones(3), 0.5), "lemke")
    curved = perp.MCP(lambda z: z**3, [0.0], [1.0], lambda z: np.diag(3 * z**2))
    with pytest.raises(perp.SolverMismatch, match=r"lemke can with formulation stewart-trinkle.*box\+split"):
        perp.solve(perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0, 0], 0.5), "lemke")
    with pytest.raises(perp.SolverMismatch, match="cannot take this MCP"):
        perp.solve(curved, "pgs")


def test_missing_package_gives_the_one_command(toy):
    needs = Package("no_such_module", "pip install no-such-module")
    toy("absent", lambda problem, control, options: None, needs=needs)
    with pytest.raises(
        perp.SolverMissing, match="no_such_module is not installed; add it with: pip install no-such"
    ):
        perp.solve(generators.lcp(4), "absent")
    listed = {info.name: info for info in perp.solvers()}["absent"]
    assert not listed.available
    assert listed.reason is not None
    assert "pip install no-such-module" in listed.reason


@dataclass(frozen=True)
class ToyOptions:
    gain: float = 1.0


def test_options_are_typed_and_checked(toy):
    seen = []

    def record(problem, control: Control, options: ToyOptions):
        seen.append(options.gain)
        return Attempt(np.zeros(problem.size), 0)

    toy("toy", record, options=ToyOptions)
    problem = perp.LCP(np.eye(2), np.ones(2))
    perp.solve(problem, "toy")
    perp.solve(problem, "toy", options={"gain": 2.0})
    perp.solve(problem, "toy", options=ToyOptions(3.0))
    assert seen == [1.0, 2.0, 3.0]
    with pytest.raises(perp.SolverError, match="toy has no option 'gian'; valid names: gain"):
        perp.solve(problem, "toy", options={"gian": 2.0})
    with pytest.raises(perp.SolverError, match="options of toy must be a dict"):
        perp.solve(problem, "toy", options=[1])


def test_two_solvers_cannot_share_a_name(toy):
    toy("mine", lambda problem, control, options: Attempt(np.zeros(problem.size), 0))
    with pytest.raises(perp.SolverError, match="a solver named 'lemke' exists already"):
        toy("lemke", test_two_solvers_cannot_share_a_name)


def test_solvers_lists_what_can_take_a_problem():
    names = {info.name for info in perp.solvers(generators.lcp(3))}
    assert {"auto", "lemke", "pgs"} <= names
    contact = {info.name for info in perp.solvers(generators.contact(2))}
    assert "block-gauss-seidel" in contact
    assert "lemke" not in contact
    everything = perp.solvers()
    assert all(info.summary and info.family for info in everything)


def test_an_affine_mcp_goes_through_the_boxed_form():
    boxed = generators.boxed(6)
    solution = perp.solve(perp.MCP.affine(boxed.M, boxed.q, boxed.lo, boxed.hi), "pgs")
    assert solution.formulation == "affine"
    np.testing.assert_allclose(solution.z, perp.solve(boxed, "pgs").z, atol=1e-7)


def test_equal_input_gives_equal_bits():
    for problem in (generators.lcp(20), generators.boxed(20), generators.contact(8)):
        first, second = perp.solve(problem), perp.solve(problem)
        assert first.z.tobytes() == second.z.tobytes()
        assert first.iterations == second.iterations


def test_divergence_is_reported_with_its_iteration():
    problem = perp.LCP([[1.0, 3.0], [3.0, 1.0]], [-1.0, -1.0])
    problem = perp.BoxedLCP(problem.M, problem.q, -np.inf, np.inf)
    solution = perp.solve(problem, "pgs", throw=False)
    assert solution.status is perp.Status.DIVERGED
    assert solution.info["diverged_at"] > 0
    assert str(solution.info["diverged_at"]) in solution.message
