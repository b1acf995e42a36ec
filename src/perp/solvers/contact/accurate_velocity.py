"""Velocities u = W x + q of a problem in canonical form as if computed with twice the digits.

Newton steps that start from them end at the doubles nearest to the solution: what is left of sliding is then
small enough even where a friction coefficient of 10⁶ multiplies it.
"""

from __future__ import annotations

from numba import njit

from perp.problems.accurate_slack import product_error, sum_error


@njit(cache=True, nogil=True)
def accurate_velocity(blocks, x, u):
    """The velocities at x into u."""
    start, data = blocks.start, blocks.data
    for c in range(start.size - 1):
        for r in range(start[c + 1] - start[c]):
            total, lost = blocks.q[start[c] + r], 0.0
            for k in range(blocks.first[c], blocks.first[c + 1]):
                j = start[blocks.column[k]]
                width = start[blocks.column[k] + 1] - j
                p = blocks.at[k] + r * width
                for m in range(width):
                    product = data[p + m] * x[j + m]
                    new = total + product
                    lost += product_error(data[p + m], x[j + m], product) + sum_error(total, product, new)
                    total = new
            u[start[c] + r] = total + lost if lost - lost == 0.0 else total
