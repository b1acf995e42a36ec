"""Interior point for contact problems: the central path of the relaxation, and its fixed point for Coulomb.

The impulses of the relaxation minimise ½ λᵀ W λ + qᵀ λ over the friction cones; `kernels.central_path` leads
there, and a few Newton steps sharpen the end. Exact friction adds the shift Γ(u) of the last answer to the
normal velocities and follows the path again, until Newton steps on the exact equations from one of these
answers end it. That a fixed point exists is how solutions of the exact problem are proved to exist; the
sequence nears one where Newton steps alone cycle. 10 to 30 iterations a path, each one block elimination; W
of any rank, symmetric or not.

Reference: Acary, Cadoux, Lemaréchal and Malick, A formulation of the linear discrete Coulomb friction problem
via convex optimization, ZAMM 91 (2011); Acary, Armand, Nguyen and Shpakovych (2022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems import ContactProblem, Status
from perp.problems.validation import Vector
from perp.solvers import registry
from perp.solvers.attempt import Attempt, Control

if TYPE_CHECKING:
    from perp.kernels.packed import Packed

ITERATIONS = 5000
# Relaxations in a row at most; without a better residual for so many of them the sequence cycles.
SHIFTS, PATIENCE = 120, 60
# A relaxation inside the sequence is solved far below the tolerance: a large coefficient multiplies the rest.
INNER_TOLERANCE, INNER_STEPS = 1e-12, 60
# Newton steps on the exact equations after the first relaxation and after every so many: weights of the
# proximal term, factors on the scales that tell open, stick and slip apart, sweeps after each step.
NEWTON_EVERY, NEWTON_STEPS = 5, 40
FIRST_VARIANTS = ((1e-10, 1.0, 0), (1e-6, 10.0, 0), (1e-6, 0.1, 10))
VARIANTS = FIRST_VARIANTS[:1]
# A start this good has the sliding speeds of the answer, nearly.
NEAR = 1e-2
# What is left to do for the shared test, whose velocities have twice the digits.
MARGIN = 0.5
# Up to this many rows a path takes milliseconds: nothing is gained by looking in between. For the relaxation,
# which goes one path, up to so many.
ONE_CALL, ONE_CALL_RELAXED = 400, 3000


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
    if not paths.offer(paths.packed.unknowns(control.begin(problem.size))):
        if problem.relaxed:
            paths.relaxation()
        else:
            paths.fixed_point()
    attempt = control.attempt(control.begin(problem.size), paths.iterations)
    if not problem.relaxed:
        attempt.info["outer_iterations"] = paths.outer
    return attempt


class _Paths:
    """Central paths of one problem with different shifts."""

    def __init__(self, problem: ContactProblem, control: Control) -> None:
        from perp.kernels.packed import pack

        self.control, self.packed = control, pack(problem)
        self.order = self.packed.order
        self.one_call = control.plain and problem.size <= (ONE_CALL_RELAXED if problem.relaxed else ONE_CALL)
        self.limit, self.iterations, self.outer = control.limit(ITERATIONS), 0, 0

    def offer(self, x: Vector) -> bool:
        """The shared test. Returns whether to stop."""
        if not np.isfinite(x).all():
            return False
        return self.control.check(self.iterations, self.packed.impulse(x))

    def exhausted(self) -> bool:
        if self.iterations >= self.limit:
            self.control.reason = Status.ITERATION_LIMIT
        return self.iterations >= self.limit

    def relaxation(self) -> None:
        """The relaxed problem itself, island by island where that takes no time."""
        from perp.kernels.relaxed_path import follow_islands

        x, tol = self.packed.unknowns(self.control.begin(self.packed.size)), MARGIN * self.control.tol
        if self.one_call:
            self.iterations += follow_islands(
                self.packed.struct, self.order, self.packed.rho, x, tol, self.limit
            )
        else:
            x, stop = self.follow(self.packed, x, tol, self.limit)
            if stop:
                return
        if not self.offer(x) and not self.exhausted():
            self.control.reason = Status.STALLED

    def follow(self, packed: Packed, x: Vector, tol: float, most: int) -> tuple[Vector, bool]:
        """The end of one path from x and whether to stop; looked at in between where somebody waits."""
        from perp.kernels.central_path import advance_path, begin_path
        from perp.kernels.relaxed_path import follow_path

        most = min(most, self.limit - self.iterations)
        if self.one_call:
            _, taken = follow_path(packed.struct, self.order, packed.rho, x, tol, most)
            self.iterations += taken
            return x, False
        path, point, value = begin_path(packed.struct, x), x.copy(), np.inf
        while most > 0 and value > tol:
            value, taken = advance_path(packed.struct, self.order, path, point, tol, 1)
            self.iterations, most = self.iterations + taken, most - 1
            if self.offer(point):
                return point, True
            if taken == 0:
                break
        if value > tol:
            self._newton(packed, point, tol, (1e-6, 1.0, 0))
        return point, False

    def _newton(self, packed: Packed, x: Vector, tol: float, variant: tuple[float, float, int]) -> None:
        """Plain Newton steps from x in place."""
        from perp.kernels.plain_newton import Steps, plain_newton

        steps = Steps(tol, min(NEWTON_STEPS, self.limit - self.iterations), *variant)
        _, taken = plain_newton(packed.struct, self.order, packed.rho, x, steps)
        self.iterations += taken

    def fixed_point(self) -> None:
        """The sequence of relaxations for exact friction."""
        from perp.kernels.shifts import packed_shifts

        packed, control = self.packed, self.control
        relaxed = packed.replaced(relaxed=True)
        rows, q = packed.rows, packed.blocks.q
        u, gamma, shift = np.empty(rows), np.empty(rows), np.zeros(rows)
        if control.start is not None and control.best < NEAR:
            packed_shifts(packed.struct, packed.unknowns(control.start), u, shift)
        least, since = np.inf, 0
        for k in range(SHIFTS):
            self.outer += 1
            inner: Any = relaxed.replaced(q=q + shift)
            x, stop = self.follow(inner, np.zeros(rows), INNER_TOLERANCE, INNER_STEPS)
            if (
                stop
                or self.offer(x)
                or self._ends(x, FIRST_VARIANTS if k == 0 else VARIANTS, k)
                or self.exhausted()
            ):
                return
            value = control.measure(packed.impulse(x))
            since = 0 if value < 0.9 * least else since + 1
            least = min(value, least)
            if since > PATIENCE or control.out_of_time():
                break
            packed_shifts(packed.struct, x, u, gamma)
            shift = gamma.copy()
        control.reason = Status.TIME_LIMIT if control.out_of_time() else Status.STALLED

    def _ends(self, x: Vector, variants: tuple[tuple[float, float, int], ...], k: int) -> bool:
        """Newton steps on the exact equations from x, now and then. Returns whether to stop."""
        if k % NEWTON_EVERY:
            return False
        for variant in variants:
            point = x.copy()
            self._newton(self.packed, point, MARGIN * self.control.tol, variant)
            if self.offer(point) or self.exhausted():
                return True
        return False
