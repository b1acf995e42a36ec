"""Any solver and formulation may make the steps: exact ones agree, relaxed ones are judged as themselves."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes import library

H, MU, GRAVITY = 0.005, 0.5, 9.81
STEPS = 20
START = (1.0, 0.5, 0.0)


def pushed(solver=None, formulation=None, level="position", **options):
    """A box that slides at an angle to the tangents: the simulation and its records after some steps."""
    sim = perp.Simulation(
        library.box_on_plane(friction=MU),
        step=H,
        level=level,
        solver=solver,
        formulation=formulation,
        **options,
    )
    sim.body("box").set_velocity(START, [0, 0, 0])
    return sim, [sim.step() for _ in range(STEPS)]


def slid(speed: float, deceleration: float) -> float:
    """How far a box slides in all steps, by the sums of the scheme [m]."""
    return H * float(np.maximum(speed - deceleration * H * np.arange(1, STEPS + 1), 0.0).sum())


LEVELS = pytest.mark.parametrize("level", ["position", "velocity"])


@LEVELS
@pytest.mark.parametrize(
    "solver",
    [
        "newton",
        "newton-fb",
        "interior-point",
        "block-gauss-seidel",
        "admm",
        "proximal-point",
        "tree-newton",
        "auto",
    ],
)
def test_exact_solvers_slide_against_the_velocity(solver, level):
    sim, records = pushed(solver, None, level)
    speed = float(np.hypot(*START[:2]))
    expected = slid(speed, MU * GRAVITY) * np.array(START[:2]) / speed
    assert sim.body("box").position[:2] == pytest.approx(expected, abs=1e-8)
    assert abs(sim.body("box").position[2] - 0.05) < 1e-9
    assert all(record.met and record.own_residual is None for record in records)


@LEVELS
@pytest.mark.parametrize(
    ("solver", "formulation"),
    [
        ("dantzig", "box"), ("pgs", "box"), ("dantzig", "box+split"), ("lemke", "box+split"),
        ("lemke", "box+shifted"), ("principal", "box+split"), ("principal", "box+shifted"),
        # a part of the way stands for it
        ("lemke", "box"), ("lemke", "split"), ("dantzig", "shifted"), ("baraff", "box"),
    ],
)  # fmt: skip
def test_friction_boxes_brake_every_tangent_by_itself(solver, formulation, level):
    """|λ_i| ≤ μ λ_N along each tangent: the slower component stops too early, and friction is too strong."""
    sim, records = pushed(solver, formulation, level)
    assert sim.body("box").position[:2] == pytest.approx(
        [slid(START[0], MU * GRAVITY), slid(START[1], MU * GRAVITY)], abs=1e-8
    )
    assert all(record.met for record in records)
    assert max(record.residual for record in records) < 1e-9
    assert max(record.coulomb_distance for record in records) > 1e-2


@LEVELS
def test_pyramids_favour_their_corners(level):
    sim, records = pushed("lemke", "stewart-trinkle", level)
    assert all(record.met for record in records)
    force = records[0].contact_forces().sum(axis=0)[:2]
    along = abs(force @ START[:2]) / (np.linalg.norm(force) * np.hypot(*START[:2]))
    assert np.degrees(np.arccos(along)) == pytest.approx(45 - np.degrees(np.arctan2(0.5, 1)), abs=0.5)
    finer = perp.solve(sim.contact_problem(), "lemke", formulation="stewart-trinkle:64", throw=False)
    assert finer.residual < 0.1 * max(record.coulomb_distance for record in records)


def test_gaps_have_no_place_in_anitescu_and_potra_s_form():
    with pytest.raises(perp.SolverMismatch, match="leaves gaps out"):
        pushed("lemke", "anitescu-potra", "position")
    sim, records = pushed("lemke", "anitescu-potra", {"contacts": "velocity"})
    assert all(record.met for record in records)
    assert abs(sim.body("box").position[2] - 0.05) < 1e-6


@LEVELS
@pytest.mark.parametrize(
    ("solver", "formulation"),
    [("clarabel", "dual"), ("cone-interior", "dual"), ("scs", "dual"), ("clarabel", "dual-pyramid"),
     ("mcp-newton", "equations-of-motion-relaxed")],
)  # fmt: skip
def test_a_sliding_box_lifts_off_with_the_convex_relaxation(solver, formulation, level):
    """u_N = μ ‖u_T‖ in place of 0: the first step lifts the box by h μ v, which is the result."""
    if solver == "scs":
        pytest.importorskip("scs")
    sim, records = pushed(solver, formulation, level, tolerance=1e-6)
    speed = float(np.hypot(*START[:2])) - MU * GRAVITY * H
    lift = max(record.coulomb_distance for record in records)
    assert lift > 0.1
    assert all(record.met for record in records)
    assert sim.body("box").position[2] > 0.05
    first = perp.Simulation(
        library.box_on_plane(friction=MU),
        step=H,
        level=level,
        solver=solver,
        formulation=formulation,
        tolerance=1e-6,
    )
    first.body("box").set_velocity(START, [0, 0, 0])
    first.step()
    u = first.body("box").velocity
    # a pyramid lifts by the slip along its edge, which is up to 22.5° off the motion: cos 22.5° = 0.92
    assert u[2] == pytest.approx(MU * np.hypot(u[0], u[1]), rel=0.08 if "pyramid" in formulation else 1e-4)
    assert u[2] > 0.3 * MU * speed


@LEVELS
def test_equations_of_motion_by_path(level):
    pytest.importorskip("gamspy_base", reason="pip install gamspy")
    sim = perp.Simulation(
        library.box_on_plane(friction=MU), step=H, level=level, solver="gams-path",
        formulation="equations-of-motion", tolerance=1e-6,
    )  # fmt: skip
    sim.body("box").set_velocity(START, [0, 0, 0])
    assert all(sim.step().met for _ in range(2))
    speed = float(np.hypot(*START[:2]))
    assert np.hypot(*sim.body("box").velocity[:2]) == pytest.approx(speed - 2 * MU * GRAVITY * H, abs=1e-6)


@pytest.mark.parametrize(("solver", "formulation"), [("moving-bounds", "box"), ("pgs", "box+fixed-bounds")])
def test_steps_without_contacts_are_steps_too(solver, formulation):
    """A box falls for three steps, lands and slides: a driver takes problems without rows of friction too."""
    sim = perp.Simulation(library.box_on_plane(friction=MU), step=H, solver=solver, formulation=formulation)
    sim.body("box").set_pose([0, 0, 0.0505])
    sim.body("box").set_velocity(START, [0, 0, 0])
    assert all(sim.step().met for _ in range(STEPS))
    assert abs(sim.body("box").position[2] - 0.05) < 1e-9


def test_rows_without_friction_are_a_boxed_lcp():
    scene = library.box_on_plane(friction=MU).replace("<geom ", '<geom condim="1" ')
    for solver in ("dantzig", "baraff", "principal", "pgs"):
        sim = perp.Simulation(scene, step=H, solver=solver, formulation="rows")
        sim.body("box").set_velocity(START, [0, 0, 0])
        for _ in range(5):
            assert sim.step().met
        assert sim.body("box").velocity[:3] == pytest.approx(START, abs=1e-9)


def test_bounds_frozen_at_the_last_normals_lead_to_those_that_follow():
    """For solvers that take fixed bounds only; the fixed point contracts where friction is weak."""
    scene = library.box_on_plane(friction=0.1)
    for solver in ("baraff", "principal"):
        sim = perp.Simulation(scene, step=H, solver=solver, formulation="box+fixed-bounds")
        sim.body("box").set_velocity(START, [0, 0, 0])
        assert all(sim.step().met for _ in range(5))
        expected = [v - 0.1 * GRAVITY * H * 5 for v in START[:2]]
        assert sim.body("box").velocity[:2] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("solver", "formulation", "words"),
    [
        ("dantzig", None, "dantzig cannot take"),
        ("dantzig", "rows", "friction in space"),
        ("baraff", "split", "as box.split, M is not symmetric"),
        ("lemke", "anitescu-potra", "leaves gaps out"),
        ("clarabel", "box", "but clarabel takes"),
        ("pgs", "box+split", "sweeps divide by the diagonal, and that of row"),
        ("apgd", "box+shifted", "its matrix is not symmetric"),
        ("newton", "stewart-trinkle+lcp-as-contact", "leads back to a contact problem"),
        ("newton", "boxes", "no formulation|boxes"),
    ],
)
def test_pairs_that_cannot_work_say_so_before_the_first_step(solver, formulation, words):
    with pytest.raises((perp.SolverMismatch, perp.UnknownSolver), match=words):
        perp.Simulation(library.box_on_plane(), step=H, solver=solver, formulation=formulation)


def test_a_formulation_needs_a_solver():
    with pytest.raises(perp.ProblemError, match="formulation needs a solver"):
        perp.Simulation(library.box_on_plane(), formulation="box")


def test_recordings_keep_the_distance_from_coulomb(tmp_path):
    sim = perp.Simulation(library.box_on_plane(friction=MU), step=H, solver="dantzig", formulation="box")
    sim.body("box").set_velocity(START, [0, 0, 0])
    recording = sim.run(0.05, out=tmp_path / "run.h5")
    assert recording.met.all()
    assert recording.residual.max() < 1e-9
    assert recording.coulomb_distance.max() > 1e-2
    exact = perp.Simulation(library.box_on_plane(friction=MU), step=H).run(0.02)
    assert np.array_equal(exact.coulomb_distance, exact.residual)


def test_fischer_burmeister_holds_a_stack_whose_redundant_contacts_stick() -> None:
    sim = perp.Simulation(library.stack(5), step=0.005, solver="fischer-burmeister")
    assert all(sim.step().met for _ in range(60))


def test_a_relaxation_that_stopped_early_is_held_to_what_the_step_asks_for() -> None:
    # its rounds stop contracting at 3e-7, which is within the tolerance
    sim = perp.Simulation(
        library.box_on_plane(),
        step=0.005,
        tolerance=1e-6,
        solver="boxed-newton",
        formulation="box+fixed-bounds",
    )
    sim.body("box").set_velocity((1.0, 0.5, 0), [0, 0, 0])
    records = [sim.step() for _ in range(8)]
    assert all(record.met and record.residual <= 1e-6 for record in records)
    assert max(record.coulomb_distance for record in records) > 1e-3
