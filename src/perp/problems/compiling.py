"""Tells whoever waits at a terminal that code is being compiled: once per machine and release."""

from __future__ import annotations

import sys
from functools import cache
from time import perf_counter

from numba.core import event

# Seconds of compiling in one process before it is worth a word.
PATIENCE = 1.0
MESSAGE = (
    "perp: compiling what is used for the first time; this takes up to a minute and is kept for later runs"
)


class _Announcer(event.Listener):
    """Counts the time that compiling takes and speaks once."""

    def __init__(self) -> None:
        self.depth, self.begun, self.spent, self.spoken = 0, 0.0, 0.0, False

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002
        now = perf_counter()
        self.begun = now if self.depth == 0 else self.begun
        self.depth += 1
        if not self.spoken and self.spent + now - self.begun > PATIENCE:
            self.spoken = True
            sys.stderr.write(f"\r{MESSAGE}\n")

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        self.depth -= 1
        if self.depth == 0:
            self.spent += perf_counter() - self.begun


@cache
def announce() -> event.Listener | None:
    """Say so on standard error when that is a terminal; programs that read it are left alone."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    listener = _Announcer()
    event.register("numba:compile", listener)
    return listener
