"""A short run to look at."""

from __future__ import annotations

from pathlib import Path

import pytest

import perp

SCENES = Path(__file__).parents[2] / "examples" / "scenes"


@pytest.fixture(scope="session")
def recording() -> perp.Recording:
    return perp.Simulation(SCENES / "box-on-slope.xml", step=0.01).run(0.5)
