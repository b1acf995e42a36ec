"""Block Gauss–Seidel for contact problems with every set, and for LCPs in blocks of rows (`block_direct`).

Each sweep visits the constraints in order and solves constraint c for its impulse with all others fixed,
exactly (see `contact.local_solve`); relaxation mixes the new impulse with the old one. With `anderson` the
sweep is treated as a fixed-point map and extrapolated from its last few results whenever that lowers the
residual. A sweep costs one pass over the blocks of W, or, for bodies with a sparse Jacobian, one over the
entries of J: with the bodies' velocities v at hand, u_c = J_c v + q_c and v += M⁻¹ J_cᵀ Δλ_c, and W is never
formed.

Reference: Acary, Brémond and Huber, On solving contact problems with Coulomb friction (2018), section 4;
Walker and Ni, Anderson acceleration for fixed-point iterations (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from perp.problems import LCP, ContactProblem, ProblemError
from perp.problems.validation import Vector, freeze
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

SWEEPS = 20_000


@dataclass(frozen=True)
class GaussSeidelOptions:
    """Options of block-gauss-seidel.

    Attributes:
        relaxation: Weight ω of the new impulses, 0 < ω < 2; below 1 for contacts that fight each other.
        anderson: How many earlier sweeps to extrapolate from; 0 for none.
        work_on: "delassus" for the blocks of W, "bodies" for J and M, which a problem in dynamics form with a
            sparse Jacobian and a mass in small groups has; "auto" for bodies where that is possible.
        rows: Rows of a block of an LCP, 1 to 16: its complementary cones are enumerated as by `direct`.
    """

    relaxation: float = 1.0
    anderson: int = 0
    work_on: Literal["auto", "delassus", "bodies"] = "auto"
    rows: int = 3

    def __post_init__(self) -> None:
        if not 0.0 < self.relaxation < 2.0:
            raise ProblemError(f"relaxation = {self.relaxation}: between 0 and 2 is needed")
        if self.anderson < 0:
            raise ProblemError(f"anderson = {self.anderson}: 0 or more is needed")
        if self.work_on not in ("auto", "delassus", "bodies"):
            raise ProblemError(f"work_on = {self.work_on!r}: 'auto', 'delassus' or 'bodies' is needed")
        if not (isinstance(self.rows, int) and 1 <= self.rows <= 16):
            raise ProblemError(f"rows = {self.rows!r}: a whole number from 1 to 16 is needed")


@register(
    "block-gauss-seidel",
    takes=(ContactProblem, LCP),
    options=GaussSeidelOptions,
    summary="sweeps of exact local solves: contacts with every set, LCPs in blocks of rows",
    memory=lambda problem: 8.0 * problem.size**2 if isinstance(problem, LCP) else 0.0,
)
def block_gauss_seidel(
    problem: ContactProblem | LCP, control: Control, options: GaussSeidelOptions
) -> Attempt:
    """Solve a contact problem or an LCP by block Gauss–Seidel sweeps."""
    if isinstance(problem, LCP):
        from perp.solvers.projection.block_direct import solve_blocks

        return solve_blocks(problem, control, options.rows, options.relaxation)
    from perp.solvers.contact.canonical import to_canonical

    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    scale, sweep, work = _sweeper(problem, options.work_on)
    x = np.empty(problem.size)
    extrapolate = Extrapolation(options.anderson)

    def advance(z: Vector, count: int) -> None:
        to_canonical(scale, freeze(z), x)
        if options.relaxation == 1.0 and not options.anderson:
            sweep(x, count)
        else:
            for _ in range(count):
                before = x.copy()
                sweep(x, 1)
                x[:] = before + options.relaxation * (x - before)
                if options.anderson:
                    candidate = extrapolate(before, x)
                    if control.measure(scale * candidate) < control.measure(scale * x):
                        x[:] = candidate
        z[:] = scale * x

    return control.iterate(advance, control.begin(problem.size), default_limit=SWEEPS, work=work)


def _sweeper(problem: ContactProblem, work_on: str) -> tuple[Vector, Callable[[Vector, int], None], float]:
    """The rows' scales, a function that makes sweeps in place, and the operations of one."""
    from perp.solvers.contact.body_form import body_form_of, body_velocity, has_body_form

    if work_on == "delassus" or (work_on == "auto" and not has_body_form(problem)):
        from perp.solvers.contact.canonical import blocks_of
        from perp.solvers.contact.sweep import sweeps

        blocks = blocks_of(problem)
        return blocks.scale, lambda x, count: sweeps(blocks, x, count), 2.0 * blocks.data.size
    if not has_body_form(problem):
        raise ProblemError("work_on = 'bodies' needs a sparse Jacobian and a mass in small groups")
    from perp.solvers.contact.body_sweep import body_sweeps

    form = body_form_of(problem)
    v = np.empty(form.unknown[-1])

    def sweep(x: Vector, count: int) -> None:
        body_velocity(form, x, v)
        body_sweeps(form, x, v, count)

    return form.scale, sweep, 4.0 * form.J.size


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
