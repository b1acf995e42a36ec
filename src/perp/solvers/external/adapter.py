"""One interface for every vendor: cone program or MCP in, numbers and words out.

A vendor's module writes one function that takes a `Request` and returns a `Reply`, and registers it with
`vendor`. What every vendor needs is here once: a crash or a licence error becomes a failed attempt with the
vendor's own words, one tolerance is mapped to what the vendor can do, and multipliers are recovered where the
vendor has none.
"""

from __future__ import annotations

import dataclasses
import importlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.problems import Status
from perp.problems.cone_program import ConeProgram
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import NoOptions, Package, register

# Our residual is measured in other units than a vendor's stopping test: the vendor is asked for this much
# more.
MARGIN = 0.01


@dataclass(frozen=True)
class Request:
    """What a vendor is asked for.

    Attributes:
        program: The problem in the form that the vendor takes.
        tolerance: What to ask of the vendor's own stopping test.
        time_limit: Seconds, or None.
        max_iterations: Iterations, or None for the vendor's own limit.
        start: Where to begin, or None for the program's own start.
        options: The solver's options.
    """

    program: Any
    tolerance: float
    time_limit: float | None
    max_iterations: int | None
    start: Vector | None
    options: Any


@dataclass(frozen=True)
class Reply:
    """What a vendor said.

    Attributes:
        x: Its unknowns, or None when it gave none.
        y: Multipliers of a cone program's rows, or None when it has none that can be used.
        words: Its status in its own words.
        reason: Why it stopped, when it does not itself claim success.
        iterations: As the vendor counts them.
    """

    x: Vector | None
    y: Vector | None = None
    words: str = ""
    reason: Status | None = None
    iterations: int = 0


Call = Callable[[Request], Reply]


def vendor(
    name: str,
    *,
    takes: type | tuple[type, ...],
    needs: Package,
    summary: str,
    finest: float,
    options: type = NoOptions,
) -> Callable[[Call], Call]:
    """Register a vendor's function as a solver.

    Args:
        name: What to pass to `solve`.
        takes: ConeProgram, QuadraticProgram, MotionMCP, or several.
        needs: The package and the command that adds it.
        summary: One line.
        finest: The smallest tolerance at which the vendor still ends well.
        options: Dataclass of options.
    """

    def decorate(call: Call) -> Call:
        def run(program: Any, control: Control, settings: Any) -> Attempt:
            request = Request(
                program,
                tolerance=min(max(MARGIN * getattr(program, "accuracy", 1.0) * control.tol, finest), 1e-3),
                time_limit=control.remaining(),
                max_iterations=control.max_iterations,
                start=control.start,
                options=settings,
            )
            return _answer(program, control, _guarded(call, request), name)

        run.__module__, run.__qualname__ = call.__module__, f"{call.__qualname__}[{name}]"
        register(name, takes=takes, summary=summary, options=options, needs=needs)(run)
        return call

    return decorate


def _guarded(call: Call, request: Request) -> Reply:
    """A vendor may raise anything at all: licence errors, size limits, bugs. They are answers too."""
    try:
        return call(request)
    except Exception as error:  # noqa: BLE001
        words = " ".join(str(error).split()) or type(error).__name__
        return Reply(None, words=f"{type(error).__name__}: {words}"[:300], reason=Status.FAILED)


def _answer(program: Any, control: Control, reply: Reply, name: str) -> Attempt:
    words = f"{name} said: {reply.words}" if reply.words else ""
    if reply.x is None or not np.isfinite(reply.x).all():
        reason = reply.reason or Status.FAILED
        attempt = Attempt(np.zeros(program.size), reply.iterations, reason, {"no_answer": True}, words)
        control.check(attempt.iterations, attempt.z)
        return attempt
    z = np.asarray(reply.x, dtype=np.float64)
    info: dict[str, Any] = {}
    if isinstance(program, ConeProgram):
        y = reply.y
        if y is None or not np.isfinite(y).all():
            y = np.zeros(program.row_count)
            if program.needs_multipliers:
                y = recover_multipliers(program, z)
                info["multipliers"] = "recovered from the solver's velocities"
        z = np.concatenate([z, y])
    control.check(reply.iterations, z)
    return Attempt(z, reply.iterations, reply.reason, info, words)


def recover_multipliers(program: ConeProgram, x: Vector) -> Vector:
    """The multipliers of a solver's x: P x + c = Gᵀ y, and y as near to the dual cone as that allows.

    Solvers of squared cones have none of their own at the apex, where u = 0 and the squared constraint has no
    gradient. First the y in the dual cone that minimises ½ ‖P x + c − Gᵀ y‖² + sᵀ y, which vanishes exactly
    at an optimum; then the smallest change that makes P x + c = Gᵀ y hold. Without that last step the
    impulses of a wrong x would be repaired here, and the table would show our answer in place of the
    solver's.
    """
    from scipy.sparse import csc_array, eye_array

    from perp.solvers.interior.cone_interior import minimise

    s, first = program.slack(x), program.zero
    gradient = program.P @ x + program.c
    s[:first] = 0.0
    s[first : first + program.nonnegative] = np.maximum(s[first : first + program.nonnegative], 0.0)
    starts = program.cone_starts
    for begin, end in itertools.pairwise(starts):
        s[begin] = max(s[begin], float(np.linalg.norm(s[begin + 1 : end])))
    rows = program.row_count
    identity: Any = eye_array(rows, format="csr")
    fit = dataclasses.replace(
        program,
        P=csc_array(program.G @ program.G.T),
        c=-(program.G @ gradient) + s,
        G=csc_array(identity[first:]),
        h=np.zeros(rows - first),
        zero=0,
        start=np.zeros(rows),
        needs_multipliers=False,
    )
    y = minimise(fit)[0]
    missing = gradient - program.G.T @ y
    return y + np.linalg.lstsq(program.G.toarray().T, missing, rcond=None)[0]


def load(module: str) -> Any:
    """A vendor's package, imported now: not when perp is, and not by a name that this folder has too."""
    return importlib.import_module(module)


def begin(request: Request) -> Vector:
    """The x to begin from."""
    n = request.program.variable_count
    return request.program.start if request.start is None else request.start[:n]
