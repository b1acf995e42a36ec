"""One Newton step of a packed contact problem.

The derivative of constraint c is B_c dx_c + C_c Σ_c' W_cc' dx_c', with B and C from `equations` and σ d added
to the diagonal of W so that a singular W is no obstacle. Open constraints know their dx at once and drop out;
`block_elimination` solves for the others.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.block_elimination import factorise, substitute
from perp.kernels.equations import CLOSED, linearise, linearise_row
from perp.kernels.packed import view
from perp.kernels.relaxed_equations import linearise_relaxed
from perp.kernels.residual import MOST_ROWS


@kernel(nogil=True)
def largest_size(start):
    """Rows of the largest constraint, at least one."""
    largest = 1
    for c in range(start.size - 1):
        largest = max(largest, start[c + 1] - start[c])
    return largest


@kernel(nogil=True)
def solve_linearised(packed, order, rho, sigma, F, B, C, dx):
    """Solves B_c dx_c + C_c ((W + σ ρ) dx)_c = −F_c into dx."""
    blocks, closed = view(packed), np.ones(rho.size, np.bool_)
    factors = factorise(blocks, order, rho, sigma, closed, B, C)
    substitute(blocks, order, factors, closed, B, C, F, dx)


@kernel(nogil=True)
def newton_step(blocks, order, rho, sigma, x, u, dx):
    """The Newton direction at x with velocities u into dx.

    Args:
        blocks: The problem.
        order: Of elimination, `Packed.order`.
        rho: Scale of each constraint for choosing between open, stick and slip.
        sigma: Weight of the proximal term, relative to rho.
        x: Impulses.
        u: Velocities.
        dx: The answer.

    Returns:
        How many diagonal blocks were singular and had to be perturbed.
    """
    start, low, high, mu, mu_r = blocks.start, blocks.low, blocks.high, blocks.mu, blocks.mu_r
    count = start.size - 1
    largest = largest_size(start)
    F = np.empty(x.size)
    B, C = np.zeros((count, largest, largest)), np.zeros((count, largest, largest))
    closed, point = np.zeros(count, np.bool_), np.empty(2 * MOST_ROWS)
    for c in range(count):
        i = start[c]
        size = start[c + 1] - i
        if mu[c] < 0.0:
            state = linearise_row(low[c], high[c], rho[c], x, u, i, F, B[c], C[c])
        elif blocks.relaxed:
            state = linearise_relaxed(size, mu[c], mu_r[c], rho[c], x, u, i, F, B[c], C[c], point)
        else:
            state = linearise(size, mu[c], mu_r[c], rho[c], x, u, i, F, B[c], C[c])
        closed[c] = state == CLOSED
        if not closed[c]:
            for r in range(size):
                dx[i + r] = -F[i + r] / rho[c]
    factors = factorise(blocks, order, rho, sigma, closed, B, C)
    substitute(blocks, order, factors, closed, B, C, F, dx)
    return factors[-1]
