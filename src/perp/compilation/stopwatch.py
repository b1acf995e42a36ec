"""How long this process took to start up: a line for whoever waits, and a clock that stands still meanwhile.

Times of solves and time limits use that clock. A limit that a solver keeps on every other day would otherwise
be missed on the first one, when its code has to be compiled, or in every new process, where it is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

# Seconds of compiling in one process before it is worth a word.
PATIENCE = 1.0
MESSAGE = (
    "perp: compiling what is used for the first time; this takes up to a minute and is kept for later runs"
)


@dataclass
class Stopwatch:
    """What was compiled and loaded in this process; a listener of numba's event `numba:compile`.

    Attributes:
        seconds: Time spent in the compiler, and on loading what it made [s].
        names: Of what was compiled, in order; callees before they are done.
        spoken: Whether somebody at a terminal has been told.
    """

    seconds: float = 0.0
    names: list[str] = field(default_factory=list)
    spoken: bool = False
    _depth: int = 0
    _begun: float = 0.0

    def on_start(self, event: Any) -> None:
        """A function is being compiled, perhaps because another one that is being compiled calls it."""
        self._begin()
        self.names.append(getattr(event.data["dispatcher"].py_func, "__qualname__", "?"))
        # Programs that read standard error are left alone.
        waiting = self.seconds + perf_counter() - self._begun > PATIENCE
        if waiting and not self.spoken and sys.stderr is not None and sys.stderr.isatty():
            from perp.compilation import shipped

            self.spoken, reason = True, shipped.mismatch()
            why = f" (the compiled kernels that came with perp are not used: {reason})" if reason else ""
            sys.stderr.write(f"\r{MESSAGE}{why}\n")

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """It is done."""
        self._end()

    @contextmanager
    def starting_up(self) -> Iterator[None]:
        """Whatever is done inside is start-up: code that is loaded, modules that are imported."""
        self._begin()
        try:
            yield
        finally:
            self._end()

    def _begin(self) -> None:
        if self._depth == 0:
            self._begun = perf_counter()
        self._depth += 1

    def _end(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._begun

    def notify(self, event: Any) -> None:
        """Numba calls this with every event."""
        (self.on_start if event.is_start else self.on_end)(event)


STOPWATCH = Stopwatch()


def working_time() -> float:
    """Seconds of a clock that stands still while this process compiles or loads code."""
    return perf_counter() - STOPWATCH.seconds
