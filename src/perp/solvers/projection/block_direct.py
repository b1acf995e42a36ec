"""Block Gauss–Seidel for LCPs: blocks of consecutive rows, each solved by testing its complementary cones.

A sweep visits the blocks in order and solves each for its own z with all others fixed, by the enumeration of
the solver `direct`, the cone of the last visit first. A block whose small LCP has no solution keeps its z and
is counted. It converges where M is symmetric positive definite or an H-matrix with positive diagonal. A
sweep costs one product with M and at most 2ᵇ small solves for blocks of b rows, most often one.

Reference: Cottle, Pang and Stone, The Linear Complementarity Problem, section 5.2 (block splittings).
"""

from __future__ import annotations

import numpy as np

from perp.problems import LCP
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.pivoting.direct import next_solution
from perp.solvers.pivoting.factors import dot, pivot_kernel
from perp.solvers.pivoting.rows import dense

SWEEPS = 20_000


@pivot_kernel
def _sweep(M, q, width, z, choices, block, work, order):
    """One sweep in place; returns how many blocks had no solution."""
    n = q.size
    failures = 0
    small, local_q, answer = work[:0], block[0], block[1]
    for first in range(0, n, width):
        last = min(first + width, n)
        size = last - first
        matrix = block[2 : 2 + size, :size]
        for i in range(size):
            row = M[first + i]
            total = q[first + i] + dot(row, z)
            for j in range(size):
                matrix[i, j] = row[first + j]
                total -= row[first + j] * z[first + j]
            local_q[i] = total
        place = first // width
        small = work[: size + size * size]
        places = order[: 2 * size + 1]
        choice = choices[place]
        if next_solution(matrix, local_q[:size], choice, choice + 1, answer[:size], small, places) != choice:
            choice = next_solution(matrix, local_q[:size], 0, 1 << size, answer[:size], small, places)
        if choice < (1 << size):
            choices[place] = choice
            for i in range(size):
                z[first + i] = answer[i]
        else:
            failures += 1
    return failures


def solve_blocks(problem: LCP, control: Control, width: int, relaxation: float) -> Attempt:
    """Sweeps over blocks of `width` rows until the residual is met."""
    M = dense(problem.M)
    choices = np.zeros(-(-problem.size // width), dtype=np.int64)
    block, work = np.empty((width + 2, width)), np.empty(width + width * width)
    order = np.zeros(2 * width + 1, dtype=np.int64)
    failures = 0

    def advance(z: Vector, count: int) -> None:
        nonlocal failures
        for _ in range(count):
            before = z.copy()
            failures = _sweep(M, problem.q, width, z, choices, block, work, order)
            if relaxation != 1.0:
                z[:] = np.maximum(before + relaxation * (z - before), 0.0)

    attempt = control.iterate(
        advance, control.begin(problem.size), default_limit=SWEEPS, work=2.0 * problem.size**2
    )
    attempt.info.update(blocks=choices.size, unsolvable_blocks=failures)
    return attempt
