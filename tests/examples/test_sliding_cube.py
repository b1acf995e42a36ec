"""examples/sliding_cube.py: the cube stops where the formula says, never lifts, and the figure is drawn."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "sliding_cube.py"


def test_cube_stops_where_the_formula_says(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    spec = importlib.util.spec_from_file_location("sliding_cube", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    time, position = example.simulate()
    assert position[-1, 0] == pytest.approx(example.stop_in_steps(), abs=1e-8)
    assert np.abs(position[:, 0] - example.formula(time)).max() < example.STEP * example.SPEED / 2
    assert np.abs(position[:, 2] - example.HALF).max() < 1e-9
    example.main(tmp_path / "cube.png")
    assert (tmp_path / "cube.png").read_bytes().startswith(b"\x89PNG")
    assert "3.63978" in capsys.readouterr().out
