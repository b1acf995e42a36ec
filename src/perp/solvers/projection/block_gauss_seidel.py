"""Block Gauss–Seidel for contact problems with every set, and for LCPs in blocks of rows (`block_direct`).

Each sweep visits the constraints in order and solves constraint c for its impulse with all others fixed,
exactly (see `kernels.local_solve`); relaxation mixes the new impulse with the old one. With `anderson` the
sweep is treated as a fixed-point map and extrapolated from its last few results whenever that lowers the
residual; with `momentum` each constraint continues its way as long as its steps agree (`kernels.sweep`). A
sweep costs one pass over the blocks of W.

Reference: Acary, Brémond and Huber, On solving contact problems with Coulomb friction (2018), section 4;
Walker and Ni, Anderson acceleration for fixed-point iterations (2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.problems import LCP, ContactProblem, ProblemError, Status
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

SWEEPS = 20_000
# Sweeps while they pay: more than this are never cheaper than Newton's method, and a look at the shared
# residual after so many.
PAYING_SWEEPS, LOOK = 400, 20
# What is left to do for the shared test, whose velocities have twice the digits.
MARGIN = 0.5
# Momentum is looked at so often, and goes on while the best residual falls to this part of what it was half
# as many iterations ago; for so many iterations at least, more for many contacts in space.
MOMENTUM_LOOK, MOMENTUM_PAYS, MOMENTUM_MOST = 25, 0.7, 5000
MOMENTUM_LEAST, MOMENTUM_LEAST_MANY, MANY = 150, 1200, 800


@dataclass(frozen=True)
class GaussSeidelOptions:
    """Options of block-gauss-seidel.

    Attributes:
        relaxation: Weight ω of the new impulses, 0 < ω < 2; below 1 for contacts that fight each other.
        anderson: How many earlier sweeps to extrapolate from; 0 for none.
        momentum: Symmetric sweeps with momentum: for many contacts.
        while_it_pays: Give up when the rate of convergence does not promise the tolerance soon.
        rows: Rows of a block of an LCP, 1 to 16: its complementary cones are enumerated as by `direct`.
    """

    relaxation: float = 1.0
    anderson: int = 0
    momentum: bool = False
    while_it_pays: bool = False
    rows: int = 3

    def __post_init__(self) -> None:
        if not 0.0 < self.relaxation < 2.0:
            raise ProblemError(f"relaxation = {self.relaxation}: between 0 and 2 is needed")
        if self.anderson < 0:
            raise ProblemError(f"anderson = {self.anderson}: 0 or more is needed")
        if not (isinstance(self.rows, int) and 1 <= self.rows <= 16):
            raise ProblemError(f"rows = {self.rows!r}: a whole number from 1 to 16 is needed")


def _refuses(problem: ContactProblem | LCP) -> str | None:
    """Sweeps over an LCP need rows that act on themselves; those of a box as an LCP do not."""
    if isinstance(problem, LCP) and not (problem.M.diagonal() > 0.0).all():
        return "its diagonal is not positive, which sweeps over blocks of rows need"
    return None


@register(
    "block-gauss-seidel",
    takes=(ContactProblem, LCP),
    options=GaussSeidelOptions,
    summary="sweeps of exact local solves: contacts with every set, LCPs in blocks of rows",
    refuses=_refuses,
    memory=lambda problem: 8.0 * problem.size**2 if isinstance(problem, LCP) else 0.0,
)
def block_gauss_seidel(
    problem: ContactProblem | LCP, control: Control, options: GaussSeidelOptions
) -> Attempt:
    """Solve a contact problem or an LCP by block Gauss–Seidel sweeps."""
    if isinstance(problem, LCP):
        from perp.solvers.projection.block_direct import solve_blocks

        return solve_blocks(problem, control, options.rows, options.relaxation)
    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    if options.momentum:
        return _with_momentum(problem, control, options.while_it_pays)
    if options.while_it_pays:
        return _while_it_pays(problem, control)
    from perp.kernels.packed import pack
    from perp.kernels.sweep import sweeps

    packed = pack(problem)
    extrapolate = Extrapolation(options.anderson)

    def advance(z: Vector, count: int) -> None:
        x = packed.unknowns(z)
        if options.relaxation == 1.0 and not options.anderson:
            sweeps(packed.struct, x, count)
        else:
            for _ in range(count):
                before = x.copy()
                sweeps(packed.struct, x, 1)
                x[:] = before + options.relaxation * (x - before)
                if options.anderson:
                    candidate = extrapolate(before, x)
                    if control.measure(packed.impulse(candidate)) < control.measure(packed.impulse(x)):
                        x[:] = candidate
        z[:] = packed.impulse(x)

    work = 2.0 * packed.blocks.data.size
    return control.iterate(advance, control.begin(problem.size), default_limit=SWEEPS, work=work)


def _while_it_pays(problem: ContactProblem, control: Control) -> Attempt:
    from perp.kernels.packed import pack
    from perp.kernels.sweeping import LOOK as FIRST
    from perp.kernels.sweeping import paying_sweeps

    packed, limit = pack(problem), control.limit(PAYING_SWEEPS)
    x, done, pays = packed.unknowns(control.begin(problem.size)), 0, True
    look = PAYING_SWEEPS if control.plain else LOOK
    value, sharp = np.inf, MARGIN * control.tol
    # zero is an answer only where the first sweep leaves it, and looking at it takes as long as some sweeps
    unseen = control.plain and not x.any()
    while unseen or not control.check(done, packed.impulse(x)):
        if value <= sharp:
            # the measure of sweeps is another one: where it is met and the shared one is not, a sharper one
            sharp, pays = MARGIN * control.tol * (value / control.last), True
        if done >= limit or not pays:
            control.reason = Status.ITERATION_LIMIT if done >= limit else Status.STALLED
            break
        unseen, most = False, min(look, limit - done)
        value, taken, pays = paying_sweeps(packed.struct, x, sharp, 2 * FIRST - done, most)
        done += taken
    return control.attempt(packed.impulse(x), done)


def _with_momentum(problem: ContactProblem, control: Control, while_it_pays: bool) -> Attempt:
    from perp.kernels.packed import pack
    from perp.kernels.sweep import momentum_sweeps

    packed, count = pack(problem), problem.contact_count
    x = packed.unknowns(control.begin(problem.size))
    y, beta, done = x.copy(), np.zeros(count), 0
    many = problem.size > 2.5 * count and count > MANY
    patience = MOMENTUM_LEAST_MANY if many else MOMENTUM_LEAST
    limit = min(control.limit(SWEEPS), 2 * MOMENTUM_MOST if while_it_pays else SWEEPS)
    residuals: list[float] = []
    while not control.check(done, packed.impulse(x)):
        residuals.append(control.best)
        looks = len(residuals) - 1
        stalled = while_it_pays and looks * MOMENTUM_LOOK >= patience
        if stalled and residuals[-1] > MOMENTUM_PAYS * residuals[looks // 2]:
            control.reason = Status.STALLED
            break
        if done >= limit:
            control.reason = Status.ITERATION_LIMIT
            break
        momentum_sweeps(packed.struct, x, y, beta, MOMENTUM_LOOK)
        done += 2 * MOMENTUM_LOOK
    return control.attempt(packed.impulse(x), done)


class Extrapolation:
    """Anderson's extrapolation of a fixed-point map g from the last `memory` pairs (x, g(x))."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._points: list[Vector] = []
        self._steps: list[Vector] = []

    def __call__(self, x: Vector, image: Vector) -> Vector:
        """The point whose step, in the affine hull of the known steps, is shortest."""
        self._points = [*self._points, image.copy()][-self.memory - 1 :]
        self._steps = [*self._steps, image - x][-self.memory - 1 :]
        if len(self._steps) < 2:
            return image
        differences = np.diff(np.array(self._steps), axis=0).T
        weights, *_ = np.linalg.lstsq(differences, self._steps[-1], rcond=1e-10)
        return image - np.diff(np.array(self._points), axis=0).T @ weights
