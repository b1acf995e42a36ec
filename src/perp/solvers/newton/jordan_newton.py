"""Newton's method on the Fischer–Burmeister function of the second-order cone, for contact problems.

Each contact is the root of Φ(a, b) = a + b − (a∘a + b∘b)^½ on the Jordan algebra of its cone (see
`kernels.jordan`), each scalar row the root of the same function on the line. A step is solved by block
elimination with σ D added to W, so that its rank does not matter; it must lower the merit ½ ‖Φ‖², whose
gradient is the direction where it does not. Sweeps come first, after steps that gain little, and where no
direction helps.

Reference: Kanzow, Ferenczi and Fukushima, On the local convergence of semismooth Newton methods for linear
and nonlinear second-order cone programs without strict complementarity (2009); Pan and Chen, A damped
Gauss–Newton method for the second-order cone complementarity problem (2009).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.problems import ContactProblem, ProblemError, Status
from perp.problems.sets import ROLLING
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

STEPS = 500
# Decrease of the merit that a step must promise, and how often it is halved.
ARMIJO, HALVINGS = 1e-4, 20
# Sweeps where neither Newton nor the gradient lowers the merit, and how often they may help out.
HELP, HELPS = 20, 20
# A step that leaves more than this part of the merit is followed by sweeps, kept where they lower it.
SLOW = 0.7


@dataclass(frozen=True)
class JordanNewtonOptions:
    """Options of newton-fb.

    Attributes:
        regularisation: σ as a multiple of the current ‖Φ‖ / ‖q‖, at most 0.01; 0 for the plain method.
        sweeps: Gauss–Seidel sweeps before the first step.
    """

    regularisation: float = 0.1
    sweeps: int = 20

    def __post_init__(self) -> None:
        if not self.regularisation >= 0.0:
            raise ProblemError(f"regularisation = {self.regularisation}: 0 or more is needed")
        if self.sweeps < 0:
            raise ProblemError(f"sweeps = {self.sweeps}: 0 or more is needed")


def refuses(problem: ContactProblem) -> str | None:
    """Why a problem is not one over second-order cones, or None."""
    if (problem.sets.kind == ROLLING).any():
        return "a rolling contact is two cones at once, not one second-order cone"
    return None


@register(
    "newton-fb",
    takes=ContactProblem,
    options=JordanNewtonOptions,
    refuses=refuses,
    summary="Newton on Fischer–Burmeister of the second-order cone; all sets but Rolling, exact and relaxed",
)
def jordan_newton(problem: ContactProblem, control: Control, options: JordanNewtonOptions) -> Attempt:
    """Solve a contact problem by Newton steps on Φ."""
    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    equations = _Equations(problem)
    x = equations.begin(control.begin(problem.size))
    stop = control.check(0, equations.impulse(x))
    if not stop:
        equations.sweep(x, options.sweeps)
        stop = control.check(0, equations.impulse(x))
    steps, helps, limit = 0, 0, control.limit(STEPS)
    value = equations.evaluate(x)
    while not stop:
        if steps >= limit:
            control.reason = Status.ITERATION_LIMIT
            break
        weight = min(max(options.regularisation * value / equations.size, 1e-12), 1e-2)
        direction, slope = equations.direction(weight if options.regularisation else 0.0)
        new = equations.search(x, value, direction, slope)
        steps += 1
        if new is None:
            helps += 1
            if helps > HELPS:
                control.reason = Status.STALLED
                break
            equations.sweep(x, HELP)
            value = equations.evaluate(x)
        else:
            progress = new[1] / value
            x, value = new
            if progress > SLOW:
                value = equations.smooth(x, value)
        stop = control.check(steps, equations.impulse(x))
    return control.attempt(equations.impulse(x), steps, sweeps=options.sweeps + HELP * helps)


class _Equations:
    """Φ of a problem with its derivative at the last point that was evaluated."""

    def __init__(self, problem: ContactProblem) -> None:
        from perp.kernels.packed import pack
        from perp.kernels.packed_trees import trees_of
        from perp.kernels.tree_workspace import tree_workspace

        self.packed = pack(problem)
        n, count = self.packed.rows, problem.contact_count
        k = int(np.diff(self.packed.blocks.start).max(initial=1))
        self.trees = trees_of(self.packed, np.zeros(n), 1.0)
        self.workspace = tree_workspace(self.trees)
        self.size = float(np.linalg.norm(self.packed.blocks.q)) or 1.0
        self.u, self.F, self.dx = np.empty(n), np.empty(n), np.zeros(n)
        self.B, self.C = np.zeros((count, k, k)), np.zeros((count, k, k))

    def begin(self, impulse: Vector) -> Vector:
        return self.packed.unknowns(impulse)

    def impulse(self, x: Vector) -> Vector:
        return self.packed.impulse(x)

    def sweep(self, x: Vector, count: int) -> None:
        from perp.kernels.sweep import sweeps

        sweeps(self.packed.struct, x, count)

    def smooth(self, x: Vector, value: float) -> float:
        """Sweeps from x in place where they lower ‖Φ‖ below `value`. Returns ‖Φ‖."""
        trial = x.copy()
        self.sweep(trial, HELP)
        after = self.evaluate(trial)
        if after < value:
            x[:] = trial
            return after
        return self.evaluate(x)

    def evaluate(self, x: Vector) -> float:
        """‖Φ(x)‖, keeping Φ and its derivative."""
        from perp.kernels.jordan import linearise_jordan

        return float(linearise_jordan(self.packed.struct, self.packed.rho, x, self.u, self.F, self.B, self.C))

    def direction(self, weight: float) -> tuple[Vector, float]:
        """A direction and the slope of ½ ‖Φ‖² along it: Newton's, or the scaled gradient where that rises."""
        from perp.kernels.jordan import gradient, solve_linearised

        packed, down = self.packed, np.empty(self.dx.size)
        equations = (self.F, self.B, self.C)
        solve_linearised(self.trees.struct, self.workspace, packed.rho, weight, *equations, self.dx)
        gradient(packed.struct, *equations, down)
        slope = float(down @ self.dx)
        if np.isfinite(self.dx).all() and slope < 0.0:
            return self.dx.copy(), slope
        step = -down / np.repeat(packed.rho, np.diff(packed.blocks.start)) ** 2
        return step, float(down @ step)

    def search(self, x: Vector, value: float, direction: Vector, slope: float) -> tuple[Vector, float] | None:
        """The first of the halved steps that lowers the merit enough, with ‖Φ‖ there; None when none does."""
        t = 1.0
        for _ in range(HALVINGS):
            point = x + t * direction
            new = self.evaluate(point)
            if new * new <= value * value + 2.0 * ARMIJO * t * slope and new < value:
                return point, new
            t *= 0.5
        self.evaluate(x)
        return None
