"""When work that nobody can interrupt from outside has to end: long loops ask here between their pieces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from perp.compilation.stopwatch import working_time

# By `working_time`.
_DEADLINE: ContextVar[float] = ContextVar("_DEADLINE", default=float("inf"))


class OutOfTime(Exception):
    """A time limit passed in the middle of something long, which the message names; `solve` catches it."""


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Long work in this block that is not done in time raises `OutOfTime`."""
    token = _DEADLINE.set(float("inf") if seconds is None else working_time() + seconds)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def check_time(what: str) -> None:
    """Raises `OutOfTime` with these words if the deadline has passed."""
    if working_time() > _DEADLINE.get():
        raise OutOfTime(f"The time limit passed while {what}.")
