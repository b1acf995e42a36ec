"""The default solver of contact problems: sweeps while they pay, then proximal Newton, each island on its own.

Small problems are one compiled call. Larger ones, and calls with a time limit or a history, run the same stages with
the shared test in between. What was done is in `Solution.info`: sweeps, Newton steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems import ContactProblem, Status
from perp.problems.validation import Vector, freeze, is_sparse
from perp.solvers.attempt import Attempt, Control

if TYPE_CHECKING:
    from perp.solvers.contact.canonical import Blocks

# Up to this many rows one compiled call takes milliseconds: nothing is gained by looking in between.
ONE_CALL = 400
OUTER = 60
# The first proximal weight, relative to the diagonal of W: large enough for Newton to settle on a rank-deficient W.
WEIGHT = 1e-2
# Sweeps after a Newton step cost less than the step and repair what it got wrong.
SMOOTHING = 10


def solve_contact(problem: ContactProblem, control: Control) -> Attempt:
    """Solve a contact problem with every set, exact or relaxed."""
    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    if problem.size <= ONE_CALL and control.plain:
        return _one_call(problem, control)
    return _stages(problem, control)


def _one_call(problem: ContactProblem, control: Control) -> Attempt:
    from perp.solvers.contact.canonical import blocks_of
    from perp.solvers.contact.staged import sweep_dense, sweep_sparse

    W: Any = problem.W
    sets = problem.sets
    first = freeze(np.zeros(problem.size)) if control.start is None else freeze(control.start)
    rest = (
        problem.q, sets.kind, sets.start, sets.a, sets.b, problem.rolling_length, problem.relaxed,
        first, control.tol,
    )  # fmt: skip
    if is_sparse(W):
        z, value, sweeps = sweep_sparse(W.data, W.indices, W.indptr, *rest)
    else:
        z, value, sweeps = sweep_dense(W, *rest)
    if value <= control.tol:
        return Attempt(z, sweeps, None, {"sweeps": sweeps, "newton_steps": 0})
    return _newton(problem, control, blocks_of(problem), z, sweeps, OUTER)


def _stages(problem: ContactProblem, control: Control) -> Attempt:
    from perp.solvers.contact.canonical import blocks_of, to_canonical
    from perp.solvers.contact.staged import LOOK, MARGIN, SWEEPS, sweep_while_it_pays

    blocks = blocks_of(problem)
    x = np.empty(problem.size)
    to_canonical(blocks.scale, freeze(control.begin(problem.size)), x)
    tol = MARGIN * control.tol
    limit = control.limit(SWEEPS + 15 * OUTER)
    sweeps = 0
    stop = control.check(0, blocks.scale * x)
    while not stop and sweeps < min(SWEEPS, limit):
        value, taken = sweep_while_it_pays(blocks, x, tol, max(0, 2 * LOOK - sweeps), 2 * LOOK)
        sweeps += taken
        stop = control.check(sweeps, blocks.scale * x)
        if taken < 2 * LOOK or value <= tol:
            break
    if stop:
        return control.attempt(blocks.scale * x, sweeps, sweeps=sweeps, newton_steps=0)
    return _newton(problem, control, blocks, blocks.scale * x, sweeps, 1)


def _newton(
    problem: ContactProblem, control: Control, blocks: Blocks, z: Vector, sweeps: int, chunk: int
) -> Attempt:
    """Proximal Newton from z, with the shared test after every `chunk` outer iterations."""
    from perp.solvers.contact.canonical import to_canonical
    from perp.solvers.contact.elimination import eliminate
    from perp.solvers.contact.proximal import newton_scale, proximal_point
    from perp.solvers.contact.staged import MARGIN, SWEEPS

    x = np.empty(problem.size)
    to_canonical(blocks.scale, freeze(z), x)
    best = x.copy()
    factors, rho = eliminate(blocks.first, blocks.column), newton_scale(blocks)
    limit = control.limit(SWEEPS + 15 * OUTER)
    sigma, steps = WEIGHT, 0
    stop = False
    for _ in range(0, OUTER, chunk):
        if sweeps + steps >= limit:
            break
        _, sigma, taken = proximal_point(
            blocks, factors, rho, x, best, MARGIN * control.tol, sigma, chunk, SMOOTHING
        )
        steps += taken
        stop = control.check(sweeps + steps, blocks.scale * best)
        if stop:
            break
    if not stop:
        control.reason = Status.ITERATION_LIMIT if sweeps + steps >= limit else Status.STALLED
    return control.attempt(blocks.scale * best, sweeps + steps, sweeps=sweeps, newton_steps=steps)
