"""Time and memory of calls."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from perp.bench.timing import best_of, peak_memory, repeated, timed


class Clock:
    """Clocks that stand still but for what a call says it takes [s]."""

    def __init__(self) -> None:
        self.wall, self.cpu = 100.0, 10.0

    def perf_counter(self) -> float:
        return self.wall

    def process_time(self) -> float:
        return self.cpu

    def take(self, wall: float, cpu: float) -> None:
        self.wall, self.cpu = self.wall + wall, self.cpu + cpu


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("perp.bench.timing.time", clock)
    return clock


def test_cpu_time_does_not_count_waiting(clock: Clock) -> None:
    spent, result = timed(lambda: clock.take(0.5, 0.125) or "done")
    assert result == "done"
    assert spent == (0.125, 0.5)
    coarse, _ = timed(lambda: clock.take(0.25, 0.0))
    assert coarse == (0.25, 0.25)


def test_repeats_end_with_the_budget_or_the_count(clock: Clock) -> None:
    assert len(list(repeated(lambda: clock.take(1.0, 1.0), most=7, budget=10.0))) == 7
    assert len(list(repeated(lambda: clock.take(1.0, 1.0), most=70, budget=10.0))) == 10
    assert len(list(repeated(lambda: clock.take(1.0, 1.0), least=2, budget=0.0))) == 2
    waits = iter([8.0, 3.0, 2.0, 4.0, 5.0])
    assert best_of(lambda: clock.take(next(waits), 1.0), most=4, budget=100.0) == (1.0, 2.0)
    assert next(waits, None) is None


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a call is known on Linux only")
def test_the_peak_of_a_call_is_what_it_touched() -> None:
    memory, total = peak_memory(lambda: float(np.ones(8 * 2**20).sum()))
    assert total == 8 * 2**20
    assert memory is not None
    assert 60 < memory < 80
    again, _ = peak_memory(lambda: None)
    assert again is not None
    assert again < 5
