"""Proximal point around semismooth Newton, for contact problems of any rank, exact and relaxed.

The problem with W + σ D and q − σ D x⁰ around a centre x⁰ has an invertible matrix; Newton steps solve it,
the centre moves on and σ falls, island by island (see `kernels.tree_newton`). The first σ is the residual.
Where steps wander central paths end it, from whose ends Newton's method begins again. Where they do not
either, exact friction is followed from a problem with a compliance, W + s D without a centre, to s = 0: what
is soft has one answer, which is found from anywhere, and each answer is a start for what is firmer.

Reference: Acary, Brémond and Huber, On solving contact problems with Coulomb friction (2018), section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from perp.problems import ContactProblem, ProblemError, Status
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

if TYPE_CHECKING:
    from perp.kernels.tree_problem import TreeProblem

# Newton steps of an island at once; what those and central paths may add up to.
STEPS, ALL_STEPS = 100, 3000
# Compliance in units of the mobility where soft problems begin, and the last before none; what is left of it
# from one to the next, at first and in a second, finer attempt. Of 32 mixtures that neither Newton steps nor
# central paths solve either attempt solves 15, both 21; the same steps again after sweeps solve 10.
SOFT, FIRM, FIRMER = 1.0, 1e-13, (0.1, 0.1**0.5)
# What is left to do for the shared test, whose measure is another: directions of little friction, stretched
# to the others, count less here. Where it misses, what the kernel allows itself is made sharper, so often.
MARGIN, SHARPER = 0.1, 3
# From impulses that hold everything: Newton steps, and the residual that they have to reach; walls of bricks
# have 1e-2 to 1e-11 after them.
HELD_STEPS, HELD_NEAR = 2, 0.1
# Newton steps between two looks where somebody waits for them, and how many are looked at.
LOOK, LOOKED = 4, 24


def sharpened(own: float, value: float, tol: float) -> float:
    """Share of what was allowed with which own residuals, `own` times that, fall as the shared one has to."""
    return MARGIN * min(own, 1.0) * tol / value if own > 0.0 else MARGIN


@dataclass(frozen=True)
class ProximalOptions:
    """Options of proximal-point.

    Attributes:
        sweeps: Gauss–Seidel sweeps before the first step.
        begin: "start", and where that does not lead to an answer "soft": with a compliance of everything that
            vanishes. "held" begins with the least impulses that hold everything, one linear solve, and gives
            up soon where they do not lead to an answer: for what is built of blocks and stands.
    """

    sweeps: int = 20
    begin: Literal["start", "held", "soft"] = "start"

    def __post_init__(self) -> None:
        if self.begin not in ("start", "held", "soft"):
            raise ProblemError(f"begin = {self.begin!r}: 'start', 'held' or 'soft' is needed")


@register(
    "proximal-point",
    takes=ContactProblem,
    options=ProximalOptions,
    summary="proximal point around Newton; rank-deficient W, every set, exact and relaxed",
)
def proximal(problem: ContactProblem, control: Control, options: ProximalOptions) -> Attempt:
    """Solve a contact problem by proximal point iterations; iterations count Newton steps."""
    from perp.kernels.packed import pack
    from perp.kernels.packed_trees import trees_of
    from perp.kernels.sweep import sweeps

    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    packed = pack(problem)
    x = packed.unknowns(control.begin(problem.size))
    stop = control.check(0, packed.impulse(x))
    if not stop and options.sweeps:
        start, near = x.copy(), control.last
        sweeps(packed.struct, x, options.sweeps)
        stop = control.check(0, packed.impulse(x))
        # heavy on light: sweeps lead away from a start that Newton's method finishes in a step
        if control.start is not None and control.last > near:
            x = start
    if stop:
        return control.attempt(packed.impulse(x), 0)
    unit = MARGIN * control.tol
    steps = _Steps(trees_of(packed, x, unit), unit, control, packed.impulse)
    if options.begin == "held":
        steps.from_held()
    elif options.begin == "soft" or (steps.from_start(not problem.relaxed) and not problem.relaxed):
        softness = np.repeat(packed.blocks.d, np.diff(packed.blocks.start))
        for share in FIRMER:
            if not steps.from_soft(softness, share):
                break
    return control.attempt(packed.impulse(steps.trees.impulse), steps.taken, islands=int(steps.info[0]))


class _Steps:
    """Newton steps on a problem by trees from several beginnings; each tells whether another is worth it."""

    def __init__(
        self, trees: TreeProblem, unit: float, control: Control, impulse: Callable[[Vector], Vector]
    ) -> None:
        self.trees, self.unit, self.control, self.impulse = trees, unit, control, impulse
        self.taken, self.most = 0, control.limit(ALL_STEPS)
        self.info, self.worst = np.zeros(4, np.int64), np.zeros(1)
        self.prepare()

    def prepare(self) -> None:
        """Room for steps; what was prepared for other rows is forgotten."""
        from perp.kernels.tree_workspace import tree_workspace

        self.workspace = tree_workspace(self.trees)

    def solve(self, steps: int, enough: float = 1.0, weight: float | None = None) -> bool:
        """Some steps; returns whether to stop. Arguments as the goals of `solve_islands`."""
        from perp.kernels.tree_newton import EXACT, solve_trees

        # the worst row in this unit is the residual, which is the first weight
        goals = EXACT[0], enough, EXACT[2], self.unit if weight is None else weight
        most = min(steps, self.most - self.taken)
        solve_trees(self.trees.struct, self.workspace, most, goals, self.info, self.worst)
        self.taken += int(self.info[2])
        return self.stops()

    def stops(self) -> bool:
        """Whether the problem is solved, or a limit is met."""
        stop = self.control.check(self.taken, self.impulse(self.trees.impulse))
        if not stop and self.taken >= self.most:
            self.control.reason = Status.ITERATION_LIMIT
        return stop or self.taken >= self.most

    def from_start(self, in_steps: bool) -> bool:
        """From the impulses given, along central paths where steps wander."""
        looked, sharper = LOOKED if self.control.watched and in_steps else 0, 0
        while True:
            most = LOOK if self.taken < looked else STEPS
            if self.solve(most):
                return False
            if not self.info[1] and sharper < SHARPER:
                share = sharpened(float(self.worst[0]), self.control.last, self.control.tol)
                sharper, self.unit = sharper + 1, share * self.unit
                self.trees.unit *= share
            elif most == STEPS:
                self.control.reason = Status.STALLED
                return True

    def from_soft(self, softness: Vector, share: float) -> bool:
        """From nothing and a compliance, of which `share` is left again and again."""
        self.trees.impulse[:], left = 0.0, SOFT
        while True:
            self.trees.compliance[:] = left * softness
            self.prepare()
            if self.solve(STEPS, np.inf):
                return False
            if left == 0.0:
                self.control.reason = Status.STALLED
                return True
            left = share * left if left > FIRM else 0.0

    def from_held(self) -> None:
        """From the least impulses that hold everything."""
        from perp.kernels.tree_held import hold_all

        hold_all(self.trees.struct, self.workspace)
        self.taken = 1
        if not self.stops() and not self.solve(HELD_STEPS, weight=0.0) and self.control.last <= HELD_NEAR:
            self.from_start(False)
