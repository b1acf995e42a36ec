"""`perp warm-up`: everything that perp can compile, through its public face, once."""

from __future__ import annotations

import pytest

from perp.bench import warm_up
from perp.cli import main
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


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture) -> None:
    assert main(["warm-up", "--workers", "0"]) == 2
    assert capsys.readouterr().err == "perp: --workers 0: at least 1 is needed\n"
