"""Why a peer has no time: a peer that is missing, crashes, hangs or raises is an error with its message."""

from __future__ import annotations

from collections.abc import Iterable

from perp.bench.rows import Outcome, Row
from perp.solvers import registry

_TROUBLE = (Outcome.CRASHED, Outcome.HUNG, Outcome.ERROR)


def missing(solver: str) -> str | None:
    """Why a peer cannot be asked; None where it can."""
    reason = registry.find(solver).reason
    return None if reason is None else f"error: {reason}"


def trouble(rows: Iterable[Row]) -> str | None:
    """What went wrong in a peer's solves; None where all have an answer, whatever it is worth."""
    return next(
        (f"error: {row.outcome.value}: {row.message}" for row in rows if row.outcome in _TROUBLE), None
    )
