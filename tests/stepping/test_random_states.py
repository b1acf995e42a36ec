"""A slice of `benchmarks/random_states.py`: robots thrown into random states raise nothing and stay finite."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from perp.scenes import library, read_spec

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ROOT.parent / "shared" / "data" / "robots"


@pytest.fixture
def random_states(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the benchmark."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("random_states")


def scenes() -> list[Any]:
    """Scenes of our own, and the robots beside the repository where they are."""
    own = {"rover": library.rover(), "chain": library.chain(5), "tumbler": library.tumbler(20)}
    out = [pytest.param(text, id=name) for name, text in own.items()]
    for path in sorted(BESIDE.glob("*/scene.xml")):
        name = path.parent.name
        out.append(pytest.param(path, id=name))
    return out


@pytest.mark.parametrize("scene", scenes())
def test_random_states_raise_nothing_and_stay_finite(scene: Any, random_states: Any) -> None:
    tally = random_states.throw(read_spec(scene), 20, seed=7)
    assert tally.states == 20
    assert (tally.raised, tally.not_finite) == (0, 0), tally.first_problem
