"""Position level by Newton's method on the Fischer–Burmeister system, with the friction compliance.

Unknowns (u, λ), with M̃ (u − ũ) = Jᵀ λ kept exactly, so that each Newton step is one symmetric system in Δλ:

    (J M̃⁻¹ Jᵀ + Σ + C) Δλ = −residual

C and the residual come from `ncp_rows`, evaluated with joints and gaps at the new positions. The system is
solved by a factorisation or by preconditioned conjugate residual. Quadratic where positions are linear,
otherwise linear with a factor of about h |ω|, until the exact derivative of the positions takes over.
Friction that changes between stick and slip may make it wander, which the stepper notices.

Reference: Macklin et al., Non-smooth Newton methods for deformable multi-body dynamics (2019).
"""

from __future__ import annotations

import numpy as np

from perp.problems.validation import is_sparse
from perp.stepping.conjugate_residual import block_inverses, conjugate_residual
from perp.stepping.ncp_rows import FISCHER_BURMEISTER, MINIMUM, linearise, solve_eliminating, solve_scaled
from perp.stepping.outcome import Blocks, Outcome, measure
from perp.stepping.system import StepSystem

_FORMS = {"fischer-burmeister": FISCHER_BURMEISTER, "minimum": MINIMUM}
# Redundant rows make W singular and leave some impulses free to grow. This share of the diagonal, as a
# compliance of every row, keeps them small; at the answer it stands for a velocity error of 1e-12 of what the
# impulses cause.
_REGULARISATION = 1e-12
# When the symmetric matrix, with the Jacobian of the step's start, leaves more than this share of the error
# after a few steps, the exact derivative takes its place: quadratic again, at the cost of symmetry.
_SYMMETRIC_STEPS, _SLOW = 2, 0.1
# Digits in hand: the error of reused impulses adds up from step to step, so that they need a better residual
# than new ones to be taken as they are.
_POSITIONS, _VELOCITIES, _REUSED = 0.5, 0.1, 0.01
_SHORTEST, _GROWTH = 1 / 64, 2.0
# Least-norm steps cost a singular value decomposition: beyond this many rows the compliance above has to do.
_LEAST_NORM_ROWS, _RANK = 600, 1e-10
# Up to this many rows LAPACK's threads cost more than they save, most of all on a busy machine.
_COMPILED_ROWS = 300
_INNER_TOLERANCE = 1e-12
_INNER_LIMIT = 2000


def solve_newton(system: StepSystem, start: np.ndarray, *, limit: int, redundant: bool) -> Outcome:
    """Solve a step at position level.

    Args:
        system: The step.
        start: Impulses to begin with, shape (rows,).
        limit: Newton steps.
        redundant: Joints depend on each other (closed loops): Newton steps of least norm are taken.
    """
    settings = system.settings
    within = _POSITIONS * settings.tolerance, _VELOCITIES * settings.tolerance
    form = _FORMS[settings.ncp]
    sets, rows = system.set_arrays, system.rows
    impulse = start.copy()
    compliance, residual = np.empty(rows), np.empty(rows)
    exact, last, diagonal = redundant, np.inf, np.empty(0)
    outcome = _outcome(system, impulse, 0, 0)
    blocks = measure(system, outcome)
    for k in range(1, limit + 1):
        share = _REUSED if k == 1 else 1.0
        if blocks.met(share * within[0], share * within[1]):
            return outcome
        if k == 1:
            diagonal = np.maximum(system.delassus.diagonal(), 1e-300)
        size = max(blocks.joint, blocks.contact)
        slow = k > _SYMMETRIC_STEPS and size > _SLOW * last
        exact = exact or (slow and settings.linear_solver == "factorisation")
        last = size
        y = system.row_velocity(outcome.velocity) + outcome.bias + system.compliance * impulse
        linearise(form, *sets, diagonal, y, impulse, compliance, residual)
        right = -residual - _REGULARISATION * diagonal * impulse
        u = outcome.velocity if exact else None
        change, inner = _linear_solve(system, u, compliance, right, diagonal, redundant=redundant)
        if not np.isfinite(change).all():
            outcome.message = "Newton's method diverged"
            return outcome
        outcome, blocks = _advance(system, outcome, blocks, change, inner)
        impulse = outcome.impulse
    if not blocks.met(*within):
        outcome.message = f"{limit} Newton steps did not reach the tolerance"
    return outcome


