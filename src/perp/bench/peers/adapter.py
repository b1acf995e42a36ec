"""One interface for every peer: a problem in, an answer and its own time out.

A peer is registered like a solver of ours, so that formulations, residuals and limits are the same for both.
Two things differ: only its own call is timed, on data that is already in its form, and what it says of its
answer is kept apart from what our code finds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.bench.timing import Timing
from perp.problems import Status
from perp.problems.validation import Vector, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import Package, register

Tolerance = Mapping[str, Callable[[float], object]]
"""A peer's own options, each as a function of the one tolerance."""

TOLERANCES: dict[str, Tolerance] = {}
"""By name of the peer; filled by the tables in the peers' modules."""


@dataclass(frozen=True)
class PeerRequest:
    """What a peer is asked for."""

    problem: Any  # in a form that the peer takes
    options: dict[str, Any]  # the peer's own options that the tolerance is mapped to
    time_limit: float | None  # seconds left
    start: Vector | None


@dataclass(frozen=True)
class PeerReply:
    """What a peer said."""

    z: Vector | None
    claimed: bool  # whether it said that the problem is solved
    time: Timing  # of its own call
    iterations: int = -1  # as it counts them; −1 where it does not say
    words: str = ""  # its status
    memory: float | None = None  # peak memory in its own process [MiB], or None when it ran in ours


Call = Callable[[PeerRequest], PeerReply]


def dense(matrix: Any) -> np.ndarray:
    """A writable dense copy."""
    return np.array(matrix.toarray() if is_sparse(matrix) else matrix)


def peer(
    name: str,
    *,
    takes: type | tuple[type, ...],
    needs: Package,
    summary: str,
    tolerance: Tolerance,
    refuses: Callable[[Any], str | None] | None = None,
) -> Callable[[Call], Call]:
    """Register a peer's function under the name to pass to `--solvers`.

    `tolerance` says which of its options the tolerance is mapped to, and how; `refuses` why a problem of the
    right type cannot be taken, or None.
    """

    def decorate(call: Call) -> Call:
        TOLERANCES[name] = tolerance

        def run(problem: Any, control: Control, settings: object) -> Attempt:
            options = {option: value(control.tol) for option, value in tolerance.items()}
            return _attempt(problem, call(PeerRequest(problem, options, control.remaining(), control.start)))

        run.__module__, run.__qualname__ = call.__module__, f"{call.__qualname__}[{name}]"
        register(name, takes=takes, summary=summary, refuses=refuses, needs=needs)(run)
        return call

    return decorate


def _attempt(problem: Any, reply: PeerReply) -> Attempt:
    info: dict[str, Any] = {"claimed": reply.claimed, "own_time": tuple(reply.time)}
    if reply.memory is not None:
        info["memory"] = reply.memory
    z = np.zeros(problem.size) if reply.z is None else np.asarray(reply.z, dtype=np.float64)
    if reply.z is None:
        info["no_answer"] = True
    return Attempt(z, reply.iterations, None if reply.claimed else Status.FAILED, info, reply.words)
