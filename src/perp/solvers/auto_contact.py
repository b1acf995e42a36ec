"""The default solver of contact problems: sweeps while they pay, then proximal Newton, each island on its own.

Small problems are one compiled call. Larger ones, and calls with a time limit or a history, run the same stages with
the shared test in between. What was done is in `Solution.info`: sweeps, Newton steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.problems import ContactProblem, Status
from perp.problems.validation import Vector, freeze, is_sparse
from perp.solvers.attempt import Attempt, Control

# Up to this many rows one compiled call takes milliseconds: nothing is gained by looking in between.
ONE_CALL = 400
SWEEPS = 400
OUTER = 60


def solve_contact(problem: ContactProblem, control: Control) -> Attempt:
    """Solve a contact problem with every set, exact or relaxed."""
    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    if problem.size <= ONE_CALL and control.plain:
        return _one_call(problem, control)
    return _stages(problem, control)


def _one_call(problem: ContactProblem, control: Control) -> Attempt:
    from perp.solvers.contact.staged import solve_dense, solve_sparse

    W: Any = problem.W
    sets = problem.sets
    first = freeze(np.zeros(problem.size)) if control.start is None else freeze(control.start)
    rest = (
        problem.q, sets.kind, sets.start, sets.a, sets.b, problem.rolling_length, problem.relaxed,
        first, control.tol, SWEEPS, OUTER,
    )  # fmt: skip
    if is_sparse(W):
        z, value, sweeps, steps = solve_sparse(W.data, W.indices, W.indptr, *rest)
    else:
        z, value, sweeps, steps = solve_dense(W, *rest)
    reason = None if value <= control.tol else Status.STALLED
    return Attempt(z, sweeps + steps, reason, {"sweeps": sweeps, "newton_steps": steps})


def _stages(problem: ContactProblem, control: Control) -> Attempt:
    from perp.solvers.contact.canonical import blocks_of, to_canonical
    from perp.solvers.contact.elimination import eliminate
    from perp.solvers.contact.proximal import newton_scale, proximal_point
    from perp.solvers.contact.staged import LOOK, MARGIN, sweep_while_it_pays

    blocks = blocks_of(problem)
    x = np.empty(problem.size)
    to_canonical(blocks.scale, freeze(control.begin(problem.size)), x)
    tol = MARGIN * control.tol
    limit = control.limit(SWEEPS + 15 * OUTER)
    sweeps = steps = 0

    def done() -> bool:
        return control.check(sweeps + steps, blocks.scale * x)

    stop = done()
    while not stop and sweeps < min(SWEEPS, limit):
        value, taken = sweep_while_it_pays(blocks, x, tol, max(0, 2 * LOOK - sweeps), 2 * LOOK)
        sweeps += taken
        stop = done()
        if taken < 2 * LOOK or value <= tol:
            break
    if not stop and sweeps < limit:
        factors, rho = eliminate(blocks.first, blocks.column), newton_scale(blocks)
        sigma = 1e-2
        for _ in range(OUTER):
            _, sigma, taken = proximal_point(blocks, factors, rho, x, tol, sigma, 1, 10)
            steps += taken
            stop = done()
            if stop or sweeps + steps >= limit:
                break
    if not stop:
        control.reason = Status.ITERATION_LIMIT if sweeps + steps >= limit else Status.STALLED
    return control.attempt(blocks.scale * x, sweeps + steps, sweeps=sweeps, newton_steps=steps)
