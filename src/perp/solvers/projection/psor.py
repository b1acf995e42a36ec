"""Projected successive over-relaxation, plain and symmetric, in a fixed or a random order.

Each row step of projected Gauss–Seidel is stretched by the relaxation ω before it is clipped. The symmetric
variant sweeps forward and back, which makes its answer free of the direction of the sweep; a random order
(a new permutation each sweep, from a fixed seed) breaks the bias of a bad numbering. Converges for symmetric
positive semidefinite M with a solution and 0 < ω < 2; a sweep costs one pass over the nonzeros.

Reference: Cottle, Pang and Stone, The Linear Complementarity Problem, section 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from perp.problems.validation import Vector, freeze
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import RowProblem, refuses_no_diagonal, register_rows
from perp.solvers.projection.sweeps import Sweeper

SWEEPS = 100_000


@dataclass(frozen=True)
class PsorOptions:
    """Options of psor.

    Attributes:
        relaxation: ω between 0 and 2; 1.3 halves the sweeps of stacks and seldom costs any elsewhere.
        order: "forward", "backward" or "random".
        seed: Of the random order.
    """

    relaxation: float = 1.3
    order: Literal["forward", "backward", "random"] = "forward"
    seed: int = 0

    def __post_init__(self) -> None:
        _check_relaxation(self.relaxation)
        if self.order not in ("forward", "backward", "random"):
            raise ValueError(f"order = {self.order!r}: forward, backward or random is needed")


@dataclass(frozen=True)
class SymmetricPsorOptions:
    """Options of symmetric-psor.

    Attributes:
        relaxation: ω between 0 and 2; as in `PsorOptions`.
    """

    relaxation: float = 1.3

    def __post_init__(self) -> None:
        _check_relaxation(self.relaxation)


def _check_relaxation(relaxation: float) -> None:
    if not 0.0 < relaxation < 2.0:
        raise ValueError(f"relaxation = {relaxation}: a number between 0 and 2 is needed")


@register_rows(
    "psor",
    refuses=refuses_no_diagonal,
    options=PsorOptions,
    summary="over-relaxed projected Gauss–Seidel, fixed or random order; symmetric positive matrices",
)
def psor(problem: RowProblem, control: Control, options: PsorOptions) -> Attempt:
    """Solve a boxed problem by projected successive over-relaxation."""
    sweeper = Sweeper(problem, options.relaxation)
    random = np.random.default_rng(options.seed)
    backward = freeze(np.arange(problem.size)[::-1].copy())

    def advance(z: Vector, count: int) -> None:
        if options.order == "random":
            for _ in range(count):
                sweeper.sweep(z, 1, freeze(random.permutation(problem.size)))
        else:
            sweeper.sweep(z, count, backward if options.order == "backward" else None)

    z = control.begin(problem.size)
    return control.iterate(advance, z, default_limit=SWEEPS, work=sweeper.work)


@register_rows(
    "symmetric-psor",
    refuses=refuses_no_diagonal,
    options=SymmetricPsorOptions,
    summary="over-relaxed sweeps forward and back; symmetric positive matrices",
)
def symmetric_psor(problem: RowProblem, control: Control, options: SymmetricPsorOptions) -> Attempt:
    """Solve a boxed problem by symmetric over-relaxation: an iteration is a sweep forward and one back."""
    sweeper = Sweeper(problem, options.relaxation)
    there = np.arange(problem.size)
    both = freeze(np.concatenate([there, there[::-1]]))

    def advance(z: Vector, count: int) -> None:
        sweeper.sweep(z, count, both)

    z = control.begin(problem.size)
    return control.iterate(advance, z, default_limit=SWEEPS, work=2 * sweeper.work)
