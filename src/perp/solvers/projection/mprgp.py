"""Modified proportioning with reduced gradient projections, for symmetric positive boxed problems.

Minimises ½ zᵀMz + qᵀz over the box by conjugate gradients on the free face. When the gradient at the bounds
outweighs the free one the face is left by a step along the chopped gradient; when a step would cross a bound
it stops there and is followed by a projected gradient step of fixed length ᾱ ≤ 2/‖M‖. One product with M an
iteration and six vectors of memory, with a rate that depends on the spectrum alone.

Reference: Dostál and Schöberl, Minimizing quadratic functions subject to bound constraints, Comput. Optim.
Appl. 30 (2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.compilation.kernel import kernel
from perp.problems.boxed_kernels import clip
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import RowProblem, Rows, refuses_nonsymmetric, register_rows, rows_of_problem

ITERATIONS = 200_000
# Power iterations for ‖M‖: they give a lower estimate, which the factor 1.1 makes safe enough for ᾱ.
POWER_ITERATIONS = 20


@dataclass(frozen=True)
class MprgpOptions:
    """Options of mprgp.

    Attributes:
        proportion: Γ: how much larger the gradient at the bounds may be than the free one; 1 is the usual
            choice.
    """

    proportion: float = 1.0


@kernel
def _split_gradient(z, g, lo, hi, step, free, chopped):
    """The free gradient φ and the chopped gradient β; returns β·β and φ̃·φ with the reduced φ̃."""
    chopped_size = reduced = 0.0
    for i in range(z.size):
        free[i] = 0.0
        chopped[i] = 0.0
        if lo[i] == hi[i]:
            continue
        if z[i] <= lo[i]:
            chopped[i] = min(g[i], 0.0)
        elif z[i] >= hi[i]:
            chopped[i] = max(g[i], 0.0)
        else:
            free[i] = g[i]
            room = (z[i] - lo[i]) / step if g[i] > 0 else (hi[i] - z[i]) / step
            reduced += g[i] * (min(g[i], room) if g[i] > 0 else max(g[i], -room))
        chopped_size += chopped[i] * chopped[i]
    return chopped_size, reduced


@kernel
def _longest_step(z, p, lo, hi):
    """The largest α with z − α p in the box."""
    longest = np.inf
    for i in range(z.size):
        if p[i] > 0.0:
            longest = min(longest, (z[i] - lo[i]) / p[i])
        elif p[i] < 0.0:
            longest = min(longest, (z[i] - hi[i]) / p[i])
    return longest


@kernel
def _projected_step(z, direction, step, lo, hi):
    for i in range(z.size):
        z[i] = clip(z[i] - step * direction[i], lo[i], hi[i])


class _Mprgp:
    """The state between iterations: gradient g = M z + q and direction p."""

    def __init__(self, rows: Rows, proportion: float, z: Vector) -> None:
        self.rows, self.proportion = rows, proportion
        self.step = 1.8 / (1.1 * _norm(rows.M, rows.size) or 1.0)
        self.g, self.free, self.chopped = np.empty(rows.size), np.empty(rows.size), np.empty(rows.size)
        z[:] = rows.clip(z)
        self._gradient(z)
        self.p = self.free.copy()

    def _gradient(self, z: Vector) -> None:
        self.rows.slack(z, self.g)
        self.chopped_size, self.reduced = _split_gradient(
            z, self.g, self.rows.lo, self.rows.hi, self.step, self.free, self.chopped
        )

    def advance(self, z: Vector, count: int) -> None:
        lo, hi = self.rows.lo, self.rows.hi
        for _ in range(count):
            leave = self.chopped_size > self.proportion**2 * self.reduced
            direction = self.chopped if leave else self.p
            image = self.rows.M @ direction
            curvature = float(direction @ image)
            slope = float(self.g @ direction)
            longest = _longest_step(z, direction, lo, hi)
            best = slope / curvature if curvature > 0.0 else np.inf
            if min(best, longest) == np.inf:  # a ray of descent without end: take it slowly, let others judge
                best = longest = self.step
            if best <= longest:
                _projected_step(z, direction, best, lo, hi)
                self._gradient(z)
                if leave or curvature <= 0.0:
                    self.p = self.free.copy()
                else:
                    self.p = self.free - (float(self.free @ image) / curvature) * self.p
                    if float(self.g @ self.p) <= 0.0:
                        self.p = self.free.copy()
            else:
                _projected_step(z, direction, longest, lo, hi)
                self._gradient(z)
                _projected_step(z, self.free, self.step, lo, hi)
                self._gradient(z)
                self.p = self.free.copy()


def _norm(M: object, size: int) -> float:
    """An estimate of ‖M‖ from below, by power iterations from a fixed start."""
    x = np.random.default_rng(0).standard_normal(size)
    estimate = 0.0
    for _ in range(POWER_ITERATIONS):
        length = float(np.linalg.norm(x))
        if length == 0.0:
            break
        x = M @ (x / length)  # type: ignore[operator]
        estimate = float(np.linalg.norm(x))
    return estimate


@register_rows(
    "mprgp",
    refuses=refuses_nonsymmetric,
    options=MprgpOptions,
    summary="conjugate gradients with projections; symmetric positive semidefinite boxes, large ones too",
)
def mprgp(problem: RowProblem, control: Control, options: MprgpOptions) -> Attempt:
    """Solve a symmetric boxed problem by MPRGP."""
    rows = rows_of_problem(problem)
    z = control.begin(rows.size)
    state = _Mprgp(rows, options.proportion, z)
    return control.iterate(state.advance, z, default_limit=ITERATIONS, work=4.0 * rows.nonzeros)
