"""`perp warm-up`: everything that perp can compile, through its public face, once."""

from __future__ import annotations

import pytest

import perp
from perp.bench import warm_up
from perp.cli import main
from perp.compilation.stopwatch import STOPWATCH
from perp.solvers.registry import all_solvers


def test_every_solver_of_ours_is_in_the_list(capsys: pytest.CaptureFixture) -> None:
    assert main(["warm-up", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed == [*warm_up.tasks()]
    assert listed[0] == warm_up.FIRST_STEP
    ours = {info.name for info in all_solvers().values() if info.family not in ("external", "user")}
    assert {f"solver {name}" for name in ours} <= set(listed)
    assert sum("coordinates" in name for name in listed) == 4 * len(warm_up.SCENES)


def test_what_was_compiled_is_not_compiled_again() -> None:
    [name, *_] = warm_up.tasks()
    warm_up.run(name)
    assert warm_up.run(name)[:2] == (name, 0)


def test_equations_of_derivatives_are_those_that_a_step_asks_for() -> None:
    warm_up.run("equations of derivatives")
    before = len(STOPWATCH.names)
    for coordinates in ("maximal", "reduced"):
        sim = perp.Simulation(warm_up.SCENES["a rover"](), step=0.01, coordinates=coordinates)
        sim.step()
        sim.derivatives(("friction", "gravity"))
    assert "_equations" not in STOPWATCH.names[before:]


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture) -> None:
    assert main(["warm-up", "--workers", "0"]) == 2
    assert capsys.readouterr().err == "perp: --workers 0: at least 1 is needed\n"
