"""Who waits for the compiler at a terminal is told why, once; limits do not run meanwhile."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from numba import njit

from perp.compilation import kernel, stopwatch
from perp.compilation.stopwatch import MESSAGE, STOPWATCH, Stopwatch, working_time
from perp.solvers import Control


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(stopwatch, "perf_counter", lambda: clock.now)
    return clock


def event(name: str, *, start: bool) -> SimpleNamespace:
    function = SimpleNamespace(__qualname__=name)
    return SimpleNamespace(is_start=start, data={"dispatcher": SimpleNamespace(py_func=function)})


def compile_nested(watch: Stopwatch, clock: SimpleNamespace) -> None:
    """An outer function for 5 s, of which 2 s for one that it calls."""
    watch.notify(event("outer", start=True))
    clock.now += 1.0
    watch.notify(event("inner", start=True))
    clock.now += 2.0
    watch.notify(event("inner", start=False))
    clock.now += 2.0
    watch.notify(event("outer", start=False))


def test_nested_compiling_counts_once(clock: SimpleNamespace) -> None:
    watch = Stopwatch()
    compile_nested(watch, clock)
    clock.now += 7.0
    compile_nested(watch, clock)
    assert watch.seconds == 10.0
    assert watch.names == ["outer", "inner"] * 2


@pytest.mark.parametrize(("stream", "said"), [(Terminal(), f"\r{MESSAGE}\n"), (io.StringIO(), "")])
def test_the_message_comes_once_and_at_a_terminal(
    stream: io.StringIO, said: str, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    watch = Stopwatch()
    watch.notify(event("quick", start=True))
    watch.notify(event("quick", start=False))
    assert stream.getvalue() == ""
    for _ in range(3):
        compile_nested(watch, clock)
    assert stream.getvalue() == said


def test_numba_tells_it_of_every_function() -> None:
    assert kernel.STOPWATCH is STOPWATCH  # whose import makes it listen

    def twice(x):
        return 2 * x

    before, seconds = len(STOPWATCH.names), STOPWATCH.seconds
    assert njit(twice)(3) == 6
    assert [name.split(".")[-1] for name in STOPWATCH.names[before:]] == ["twice"]
    assert STOPWATCH.seconds > seconds


def test_time_limits_stand_still_while_code_is_compiled(clock: SimpleNamespace) -> None:
    control = Control(lambda z: 1.0, tol=1e-8, time_limit=6.0)
    before = working_time()
    compile_nested(STOPWATCH, clock)
    clock.now += 4.0
    assert working_time() - before == pytest.approx(4.0)
    assert control.remaining() == pytest.approx(2.0)
    assert not control.out_of_time()
    clock.now += 2.5
    assert control.out_of_time()


def test_loading_and_importing_are_start_up_and_count_once(clock: SimpleNamespace) -> None:
    watch = Stopwatch()
    with watch.starting_up():
        clock.now += 1.0
        compile_nested(watch, clock)
        with watch.starting_up():
            clock.now += 1.0
    clock.now += 3.0
    assert watch.seconds == 7.0
    assert watch.names == ["outer", "inner"]
