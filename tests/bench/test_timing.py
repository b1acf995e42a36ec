"""Time and memory of calls."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from perp.bench.timing import best_of, peak_memory, repeated, timed


def test_cpu_time_does_not_count_waiting() -> None:
    spent, result = timed(lambda: time.sleep(0.2) or "done")
    assert result == "done"
    assert spent.wall >= 0.2
    assert spent.cpu < 0.5 * spent.wall


def test_repeats_end_with_the_budget_or_the_count() -> None:
    assert len(list(repeated(lambda: None, most=7, budget=10.0))) == 7
    assert len(list(repeated(lambda: time.sleep(0.02), least=2, budget=0.0))) == 2
    calls = []
    best = best_of(lambda: calls.append(1), most=4, budget=10.0)
    assert len(calls) == 5
    assert 0 <= best.cpu < 1.0


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a call is known on Linux only")
def test_the_peak_of_a_call_is_what_it_touched() -> None:
    memory, total = peak_memory(lambda: float(np.ones(8 * 2**20).sum()))
    assert total == 8 * 2**20
    assert memory is not None
    assert 60 < memory < 80
    again, _ = peak_memory(lambda: None)
    assert again is not None
    assert again < 5
