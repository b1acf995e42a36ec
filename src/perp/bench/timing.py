"""Time and memory of a call: the one place where benchmarks look at a clock, and how a time is written.

Needs nothing but Python, because peers in other interpreters load this file too. CPU time counts all threads
of the process; the wall clock takes its place where the process clock is too coarse.
"""

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

MIB = 2**20


class Timing(NamedTuple):
    """How long a call took [s]."""

    cpu: float
    wall: float


def duration(seconds: float) -> str:
    """A time for people: `12 µs`, `3.4 ms`, `1.2 s`."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def timed(call: Callable[[], Any]) -> tuple[Timing, Any]:
    """CPU and wall time of one call, and what it returned."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Timing(cpu if cpu > 0.0 else wall, wall), result


def repeated(
    call: Callable[[], Any], *, most: int = 300, least: int = 3, budget: float = 0.3
) -> Iterator[tuple[Timing, Any]]:
    """Time a call so many times; no further one is begun after `budget` seconds (wall)."""
    spent, count = 0.0, 0
    while count < most and (count < least or spent < budget):
        timing, result = timed(call)
        spent, count = spent + timing.wall, count + 1
        yield timing, result


def best_of(call: Callable[[], Any], *, most: int = 300, least: int = 3, budget: float = 0.3) -> Timing:
    """The least CPU and the least wall time of repeated calls, after one call to warm up."""
    call()
    timings = [timing for timing, _ in repeated(call, most=most, least=least, budget=budget)]
    return Timing(min(t.cpu for t in timings), min(t.wall for t in timings))


def peak_memory(call: Callable[[], Any]) -> tuple[float | None, Any]:
    """Memory that a call needs beyond what the process held [MiB], and what it returned.

    The system's own peak is reset before the call; None where it cannot be (outside Linux).
    """
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = _status("VmRSS")
    except OSError:
        return None, call()
    result = call()
    return max(0.0, _status("VmHWM") - before), result


def _status(name: str) -> float:
    """A figure of this process in /proc [MiB]."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024 / MIB
    raise OSError(f"/proc/self/status has no {name}")
