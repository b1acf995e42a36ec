"""Interior point for contact problems: the central path of the relaxation, and its fixed point for Coulomb.

The impulses of the relaxation minimise ½ λᵀ W λ + qᵀ λ over the friction cones; `contact.central_path` leads
there, and a few Newton steps sharpen the end. Exact friction adds the shift μ ‖u_T‖ of the last answer to the
normal velocities and follows the path again, with Anderson acceleration, until it stands still; where that
does not meet the tolerance, Newton steps on the exact equations end it. 10 to 30 iterations a path, each one
block elimination, by constraints or by bodies; W of any rank, symmetric or not.

Reference: Acary, Cadoux, Lemaréchal and Malick, A formulation of the linear discrete Coulomb friction problem
via convex optimization, ZAMM 91 (2011); Acary, Armand, Nguyen and Shpakovych (2022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perp.formulations.fixed_point import FixedPoint
from perp.problems import ContactProblem, Status
from perp.problems.validation import Vector
from perp.solvers import registry
from perp.solvers.attempt import Attempt, Control

if TYPE_CHECKING:
    from perp.solvers.contact.canonical import Blocks

ITERATIONS = 2000
# Iterations of one path, and Newton steps that sharpen its end.
PATH_STEPS, NEWTON_STEPS = 80, 8
# A path ends at this part of the tolerance: the fixed point adds errors of its own.
MARGIN = 0.1
# Small enough that redundant contacts do not feel it, large enough for a singular W.
WEIGHT = 1e-10
# Up to this many constraints W is eliminated where the bodies' system has too few digits.
LARGEST_BY_W = 3000
# Up to this many rows a path takes milliseconds: nothing is gained by looking in between.
ONE_CALL = 400


@registry.register(
    "interior-point",
    takes=ContactProblem,
    summary="interior point on the relaxation, with a fixed point on the sliding speeds for exact friction",
)
def interior_point(problem: ContactProblem, control: Control, options: object) -> Attempt:
    """Solve a contact problem along central paths; iterations count steps of all paths."""
    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    paths = _Paths(problem, control)
    impulse = control.begin(problem.size)
    if control.check(0, impulse):
        return control.attempt(impulse, 0)
    shift = np.zeros(problem.size) if problem.relaxed or control.start is None else _shifts(problem, impulse)
    state = FixedPoint()
    while True:
        impulse = paths.follow(shift)
        if paths.falls_short():
            continue
        if paths.stopped or problem.relaxed:
            break
        following = state.advance(shift, _shifts(problem, impulse))
        if following is None:
            break
        shift, state = following
    if not paths.stopped and (problem.relaxed or not paths.sharpen()):
        control.reason = Status.STALLED
    attempt = control.attempt(impulse, paths.iterations)
    if not problem.relaxed:
        attempt.info["outer_iterations"] = state.done
    return attempt


class _Paths:
    """Central paths of one problem with different shifts."""

    def __init__(self, problem: ContactProblem, control: Control) -> None:
        from perp.solvers.contact.canonical import blocks_of
        from perp.solvers.contact.linear_system import choose_order
        from perp.solvers.contact.proximal import newton_scale

        self.control = control
        self.blocks = blocks_of(problem.as_relaxed())
        self.order, _ = choose_order(problem, self.blocks)
        self.rho = newton_scale(self.blocks)
        self.chunk = PATH_STEPS if control.plain and problem.size <= ONE_CALL else 1
        self.limit = control.limit(ITERATIONS)
        self.iterations, self.stopped, self.value = 0, False, np.inf
        self.best = np.zeros(problem.size)

    def follow(self, shift: Vector) -> Vector:
        """The impulses of the relaxation with q + shift, as near as the path leads."""
        from perp.solvers.contact.central_path import advance, begin

        blocks = self.blocks._replace(q=self.blocks.q + self.blocks.scale * shift)
        tol = MARGIN * self.control.tol
        x = np.zeros(shift.size)
        path, done = begin(blocks, x, np.inf), 0
        while done < PATH_STEPS and not self.stopped:
            if self.iterations >= self.limit:
                self.stopped, self.control.reason = True, Status.ITERATION_LIMIT
                break
            count = min(self.chunk, PATH_STEPS - done, self.limit - self.iterations)
            self.value, taken = advance(blocks, self.order, path, x, tol, np.inf, count)
            done, self.iterations = done + taken, self.iterations + taken
            self.stopped = self.control.check(self.iterations, blocks.scale * x)
            if taken < count or self.value <= tol:
                break
        if not self.stopped and self.value > tol:
            self._newton(blocks, x)
        self.best = x
        return blocks.scale * x

    def falls_short(self) -> bool:
        """Whether the last path, by bodies, missed the tolerance; W, which has more digits, takes over."""
        from perp.kernels.elimination import eliminate
        from perp.solvers.contact.body_elimination import BodyOrder

        short = not self.stopped and self.value > MARGIN * self.control.tol
        if not short or not isinstance(self.order, BodyOrder) or self.blocks.d.size > LARGEST_BY_W:
            return False
        self.order = eliminate(self.blocks.first, self.blocks.column)
        return True

    def _newton(self, blocks: Blocks, x: Vector) -> None:
        """Newton steps from x in place, and the shared test."""
        from perp.solvers.contact.plain_newton import plain_newton

        tol = MARGIN * self.control.tol
        self.value, taken = plain_newton(
            blocks, self.order, self.rho, WEIGHT, 0, x, tol, NEWTON_STEPS, np.inf, 0
        )
        self.iterations += taken
        self.stopped = self.control.check(self.iterations, blocks.scale * x)

    def sharpen(self) -> bool:
        """Newton steps on the exact equations from the last path's end. Returns whether to stop."""
        self._newton(self.blocks._replace(relaxed=False), self.best)
        return self.stopped


def _shifts(problem: ContactProblem, impulse: Vector) -> Vector:
    """Γ(u) at the velocities of these impulses, shape (rows,)."""
    from perp.solvers.contact.shifts import shifts

    sets, shift = problem.sets, np.zeros(problem.size)
    shifts(sets.kind, sets.start, sets.a, sets.b, problem.evaluate(impulse), shift)
    return shift
