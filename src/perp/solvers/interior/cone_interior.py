"""Primal–dual interior point for convex quadratic programs over cones (`ConeProgram`).

Follows the central path s ∘ y = τ e with Nesterov–Todd scaling and Mehrotra's predictor and corrector, from a
point that need not be feasible. Each iteration factorises one symmetric matrix of all unknowns and rows,
dense: O((n + m)³). Newton steps on the natural map (`cone_polish`) then take it to round-off.

Reference: Vandenberghe, The CVXOPT linear and quadratic cone program solvers (2010).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.problems import Status
from perp.problems.cone_program import ConeProgram
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.interior.cone_algebra import Cones
from perp.solvers.interior.cone_polish import polish
from perp.solvers.registry import register

ITERATIONS = 100
# Below this the error is round-off of data of size 1; iterations go on while they halve the error.
ROUND_OFF = 1e-15
# Above this the iterations have ended without an optimum: most often there is no feasible point.
CONVERGED = 1e-4
# Iterations without improvement after which round-off has been reached.
PATIENCE = 5
# Far from the optimum, where the first point lies for a box that is wide beside its data, it may take longer.
FAR, PATIENCE_FAR = 1e-3, 25
# Static regularisation: keeps the factorisation away from exact zeros, undone by refinement.
REGULARISATION = 1e-13
REFINEMENTS = 3


@register(
    "cone-interior",
    takes=ConeProgram,
    summary="primal–dual interior point for cone programs (dual and primal formulations)",
)
def cone_interior(program: ConeProgram, control: Control, options: object) -> Attempt:
    """Solve a cone program to round-off, or to the tolerance of the contact problem it came from."""
    x, y, iterations, reason = minimise(program, control)
    return Attempt(np.concatenate([x, y]), iterations, reason)


@np.errstate(all="ignore")
def minimise(
    program: ConeProgram, control: Control | None = None
) -> tuple[Vector, Vector, int, Status | None]:
    """Optimum x and multipliers y, iterations, and why it stopped short, if so.

    Args:
        program: What to minimise.
        control: Limits and history; None for solves inside others.
    """
    P, G = program.P.toarray(), program.G.toarray()
    c, h = program.c, program.h
    cones = Cones(program)
    x, s, y = _first_point(P, G, c, h, cones)
    limit = ITERATIONS if control is None else control.limit(ITERATIONS)
    best, best_error, since, done = (x, y), np.inf, 0, 0
    reason: Status | None = None
    while True:
        dual, primal = P @ x + c - G.T @ y, s - G @ x - h
        gap = cones.dot(s, y)
        error = max(np.abs(dual).max(initial=0.0), np.abs(primal).max(initial=0.0), abs(gap))
        if not np.isfinite(error):
            reason = Status.FAILED if best_error == np.inf else None
            break
        since = 0 if error < 0.5 * best_error else since + 1
        if error < best_error:
            best, best_error = (x, y), error
        if error <= ROUND_OFF or since >= (PATIENCE if best_error < FAR else PATIENCE_FAR):
            break
        if control is not None and done and control.check(done, np.concatenate([x, y])):
            reason = control.reason
            best = (x, y) if reason is None else best
            break
        if done >= limit:
            reason = Status.ITERATION_LIMIT
            break
        scaling = cones.scaling(s, y)
        kkt = _System(P, G, scaling.squared)
        step = _direction(kkt, cones, scaling, dual, primal, centring=0.0, correction=None)
        length = cones.step_length(scaling, step)
        mu = gap / cones.degree if cones.degree else 0.0
        centring = (1.0 - length) ** 3
        step = _direction(kkt, cones, scaling, dual, primal, centring=centring * mu, correction=step)
        length = min(1.0, 0.995 * cones.step_length(scaling, step))
        dx, ds, dy = step
        x, s, y = x + length * dx, s + length * ds, y + length * dy
        done += 1
    if reason is None and best_error > CONVERGED:
        reason = Status.STALLED
    in_time = reason is not Status.TIME_LIMIT
    x, y = polish(program, *best) if best_error < np.inf and in_time else best
    return x, y, done, reason


def _lapack() -> Any:
    from scipy.linalg import lapack

    return lapack


class _System:
    """[P −Gᵀ; G W²] with a factorisation of its symmetric form, refined against the unregularised matrix."""

    def __init__(self, P: np.ndarray, G: np.ndarray, squared: np.ndarray) -> None:
        n, m = P.shape[0], G.shape[0]
        self.matrix = np.block([[P, G.T], [G, -squared]])
        regular = self.matrix.copy()
        size = max(1.0, np.abs(P).max(initial=0.0))
        regular[np.arange(n), np.arange(n)] += REGULARISATION * size
        regular[np.arange(n, n + m), np.arange(n, n + m)] -= REGULARISATION * size
        self.n = n
        # LAPACK itself: a singular matrix late on the path is expected and shows in the error, not in a
        # warning
        if regular.size:
            self.lu, self.pivots, _ = _lapack().dgetrf(regular, overwrite_a=True)

    def solve(self, top: Vector, bottom: Vector) -> tuple[Vector, Vector]:
        """dx, dy with P dx − Gᵀ dy = top and G dx + W² dy = bottom."""
        right = np.concatenate([top, bottom])
        z = np.zeros_like(right)
        if right.size:
            for _ in range(1 + REFINEMENTS):
                z = z + _lapack().dgetrs(self.lu, self.pivots, right - self.matrix @ z)[0]
        return z[: self.n], -z[self.n :]


def _direction(kkt, cones, scaling, dual, primal, *, centring, correction):
    """A Newton step (dx, ds, dy) for s ∘ y = centring · e, with the second-order correction."""
    target = -cones.product(scaling.point, scaling.point)
    if correction is not None:
        _, ds, dy = correction
        target = target - cones.product(scaling.unscale(ds), scaling.scale(dy))
    target = target + centring * cones.identity
    right = scaling.scale(cones.divide(scaling.point, target))
    dx, dy = kkt.solve(-dual, right + primal)
    ds = right - scaling.squared @ dy
    return dx, ds, dy


def _first_point(P, G, c, h, cones) -> tuple[Vector, Vector, Vector]:
    """x and interior s, y: the least-squares point, moved into the cones."""
    start = np.diag(np.where(cones.is_equation, 0.0, 1.0))
    x, y = _System(P, G, start).solve(-c, -h)
    s = -y.copy()
    return x, cones.inside(s), cones.inside(y, equations=y)
