"""How long this process has compiled: a line for whoever waits, and a clock that stands still meanwhile.

Time limits use that clock. A limit that a solver keeps on every other day would otherwise be missed on the
first one, when its code has to be compiled.
"""

from __future__ import annotations

import sys
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
    """What was compiled in this process; a listener of numba's event `numba:compile`.

    Attributes:
        seconds: Time spent in the compiler [s].
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
        now = perf_counter()
        self._begun = now if self._depth == 0 else self._begun
        self._depth += 1
        self.names.append(getattr(event.data["dispatcher"].py_func, "__qualname__", "?"))
        # Programs that read standard error are left alone.
        waiting = self.seconds + now - self._begun > PATIENCE
        if waiting and not self.spoken and sys.stderr is not None and sys.stderr.isatty():
            from perp.compilation import shipped

            self.spoken, reason = True, shipped.mismatch()
            why = f" (the compiled kernels that came with perp are not used: {reason})" if reason else ""
            sys.stderr.write(f"\r{MESSAGE}{why}\n")

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """It is done."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._begun

    def notify(self, event: Any) -> None:
        """Numba calls this with every event."""
        (self.on_start if event.is_start else self.on_end)(event)


STOPWATCH = Stopwatch()


def working_time() -> float:
    """Seconds of a clock that stands still while this process compiles."""
    return perf_counter() - STOPWATCH.seconds