def _advance(
    system: StepSystem, outcome: Outcome, blocks: Blocks, change: np.ndarray, inner: int
) -> tuple[Outcome, Blocks]:
    """The next iterate: a full step, shortened while it leaves the joints far behind.

    Another root of the joint equations may lie a full turn away.
    """
    allowed = _GROWTH * max(blocks.joint, system.settings.tolerance * blocks.length)
    count, work = outcome.iterations + 1, outcome.solver_iterations + inner
    share = 1.0
    while True:
        trial = _outcome(system, outcome.impulse + share * change, count, work)
        tried = measure(system, trial)
        if tried.joint <= allowed or share <= _SHORTEST:
            return trial, tried
        share *= 0.5


def _outcome(system: StepSystem, impulse: np.ndarray, iterations: int, inner: int) -> Outcome:
    u = system.body_velocity(impulse)
    bias = system.bias(u)
    return Outcome(impulse, u, iterations, inner, bias)


def _linear_solve(
    system: StepSystem,
    u: np.ndarray | None,
    compliance: np.ndarray,
    right: np.ndarray,
    diagonal: np.ndarray,
    *,
    redundant: bool,
) -> tuple[np.ndarray, int]:
    """(W + C) Δλ = right, with the exact derivative at u when given; also the number of inner iterations."""
    if system.settings.linear_solver == "conjugate-residual":
        return _by_conjugate_residual(system, compliance, right, diagonal)
    added = compliance + _REGULARISATION * diagonal
    # rows that are equations for λ alone have C up to 1e12 of the rest: scaling makes the diagonal 1
    scale = 1.0 / np.sqrt(diagonal + added)
    W = system.delassus if u is None else system.derivative(u)
    if redundant and system.rows <= _LEAST_NORM_ROWS:
        A = (W.toarray() if is_sparse(W) else W) + np.diag(compliance)
        return scale * np.linalg.lstsq(scale[:, None] * A * scale, scale * right, rcond=_RANK)[0], 1
    if is_sparse(W):
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import splu

        D = diags_array(scale)
        A = (D @ (W + diags_array(added)) @ D).tocsc()
        symmetric = {"SymmetricMode": True} if u is None else {}
        try:
            factor = splu(
                A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0 if u is None else 0.1, options=symmetric
            )
        except RuntimeError:  # exactly singular
            return np.full(system.rows, np.nan), 1
        return scale * factor.solve(scale * right), 1
    if u is None and system.rows <= _COMPILED_ROWS:
        out = np.empty(system.rows)
        solve_scaled(W, added, scale, right, out)
        return out, 1
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    A = np.array(W)
    A[np.diag_indices_from(A)] += added
    A *= scale[:, None] * scale
    x = scale * right
    if system.rows <= _COMPILED_ROWS:
        solve_eliminating(A, x)
        return scale * x, 1
    try:
        if u is None:
            return scale * cho_solve(cho_factor(A, check_finite=False), x, check_finite=False), 1
        return scale * np.linalg.solve(A, x), 1
    except LinAlgError:
        return np.full(system.rows, np.nan), 1


def _by_conjugate_residual(
    system: StepSystem, compliance: np.ndarray, right: np.ndarray, diagonal: np.ndarray
) -> tuple[np.ndarray, int]:
    added = compliance + system.compliance + _REGULARISATION * diagonal
    blocks = np.zeros((system.start.size - 1, 5, 5))
    whole = system.settings.preconditioner == "block"
    block_inverses(system.bodies, system.jacobian, system.weighed, added, system.start, whole, blocks)
    out = np.empty(system.rows)
    count = conjugate_residual(
        system.bodies, system.jacobian, system.inverse, added, blocks, system.start, right,
        _INNER_TOLERANCE, _INNER_LIMIT, out,
    )  # fmt: skip
    return out, count
