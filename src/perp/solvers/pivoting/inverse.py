"""The explicit inverse of a square block whose rows and columns come and go, for complementary pivoting.

A pivot adds a row and a column, replaces a row, replaces a column, or removes both; each is a rank-one change
of the inverse at O(m²), along contiguous rows that are padded with zeros to whole vector registers.

Reference: Golub and Van Loan, Matrix Computations, section 2.1.4 (Sherman, Morrison and Woodbury).
"""

from __future__ import annotations

from perp.solvers.pivoting.factors import pivot_part

# Rows of the inverse are padded to whole vector registers.
PAD = 16


@pivot_part
def padded(m):
    """The width that rows of the inverse are worked on: full vector registers, the rest being zeros."""
    return (m + PAD - 1) // PAD * PAD


@pivot_part
def replace_column(inverse, m, p, dx):
    """The inverse after column p of the block has become −(block) dx."""
    width = padded(m)
    scale = -1.0 / dx[p]
    for b in range(width):
        inverse[p, b] *= scale
    for a in range(m):
        if a != p:
            factor = dx[a]
            for b in range(width):
                inverse[a, b] += factor * inverse[p, b]


@pivot_part
def border(inverse, m, dx, g, schur):
    """The inverse after the block has grown by a column −(block) dx and a row g (block)."""
    scale = 1.0 / schur
    width = padded(m + 1)
    if m % PAD == 0:
        for a in range(m):
            for b in range(m, width):
                inverse[a, b] = 0.0
    g[m] = -1.0
    for b in range(m + 1, width):
        g[b] = 0.0
    for a in range(m):
        factor = dx[a] * scale
        for b in range(width):
            inverse[a, b] -= factor * g[b]
    for b in range(width):
        inverse[m, b] = -scale * g[b]


@pivot_part
def replace_row(inverse, m, p, g):
    """The inverse after row p of the block has become g (block)."""
    scale = 1.0 / g[p]
    width = padded(m)
    for a in range(m):
        factor = inverse[a, p] * scale
        for b in range(width):
            inverse[a, b] -= factor * g[b]
        inverse[a, p] = factor


@pivot_part
def shrink(inverse, m, p, r):
    """The inverse after column p and row r of the block have gone; the last ones take their places."""
    last = m - 1
    width = padded(m)
    scale = 1.0 / inverse[p, r]
    for a in range(m):
        if a != p:
            factor = inverse[a, r] * scale
            for b in range(width):
                inverse[a, b] -= factor * inverse[p, b]
    if p != last:
        for b in range(width):
            inverse[p, b] = inverse[last, b]
    for a in range(last):
        inverse[a, r] = inverse[a, last]
        inverse[a, last] = 0.0


@pivot_part
def product(inverse, m, b, out):
    """Set out = inverse b; b is padded with zeros."""
    width = padded(m)
    for a in range(m, width):
        b[a] = 0.0
    for a in range(m):
        total = 0.0
        for c in range(width):
            total += inverse[a, c] * b[c]
        out[a] = total


@pivot_part
def product_from_left(inverse, m, b, out):
    """Set out = bᵀ inverse, four rows at a time, padded with zeros."""
    width = padded(m)
    for c in range(width):
        out[c] = 0.0
    a = 0
    while a + 3 < m:
        f0, f1, f2, f3 = b[a], b[a + 1], b[a + 2], b[a + 3]
        for c in range(width):
            out[c] += (f0 * inverse[a, c] + f1 * inverse[a + 1, c]) + (
                f2 * inverse[a + 2, c] + f3 * inverse[a + 3, c]
            )
        a += 4
    while a < m:
        f0 = b[a]
        for c in range(width):
            out[c] += f0 * inverse[a, c]
        a += 1
