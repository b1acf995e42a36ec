"""examples/train_hopper.py: a few generations, the same every time, and better than the first."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_hopper.py"


@pytest.mark.skipif(importlib.util.find_spec("gymnasium") is None, reason="gymnasium is not installed")
def test_a_few_generations_learn(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("train_hopper", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    mean, history = module.train(8, 24)
    again, _ = module.train(2, 24)
    assert np.array_equal(again, module.train(2, 24)[0])
    medians = [median for median, _, _ in history]
    assert max(medians[-3:]) > 3.0 * abs(medians[0]) + 5.0
    module.draw(mean, history, tmp_path / "hopper.png")
    assert (tmp_path / "hopper.png").stat().st_size > 10_000
