"""The example that plans a push: a few iterations bring the box most of the way."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "push_box.py"


@pytest.mark.filterwarnings("ignore::perp.stepping.record.StepInaccurate")
def test_a_push_is_planned() -> None:
    spec = importlib.util.spec_from_file_location("push_box", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    used, costs, way = module.plan()
    assert costs[-1] < 0.01 * costs[0]
    assert used.shape == (module.STEPS, 2)
    assert np.linalg.norm(way[-1] - module.GOAL) < 2e-3
