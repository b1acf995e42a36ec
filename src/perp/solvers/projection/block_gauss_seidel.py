"""Block Gauss–Seidel for contact problems with every set.

Each sweep visits the constraints in order and solves constraint c for its impulse with all others fixed,
exactly (see `contact.local_solve`); relaxation mixes the new impulse with the old one. With `anderson` the
sweep is treated as a fixed-point map and extrapolated from its last few results whenever that lowers the
residual. A sweep costs one pass over the blocks of W.

Reference: Acary, Brémond and Huber, On solving contact problems with Coulomb friction (2018), section 4;
Walker and Ni, Anderson acceleration for fixed-point iterations (2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.problems import ContactProblem, ProblemError
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
    """

    relaxation: float = 1.0
    anderson: int = 0

    def __post_init__(self) -> None:
        if not 0.0 < self.relaxation < 2.0:
            raise ProblemError(f"relaxation = {self.relaxation}: between 0 and 2 is needed")
        if self.anderson < 0:
            raise ProblemError(f"anderson = {self.anderson}: 0 or more is needed")


@register(
    "block-gauss-seidel",
    takes=ContactProblem,
    options=GaussSeidelOptions,
    summary="sweeps of exact local contact solves; every set, exact and relaxed",
)
def block_gauss_seidel(problem: ContactProblem, control: Control, options: GaussSeidelOptions) -> Attempt:
    """Solve a contact problem by block Gauss–Seidel sweeps."""
    from perp.solvers.contact.canonical import blocks_of, to_canonical
    from perp.solvers.contact.sweep import sweeps

    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    blocks = blocks_of(problem)
    x = np.empty(problem.size)
    extrapolate = Extrapolation(options.anderson)

    def advance(z: Vector, count: int) -> None:
        to_canonical(blocks.scale, freeze(z), x)
        if options.relaxation == 1.0 and not options.anderson:
            sweeps(blocks, x, count)
        else:
            for _ in range(count):
                before = x.copy()
                sweeps(blocks, x, 1)
                x[:] = before + options.relaxation * (x - before)
                if options.anderson:
                    candidate = extrapolate(before, x)
                    if control.measure(blocks.scale * candidate) < control.measure(blocks.scale * x):
                        x[:] = candidate
        z[:] = blocks.scale * x

    work = 2.0 * blocks.data.size
    return control.iterate(advance, control.begin(problem.size), default_limit=SWEEPS, work=work)


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
